/*
 * remote_store_check.c - compares the results of an isolated store with what tenon/store.h promises.
 *
 * It checks what the host relies on: the length of a batch's result, the members and their kinds, the limit of a list,
 * and that a list by key is in order, continues after its `after` and ends. It cannot check whether records are right.
 */
#include "host/plugin/isolate/remote_store.h"
#include <inttypes.h>
#include <stdio.h>

enum member_kind { MEMBER_COUNT, MEMBER_VERSION, MEMBER_KEY, MEMBER_BOOL, MEMBER_ARRAY, MEMBER_NUMBER, MEMBER_ANY };

struct member {
    const char *name;
    enum member_kind kind;
};

#define MEMBERS_MAX     4u
#define COLLECTIONS_MAX 10000u /* TN_STORE_COLLECTIONS_MAX of tenon/store/backend.h */

/* A row of tables of members, which end with a NULL. */
struct shape {
    const char *name; /* of an operation, or a query */
    struct member members[MEMBERS_MAX];
};

static const struct shape operations[] = {
    {"put", {{"version", MEMBER_VERSION}}},
    {"merge", {{"version", MEMBER_VERSION}, {"value", MEMBER_ANY}}},
    {"delete", {{NULL, MEMBER_ANY}}},
    {"delete_range", {{"count", MEMBER_COUNT}}},
    {"expect", {{"version", MEMBER_COUNT}}},
    {"take", {{"key", MEMBER_KEY}, {"version", MEMBER_VERSION}, {"value", MEMBER_ANY}}},
};

static const struct shape got = {"get", {{"version", MEMBER_VERSION}, {"value", MEMBER_ANY}}};
static const struct shape page = {"list", {{"records", MEMBER_ARRAY}, {"more", MEMBER_BOOL}}};
static const struct shape found = {"search", {{"records", MEMBER_ARRAY}}};
static const struct shape listed = {"", {{"key", MEMBER_KEY}, {"version", MEMBER_VERSION}, {"value", MEMBER_ANY}}};
static const struct shape listed_key = {"", {{"key", MEMBER_KEY}, {"version", MEMBER_VERSION}}};
static const struct shape searched = {
    "", {{"key", MEMBER_KEY}, {"version", MEMBER_VERSION}, {"value", MEMBER_ANY}, {"score", MEMBER_NUMBER}}};
static const struct shape collections = {"collections", {{"collections", MEMBER_ARRAY}}};
static const struct shape format = {"format", {{"version", MEMBER_VERSION}, {"before", MEMBER_COUNT}}};
static const struct shape maintained = {"", {{"removed", MEMBER_COUNT}, {"bytes", MEMBER_COUNT}}};

static const char *const kind_texts[] = {[MEMBER_COUNT] = "an integer of at least 0",
                                         [MEMBER_VERSION] = "an integer of at least 1",
                                         [MEMBER_KEY] = "a string of at most 1024 bytes",
                                         [MEMBER_BOOL] = "true or false",
                                         [MEMBER_ARRAY] = "an array",
                                         [MEMBER_NUMBER] = "a number",
                                         [MEMBER_ANY] = "a value"};

static bool is_of_kind(tn_value value, enum member_kind kind) {
    size_t length;
    switch (kind) {
    case MEMBER_COUNT: return value_is(value, TN_INT) && value_to_int(value) >= 0;
    case MEMBER_VERSION: return value_is(value, TN_INT) && value_to_int(value) >= 1;
    case MEMBER_BOOL: return value_is(value, TN_BOOL);
    case MEMBER_ARRAY: return value_is(value, TN_ARRAY);
    case MEMBER_NUMBER: return value_is_number(value);
    case MEMBER_KEY:
        if (!value_is(value, TN_STRING)) return false;
        value_chars(value, &length);
        return length <= TN_STORE_KEY_MAX;
    default: return value != NULL;
    }
}

static const char *kind_of(tn_value value) { return value ? value_kind_name(value_kind(value)) : "nothing"; }

/* NULL, or what is wrong with `value`, which `where` describes. */
static tn_value shape_check(const struct shape *shape, tn_value value, const char *where) {
    if (!value_is(value, TN_OBJECT)) return value_format("%s must be an object; found %s", where, kind_of(value));
    for (size_t i = 0; i < MEMBERS_MAX && shape->members[i].name; i++) {
        tn_value member = value_get(value, shape->members[i].name);
        if (!is_of_kind(member, shape->members[i].kind))
            return value_format("`%s` of %s must be %s; found %s", shape->members[i].name, where,
                                kind_texts[shape->members[i].kind], kind_of(member));
    }
    return NULL;
}

static const struct shape *operation_shape(tn_value operation) {
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++)
        if (value_text_is(value_get(operation, "op"), operations[i].name)) return &operations[i];
    return NULL;
}

