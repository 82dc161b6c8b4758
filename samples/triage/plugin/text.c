/*
 * text.c - growing texts and UTF-8 (text.h).
 */
#include "text.h"
#include <stdlib.h>
#include <string.h>

static bool text_reserve(struct text *text, size_t more) {
    if (text->failed) return false;
    if (more > TEXT_MAX - text->length) {
        text->failed = true;
        return false;
    }
    size_t needed = text->length + more + 1;
    if (needed <= text->capacity) return true;
    size_t capacity = text->capacity < 64 ? 64 : text->capacity * 2;
    if (capacity < needed) capacity = needed;
    char *at = realloc(text->at, capacity);
    if (at == NULL) {
        text->failed = true;
        return false;
    }
    text->at = at;
    text->capacity = capacity;
    return true;
}

void text_add(struct text *text, const char *bytes, size_t length) {
    if (!text_reserve(text, length)) return;
    if (length > 0) memcpy(text->at + text->length, bytes, length);
    text->length += length;
    text->at[text->length] = '\0';
}

void text_add_string(struct text *text, const char *string) { text_add(text, string, strlen(string)); }

void text_add_byte(struct text *text, char byte) { text_add(text, &byte, 1); }

void text_add_code_point(struct text *text, uint32_t c) {
    char out[4];
    size_t length;
    if (c < 0x80) {
        out[0] = (char)c;
        length = 1;
    } else if (c < 0x800) {
        out[0] = (char)(0xc0 | (c >> 6));
        length = 2;
    } else if (c < 0x10000) {
        out[0] = (char)(0xe0 | (c >> 12));
        length = 3;
    } else {
        out[0] = (char)(0xf0 | (c >> 18));
        length = 4;
    }
    for (size_t i = 1; i < length; i++) out[i] = (char)(0x80 | ((c >> (6 * (length - 1 - i))) & 0x3f));
    text_add(text, out, length);
}

void text_pad(struct text *text, size_t count, char byte) {
    while (count-- > 0) text_add_byte(text, byte);
}

const char *text_string(const struct text *text) { return text->at != NULL ? text->at : ""; }

void text_free(struct text *text) {
    free(text->at);
    *text = (struct text){0};
}

uint32_t utf8_at(const char *at, size_t length, size_t *size) {
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    unsigned char lead = (unsigned char)at[0];
    *size = 1;
    if (lead < 0x80) return lead;
    size_t need = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    if (lead < 0xc2 || lead > 0xf4 || length < need) return 0xfffd;
    uint32_t c = lead & (0xffu >> (need + 1));
    for (size_t i = 1; i < need; i++) {
        unsigned char next = (unsigned char)at[i];
        if ((next & 0xc0) != 0x80) return 0xfffd;
        c = c << 6 | (next & 0x3f);
    }
    if (c < least[need] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff)) return 0xfffd;
    *size = need;
    return c;
}

void text_repair(struct text *text) {
    struct text out = {0};
    size_t size;
    for (size_t i = 0; i < text->length; i += size) {
        uint32_t c = utf8_at(text->at + i, text->length - i, &size);
        text_add_code_point(&out, c);
    }
    out.failed |= text->failed;
    text_free(text);
    *text = out;
}

int utf8_columns(uint32_t c) {
    if ((c >= 0x300 && c <= 0x36f) || c == 0x200b || c == 0x200d || (c >= 0xfe00 && c <= 0xfe0f)) return 0;
    bool wide = (c >= 0x1100 && c <= 0x115f) || (c >= 0x2e80 && c <= 0xa4cf) || (c >= 0xac00 && c <= 0xd7a3) ||
                (c >= 0xf900 && c <= 0xfaff) || (c >= 0xfe30 && c <= 0xfe6f) || (c >= 0xff00 && c <= 0xff60) ||
                (c >= 0xffe0 && c <= 0xffe6) || (c >= 0x1f300 && c <= 0x1faff) || (c >= 0x20000 && c <= 0x3fffd);
    return wide ? 2 : 1;
}

uint32_t utf8_lower(uint32_t c) {
    if ((c >= 'A' && c <= 'Z') || (c >= 0xc0 && c <= 0xde && c != 0xd7)) return c + 0x20;
    if ((c >= 0x391 && c <= 0x3a9 && c != 0x3a2) || (c >= 0x410 && c <= 0x42f)) return c + 0x20;
    return c;
}

void text_add_lower(struct text *text, const char *from, size_t length) {
    size_t size;
    for (size_t i = 0; i < length; i += size)
        text_add_code_point(text, utf8_lower(utf8_at(from + i, length - i, &size)));
}
