/*
 * command_chat_words.h - what a user types besides messages: /help and the other commands of a conversation.
 *
 *     if (chat_words_run(&chat, line, &code, &exits)) …   // it was a command
 */
#ifndef TENON_HOST_PROGRAM_COMMAND_CHAT_WORDS_H
#define TENON_HOST_PROGRAM_COMMAND_CHAT_WORDS_H

#include <stdbool.h>

struct chat;

/*
 * Runs a command. *code is what the turn that it makes returns, COMMAND_OK for the others. *exits: the conversation
 * ends. Returns false if the line is a message; only on a terminal a line can be a command.
 */
bool chat_words_run(struct chat *chat, const char *line, int *code, bool *exits);

#endif
