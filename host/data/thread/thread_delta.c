/*
 * thread_delta.c - changes of state. Values are compared by identity, because the engine shares unchanged values.
 *
 * The state contains ephemeral channels under their names. Its member "" lists their names, so that the next delta can
 * remove them.
 */
#include "host/data/thread/thread_delta.h"

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

static int32_t malformed_delta(struct error *error, tn_value name) {
    return error_set(error, TN_INVALID, "INVALID_STATE",
                     "the saved change of the channel `%s` has an unknown form: another program or a newer release has "
                     "changed the store",
                     value_chars(name, NULL));
}

/* Removes the ephemeral channels of the previous super-step. */
static tn_value remove_ephemeral_take(tn_value state) {
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
    state = remove_ephemeral_take(state);
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
            return malformed_delta(error, name);
        }
    }
    *out = value_count(names) ? value_set_take(state, "", names) : state;
    return TN_OK;
}
