/*
 * note_text.h - the JSON text of a note. Between U+0001 and U+0002 a note contains a string as it is, without quotes
 * and escapes: the compiler cannot escape a literal for JSON (tenon/note.h).
 */
#ifndef TENON_HOST_PLUGIN_REGISTRY_NOTE_TEXT_H
#define TENON_HOST_PLUGIN_REGISTRY_NOTE_TEXT_H

#include "adl/value/buffer.h"

/* Appends the JSON text. A string that is not closed is left open, for the JSON reader to report. */
void note_write_json(struct buffer *out, const char *note, size_t length);

#endif
