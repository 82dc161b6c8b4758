/*
 * scalar.c - plain scalars by the core schema of YAML 1.2.2 (chapter 10.3.2), and numbers for both formats.
 *
 * Numbers that are not short integers are read by json_read, so that both formats round in the same way, independent of
 * the locale. Spellings that only YAML has (`+1`, `.5`, `5.`, `007`) are rewritten first.
 */
#include "adl/tree/tree_build.h"
#include "adl/value/buffer.h"
#include "adl/value/json.h"
#include <math.h>
#include <string.h>

#define SHORT_DIGITS 18 /* so many decimal digits always fit int64 */

static bool scalar_is_digit(char c) { return c >= '0' && c <= '9'; }

tn_value scalar_number(const char *text, size_t length) {
    size_t i = 0;
    bool negative = length > 0 && text[0] == '-';
    if (negative) i++;
    if (length - i >= 1 && length - i <= SHORT_DIGITS) {
        int64_t number = 0;
        size_t at = i;
        while (at < length && scalar_is_digit(text[at])) number = number * 10 + (text[at++] - '0');
        if (at == length && !(negative && number == 0)) return value_int(negative ? -number : number);
    }
    tn_value value = NULL;
    return json_read(text, length, NULL, &value, NULL) == TN_OK ? value : NULL;
}

/* Returns the position after the digits at `at`; `at` itself without digits. */
static size_t skip_digits(const char *text, size_t length, size_t at) {
    while (at < length && scalar_is_digit(text[at])) at++;
    return at;
}

/* [-+]? (\. [0-9]+ | [0-9]+ (\. [0-9]*)?) ([eE] [-+]? [0-9]+)?, which covers integers. */
static bool scalar_is_decimal(const char *text, size_t length) {
    size_t at = length > 0 && (text[0] == '-' || text[0] == '+') ? 1 : 0;
    size_t whole = skip_digits(text, length, at);
    bool digits = whole > at;
    at = whole;
    if (at < length && text[at] == '.') {
        size_t fraction = skip_digits(text, length, at + 1);
        if (!digits && fraction == at + 1) return false;
        digits = true;
        at = fraction;
    }
    if (!digits) return false;
    if (at < length && (text[at] == 'e' || text[at] == 'E')) {
        at++;
        if (at < length && (text[at] == '-' || text[at] == '+')) at++;
        size_t exponent = skip_digits(text, length, at);
        if (exponent == at) return false;
        at = exponent;
    }
    return at == length;
}

/* Reads a decimal number after rewriting it to JSON's spelling. */
static tn_value decimal(const char *text, size_t length) {
    struct buffer json;
    buffer_init(&json, SIZE_MAX);
    size_t at = 0;
    if (text[at] == '-') buffer_char(&json, '-');
    if (text[at] == '-' || text[at] == '+') at++;
    size_t whole = skip_digits(text, length, at);
    while (at + 1 < whole && text[at] == '0') at++;
    if (whole == at) buffer_char(&json, '0');
    buffer_append(&json, text + at, whole - at);
    at = whole;
    if (at < length && text[at] == '.') {
        size_t fraction = skip_digits(text, length, at + 1);
        buffer_append(&json, text + at, fraction - at);
        if (fraction == at + 1) buffer_char(&json, '0');
        at = fraction;
    }
    buffer_append(&json, text + at, length - at);
    tn_value value = scalar_number(buffer_cstr(&json), json.length);
    buffer_finish(&json);
    return value;
}

/*
 * Reads the digits after 0o or 0x. *matches is false if a digit does not belong to the base. A number above int64
 * becomes a double.
 */
static tn_value based(const char *text, size_t length, unsigned base, bool *matches) {
    uint64_t number = 0;
    double wide = 0;
    bool fits = true;
    *matches = false;
    if (length == 0) return NULL;
    for (size_t i = 0; i < length; i++) {
        char c = text[i];
        unsigned digit = scalar_is_digit(c)       ? (unsigned)(c - '0')
                         : (c >= 'a' && c <= 'f') ? (unsigned)(c - 'a') + 10
                         : (c >= 'A' && c <= 'F') ? (unsigned)(c - 'A') + 10
                                                  : base;
        if (digit >= base) return NULL;
        fits = fits && number <= ((uint64_t)INT64_MAX - digit) / base;
        if (fits) number = number * base + digit;
        wide = wide * base + digit;
    }
    *matches = true;
    if (fits) return value_int((int64_t)number);
    return isfinite(wide) ? value_double(wide) : NULL;
}

static bool is_one_of(const char *text, size_t length, const char *const *words) {
    for (; *words; words++)
        if (strlen(*words) == length && memcmp(*words, text, length) == 0) return true;
    return false;
}

tn_value scalar_plain(const char *text, size_t length) {
    static const char *const nulls[] = {"", "~", "null", "Null", "NULL", NULL};
    static const char *const trues[] = {"true", "True", "TRUE", NULL};
    static const char *const falses[] = {"false", "False", "FALSE", NULL};
    static const char *const infinite[] = {".inf", ".Inf", ".INF", ".nan", ".NaN", ".NAN", NULL};
    char first = length > 0 ? text[0] : '~';
    if (strchr("~nNtTfF", first)) {
        if (is_one_of(text, length, nulls)) return value_null();
        if (is_one_of(text, length, trues)) return value_bool(true);
        if (is_one_of(text, length, falses)) return value_bool(false);
    } else if (scalar_is_digit(first) || first == '-' || first == '+' || first == '.') {
        size_t sign = first == '-' || first == '+' ? 1 : 0;
        if (length > 2 && first == '0' && (text[1] == 'o' || text[1] == 'x')) {
            bool matches;
            tn_value value = based(text + 2, length - 2, text[1] == 'o' ? 8 : 16, &matches);
            if (matches) return value;
        }
        if (is_one_of(text + sign, length - sign, infinite) && !(sign && (text[sign + 1] | 0x20) == 'n')) return NULL;
        if (scalar_is_decimal(text, length)) return decimal(text, length);
    }
    return value_string(text, length);
}
