/*
 * weight.h - the approximate size of a value, for limits and for deciding when a snapshot is worth it.
 *
 *     if (value_weight(result) > RESULT_MAX) return error_set(error, TN_LIMIT, ...);
 */
#ifndef TENON_ADL_VALUE_WEIGHT_H
#define TENON_ADL_VALUE_WEIGHT_H

#include "adl/value/value.h"
#include <stdint.h>

/* The approximate number of bytes of the value as JSON. Any thread. */
int64_t value_weight(tn_value value);

#endif
