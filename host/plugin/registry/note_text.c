/*
 * note_text.c - from the text of a note to JSON.
 */
#include "host/plugin/registry/note_text.h"
#include "adl/value/json.h"
#include <string.h>
#include <tenon/note.h>

void note_write_json(struct buffer *out, const char *note, size_t length) {
    const char *end = note + length;
    while (note < end) {
        const char *opened = memchr(note, TN_NOTE_RAW_BEGIN[0], (size_t)(end - note));
        const char *closed = opened ? memchr(opened, TN_NOTE_RAW_END[0], (size_t)(end - opened)) : NULL;
        if (!closed) break;
        buffer_append(out, note, (size_t)(opened - note));
        json_write_string(out, opened + 1, (size_t)(closed - opened - 1));
        note = closed + 1;
    }
    buffer_append(out, note, (size_t)(end - note));
}
