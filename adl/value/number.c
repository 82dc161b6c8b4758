/*
 * number.c - doubles from text and to text, exactly, in every locale.
 *
 * To text: the shortest decimal that reads back as the double, by Schubfach (Raffaello Giulietti, 2022): three products
 * of 64 by 128 bits give the double and the limits of its rounding interval in units of a power of ten, and decide
 * between four candidates. From text: the algorithm of Eisel and Lemire (2021), which needs one or two such products
 * for up to 19 digits. Both use the table of number_powers.h. Rare cases take the library's printf and strtod, of which
 * only digits are used, never the decimal point of the locale.
 *
 * Debian has two libraries that print shortest doubles, double-conversion and dragonbox; both are C++, so a program in
 * C would need their run-time library or a copy. A text of 17 digits took 1,100 to 1,800 ns with printf and takes 35 ns
 * with Schubfach; the 10 KiB of the table are what it costs (tenon-values write, tests/bench).
 */
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "adl/value/number_powers.h"

#define EXACT_DIGITS 15 /* a whole number of so many digits is a double */
#define EXACT_POWER  22 /* the largest power of ten that is a double */
#define FEW_DECIMALS 4
#define DIGITS_MAX   17 /* of the shortest text of a double */
#define DIGITS_READ  19 /* that fit 64 bits */

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

/* The high bits of a product that decide the rounding, if they are not all ones. */
#define PRODUCT_MASK (UINT64_MAX >> 55)

__extension__ typedef unsigned __int128 wide;

static inline double double_of_bits(uint64_t bits) {
    double number;
    memcpy(&number, &bits, sizeof number);
    return number;
}

/*
 * Returns the bits of the double nearest to digits × 10^exponent. `digits` has 1 to 19 digits and is not 0. That the
 * product of 128 bits always decides is proved in "Fast Number Parsing Without Fallback" (Mushtak and Lemire, 2022).
 */
static uint64_t read_quickly(uint64_t digits, int64_t exponent) {
    const uint64_t infinity = (uint64_t)0x7ff << 52;
    if (exponent < NUMBER_POWER_MIN) return 0; /* below half of the smallest double */
    if (exponent > 308) return infinity;
    int power = (int)exponent, zeros = __builtin_clzll(digits);
    const struct number_power *ten = number_power_of_ten(power);
    /* The proof is about large powers that are rounded down; the low half of none of them is 0. */
    uint64_t ten_low = ten->low - (power > NUMBER_POWER_EXACT);
    digits <<= zeros;
    wide product = (wide)digits * ten->high;
    uint64_t high = (uint64_t)(product >> 64), low = (uint64_t)product;
    if ((high & PRODUCT_MASK) == PRODUCT_MASK) {
        uint64_t more = (uint64_t)((wide)digits * ten_low >> 64);
        low += more;
        high += low < more;
    }
    int top = (int)(high >> 63), shift = top + 64 - 52 - 3;
    uint64_t mantissa = high >> shift;
    int binary = number_log2_of_ten(power) + 63 + top - zeros + 1023;
    if (binary <= 0) { /* subnormal */
        if (-binary + 1 >= 64) return 0;
        mantissa >>= -binary + 1;
        return (mantissa + (mantissa & 1)) >> 1; /* 2^52 is the smallest normal number, as it should be */
    }
    /* Exactly between two doubles: to the even one. */
    if (low <= 1 && power >= -4 && power <= 23 && (mantissa & 3) == 1 && mantissa << shift == high) mantissa--;
    mantissa = (mantissa + (mantissa & 1)) >> 1;
    if (mantissa >> 53) {
        mantissa >>= 1;
        binary++;
    }
    if (binary >= 0x7ff) return infinity;
    return (mantissa & ~((uint64_t)1 << 52)) | (uint64_t)binary << 52;
}

/* The absolute value. */
static double read_slowly_n(const char *text, size_t length) {
    char here[128], *copy = length < sizeof here ? here : mem_alloc(length + 1);
    memcpy(copy, text, length);
    copy[length] = '\0';
    double number = fabs(read_slowly(copy));
    if (copy != here) mem_free(copy);
    return number;
}

bool json_double_read(const char *text, size_t length, double *out) {
    size_t at = 0;
    bool negative = length > 0 && text[0] == '-', fraction = false;
    if (negative) at++;
    uint64_t digits = 0;
    int count = 0;        /* significant digits */
    int64_t exponent = 0; /* power of ten */
    for (; at < length && count < DIGITS_READ; at++) {
        unsigned digit = (unsigned char)text[at] - (unsigned)'0';
        if (digit > 9) {
            if (text[at] != '.') break;
            fraction = true;
            continue;
        }
        digits = digits * 10 + digit;
        count += digits > 0;
        exponent -= fraction;
    }
    if (at < length && (text[at] == 'e' || text[at] == 'E')) {
        bool down = text[++at] == '-';
        if (text[at] == '-' || text[at] == '+') at++;
        int written = 0;
        while (at < length && written < 10000) written = written * 10 + (text[at++] - '0');
        exponent += down ? -written : written;
    }
    double number = 0;
    if (at < length) /* more digits, or an exponent of five */
        number = read_slowly_n(text, length);
    else if (count <= EXACT_DIGITS && exponent >= -EXACT_POWER && exponent <= EXACT_POWER)
        number = exponent < 0 ? (double)digits / powers[-exponent] : (double)digits * powers[exponent];
    else if (digits != 0)
        number = double_of_bits(read_quickly(digits, exponent));
    if (!isfinite(number)) return false;
    *out = negative ? -number : number;
    return true;
}

/* ---- To text ---- */

/* 0.d1d2…dn × 10^point, without a sign. */
struct decimal {
    char digits[DIGITS_MAX + 4];
    int count, point;
};

