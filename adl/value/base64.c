/*
 * base64.c - RFC 4648, strictly: padding is required, unused bits are zero, and the text has no other characters.
 */
#include "adl/value/base64.h"

#include <tenon/base64.h>

#include "adl/value/block.h"

#define CHUNK 768u /* bytes that are encoded at once */

void base64_write(struct buffer *out, const void *bytes, size_t length) {
    const unsigned char *from = bytes;
    char chunk[TN_BASE64_SIZE(CHUNK)];
    for (size_t at = 0; at < length && !out->overflow; at += CHUNK) {
        const char *end = tn_base64_put(chunk, from + at, length - at < CHUNK ? length - at : CHUNK);
        buffer_append(out, chunk, (size_t)(end - chunk));
    }
}

tn_value base64_read(const char *text, size_t length) {
    if (length % 4 != 0 || (length > 0 && !tn_is_base64(text, length))) return NULL;
    size_t padding = 0;
    while (padding < 2 && padding < length && text[length - 1 - padding] == '=') padding++;
    /* The last character before the padding has 2 unused bits for one `=`, 4 for two. */
    uint32_t unused = padding == 0 ? 0 : padding == 1 ? 3 : 15;
    if (padding > 0 && (tn_base64_sextet((unsigned char)text[length - 1 - padding]) & unused) != 0) return NULL;
    size_t size = length / 4 * 3 - padding;
    struct string *bytes = string_new(TN_BYTES, size);
    (void)tn_base64_take(text, length, bytes->chars, size);
    return &bytes->header;
}

tn_value base64_read_lines(const char *text, size_t length) {
    struct buffer joined;
    buffer_init(&joined, SIZE_MAX);
    for (size_t at = 0, end; at < length; at = end + 1) {
        for (end = at; end < length && text[end] != '\r' && text[end] != '\n';) end++;
        buffer_append(&joined, text + at, end - at);
    }
    tn_value bytes = base64_read(buffer_cstr(&joined), joined.length);
    buffer_finish(&joined);
    return bytes;
}
