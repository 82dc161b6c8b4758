/*
 * thread_delta.c - changes of state (adl/value/change.h), by channel.
 *
 * The state contains ephemeral channels under their names. Its member "" lists their names, so that the next delta can
 * remove them.
 */
#include "host/data/thread/thread_delta.h"
#include "adl/value/change.h"

tn_value delta_channel_take(tn_value delta, tn_value name, tn_value before, tn_value after, bool ephemeral) {
    tn_value change = before && !ephemeral
                          ? value_change(before, after)
                          : value_set_take(value_object_reserve(1), ephemeral ? "once" : "set", value_ref(after));
    return change ? value_set_key_take(delta, value_ref(name), change) : delta;
}

tn_value delta_of_state(tn_value state, tn_value last) {
    tn_value delta = value_object();
    for (size_t i = 0; value_is(state, TN_OBJECT) && i < value_count(state); i++) {
        tn_value name = value_key_at(state, i);
        bool once = value_get(value_get_key(last, name), "once") != NULL;
        delta = delta_channel_take(delta, name, NULL, value_value_at(state, i), once);
    }
    return delta;
}

static int32_t malformed_delta(struct error *error, tn_value name) {
    return error_set(error, TN_INVALID, "INVALID_STATE",
                     "the saved change of the channel `%s` has an unknown form: another program or a newer release has "
                     "changed the store",
                     value_chars(name, NULL));
}

static int32_t malformed_state_take(tn_value state, struct error *error) {
    value_unref(state);
    return error_set(error, TN_INVALID, "INVALID_STATE",
                     "a saved state or its change is not an object: another program has changed the store");
}

/* Removes the ephemeral channels of the previous super-step. */
static tn_value remove_ephemeral_take(tn_value state) {
    tn_value names = value_get(state, "");
    if (!names) return state;
    value_ref(names);
    for (size_t i = 0; value_is(names, TN_ARRAY) && i < value_count(names); i++)
        if (value_is(value_at(names, i), TN_STRING)) state = value_remove_take(state, value_ref(value_at(names, i)));
    tn_value key = value_text("");
    state = value_remove_take(state, key);
    value_unref(names);
    return state;
}

int32_t delta_apply_take(tn_value state, tn_value delta, tn_value *out, struct error *error) {
    if (!value_is(state, TN_OBJECT) || !value_is(delta, TN_OBJECT)) return malformed_state_take(state, error);
    state = remove_ephemeral_take(state);
    tn_value names = value_array();
    for (size_t i = 0; i < value_count(delta); i++) {
        tn_value name = value_key_at(delta, i), change = value_value_at(delta, i);
        tn_value once = value_get(change, "once"), before = value_get_key(state, name), after;
        if (once) {
            names = value_push_take(names, value_ref(name));
            state = value_set_key_take(state, value_ref(name), value_ref(once));
            continue;
        }
        if (before) { /* so that it has no other owner, and can be changed in place */
            value_ref(before);
            state = value_set_key_take(state, value_ref(name), value_null());
        }
        if (value_change_apply_take(before, change, &after)) {
            state = value_set_key_take(state, value_ref(name), after);
        } else {
            value_unref(names);
            value_unref(state);
            return malformed_delta(error, name);
        }
    }
    *out = value_count(names) ? value_set_take(state, "", names) : state;
    return TN_OK;
}
