/*
 * number.c - doubles from text and to text, exactly, in every locale.
 *
 * Both directions have a fast path without the library: up to fifteen digits and powers of ten up to 22 are exact
 * doubles, so one division or multiplication rounds once, and correctly. All other numbers use printf and strtod; only
 * the digits of their texts are used, never the decimal point of the locale.
 */
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "adl/value/json.h"
#include "adl/value/memory.h"

#define EXACT_DIGITS 15
#define EXACT_POWER  22
#define DIGITS_MAX   17

static const double powers[EXACT_POWER + 1] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                               1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

/* ---- From text ---- */

/* strtod in the C locale. glibc always has that locale, so a failure means that memory ran out. */
static double read_slowly(const char *text) {
    static _Atomic(locale_t) kept;
    locale_t locale = atomic_load_explicit(&kept, memory_order_acquire);
    if (locale == NULL) {
        locale_t none = NULL, made = newlocale(LC_ALL_MASK, "C", NULL);
        if (made == NULL) mem_exhausted(0);
        locale = made;
        if (!atomic_compare_exchange_strong_explicit(&kept, &none, made, memory_order_acq_rel, memory_order_acquire)) {
            freelocale(made);
            locale = none;
        }
    }
    return strtod_l(text, NULL, locale);
}

bool json_double_read(const char *text, size_t length, double *out) {
    size_t at = 0;
    bool negative = length > 0 && text[0] == '-';
    if (negative) at++;
    uint64_t digits = 0;
    int count = 0, exponent = 0; /* number of significant digits; power of ten */
    for (bool fraction = false; at < length && count <= EXACT_DIGITS; at++) {
        if (text[at] == '.') {
            fraction = true;
            continue;
        }
        if (text[at] < '0' || text[at] > '9') break;
        digits = digits * 10 + (uint64_t)(text[at] - '0');
        if (digits > 0) count++;
        if (fraction) exponent--;
    }
    if (at < length && (text[at] == 'e' || text[at] == 'E')) {
        bool down = text[++at] == '-';
        if (text[at] == '-' || text[at] == '+') at++;
        int written = 0;
        while (at < length && written < 10000) written = written * 10 + (text[at++] - '0');
        exponent += down ? -written : written;
    }
    if (at == length && count <= EXACT_DIGITS && exponent >= -EXACT_POWER && exponent <= EXACT_POWER) {
        double number = exponent < 0 ? (double)digits / powers[-exponent] : (double)digits * powers[exponent];
        *out = negative ? -number : number;
        return true;
    }
    char here[128], *copy = length < sizeof here ? here : mem_alloc(length + 1);
    memcpy(copy, text, length);
    copy[length] = '\0';
    double number = read_slowly(copy);
    if (copy != here) mem_free(copy);
    if (!isfinite(number)) return false;
    *out = number;
    return true;
}

/* ---- To text ---- */

/* 0.d1d2…dn × 10^point, without a sign. */
struct decimal {
    char digits[DIGITS_MAX + 4];
    int count, point;
};

static void decimal_of_integer(struct decimal *decimal, uint64_t integer) {
    char reversed[20];
    int count = 0;
    do reversed[count++] = (char)('0' + integer % 10);
    while ((integer /= 10) > 0);
    for (int i = 0; i < count; i++) decimal->digits[i] = reversed[count - 1 - i];
    decimal->count = decimal->point = count;
}

static void trim(struct decimal *decimal) {
    while (decimal->count > 1 && decimal->digits[decimal->count - 1] == '0') decimal->count--;
}

/*
 * Numbers of at most fifteen digits, whole or with a fraction. Different decimals of that length are different doubles,
 * so the first one that reads back as the number is the shortest.
 */
static bool decimal_shortly(struct decimal *decimal, double number) {
    const double limit = 1e15;
    if (number >= limit) return false;
    for (int power = 0; power <= EXACT_POWER; power++) {
        double scaled = number * powers[power];
        if (scaled >= limit) return false;
        uint64_t integer = (uint64_t)(scaled + 0.5);
        if (integer > 0 && (double)integer / powers[power] == number) {
            decimal_of_integer(decimal, integer);
            trim(decimal);
            decimal->point -= power;
            return true;
        }
    }
    return false;
}

/* Rounds the number to `count` digits; returns true if the result reads back as the same number. */
static bool decimal_of_length(struct decimal *decimal, double number, int count) {
    char printed[64];
    int length = snprintf(printed, sizeof printed, "%.*e", count - 1, number);
    const char *mark = memchr(printed, 'e', (size_t)length);
    int exponent = atoi(mark + 1);
    /* Printed are one digit, the point (of any length), count - 1 digits, and the exponent mark. */
    decimal->digits[0] = printed[0];
    memcpy(decimal->digits + 1, mark - (count - 1), (size_t)count - 1);
    decimal->count = count;
    decimal->point = exponent + 1;
    char text[64];
    (void)snprintf(text, sizeof text, "%.*se%d", count, decimal->digits, exponent - (count - 1));
    return read_slowly(text) == number;
}

static void decimal_from_double(struct decimal *decimal, double number) {
    if (decimal_shortly(decimal, number)) return;
    /*
     * A normal number that fifteen digits cannot represent needs sixteen or seventeen; a subnormal number may need any
     * count.
     */
    int least = number >= 0x1p-1022 ? EXACT_DIGITS : 1;
    for (int count = least; count < DIGITS_MAX; count++) {
        if (!decimal_of_length(decimal, number, count)) continue;
        trim(decimal);
        return;
    }
    (void)decimal_of_length(decimal, number, DIGITS_MAX);
    trim(decimal);
}

static char *put(char *to, const char *from, int count) {
    if (count <= 0) return to;
    memcpy(to, from, (size_t)count);
    return to + count;
}

static char *put_zeros(char *to, int count) {
    for (; count > 0; count--) *to++ = '0';
    return to;
}

size_t json_double_text(double number, char out[32]) {
    char *to = out;
    if (signbit(number)) *to++ = '-';
    number = fabs(number);
    struct decimal decimal = {.digits = "0", .count = 1, .point = 1};
    if (number != 0) decimal_from_double(&decimal, number);
    int count = decimal.count, point = decimal.point;
    if (point > -4 && point <= 0) { /* 0.000ddd */
        to = put(to, "0.", 2);
        to = put_zeros(to, -point);
        to = put(to, decimal.digits, count);
    } else if (point > 0 && point <= 16) { /* dd.ddd, ddd00.0 */
        int whole = count < point ? count : point;
        to = put(to, decimal.digits, whole);
        to = put_zeros(to, point - whole);
        *to++ = '.';
        to = count > point ? put(to, decimal.digits + point, count - point) : put(to, "0", 1);
    } else { /* d.ddde±xx */
        *to++ = decimal.digits[0];
        if (count > 1) *to++ = '.';
        to = put(to, decimal.digits + 1, count - 1);
        *to++ = 'e';
        if (point <= 0) *to++ = '-';
        struct decimal exponent;
        decimal_of_integer(&exponent, (uint64_t)abs(point - 1));
        to = put(to, exponent.digits, exponent.count);
    }
    *to = '\0';
    return (size_t)(to - out);
}
