/*
 * json_scan.h - the tokens of JSON (RFC 8259), shared by the two readers.
 *
 * json_read.c reads a text into values; tree/tree_json.c reads a document with positions and continues after errors.
 * json.h explains why there are two. Both use these functions for white space, strings and numbers, so they accept the
 * same texts. A function returns a fault instead of a message, because each reader has its own messages.
 *
 *     struct json_number number = json_scan_number(at, end);
 *     if (number.fault) return fail(number.end, …);
 *     at = number.end;
 *
 * The functions are inline for speed. They allocate nothing. Thread: any.
 */
#ifndef TENON_ADL_JSON_SCAN_H
#define TENON_ADL_JSON_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum json_fault {
    JSON_FAULT_NONE,
    /* Numbers. */
    JSON_FAULT_NO_DIGIT,     /* no digit after `-`, or at the start */
    JSON_FAULT_LEADING_ZERO, /* `end` is the zero */
    JSON_FAULT_FRACTION,     /* no digit after `.` */
    JSON_FAULT_EXPONENT,     /* no digit in the exponent */
    /* Escapes. */
    JSON_FAULT_END,      /* the text ends after the backslash */
    JSON_FAULT_ESCAPE,   /* an unknown letter after the backslash */
    JSON_FAULT_HEX,      /* not four hexadecimal digits; `end` is the wrong character */
    JSON_FAULT_NO_PAIR,  /* the first half of a surrogate pair without a second escape */
    JSON_FAULT_PAIR_HEX, /* JSON_FAULT_HEX in the second escape of a pair */
    JSON_FAULT_PAIR_LOW, /* the second escape is not the second half of a pair; `end` is its backslash */
    JSON_FAULT_LOW_FIRST /* the second half of a surrogate pair without the first */
};

static inline bool json_is_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

/* ---- Strings ---- */

/* The number of bytes at `at` that a string contains unchanged: ASCII without quote, backslash and control characters.
 */
static inline size_t json_scan_plain(const char *at, const char *end) {
    const uint64_t ones = 0x0101010101010101u, high = ones * 0x80;
    const char *from = at;
    for (; end - at >= 8; at += 8) {
        uint64_t word;
        memcpy(&word, at, sizeof word);
        uint64_t quote = word ^ (ones * '"'), backslash = word ^ (ones * '\\');
        /* Sets the high bit of each byte that is zero or, for word itself, below 0x20 or above 0x7f. */
        uint64_t stop = ((quote - ones) & ~quote) | ((backslash - ones) & ~backslash) | (word - ones * 0x20) | word;
        if ((stop & high) == 0) continue;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
        /* A borrow marks only bytes above its origin, so the lowest mark is right. */
        return (size_t)(at - from) + (size_t)__builtin_ctzll(stop & high) / 8;
#else
        break;
#endif
    }
    while (at < end && (unsigned char)*at >= 0x20 && (unsigned char)*at < 0x80 && *at != '"' && *at != '\\') at++;
    return (size_t)(at - from);
}

struct json_escape {
    const char *end; /* after the escape; with a fault, the place of the fault */
    uint32_t code_point;
    enum json_fault fault;
};

/* Reads four hexadecimal digits. Returns the place after them, or of the first wrong character. */
static inline const char *json_scan_hex(const char *at, const char *end, uint32_t *out) {
    uint32_t code = 0;
    const char *stop = end - at < 4 ? end : at + 4;
    for (; at < stop; at++) {
        char lower = (char)(*at | 0x20);
        if (*at >= '0' && *at <= '9')
            code = code * 16 + (uint32_t)(*at - '0');
        else if (lower >= 'a' && lower <= 'f')
            code = code * 16 + (uint32_t)(lower - 'a' + 10);
        else
            break;
    }
    *out = code;
    return at;
}

/* Reads the escape at `at`, a backslash; a surrogate pair is one escape. */
static inline struct json_escape json_scan_escape(const char *at, const char *end) {
    static const char letters[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
    uint32_t code, low;
    if (end - at < 2) return (struct json_escape){end, 0, JSON_FAULT_END};
    if (at[1] != 'u') {
        const char *letter = at[1] ? strchr(letters, at[1]) : NULL;
        if (!letter) return (struct json_escape){at + 1, 0, JSON_FAULT_ESCAPE};
        return (struct json_escape){at + 2, (uint32_t)(unsigned char)meanings[letter - letters], JSON_FAULT_NONE};
    }
    const char *next = json_scan_hex(at + 2, end, &code);
    if (next != at + 6) return (struct json_escape){next, 0, JSON_FAULT_HEX};
    if (code < 0xD800 || code > 0xDFFF) return (struct json_escape){next, code, JSON_FAULT_NONE};
    if (code > 0xDBFF) return (struct json_escape){at, 0, JSON_FAULT_LOW_FIRST};
    if (end - next < 2 || next[0] != '\\' || next[1] != 'u') return (struct json_escape){at, 0, JSON_FAULT_NO_PAIR};
    const char *after = json_scan_hex(next + 2, end, &low);
    if (after != next + 6) return (struct json_escape){after, 0, JSON_FAULT_PAIR_HEX};
    if (low < 0xDC00 || low > 0xDFFF) return (struct json_escape){next, 0, JSON_FAULT_PAIR_LOW};
    return (struct json_escape){after, 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00), JSON_FAULT_NONE};
}

/* ---- Numbers ---- */

struct json_number {
    const char *end; /* after the number; with a fault, the place of the fault */
    int64_t integer; /* the value, if is_integer */
    enum json_fault fault;
    bool is_integer; /* no fraction, no exponent, and it fits int64 */
};

static inline const char *json_scan_digits(const char *at, const char *end) {
    while (at < end && *at >= '0' && *at <= '9') at++;
    return at;
}

static inline struct json_number json_scan_number(const char *at, const char *end) {
    bool negative = at < end && *at == '-', fits = true;
    const char *first = at + negative;
    uint64_t magnitude = 0;
    for (at = first; at < end && *at >= '0' && *at <= '9'; at++) {
        uint64_t digit = (uint64_t)(*at - '0');
        if (magnitude > (UINT64_MAX - digit) / 10) fits = false;
        magnitude = magnitude * 10 + digit;
    }
    if (at == first) return (struct json_number){.end = at, .fault = JSON_FAULT_NO_DIGIT};
    if (*first == '0' && at - first > 1) return (struct json_number){.end = first, .fault = JSON_FAULT_LEADING_ZERO};
    bool whole = true;
    if (at < end && *at == '.') {
        const char *digits = at + 1;
        at = json_scan_digits(digits, end);
        if (at == digits) return (struct json_number){.end = at, .fault = JSON_FAULT_FRACTION};
        whole = false;
    }
    if (at < end && (*at == 'e' || *at == 'E')) {
        const char *digits = at + 1;
        if (digits < end && (*digits == '+' || *digits == '-')) digits++;
        at = json_scan_digits(digits, end);
        if (at == digits) return (struct json_number){.end = at, .fault = JSON_FAULT_EXPONENT};
        whole = false;
    }
    if (!whole || !fits || magnitude > (uint64_t)INT64_MAX + negative) return (struct json_number){.end = at};
    return (struct json_number){
        .end = at, .is_integer = true, .integer = negative ? (int64_t)(0 - magnitude) : (int64_t)magnitude};
}

#endif