tn_value remote_store_check_commit(tn_value batch, tn_value result) {
    size_t count = value_is(batch, TN_ARRAY) ? value_count(batch) : 0;
    if (!value_is(result, TN_ARRAY)) return value_format("it must be an array; found %s", kind_of(result));
    if (value_count(result) != count)
        return value_format("it has %zu results, but the batch has %zu operations", value_count(result), count);
    for (size_t i = 0; i < count; i++) {
        const struct shape *shape = operation_shape(value_at(batch, i));
        tn_value item = value_at(result, i), key = value_get(item, "key");
        char where[64];
        if (!shape) return value_format("it applied the operation %zu, which does not exist", i);
        if (shape == &operations[5] && value_is(key, TN_NULL)) continue; /* nothing to take */
        snprintf(where, sizeof where, "result %zu, of a `%s`,", i, shape->name);
        tn_value why = shape_check(shape, item, where);
        if (why) return why;
    }
    return NULL;
}

/* Compares keys by their bytes; a string that is shorter precedes one that it begins. */
static bool key_precedes(tn_value a, tn_value b, bool reverse) {
    int order = value_compare_strings(a, b);
    return reverse ? order > 0 : order < 0;
}

/* A host that lists page by page must reach the end: keys continue after `after`, and a page with more is not empty. */
static tn_value check_pages(tn_value list, tn_value records, bool more) {
    tn_value last = value_get(list, "after"), order = value_get(list, "order"), reverse = value_get(list, "reverse");
    if (more && value_count(records) == 0) return value_format("it has `more` and no records");
    if (value_count(order) > 0) return NULL;
    for (size_t i = 0; i < value_count(records); i++) {
        tn_value key = value_get(value_at(records, i), "key");
        if (value_is(last, TN_STRING) && !key_precedes(last, key, value_is(reverse, TN_BOOL) && value_to_bool(reverse)))
            return value_format("the key of record %zu does not follow the one before it", i);
        last = key;
    }
    return NULL;
}

static tn_value check_records(tn_value query, tn_value records, const struct shape *shape) {
    tn_value limit = value_get(query, "limit");
    int64_t most = value_is(limit, TN_INT) ? value_to_int(limit) : TN_STORE_LIMIT;
    if ((int64_t)value_count(records) > most)
        return value_format("it has %zu records; the limit is %" PRId64, value_count(records), most);
    for (size_t i = 0; i < value_count(records); i++) {
        char where[64];
        snprintf(where, sizeof where, "record %zu", i);
        tn_value why = shape_check(shape, value_at(records, i), where);
        if (why) return why;
    }
    return NULL;
}

/* The attributes are optional. */
static tn_value check_attributes(tn_value records) {
    for (size_t i = 0; i < value_count(records); i++) {
        tn_value record = value_at(records, i), text = value_get(record, "text"), vector = value_get(record, "vector"),
                 expires_at = value_get(record, "expires_at");
        if (text && !value_is(text, TN_STRING)) return value_format("`text` of record %zu must be a string", i);
        if (vector && !value_is(vector, TN_ARRAY)) return value_format("`vector` of record %zu must be an array", i);
        if (expires_at && !value_is(expires_at, TN_INT))
            return value_format("`expires_at` of record %zu must be an integer", i);
    }
    return NULL;
}

static tn_value check_list(tn_value list, tn_value result) {
    tn_value keys_only = value_get(list, "keys_only"), why = shape_check(&page, result, "it");
    if (why) return why;
    tn_value records = value_get(result, "records");
    bool no_values = value_is(keys_only, TN_BOOL) && value_to_bool(keys_only);
    why = check_records(list, records, no_values ? &listed_key : &listed);
    if (!why) why = check_attributes(records);
    return why ? why : check_pages(list, records, value_to_bool(value_get(result, "more")));
}

/* `tenon store copy` relies on each name, and on their order. */
static tn_value check_collections(tn_value result) {
    tn_value why = shape_check(&collections, result, "it"), names = value_get(result, "collections");
    if (why) return why;
    if (value_count(names) > COLLECTIONS_MAX)
        return value_format("it has %zu collections; the limit is %u", value_count(names), COLLECTIONS_MAX);
    for (size_t i = 0; i < value_count(names); i++) {
        tn_value name = value_at(names, i);
        if (!is_of_kind(name, MEMBER_KEY))
            return value_format("the name of collection %zu must be %s; found %s", i, kind_texts[MEMBER_KEY],
                                kind_of(name));
        if (i > 0 && !key_precedes(value_at(names, i - 1), name, false))
            return value_format("the name of collection %zu does not follow the one before it", i);
    }
    return NULL;
}

tn_value remote_store_check_query(tn_value query, tn_value result) {
    tn_value list = value_get(query, "list"), search = value_get(query, "search");
    if (list) return check_list(list, result);
    if (search) {
        tn_value why = shape_check(&found, result, "it");
        return why ? why : check_records(search, value_get(result, "records"), &searched);
    }
    if (value_get(query, "collections")) return check_collections(result);
    if (value_get(query, "format")) return shape_check(&format, result, "it");
    if (value_get(query, "get")) return value_is(result, TN_NULL) ? NULL : shape_check(&got, result, "it");
    if (is_of_kind(result, MEMBER_COUNT)) return NULL;
    return value_format("it must be %s; found %s", kind_texts[MEMBER_COUNT], kind_of(result));
}

tn_value remote_store_check_maintain(tn_value argument, tn_value result) {
    (void)argument;
    return shape_check(&maintained, result, "it");
}
