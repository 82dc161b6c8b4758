/*
 * base64.c - RFC 4648, strictly: padding is required, unused bits are zero, and nothing else may stand in the text.
 */
#include "adl/value/base64.h"

#include <string.h>

#include "adl/value/block.h"

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void base64_write(struct buffer *out, const void *bytes, size_t length) {
    const unsigned char *from = bytes;
    char chunk[1024];
    size_t used = 0;
    for (size_t at = 0; at < length && !out->overflow; at += 3) {
        size_t left = length - at;
        uint32_t group = (uint32_t)from[at] << 16;
        if (left > 1) group |= (uint32_t)from[at + 1] << 8;
        if (left > 2) group |= from[at + 2];
        chunk[used++] = alphabet[group >> 18];
        chunk[used++] = alphabet[group >> 12 & 63];
        chunk[used++] = left > 1 ? alphabet[group >> 6 & 63] : '=';
        chunk[used++] = left > 2 ? alphabet[group & 63] : '=';
        if (used == sizeof chunk) {
            buffer_append(out, chunk, used);
            used = 0;
        }
    }
    buffer_append(out, chunk, used);
}

/* 0 to 63, or -1. */
static int32_t sextet(char c) {
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

tn_value base64_read(const char *text, size_t length) {
    if (length % 4 != 0) return NULL;
    size_t padding = 0;
    while (padding < 2 && padding < length && text[length - 1 - padding] == '=') padding++;
    struct string *bytes = string_new(TN_BYTES, length / 4 * 3 - padding);
    size_t to = 0;
    for (size_t at = 0; at < length; at += 4) {
        size_t missing = at + 4 == length ? padding : 0;
        int32_t group = 0, bad = 0;
        for (size_t i = 0; i < 4; i++) {
            int32_t six = i + missing < 4 ? sextet(text[at + i]) : 0;
            bad |= six;
            group = group * 64 + (six & 63);
        }
        if (bad < 0 || (missing == 1 && (group & 0xFF) != 0) || (missing == 2 && (group & 0xFFFF) != 0)) {
            value_unref(&bytes->header);
            return NULL;
        }
        for (size_t i = 0; i + missing < 3; i++) bytes->chars[to++] = (char)(group >> (16 - 8 * i));
    }
    return &bytes->header;
}
