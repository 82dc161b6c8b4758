/*
 * tenon/base64.h - bytes as text (RFC 4648), for services that need it: pictures, signatures, headers.
 *
 *     char *text = tn.core->alloc(tn.host, TN_BASE64_SIZE(length));
 *     char *end = tn_base64_put(text, bytes, length);             // no NUL is written
 *     uint64_t got = tn_base64_take(text, end - text, out, room); // and back
 *
 * Not needed for bytes in JSON: tenon.value reads and writes those itself. Thread: any. Nothing here allocates or
 * fails.
 */
#ifndef TENON_BASE64_H
#define TENON_BASE64_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifdef __cplusplus
#define TN_BASE64_FROM(type, pointer) static_cast<type>(pointer)
#else
#define TN_BASE64_FROM(type, pointer) (pointer)
#endif

/* The most characters that `length` bytes need. */
#define TN_BASE64_SIZE(length) (((length) + 2) / 3 * 4)

/* The characters that both alphabets have. */
#define TN_BASE64_DIGITS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

static inline char *tn_base64_put_with(char *out, const void *bytes, uint64_t length, const char *last_two, bool pad) {
    static const char digits[] = TN_BASE64_DIGITS;
    const unsigned char *from = TN_BASE64_FROM(const unsigned char *, bytes);
    for (uint64_t at = 0; at < length; at += 3) {
        uint64_t left = length - at;
        uint32_t first = from[at], second = left > 1 ? from[at + 1] : 0, third = left > 2 ? from[at + 2] : 0;
        uint32_t group = first << 16 | second << 8 | third;
        for (uint32_t i = 0; i < 4; i++) {
            uint32_t six = group >> (18 - 6 * i) & 63;
            if (i <= left)
                *out++ = six < 62 ? digits[six] : last_two[six - 62];
            else if (pad)
                *out++ = '=';
        }
    }
    return out;
}

/* Writes TN_BASE64_SIZE(length) characters of section 4's alphabet, with padding. Returns the end. */
static inline char *tn_base64_put(char *out, const void *bytes, uint64_t length) {
    return tn_base64_put_with(out, bytes, length, "+/", true);
}

/* Section 5's alphabet, for URLs and tokens, without padding, as in RFC 7515. Returns the end. */
static inline char *tn_base64url_put(char *out, const void *bytes, uint64_t length) {
    return tn_base64_put_with(out, bytes, length, "-_", false);
}

/* The value of a character of either alphabet; 64 for any other character. */
static inline uint32_t tn_base64_sextet(uint32_t code) {
    if (code >= 'A' && code <= 'Z') return code - 'A';
    if (code >= 'a' && code <= 'z') return code - 'a' + 26;
    if (code >= '0' && code <= '9') return code - '0' + 52;
    return code == '+' || code == '-' ? 62 : code == '/' || code == '_' ? 63 : 64;
}

/* Decodes either alphabet until `room` is full or another character follows. Returns the number of bytes. */
static inline uint64_t tn_base64_take(const void *text, uint64_t length, void *out, uint64_t room) {
    const unsigned char *from = TN_BASE64_FROM(const unsigned char *, text);
    unsigned char *to = TN_BASE64_FROM(unsigned char *, out);
    uint32_t group = 0, bits = 0;
    uint64_t used = 0;
    for (uint64_t at = 0; at < length && used < room; at++) {
        uint32_t six = tn_base64_sextet(from[at]);
        if (six == 64) break;
        group = (group << 6 | six) & 0xffff;
        bits += 6;
        if (bits < 8) continue;
        bits -= 8;
        to[used++] = group >> bits & 0xff;
    }
    return used;
}

/* True for one or more characters of section 4's alphabet, with nothing but padding after them. */
static inline bool tn_is_base64(const void *text, uint64_t length) {
    const unsigned char *from = TN_BASE64_FROM(const unsigned char *, text);
    uint64_t at = 0;
    while (at < length && tn_base64_sextet(from[at]) < 64 && from[at] != '-' && from[at] != '_') at++;
    while (at < length && from[at] == '=' && length - at <= 2) at++;
    return at == length && length > 0;
}

#ifdef __cplusplus
}
#endif
#endif
