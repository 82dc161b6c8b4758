/*
 * utf8.c - UTF-8 as Unicode defines it: no overlong forms, no surrogates, nothing above U+10FFFF.
 */
#include <string.h>

#include "adl/value/json.h"

size_t utf8_decode(const char *text, size_t length, uint32_t *code_point) {
    const unsigned char *bytes = (const unsigned char *)text;
    uint32_t first = bytes[0];
    if (first < 0x80) {
        *code_point = first;
        return 1;
    }
    size_t size = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
    if (first < 0xC2 || first > 0xF4 || size > length) return 0;
    uint32_t code = first & (0x7Fu >> size);
    for (size_t i = 1; i < size; i++) {
        if ((bytes[i] & 0xC0) != 0x80) return 0;
        code = code << 6 | (bytes[i] & 0x3Fu);
    }
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    if (code < least[size] || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) return 0;
    *code_point = code;
    return size;
}

bool utf8_valid(const char *text, size_t length) {
    const uint64_t high = 0x8080808080808080u;
    for (size_t at = 0;;) {
        for (uint64_t word; length - at >= sizeof word; at += sizeof word) {
            memcpy(&word, text + at, sizeof word);
            if ((word & high) != 0) break;
        }
        while (at < length && (unsigned char)text[at] < 0x80) at++;
        if (at == length) return true;
        uint32_t code_point;
        size_t size = utf8_decode(text + at, length - at, &code_point);
        if (size == 0) return false;
        at += size;
    }
}

size_t utf8_encode(uint32_t code_point, char out[4]) {
    if (code_point < 0x80) {
        out[0] = (char)code_point;
        return 1;
    }
    size_t size = code_point < 0x800 ? 2 : code_point < 0x10000 ? 3 : 4;
    for (size_t i = size - 1; i > 0; i--) {
        out[i] = (char)(0x80 | (code_point & 0x3F));
        code_point >>= 6;
    }
    static const unsigned char lead[] = {0, 0, 0xC0, 0xE0, 0xF0};
    out[0] = (char)(lead[size] | code_point);
    return size;
}
