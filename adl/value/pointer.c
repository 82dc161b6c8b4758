/*
 * pointer.c - writes JSON Pointers.
 */
#include "adl/value/pointer.h"

void pointer_append_key(struct buffer *out, const char *key, size_t length) {
    buffer_char(out, '/');
    for (size_t i = 0; i < length; i++) {
        if (key[i] == '~' || key[i] == '/')
            buffer_text(out, key[i] == '~' ? "~0" : "~1");
        else
            buffer_char(out, key[i]);
    }
}
