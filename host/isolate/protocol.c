/*
 * protocol.c - arrays that only grow, told by what is new.
 */
#include "host/isolate/protocol.h"

tn_value protocol_grow(tn_value before, tn_value grown) {
    int64_t from = value_to_int(value_get(grown, "from"));
    tn_value items = value_get(grown, "items"), result = value_ref(before);
    size_t count = value_count(before);
    if (from < 0 || (size_t)from != count) {
        /* Shorter than what is here: begin anew. */
        value_unref(result);
        result = value_array();
        for (size_t i = 0; i < count && (int64_t)i < from; i++)
            result = value_push_take(result, value_ref(value_at(before, i)));
    }
    for (size_t i = 0; i < value_count(items); i++) result = value_push_take(result, value_ref(value_at(items, i)));
    return result;
}

tn_value protocol_grown(tn_value before, tn_value now) {
    if (!value_is(before, TN_ARRAY) || !value_is(now, TN_ARRAY)) return NULL;
    size_t had = value_count(before), count = value_count(now);
    if (!had || count < had) return NULL;
    /* The same items, not equal ones: this costs less than it saves. */
    for (size_t i = 0; i < had; i++)
        if (value_at(before, i) != value_at(now, i)) return NULL;
    tn_value items = value_array();
    for (size_t i = had; i < count; i++) items = value_push_take(items, value_ref(value_at(now, i)));
    tn_value grown = value_set_take(value_object_reserve(2), "from", value_int((int64_t)had));
    return value_set_take(grown, "items", items);
}