/* Writes eight digits; four multiplications and no division of 64 bits. */
static void put_eight(char *to, uint32_t number) {
    static const char pairs[] = "00010203040506070809101112131415161718192021222324252627282930313233343536373839"
                                "40414243444546474849505152535455565758596061626364656667686970717273747576777879"
                                "8081828384858687888990919293949596979899";
    uint32_t high = number / 10000, low = number % 10000;
    memcpy(to, pairs + (size_t)(high / 100) * 2, 2);
    memcpy(to + 2, pairs + (size_t)(high % 100) * 2, 2);
    memcpy(to + 4, pairs + (size_t)(low / 100) * 2, 2);
    memcpy(to + 6, pairs + (size_t)(low % 100) * 2, 2);
}

/* Without the zeros at both ends; `integer` is not 0. Parts of eight digits that are only zeros are not written. */
static void decimal_of_integer(struct decimal *decimal, uint64_t integer) {
    const uint64_t eight = 100000000;
    uint64_t upper = integer / eight;
    uint32_t parts[] = {(uint32_t)(upper / eight), (uint32_t)(upper % eight), (uint32_t)(integer % eight)};
    char digits[24] = {0};
    int from = 0, to = 24;
    for (int part = parts[0] ? 0 : parts[1] ? 1 : 2, first = part; part < 3; part++) {
        if (part == first) from = 8 * part;
        if (parts[part] == 0 && (part == 2 || parts[2] == 0)) {
            to = 8 * part;
            break;
        }
        put_eight(digits + (size_t)part * 8, parts[part]);
    }
    while (digits[from] == '0') from++;
    while (digits[to - 1] == '0') to--;
    decimal->count = to - from;
    decimal->point = 24 - from;
    memcpy(decimal->digits, digits + from, (size_t)decimal->count);
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

/*
 * A power of two: its interval is shorter below than above, so the shortest text in it need not be the nearest one of
 * that length. Ours is: the first of 15, 16 or 17 digits that printf writes and that reads back.
 */
static void decimal_of_power_of_two(struct decimal *decimal, double number) {
    if (decimal_shortly(decimal, number)) return;
    for (int count = EXACT_DIGITS; count < DIGITS_MAX; count++) {
        if (!decimal_of_length(decimal, number, count)) continue;
        trim(decimal);
        return;
    }
    (void)decimal_of_length(decimal, number, DIGITS_MAX);
    trim(decimal);
}

/* ten × factor / 2^128, with the lowest bit set if the rest is not 0. */
static inline uint64_t round_to_odd(const struct number_power *ten, uint64_t factor) {
    uint64_t below = (uint64_t)((wide)ten->low * factor >> 64);
    wide product = (wide)ten->high * factor + below;
    return (uint64_t)(product >> 64) | ((uint64_t)product > 1);
}

/* Numbers with at most four decimals, and fifteen digits in all: prices, shares, rounded results. Twice as fast. */
static bool decimal_of_few_decimals(struct decimal *decimal, double number) {
    const double power = powers[FEW_DECIMALS], limit = 1e15;
    double scaled = number * power;
    if (scaled >= limit) return false;
    uint64_t integer = (uint64_t)(scaled + 0.5);
    if (integer == 0 || (double)integer / power != number) return false;
    decimal_of_integer(decimal, integer);
    decimal->point -= FEW_DECIMALS;
    return true;
}

static void decimal_from_double(struct decimal *decimal, double number) {
    if (decimal_of_few_decimals(decimal, number)) return;
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    uint64_t mantissa = bits & (((uint64_t)1 << 52) - 1);
    int binary = (int)(bits >> 52);
    if (mantissa == 0 && binary > 1) {
        decimal_of_power_of_two(decimal, number);
        return;
    }
    /* The number is mantissa × 2^binary. */
    if (binary > 0) mantissa |= (uint64_t)1 << 52;
    binary = (binary > 0 ? binary : 1) - 1075;
    if (binary <= 0 && binary > -53 && (mantissa & (((uint64_t)1 << -binary) - 1)) == 0) {
        decimal_of_integer(decimal, mantissa >> -binary);
        return;
    }
    /* In quarters of 10^power: the number, and the ends of the interval that reads back as it. */
    int power = (binary * 1262611) >> 22; /* the largest with 10^power <= 2^binary */
    int shift = binary + number_log2_of_ten(-power) + 1;
    const struct number_power *ten = number_power_of_ten(-power);
    uint64_t odd = mantissa & 1; /* the ends belong to the interval of an even number */
    uint64_t middle = round_to_odd(ten, 4 * mantissa << shift);
    uint64_t lower = round_to_odd(ten, (4 * mantissa - 2) << shift) + odd;
    uint64_t upper = round_to_odd(ten, (4 * mantissa + 2) << shift) - odd;
    uint64_t whole = middle / 4, tens = whole / 10;
    bool shorter_below = lower <= 40 * tens, shorter_above = 40 * tens + 40 <= upper;
    if (shorter_below != shorter_above) {
        whole = tens + shorter_above;
        power++;
    } else {
        bool below = lower <= 4 * whole, above = 4 * whole + 4 <= upper;
        uint64_t half = 4 * whole + 2;
        whole += below != above ? above : middle > half || (middle == half && (whole & 1));
    }
    decimal_of_integer(decimal, whole);
    decimal->point += power;
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
        int exponent = abs(point - 1);
        if (exponent >= 100) *to++ = (char)('0' + exponent / 100);
        if (exponent >= 10) *to++ = (char)('0' + exponent / 10 % 10);
        *to++ = (char)('0' + exponent % 10);
    }
    *to = '\0';
    return (size_t)(to - out);
}
