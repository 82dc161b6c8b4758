/*
 * number_powers.h - powers of ten as integers of 128 bits, for number.c; private to adl/value and its test.
 *
 *     const struct number_power *tenth = number_power_of_ten(-1);   // 0xcccccccccccccccc, 0xcccccccccccccccd
 *
 * 10^k is between (high × 2^64 + low - 1) × 2^e and (high × 2^64 + low) × 2^e, with e = number_log2_of_ten(k) - 127. It
 * is the latter exactly for k from 0 to NUMBER_POWER_EXACT.
 */
#ifndef TENON_ADL_NUMBER_POWERS_H
#define TENON_ADL_NUMBER_POWERS_H

#include <stdint.h>

#define NUMBER_POWER_MIN   (-342)
#define NUMBER_POWER_MAX   324
#define NUMBER_POWER_EXACT 55

struct number_power {
    uint64_t high, low;
};

extern const struct number_power number_powers[NUMBER_POWER_MAX - NUMBER_POWER_MIN + 1];

static inline const struct number_power *number_power_of_ten(int power) {
    return &number_powers[power - NUMBER_POWER_MIN];
}

/* The largest e with 2^e <= 10^power; a right shift of a negative number rounds down in every supported compiler. */
static inline int number_log2_of_ten(int power) { return (power * 1741647) >> 19; }

#endif
