/*
 * decimal.h - exact divisibility of decimal numbers, for `multipleOf`.
 *
 * A double represents the shortest decimal that reads back as it, which is the decimal that the author wrote if that
 * has at most 15 digits. So 0.3 is a multiple of 0.1 and 0.35 is not, although their binary forms are inexact. Exact at
 * every magnitude.
 *
 *     struct decimal cent = decimal_of(value_double(0.01));
 *     bool whole = decimal_divides(cent, decimal_of(price));
 */
#ifndef TENON_ADL_SCHEMA_DECIMAL_H
#define TENON_ADL_SCHEMA_DECIMAL_H

#include "adl/value/value.h"
#include <stdbool.h>
#include <stdint.h>

/* digits × 10^exponent; the sign is dropped; no trailing zeros in digits unless it is 0 (then exponent is 0). */
struct decimal {
    uint64_t digits;
    int32_t exponent;
};

struct decimal decimal_of(tn_value number);
/* True if `number` is an integer multiple of `divisor`, which must not be 0. */
bool decimal_divides(struct decimal divisor, struct decimal number);

#endif
