/*
 * delta.c - changes of state. What is compared is identity, not content: the engine shares what it has not changed.
 *
 * Ephemeral channels are kept in the state under their own name while they last; which they are, the state remembers in
 * the member EPHEMERAL, so that applying the next delta can drop them.
 */
#include "host/thread/delta.h"

#define WEIGHT_DEPTH_MAX 64
#define WEIGHT_SCALAR    8

static tn_value array_change(tn_value before, tn_value after) {
    size_t kept = value_common_prefix(before, after);
    if (kept == 0) return value_set_take(value_object_reserve(1), "set", value_ref(after));
    tn_value change = value_set_take(value_object_reserve(2), "keep", value_int((int64_t)kept));
    return value_set_take(change, "add", value_slice(after, kept, value_count(after)));
}

tn_value delta_channel_take(tn_value delta, tn_value name, tn_value before, tn_value after, bool ephemeral) {
    tn_value change;
    if (ephemeral)
        change = value_set_take(value_object_reserve(1), "once", value_ref(after));
    else if (before == after)
        return delta;
    else if (before && value_is(before, TN_ARRAY) && value_is(after, TN_ARRAY))
        change = array_change(before, after);
    else
        change = value_set_take(value_object_reserve(1), "set", value_ref(after));
    return value_set_key_take(delta, value_ref(name), change);
}

static int32_t broken(struct error *error, tn_value name) {
    return error_set(error, TN_INVALID, "INVALID_STATE",
                     "the stored change of the channel `%s` is none that this host knows: the store has been changed "
                     "by something else, or by a newer release",
                     value_chars(name, NULL));
}

/* What the last step had for one step only is gone. */
static tn_value without_ephemeral_take(tn_value state) {
    tn_value names = value_get(state, "");
    if (!names) return state;
    value_ref(names);
    for (size_t i = 0; i < value_count(names); i++) state = value_remove_take(state, value_ref(value_at(names, i)));
    tn_value key = value_text("");
    state = value_remove_take(state, key);
    value_unref(names);
    return state;
}

int32_t delta_apply_take(tn_value state, tn_value delta, tn_value *out, struct error *error) {
    state = without_ephemeral_take(state);
    tn_value names = value_array();
    for (size_t i = 0; value_is(delta, TN_OBJECT) && i < value_count(delta); i++) {
        tn_value name = value_key_at(delta, i), change = value_value_at(delta, i);
        tn_value set = value_get(change, "set"), once = value_get(change, "once"), add = value_get(change, "add");
        tn_value keep = value_get(change, "keep"), before = value_get_key(state, name);
        int64_t kept = 0;
        if (once) names = value_push_take(names, value_ref(name));
        if (set || once) {
            state = value_set_key_take(state, value_ref(name), value_ref(set ? set : once));
        } else if (value_is(add, TN_ARRAY) && keep && value_as_int(keep, &kept) && kept >= 0 &&
                   value_is(before, TN_ARRAY) && (size_t)kept <= value_count(before)) {
            tn_value grown = value_concat_take(value_slice(before, 0, (size_t)kept), value_ref(add));
            state = value_set_key_take(state, value_ref(name), grown);
        } else {
            value_unref(names);
            value_unref(state);
            return broken(error, name);
        }
    }
    *out = value_count(names) ? value_set_take(state, "", names) : state;
    return TN_OK;
}

static int64_t weigh(tn_value value, int depth) {
    size_t length, count;
    int64_t weight = WEIGHT_SCALAR;
    switch (value_kind(value)) {
    case TN_STRING: value_chars(value, &length); return weight + (int64_t)length;
    case TN_BYTES: value_data(value, &length); return weight + (int64_t)length * 4 / 3;
    case TN_ARRAY:
    case TN_OBJECT:
        if (depth == 0) return weight;
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
