/*
 * tenon/util/text.h - a text that is built piece by piece, with a bound.
 *
 * Invariants: `length` never exceeds `limit` (0: unlimited). The first failure stays in `status`; after it nothing more
 * is appended, so that a caller checks once, at the end. The bytes are followed by a NUL as soon as there are any.
 *
 *     struct tn_text_buffer url = TN_TEXT_BUFFER(8192);
 *     tn_text_append(&url, "/pets/");
 *     tn_text_append_percent(&url, id, id_length, "");
 *     tn_text_append_format(&url, "?page=%d", page);
 *     return tn_done_take(task, tn_text_finish(&url)); // NULL if it was too long or memory ran out
 *
 * A buffer belongs to one thread at a time. Every buffer ends with tn_text_finish or tn_text_free.
 */
#ifndef TENON_UTIL_TEXT_H
#define TENON_UTIL_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <tenon.h>
#include <tenon/util/cast.h>
#include <tenon/util/memory.h>
#include <tenon/util/utf8.h>

#ifdef __cplusplus
extern "C" {
#endif

struct tn_text_buffer {
    char *bytes; /* NULL as long as nothing was appended */
    uint64_t length, capacity;
    uint64_t limit; /* bytes; 0: unlimited */
    int32_t status; /* TN_OK, TN_LIMIT or TN_NO_MEMORY */
};

/* An empty buffer with a limit, as an initializer. `{0}` is one without a limit. */
#define TN_TEXT_BUFFER(limit)                                                                                          \
    { NULL, 0, 0, limit, TN_OK }

/* Frees the bytes. The buffer is empty again and keeps its limit. */
static inline void tn_text_free(struct tn_text_buffer *buffer) {
    if (buffer->bytes != NULL) TN_UTIL_RELEASE(buffer->bytes);
    buffer->bytes = NULL;
    buffer->length = buffer->capacity = 0;
    buffer->status = TN_OK;
}

/* Empties the buffer. Keeps its memory for the next text, unless that is more than `keep` bytes. */
static inline void tn_text_clear(struct tn_text_buffer *buffer, uint64_t keep) {
    if (buffer->capacity > keep) tn_text_free(buffer);
    buffer->length = 0;
    buffer->status = TN_OK;
    if (buffer->bytes != NULL) buffer->bytes[0] = '\0';
}

/* Makes room for `more` bytes and a NUL. Returns the buffer's status. */
static inline int32_t tn_text_reserve(struct tn_text_buffer *buffer, uint64_t more) {
    uint64_t most = buffer->limit > 0 && buffer->limit < INT64_MAX / 4 ? buffer->limit : INT64_MAX / 4;
    uint64_t capacity = buffer->capacity;
    void *grown;
    if (buffer->status != TN_OK) return buffer->status;
    if (buffer->length > most || more > most - buffer->length) return buffer->status = TN_LIMIT;
    if (buffer->length + more < capacity) return TN_OK;
    capacity = capacity + capacity / 2 + 64;
    if (capacity < buffer->length + more + 1) capacity = buffer->length + more + 1;
    grown = TN_UTIL_RESIZE(buffer->bytes, capacity);
    if (grown == NULL) return buffer->status = TN_NO_MEMORY;
    buffer->bytes = TN_UTIL_CAST(char *, grown);
    buffer->bytes[buffer->length] = '\0';
    buffer->capacity = capacity;
    return TN_OK;
}

/* Appends all of it, or nothing. `bytes` may be NULL if `length` is 0. Returns the buffer's status, as all of these. */
static inline int32_t tn_text_append_n(struct tn_text_buffer *buffer, const void *bytes, uint64_t length) {
    if (bytes == NULL || length == 0) return buffer->status;
    if (tn_text_reserve(buffer, length) != TN_OK) return buffer->status;
    memcpy(buffer->bytes + buffer->length, bytes, length);
    buffer->length += length;
    buffer->bytes[buffer->length] = '\0';
    return TN_OK;
}

static inline int32_t tn_text_append(struct tn_text_buffer *buffer, const char *text) {
    return tn_text_append_n(buffer, text, strlen(text));
}

static inline int32_t tn_text_append_char(struct tn_text_buffer *buffer, char c) {
    return tn_text_append_n(buffer, &c, 1);
}

/*
 * Appends as much UTF-8 as the limit leaves room for, in whole characters. If that is not all, the status becomes
 * TN_LIMIT; tn_text_finish_cut still returns the text.
 */
static inline int32_t tn_text_append_cut(struct tn_text_buffer *buffer, const char *text, uint64_t length) {
    uint64_t room = buffer->limit - buffer->length;
    if (buffer->status != TN_OK || buffer->limit == 0 || length <= room) return tn_text_append_n(buffer, text, length);
    if (tn_text_append_n(buffer, text, tn_utf8_cut(text, length, room)) == TN_OK) buffer->status = TN_LIMIT;
    return buffer->status;
}

/* As printf. */
static inline int32_t tn_text_append_vformat(struct tn_text_buffer *buffer, const char *format, va_list arguments)
    __attribute__((format(printf, 2, 0)));
static inline int32_t tn_text_append_vformat(struct tn_text_buffer *buffer, const char *format, va_list arguments) {
    va_list again;
    int length;
    va_copy(again, arguments);
    length = vsnprintf(NULL, 0, format, again);
    va_end(again);
    if (length < 0) return buffer->status = buffer->status != TN_OK ? buffer->status : TN_NO_MEMORY;
    if (tn_text_reserve(buffer, TN_UTIL_CAST(uint64_t, length)) != TN_OK) return buffer->status;
    (void)vsnprintf(buffer->bytes + buffer->length, TN_UTIL_CAST(size_t, length) + 1, format, arguments);
    buffer->length += TN_UTIL_CAST(uint64_t, length);
    return TN_OK;
}

static inline int32_t tn_text_append_format(struct tn_text_buffer *buffer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static inline int32_t tn_text_append_format(struct tn_text_buffer *buffer, const char *format, ...) {
    int32_t status;
    va_list arguments;
    va_start(arguments, format);
    status = tn_text_append_vformat(buffer, format, arguments);
    va_end(arguments);
    return status;
}

/* Percent-encodes all but letters, digits, "-._~" and the characters of `keep` (RFC 3986). */
static inline int32_t tn_text_append_percent(struct tn_text_buffer *buffer, const char *text, uint64_t length,
                                             const char *keep) {
    static const char digits[] = "0123456789ABCDEF";
    for (uint64_t i = 0; i < length && buffer->status == TN_OK; i++) {
        char c = text[i], coded[3];
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                     (c != '\0' && (strchr("-._~", c) != NULL || strchr(keep, c) != NULL));
        coded[0] = '%';
        coded[1] = digits[TN_UTIL_CAST(unsigned char, c) >> 4];
        coded[2] = digits[TN_UTIL_CAST(unsigned char, c) & 15];
        (void)tn_text_append_n(buffer, plain ? &c : coded, plain ? 1 : 3);
    }
    return buffer->status;
}

/* Appends bytes that should be UTF-8, with U+FFFD in place of what is not, as the WHATWG Encoding standard decodes. */
static inline int32_t tn_text_append_lossy(struct tn_text_buffer *buffer, const char *bytes, uint64_t length) {
    uint64_t from = 0, at = 0;
    uint32_t code_point, size;
    while (at < length && buffer->status == TN_OK) {
        size = tn_utf8_decode(bytes + at, length - at, &code_point);
        at += size;
        if (size > 0) continue;
        (void)tn_text_append_n(buffer, bytes + from, at - from);
        (void)tn_text_append(buffer, "\xEF\xBF\xBD");
        at += tn_utf8_malformed_size(bytes + at, length - at);
        from = at;
    }
    return tn_text_append_n(buffer, bytes + from, at - from);
}

/* Removes so many bytes from the front, at most all of them. */
static inline void tn_text_drop(struct tn_text_buffer *buffer, uint64_t length) {
    if (length > buffer->length) length = buffer->length;
    if (length == 0) return;
    buffer->length -= length;
    memmove(buffer->bytes, buffer->bytes + length, buffer->length + 1);
}

/* The text so far, NUL-terminated; "" if nothing was appended. Valid until the next append. */
static inline const char *tn_text_chars(const struct tn_text_buffer *buffer) {
    return buffer->bytes != NULL ? buffer->bytes : "";
}

#ifdef TENON_EASY_H

/* Appends the text of a string, or the JSON of any other value. NULL, no value, appends nothing. */
static inline int32_t tn_text_append_value(struct tn_text_buffer *buffer, tn_value value) {
    uint64_t length = 0;
    tn_value json = value == NULL || tn.value->kind(value) == TN_STRING ? NULL : tn_to_json(value);
    const char *chars = tn.value->as_text(json != NULL ? json : value, &length);
    if (chars != NULL)
        (void)tn_text_append_n(buffer, chars, length);
    else if (value != NULL && buffer->status == TN_OK)
        buffer->status = TN_NO_MEMORY;
    tn.value->release(json);
    return buffer->status;
}

/* The text as a string: a new reference. NULL if the status is not TN_OK or the bytes are not UTF-8. Frees the bytes.
 */
static inline tn_value tn_text_finish(struct tn_text_buffer *buffer) {
    tn_value made = buffer->status != TN_OK ? NULL : tn_text_n(tn_text_chars(buffer), buffer->length);
    tn_text_free(buffer);
    return made;
}

/* The same, but a text that tn_text_append_cut has cut is returned too. */
static inline tn_value tn_text_finish_cut(struct tn_text_buffer *buffer) {
    if (buffer->status == TN_LIMIT) buffer->status = TN_OK;
    return tn_text_finish(buffer);
}

#endif

#ifdef __cplusplus
}
#endif
#endif
