/*
 * text.c - memory for a text: the host's, doubled as it grows.
 */
#include "text.h"

void text_add(struct text *text, const char *bytes, uint64_t length) {
    if (text->full || text->failed || length == 0) return;
    if (text->limit != 0 && text->length + length > text->limit) {
        text->full = true;
        length = text->limit - text->length;
        /* A character is added whole or not at all. */
        while (length > 0 && ((unsigned char)bytes[length] & 0xc0) == 0x80) length--;
    }
    if (text->length + length > text->capacity) {
        uint64_t capacity = (text->length + length) * 2 + 64;
        char *grown = tn.core->resize(tn.host, text->data, capacity);
        text->failed = grown == NULL;
        if (grown == NULL) return;
        text->data = grown;
        text->capacity = capacity;
    }
    if (length > 0) memcpy(text->data + text->length, bytes, length);
    text->length += length;
}

void text_put(struct text *text, const char *chars) { text_add(text, chars, strlen(chars)); }

tn_value text_finish(struct text *text) {
    tn_value made = text->failed ? NULL : tn_text_n(text->data != NULL ? text->data : "", text->length);
    text_free(text);
    return made;
}

void text_free(struct text *text) {
    if (text->data != NULL) tn.core->release(tn.host, text->data);
    text->data = NULL;
}
