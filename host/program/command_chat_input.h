/*
 * command_chat_input.h - reads the messages that a user types, or that a pipe contains.
 *
 * On a terminal, lines can be edited and earlier ones recalled, and a paste is one line (line_editor.h). A message is
 * one line; a line that ends with a backslash continues on the next one.
 *
 *     struct chat_input *typed = chat_input_new(isatty(STDIN_FILENO));
 *     while (chat_input_read(typed, &message)) …   // message.overflow: it is longer than the buffer's limit
 *     chat_input_free(typed);
 */
#ifndef TENON_HOST_PROGRAM_COMMAND_CHAT_INPUT_H
#define TENON_HOST_PROGRAM_COMMAND_CHAT_INPUT_H

#include "adl/value/buffer.h"
#include <stdbool.h>

struct chat_input;

/* `terminal`: standard input is a terminal, on which prompts are shown. */
struct chat_input *chat_input_new(bool terminal);
void chat_input_free(struct chat_input *input);
/* Reads a message, after the rest of one that was too long. Returns false at the end of input, and after Ctrl-C. */
bool chat_input_read(struct chat_input *input, struct buffer *message);
/* True if Ctrl-C ended the last chat_input_read while the line had text. */
bool chat_input_was_interrupted(struct chat_input *input);
/* Reads the answer to a question, which is not part of the history. Free it; NULL at the end of input and at a signal.
 */
char *chat_input_ask(struct chat_input *input, const char *prompt);
bool chat_input_can_ask(const struct chat_input *input); /* the terminal has an editor */
/*
 * Prints something above the line that is being read, and shows the line again. Without an editor for the terminal it
 * does nothing, because what has been typed is not known.
 */
void chat_input_interject(struct chat_input *input, void (*print)(void *user), void *user);
/* The next message begins with this text. Returns false without an editor for the terminal. */
bool chat_input_prefill(struct chat_input *input, const char *text);
/* From now on, only what is available is read: the input of a pipe ends where reading would have to wait. */
void chat_input_stop(struct chat_input *input);

#endif
