/*
 * weight.h - the approximate size of a value, for limits and for deciding when a snapshot is worth it.
 *
 *     if (value_weight(result) > RESULT_MAX) return error_set(error, TN_LIMIT, ...);
 */
#ifndef TENON_ADL_VALUE_WEIGHT_H
#define TENON_ADL_VALUE_WEIGHT_H

#include "adl/value/value.h"
#include <stdbool.h>
#include <stdint.h>

/* The approximate number of bytes of the value as JSON. Any thread. */
int64_t value_weight(tn_value value);
/* True if arrays and objects are nested deeper than `depth` (a number has 0, [1] has 1). Any thread. */
bool value_is_deeper(tn_value value, uint32_t depth);
/* True if a part inside of `depth` arrays and objects weighs more than `weight`. Any thread. */
bool value_is_large_below(tn_value value, uint32_t depth, int64_t weight);

#endif
