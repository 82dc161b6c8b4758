/*
 * command_chat_notice.h - shows notifications between the lines of a conversation on a terminal.
 *
 * While the user types, Tasks of the type `notification` are claimed and handled with their strategy, in the host of
 * the chat, and their messages are printed. A worker looks every NOTICE_MS milliseconds; during an answer, none does.
 *
 *     struct chat_notices *notices = chat_notices_new(host);     // NULL: there is no strategy for them
 *     chat_notices_begin(notices, typed);                        // before a line is read; prints what there is
 *     chat_input_read(typed, &message);
 *     chat_notices_end(notices);
 *     chat_notices_free(notices);
 *
 * NULL is allowed for `notices`.
 */
#ifndef TENON_HOST_PROGRAM_COMMAND_CHAT_NOTICE_H
#define TENON_HOST_PROGRAM_COMMAND_CHAT_NOTICE_H

struct chat_input;
struct chat_notices;
struct host;

#define NOTICE_MS      1000
#define NOTICE_WAIT_MS 300 /* the longest wait for notifications before a prompt */

/* Opens the strategy. Prints a warning if tenon.yaml sets one that cannot be opened. */
struct chat_notices *chat_notices_new(struct host *host);
/* Waits shortly for the notifications that can be claimed now, and prints them; those of later come above the line. */
void chat_notices_begin(struct chat_notices *notices, struct chat_input *typed);
/* The line was read. What is not printed yet comes before the next prompt. */
void chat_notices_end(struct chat_notices *notices);
/* Prints the rest, and returns what is being handled to the queue. */
void chat_notices_free(struct chat_notices *notices);

#endif
