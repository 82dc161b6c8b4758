/*
 * command_chat_message.h - the content of a user's message: its text, and the files that it attaches.
 *
 *     tn_value content = chat_message_content("what is this? @photo.png", length, true, &error);
 *     // [{type: text, …}, {type: image, media_type: image/png, data: "…"}]
 *
 * `@FILE` at the start of a word attaches an image, a PDF or audio, and `@"a file.png"` one whose name has spaces.
 * Other files are refused, so that a pasted text cannot send, for example, a key. A word that names no file stays a
 * text, unless it has the form of a path or the extension of such a file: then it is a mistake.
 */
#ifndef TENON_HOST_PROGRAM_COMMAND_CHAT_MESSAGE_H
#define TENON_HOST_PROGRAM_COMMAND_CHAT_MESSAGE_H

#include "adl/value/error.h"
#include "adl/value/value.h"
#include <stdbool.h>
#include <stddef.h>

#define CHAT_ATTACHED_FILES_MAX 16u         /* files of one message */
#define CHAT_ATTACHED_BYTES_MAX (20u << 20) /* bytes of all files of one message */

/*
 * A text, or parts if files are attached; a new reference. Files are read only if `attaches` is true. NULL with
 * INVALID_INPUT: not UTF-8, or a file that cannot be attached; LIMIT.
 */
tn_value chat_message_content(const char *text, size_t length, bool attaches, struct error *error);
/* Returns a path that a user has typed, with the home folder for "~/". Free it with mem_free. */
char *chat_message_expand_home(const char *path, size_t length);

#endif
