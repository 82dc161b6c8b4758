/*
 * store_batch.c - builds the operations of a batch and queries, in the form that tenon/store.h defines.
 */
#include "host/data/store/store.h"

static tn_value new_operation(const char *op, const char *collection, size_t members) {
    tn_value made = value_set_take(value_object_reserve(members), "op", value_text(op));
    return value_set_take(made, "collection", value_text(collection));
}

tn_value store_put(const char *collection, const char *key, tn_value value_take) {
    tn_value made = value_set_take(new_operation("put", collection, 5), "key", value_text(key));
    return value_set_take(made, "value", value_take);
}

tn_value store_merge(const char *collection, const char *key, tn_value patch_take) {
    tn_value made = value_set_take(new_operation("merge", collection, 5), "key", value_text(key));
    return value_set_take(made, "patch", patch_take);
}

tn_value store_delete(const char *collection, const char *key) {
    return value_set_take(new_operation("delete", collection, 3), "key", value_text(key));
}

static tn_value add_range_take(tn_value made, const char *from, const char *to) {
    if (from) made = value_set_take(made, "from", value_text(from));
    return to ? value_set_take(made, "to", value_text(to)) : made;
}

tn_value store_delete_range(const char *collection, const char *from, const char *to) {
    return add_range_take(new_operation("delete_range", collection, 4), from, to);
}

static tn_value add_condition_take(tn_value made, const char *member, tn_value value) {
    tn_value already = value_get(made, "if");
    tn_value condition = already ? value_ref(already) : value_object_reserve(2);
    return value_set_take(made, "if", value_set_take(condition, member, value));
}

tn_value store_if_version(tn_value made, int64_t version) {
    return add_condition_take(made, "version", value_int(version));
}

tn_value store_if_where(tn_value made, tn_value where_take) { return add_condition_take(made, "where", where_take); }

tn_value store_expires_at(tn_value made, int64_t at_ms) { return value_set_take(made, "expires_at", value_int(at_ms)); }

tn_value store_get(const char *collection, const char *key) {
    tn_value made = value_set_take(value_object_reserve(2), "collection", value_text(collection));
    made = value_set_take(made, "key", value_text(key));
    return value_set_take(value_object_reserve(1), "get", made);
}

tn_value store_list(const char *collection, const char *from, const char *to, int64_t limit) {
    tn_value made = value_set_take(value_object_reserve(5), "collection", value_text(collection));
    made = add_range_take(made, from, to);
    made = value_set_take(made, "limit", value_int(limit));
    return value_set_take(value_object_reserve(1), "list", made);
}
