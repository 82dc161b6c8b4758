/*
 * command_chat_save.h - writes a conversation to a file.
 */
#ifndef TENON_HOST_PROGRAM_COMMAND_CHAT_SAVE_H
#define TENON_HOST_PROGRAM_COMMAND_CHAT_SAVE_H

#include "adl/value/error.h"
#include "adl/value/value.h"

/*
 * Creates `path`: the messages as JSON if its name ends in ".json", otherwise their texts as Markdown. An existing file
 * is not replaced. ERROR with the reason.
 */
int32_t chat_save(tn_value messages, const char *path, struct error *error);

#endif
