/*
 * tenon/util/utf8.h - validates UTF-8 and steps through its characters.
 *
 * UTF-8 as Unicode defines it: no overlong forms, no surrogates, nothing above U+10FFFF.
 *
 *     uint32_t code_point, size;
 *     for (uint64_t at = 0; at < length; at += size)
 *         if ((size = tn_utf8_decode(text + at, length - at, &code_point)) == 0) return false; // malformed
 *
 * Thread: any. Nothing here allocates.
 */
#ifndef TENON_UTIL_UTF8_H
#define TENON_UTIL_UTF8_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <tenon/util/cast.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The size of the character at `text`, 1 to 4 bytes, and its code point; 0 if it is malformed or `length` is 0. */
static inline uint32_t tn_utf8_decode(const void *text, uint64_t length, uint32_t *code_point) {
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *bytes = TN_UTIL_CAST(const unsigned char *, text);
    uint32_t first, size, code;
    if (length == 0) return 0;
    first = bytes[0];
    if (first < 0x80) {
        *code_point = first;
        return 1;
    }
    size = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
    if (first < 0xC2 || first > 0xF4 || size > length) return 0;
    code = first & (0x7Fu >> size);
    for (uint32_t i = 1; i < size; i++) {
        if ((bytes[i] & 0xC0) != 0x80) return 0;
        code = code << 6 | (bytes[i] & 0x3Fu);
    }
    if (code < least[size] || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) return 0;
    *code_point = code;
    return size;
}

/* Writes the character to `out` and returns its size, 1 to 4 bytes. `code_point` must be at most U+10FFFF. */
static inline uint32_t tn_utf8_encode(uint32_t code_point, char out[4]) {
    static const uint32_t lead[] = {0, 0, 0xC0, 0xE0, 0xF0};
    uint32_t size = code_point < 0x80 ? 1 : code_point < 0x800 ? 2 : code_point < 0x10000 ? 3 : 4;
    for (uint32_t i = size - 1; i > 0; i--) {
        out[i] = TN_UTIL_CAST(char, 0x80 | (code_point & 0x3F));
        code_point >>= 6;
    }
    out[0] = TN_UTIL_CAST(char, lead[size] | code_point);
    return size;
}

static inline bool tn_utf8_is_valid(const void *text, uint64_t length) {
    const uint64_t high = UINT64_C(0x8080808080808080);
    const unsigned char *bytes = TN_UTIL_CAST(const unsigned char *, text);
    /* A whole word begins at each position before this one. */
    const uint64_t words_end = length >= sizeof(uint64_t) ? length - sizeof(uint64_t) + 1 : 0;
    uint64_t at = 0, word;
    uint32_t size, code_point;
    for (;;) {
        for (; at < words_end; at += sizeof(word)) {
            memcpy(&word, bytes + at, sizeof(word));
            if ((word & high) != 0) break;
        }
        while (at < length && bytes[at] < 0x80) at++;
        if (at == length) return true;
        size = tn_utf8_decode(bytes + at, length - at, &code_point);
        if (size == 0) return false;
        at += size;
    }
}

/*
 * How many bytes at `text`, where tn_utf8_decode returned 0, one U+FFFD replaces: the longest start of a well-formed
 * character, at least 1 (the WHATWG Encoding standard, and Unicode's "substitution of maximal subparts").
 */
static inline uint64_t tn_utf8_malformed_size(const void *text, uint64_t length) {
    const unsigned char *bytes = TN_UTIL_CAST(const unsigned char *, text);
    uint32_t first = length > 0 ? bytes[0] : 0, size = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
    uint32_t low = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
    uint32_t high = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
    uint64_t at = 1;
    if (first < 0xC2 || first > 0xF4) return length > 0 ? 1 : 0;
    for (; at < size && at < length && bytes[at] >= low && bytes[at] <= high; at++) {
        low = 0x80;
        high = 0xBF;
    }
    return at;
}

/* The largest length of at most `most` bytes that does not end inside a character. `text` is UTF-8. */
static inline uint64_t tn_utf8_cut(const void *text, uint64_t length, uint64_t most) {
    const unsigned char *bytes = TN_UTIL_CAST(const unsigned char *, text);
    if (length <= most) return length;
    while (most > 0 && (bytes[most] & 0xC0) == 0x80) most--;
    return most;
}

/* The length without the start of a character at the end, for UTF-8 that something else has cut, such as snprintf. */
static inline uint64_t tn_utf8_trim(const void *text, uint64_t length) {
    const unsigned char *bytes = TN_UTIL_CAST(const unsigned char *, text);
    uint64_t at = length;
    uint32_t code_point;
    while (at > 0 && length - at < 3 && (bytes[at - 1] & 0xC0) == 0x80) at--;
    if (at == 0 || bytes[at - 1] < 0xC0) return length;
    return tn_utf8_decode(bytes + at - 1, length - at + 1, &code_point) > 0 ? length : at - 1;
}

#ifdef __cplusplus
}
#endif
#endif
