/*
 * kernel_filter.c - reads the argument `filter`, checks it, and translates it for the store.
 *
 * The limits and the conditions are those of <tenon/store.h>. A store checks them again, because other callers use it,
 * too.
 */
#include "host/data/kernel/kernel_filter.h"
#include "adl/value/buffer.h"
#include "adl/value/nearest.h"
#include <string.h>
#include <tenon/store.h>

#define FILTER_DEPTH_MAX 8 /* nesting of `any` */

struct filter_reader {
    const struct request *request;
    const char *const *members; /* NULL allows any member */
    const char *prefix;
    size_t conditions; /* read so far, nested filters included */
    struct error *error;
};

static int32_t filter_read_object(struct filter_reader *reader, tn_value filter, int depth, tn_value *out);

static int32_t filter_over_limit(const struct filter_reader *reader, const char *what, size_t found, int max) {
    return error_set(reader->error, TN_LIMIT, "LIMIT", "%s: `filter`: %s: found %zu, expected at most %d",
                     reader->request->operation, what, found, max);
}

static int32_t filter_count_condition(struct filter_reader *reader) {
    if (++reader->conditions <= TN_STORE_FILTER_MAX) return TN_OK;
    return filter_over_limit(reader, "the number of conditions", reader->conditions, TN_STORE_FILTER_MAX);
}

/* ---- Member paths ---- */

static int32_t filter_check_member(const struct filter_reader *reader, const char *path) {
    struct nearest nearest;
    const char *const *members = reader->members;
    size_t length = strcspn(path, ".");
    nearest_init(&nearest, path, length);
    for (size_t i = 0; members[i]; i++) {
        if (strlen(members[i]) == length && memcmp(members[i], path, length) == 0) return TN_OK;
        nearest_add_candidate(&nearest, members[i], strlen(members[i]));
    }
    struct buffer all;
    buffer_init(&all, 1024);
    for (size_t i = 0; members[i]; i++) buffer_format(&all, "%s`%s`", i ? ", " : "", members[i]);
    if (nearest_result(&nearest))
        request_invalid(reader->request, reader->error, "filter", "unknown member `%.80s`%s", path,
                        nearest_hint(&nearest).text);
    else
        request_invalid(reader->request, reader->error, "filter", "unknown member `%.80s`; expected %s", path,
                        buffer_cstr(&all));
    buffer_finish(&all);
    return TN_INVALID;
}

static int32_t filter_check_path(const struct filter_reader *reader, const char *path, size_t length) {
    if (strlen(path) != length)
        return request_invalid(reader->request, reader->error, "filter",
                               "the member path that begins with `%.80s` contains U+0000, expected none", path);
    if (strlen(reader->prefix) + length > TN_STORE_KEY_MAX)
        return filter_over_limit(reader, "the bytes of a member path", length,
                                 TN_STORE_KEY_MAX - (int)strlen(reader->prefix));
    return reader->members ? filter_check_member(reader, path) : TN_OK;
}

/* ---- Conditions ---- */

enum filter_operand { OPERAND_ANY, OPERAND_ORDERED, OPERAND_ARRAY, OPERAND_BOOL };

static const struct filter_condition {
    const char *name;
    enum filter_operand operand;
} filter_conditions[] = {{"eq", OPERAND_ANY},     {"ne", OPERAND_ANY},      {"lt", OPERAND_ORDERED},
                         {"le", OPERAND_ORDERED}, {"gt", OPERAND_ORDERED},  {"ge", OPERAND_ORDERED},
                         {"in", OPERAND_ARRAY},   {"exists", OPERAND_BOOL}, {"contains", OPERAND_ANY}};
#define FILTER_CONDITIONS (sizeof filter_conditions / sizeof *filter_conditions)

/* What the operand must be; NULL if it is right. */
static const char *filter_operand_fault(enum filter_operand operand, tn_value value) {
    switch (operand) {
    case OPERAND_ORDERED: return value_is_number(value) || value_is(value, TN_STRING) ? NULL : "a number or a string";
    case OPERAND_ARRAY: return value_is(value, TN_ARRAY) ? NULL : "an array";
    case OPERAND_BOOL: return value_is(value, TN_BOOL) ? NULL : "true or false";
    case OPERAND_ANY: break;
    }
    return NULL;
}

static int32_t filter_unknown_condition(const struct filter_reader *reader, const char *path, tn_value key) {
    struct nearest nearest;
    size_t length;
    const char *name = value_chars(key, &length);
    nearest_init(&nearest, name, length);
    for (size_t i = 0; i < FILTER_CONDITIONS; i++)
        nearest_add_candidate(&nearest, filter_conditions[i].name, strlen(filter_conditions[i].name));
    return request_invalid(reader->request, reader->error, "filter",
                           "`%.80s`: unknown condition `%.80s`%s; expected eq, ne, lt, le, gt, ge, in, exists or "
                           "contains (to compare with "
                           "an object: {eq: {…}})",
                           path, name, nearest_result(&nearest) ? nearest_hint(&nearest).text : "");
}

