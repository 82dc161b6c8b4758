/*
 * decimal.c - numbers as digits × 10^exponent, and their remainders without a big-integer type.
 *
 * digits is at most 2^63 (an int64) or has 17 decimal digits (a double), so the sum of two remainders fits 64 bits.
 */
#include "adl/schema/decimal.h"

#include "adl/value/json.h"

static struct decimal trimmed(uint64_t digits, int32_t exponent) {
    if (digits == 0) return (struct decimal){0, 0};
    for (; digits % 10 == 0; digits /= 10) exponent++;
    return (struct decimal){digits, exponent};
}

struct decimal decimal_of(tn_value number) {
    int64_t integer;
    if (value_as_int(number, &integer)) return trimmed(integer < 0 ? 0 - (uint64_t)integer : (uint64_t)integer, 0);
    char text[32];
    size_t length = json_double_text(value_to_double(number), text);
    uint64_t digits = 0;
    int32_t exponent = 0, power = 0;
    bool fraction = false, negative = false;
    size_t i = 0;
    for (; i < length && text[i] != 'e' && text[i] != 'E'; i++) {
        if (text[i] == '.') fraction = true;
        if (text[i] < '0' || text[i] > '9') continue;
        if (digits > UINT64_MAX / 20) { /* only zeros can follow, because 17 digits are significant */
            exponent += !fraction;
            continue;
        }
        digits = digits * 10 + (uint64_t)(text[i] - '0');
        exponent -= fraction;
    }
    for (i++; i < length; i++) {
        if (text[i] == '-') negative = true;
        if (text[i] >= '0' && text[i] <= '9') power = power * 10 + (text[i] - '0');
    }
    return trimmed(digits, exponent + (negative ? -power : power));
}

/* value × 10 modulo modulus; value < modulus <= 2^63 */
static uint64_t times_ten(uint64_t value, uint64_t modulus) {
    uint64_t two = value * 2 % modulus, four = two * 2 % modulus, eight = four * 2 % modulus;
    return (eight + two) % modulus;
}

bool decimal_divides(struct decimal divisor, struct decimal number) {
    if (number.digits == 0) return true;
    int32_t shift = number.exponent - divisor.exponent;
    if (shift < 0) {
        /* number.digits would have to be divisible by 10^-shift, but it has no trailing zero. */
        return false;
    }
    uint64_t rest = number.digits % divisor.digits;
    for (int32_t i = 0; i < shift && rest; i++) rest = times_ten(rest, divisor.digits);
    return rest == 0;
}
