/*
 * utf8.c - the UTF-8 functions of the SDK, as functions of adl/.
 */
#include "adl/value/json.h"
#include <tenon/util/utf8.h>

size_t utf8_decode(const char *text, size_t length, uint32_t *code_point) {
    return tn_utf8_decode(text, length, code_point);
}

bool utf8_valid(const char *text, size_t length) { return tn_utf8_is_valid(text, length); }

size_t utf8_encode(uint32_t code_point, char out[4]) { return tn_utf8_encode(code_point, out); }