static int32_t filter_check_condition(struct filter_reader *reader, const char *path, tn_value key, tn_value operand) {
    size_t at = 0;
    while (at < FILTER_CONDITIONS && !value_text_is(key, filter_conditions[at].name)) at++;
    if (at == FILTER_CONDITIONS) return filter_unknown_condition(reader, path, key);
    const char *wanted = filter_operand_fault(filter_conditions[at].operand, operand);
    if (wanted)
        return request_invalid(reader->request, reader->error, "filter", "`%.80s`: `%s`: found %s, expected %s", path,
                               filter_conditions[at].name, value_kind_name(value_kind(operand)), wanted);
    if (filter_conditions[at].operand == OPERAND_ARRAY && value_count(operand) > TN_STORE_IN_MAX)
        return filter_over_limit(reader, "the values of `in`", value_count(operand), TN_STORE_IN_MAX);
    return filter_count_condition(reader);
}

/* Reads what a member is compared with. *out is a new reference. */
static int32_t filter_read_conditions(struct filter_reader *reader, const char *path, tn_value test, tn_value *out) {
    int32_t status = TN_OK;
    if (value_is(test, TN_OBJECT) && value_count(test) == 0)
        return request_invalid(
            reader->request, reader->error, "filter",
            "`%.80s`: found an empty object, expected a value or conditions, for example {ge: 1} (to "
            "compare with the empty object: {eq: {}})",
            path);
    if (!value_is(test, TN_OBJECT) && !value_is(test, TN_ARRAY)) {
        status = filter_count_condition(reader);
        if (status == TN_OK) *out = value_ref(test);
        return status;
    }
    tn_value tests =
        value_is(test, TN_ARRAY) ? value_set_take(value_object_reserve(1), "in", value_ref(test)) : value_ref(test);
    for (size_t i = 0; status == TN_OK && i < value_count(tests); i++)
        status = filter_check_condition(reader, path, value_key_at(tests, i), value_value_at(tests, i));
    if (status == TN_OK)
        *out = tests;
    else
        value_unref(tests);
    return status;
}

/* ---- Filters ---- */

static int32_t filter_read_any(struct filter_reader *reader, tn_value list, int depth, tn_value *out) {
    if (!value_is(list, TN_ARRAY))
        return request_invalid(reader->request, reader->error, "filter",
                               "`any`: found %s, expected an array of filters", value_kind_name(value_kind(list)));
    if (value_count(list) > TN_STORE_FILTER_MAX)
        return filter_over_limit(reader, "the filters of `any`", value_count(list), TN_STORE_FILTER_MAX);
    if (depth >= FILTER_DEPTH_MAX)
        return filter_over_limit(reader, "the nesting of `any`", (size_t)depth + 1, FILTER_DEPTH_MAX);
    int32_t status = filter_count_condition(reader);
    tn_value all = value_array_reserve(value_count(list));
    for (size_t i = 0; status == TN_OK && i < value_count(list); i++) {
        tn_value one = NULL;
        status = filter_read_object(reader, value_at(list, i), depth + 1, &one);
        if (status == TN_OK) all = value_push_take(all, one);
    }
    if (status == TN_OK)
        *out = all;
    else
        value_unref(all);
    return status;
}

static int32_t filter_read_object(struct filter_reader *reader, tn_value filter, int depth, tn_value *out) {
    if (!value_is(filter, TN_OBJECT))
        return request_invalid(reader->request, reader->error, "filter",
                               "found %s, expected an object that maps members to conditions",
                               value_kind_name(value_kind(filter)));
    tn_value made = value_object_reserve(value_count(filter));
    int32_t status = TN_OK;
    for (size_t i = 0; status == TN_OK && i < value_count(filter); i++) {
        tn_value key = value_key_at(filter, i), test = value_value_at(filter, i), is = NULL;
        size_t length;
        const char *path = value_chars(key, &length);
        if (value_text_is(key, "any")) {
            status = filter_read_any(reader, test, depth, &is);
            if (status == TN_OK) made = value_set_take(made, "any", is);
            continue;
        }
        status = filter_check_path(reader, path, length);
        if (status == TN_OK) status = filter_read_conditions(reader, path, test, &is);
        if (status == TN_OK) made = value_set_key_take(made, value_format("%s%s", reader->prefix, path), is);
    }
    if (status == TN_OK)
        *out = made;
    else
        value_unref(made);
    return status;
}

int32_t kernel_filter_read(const struct request *request, const char *const *members, const char *prefix, tn_value *out,
                           struct error *error) {
    struct filter_reader reader = {request, members, prefix, 0, error};
    tn_value filter = request_get(request, "filter");
    *out = NULL;
    return filter ? filter_read_object(&reader, filter, 0, out) : TN_OK;
}
