/*
 * text_editor.h - lets the user change a text in the editor that VISUAL or EDITOR names.
 *
 *     if (text_editor_run("draft", &text, &length, &error) == TN_OK) { use(text, length); mem_free(text); }
 */
#ifndef TENON_HOST_PROGRAM_TEXT_EDITOR_H
#define TENON_HOST_PROGRAM_TEXT_EDITOR_H

#include "adl/value/error.h"
#include <stdbool.h>
#include <stddef.h>

#define TEXT_EDITOR_MAX (16u << 20) /* bytes of the text that the editor leaves */

bool text_editor_is_set(void);
/*
 * Starts the editor on a temporary file that only this user can read, and waits for its end. *text is what the file has
 * then, without the line ends at its end; free it with mem_free. ERROR if the editor cannot be started or has failed;
 * LIMIT. Thread: the one that owns the terminal; Ctrl-C meanwhile is the editor's.
 */
int32_t text_editor_run(const char *before, char **text, size_t *length, struct error *error);

#endif
