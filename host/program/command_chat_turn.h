/*
 * command_chat_turn.h - the turns of a conversation: one run for each user message, without a thread or with one.
 *
 *     code = chat_turn_resume(&chat);                     // a thread that exists: the turn that is not done
 *     code = chat_turn_send(&chat, content);              // another turn
 *     code = chat_turn_repeat(&chat, content);            // the last turn is discarded, and made again
 *     chat_turn_finish(&chat);
 *
 * A turn that was cancelled or has failed is not part of the conversation. Without a thread, the next turn starts from
 * the saved run of the last one that completed. With a thread, it removes the messages of the discarded turn, which
 * needs the reducer `messages`; other channels keep the values that the discarded turn gave them.
 *
 * The functions return COMMAND_OK if the conversation continues, otherwise the exit code of the command.
 */
#ifndef TENON_HOST_PROGRAM_COMMAND_CHAT_TURN_H
#define TENON_HOST_PROGRAM_COMMAND_CHAT_TURN_H

#include "adl/value/value.h"
#include "host/program/approve.h"
#include "host/program/command_chat_show.h"
#include <stdbool.h>
#include <stddef.h>

struct arguments;
struct chat_input;
struct chat_notices;
struct graph;
struct host;

struct chat {
    const struct arguments *arguments;
    struct host *host;
    struct graph *graph;
    const char *channel, *thread;
    bool terminal; /* standard input is a terminal, and --json is not given */
    bool json, quiet, ended, cancelled;
    bool warned;        /* Ctrl-C at the prompt was pressed once */
    bool removes;       /* the channel accepts the removal of messages */
    bool unfinished;    /* the last turn of the thread has not completed, so the thread is not done */
    tn_value input;     /* --input and --set, for the first turn */
    bool begun;         /* the conversation has a turn that got `input` */
    tn_value saved;     /* without a thread: the saved run of the last turn; NULL before the first turn */
    tn_value messages;  /* after the last turn; of a thread also after one that did not complete */
    tn_value usage;     /* of all turns */
    tn_value completed; /* the messages after the last turn that completed; NULL before the first turn */
    tn_value waits;     /* the interrupts of the last turn; NULL when it ended without a question */
    tn_value said;      /* the content of the last user message; NULL before the first one */
    tn_value said_text; /* the same as it was typed; NULL if another process has sent it */
    bool edits;         /* the next line replaces the last message */
    /* What chat_turn_repeat continues from. */
    bool repeatable;     /* the last turn is part of the conversation, and the members below are from before it */
    bool first;          /* the last turn got `input` */
    tn_value before;     /* the messages; NULL for none */
    tn_value run_before; /* without a thread: the saved run; NULL before the first turn */
    struct chat_show show;
    struct approver approver;
    struct chat_input *typed;
    struct chat_notices *notices; /* NULL: none are shown */
    int failure; /* exit code of the first line of a pipe that failed; the lines after it are still answered */
};

/* Sends a user message. `content` is a text or an array of parts. */
int chat_turn_send(struct chat *chat, tn_value content);
/* The same after the last turn was discarded. If it cannot be, prints the reason and returns COMMAND_OK. */
int chat_turn_repeat(struct chat *chat, tn_value content);
/* Sends what the user has typed, with the files that it attaches; `again`: after the last turn was discarded. */
int chat_turn_send_typed(struct chat *chat, const char *text, size_t length, bool again);
/* Continues an existing thread: its unfinished run is resumed, or discarded if it was cancelled. */
int chat_turn_resume(struct chat *chat);
/* The number of messages of the conversation. */
size_t chat_turn_messages(const struct chat *chat);
/* Releases the values of a chat. */
void chat_turn_finish(struct chat *chat);

#endif
