/*
 * weight.c - the approximate size of a value.
 */
#include "adl/value/weight.h"
#include "adl/value/block.h"
#include "adl/value/deferred.h"

#define WEIGHT_DEPTH_MAX 128
#define WEIGHT_SCALAR    8

static int64_t weigh(tn_value value, int depth) {
    size_t length, count;
    int64_t weight = WEIGHT_SCALAR;
    switch (value_kind(value)) {
    case TN_STRING: value_chars(value, &length); return weight + (int64_t)length;
    case TN_BYTES: value_data(value, &length); return weight + (int64_t)length * 4 / 3;
    case TN_ARRAY:
    case TN_OBJECT:
        if (depth == 0) return weight;
        if (value_is_deferred(value)) return deferred_weight(value);
        count = value_count(value);
        for (size_t i = 0; i < count; i++) {
            if (value_is(value, TN_OBJECT)) weight += weigh(value_key_at(value, i), 0);
            weight += weigh(value_is(value, TN_OBJECT) ? value_value_at(value, i) : value_at(value, i), depth - 1);
        }
        return weight;
    default: return weight;
    }
}

int64_t value_weight(tn_value value) { return weigh(value, WEIGHT_DEPTH_MAX); }

bool value_is_deeper(tn_value value, uint32_t depth) {
    int kind = value_kind(value);
    if (kind != TN_ARRAY && kind != TN_OBJECT) return false;
    if (depth == 0) return true;
    for (size_t i = 0, count = value_count(value); i < count; i++)
        if (value_is_deeper(kind == TN_OBJECT ? value_value_at(value, i) : value_at(value, i), depth - 1)) return true;
    return false;
}

bool value_is_large_below(tn_value value, uint32_t depth, int64_t weight) {
    if (depth == 0) return value_weight(value) > weight;
    int kind = value_kind(value);
    if (kind != TN_ARRAY && kind != TN_OBJECT) return false;
    for (size_t i = 0, count = value_count(value); i < count; i++)
        if (value_is_large_below(kind == TN_OBJECT ? value_value_at(value, i) : value_at(value, i), depth - 1, weight))
            return true;
    return false;
}
