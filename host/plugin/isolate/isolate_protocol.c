/*
 * isolate_protocol.c - sends only the new items of arrays that grow.
 */
#include "host/plugin/isolate/isolate_protocol.h"

tn_value protocol_grow(tn_value before, tn_value grown) {
    int64_t from = value_to_int(value_get(grown, "from"));
    tn_value items = value_get(grown, "items"), result = value_ref(before);
    size_t count = value_count(before);
    if (from < 0 || (size_t)from != count) {
        /* It starts before the end of `before`: rebuild the array. */
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
    size_t old_count = value_count(before), count = value_count(now);
    if (!old_count || count < old_count) return NULL;
    /* This compares identity, not equality: a deep comparison would cost more than it saves. */
    if (value_common_prefix(before, now) < old_count) return NULL;
    tn_value items = value_array();
    for (size_t i = old_count; i < count; i++) items = value_push_take(items, value_ref(value_at(now, i)));
    tn_value grown = value_set_take(value_object_reserve(2), "from", value_int((int64_t)old_count));
    return value_set_take(grown, "items", items);
}
