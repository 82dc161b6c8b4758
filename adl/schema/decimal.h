/*
 * decimal.h - exact divisibility of numbers as people write them, for `multipleOf`.
 *
 * A double stands for the shortest decimal that reads back as it: what was written, where that had at most 15 digits.
 * So 0.3 is a multiple of 0.1, and 0.35 is not, whatever their binary forms divide to. Exact at every magnitude.
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
/* Whether `number` is an integer times `divisor`, which must not be 0. */
bool decimal_divides(struct decimal divisor, struct decimal number);

#endif
