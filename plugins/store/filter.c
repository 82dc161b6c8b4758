/*
 * filter.c - reading FILTERs, and asking them of values.
 *
 * Equality is the host's (1 equals 1.0, deeply); order there is among numbers and among strings. What would never hold
 * because of a mistake (`lt` of an object, `in` without a list) is refused when the filter is read.
 */
#include "filter.h"
#include <math.h>

#define DEPTH_MAX 8 /* of `any` in `any` */

struct reading {
    struct arena *arena;
    const char *what;
    uint64_t conditions; /* so far, of the whole filter */
};

static const char *const test_names[] = {"eq", "ne", "lt", "le", "gt", "ge", "in", "exists", "contains", NULL};

/* ---- Paths ---- */

tn_value path_read(struct arena *arena, tn_value source, const char *what, struct path *out) {
    struct text text = text_of(source);
    struct shown shown;
    if (text.data == NULL)
        return failure("INVALID", "%s: a member path is a string, like \"payload.priority\", and %s was found", what,
                       tn_kind_name(source));
    if (text.length > TN_STORE_KEY_MAX)
        return failure("LIMIT", "%s: the member path `%s` has %llu bytes; at most %d are allowed", what,
                       show(text, &shown), (unsigned long long)text.length, TN_STORE_KEY_MAX);
    if (memchr(text.data, '\0', text.length) != NULL)
        return failure("INVALID", "%s: the member path `%s` has a NUL in it", what, show(text, &shown));
    uint64_t count = 1;
    for (uint64_t i = 0; i < text.length; i++) count += text.data[i] == '.';
    const char **names = arena_alloc(arena, count * sizeof *names);
    char *copy = arena_alloc(arena, text.length + 1);
    if (names == NULL || copy == NULL) return failure_memory();
    memcpy(copy, text.data, text.length);
    names[0] = copy;
    count = 1;
    for (uint64_t i = 0; i < text.length; i++) {
        if (copy[i] != '.') continue;
        copy[i] = '\0';
        names[count++] = copy + i + 1;
    }
    *out = (struct path){text, count, names};
    return NULL;
}

tn_value path_get(const struct path *path, tn_value value) {
    for (uint64_t i = 0; i < path->count && value != NULL; i++) value = tn.value->get(value, path->names[i]);
    return value;
}

/* ---- Reading ---- */

static tn_value read_filter(struct reading *reading, tn_value source, unsigned depth, struct filter **out);

static bool is_number(tn_value value) {
    int32_t kind = tn.value->kind(value);
    return kind == TN_INT || kind == TN_DOUBLE;
}

static tn_value check_operand(const struct reading *reading, const struct condition *condition) {
    const char *name = test_names[condition->test];
    int32_t kind = tn.value->kind(condition->operand);
    struct shown shown;
    const char *path = show(condition->path.text, &shown), *wanted = NULL;
    switch (condition->test) {
    case TEST_LT:
    case TEST_LE:
    case TEST_GT:
    case TEST_GE:
        if (!is_number(condition->operand) && kind != TN_STRING) wanted = "a number or a string";
        break;
    case TEST_IN:
        if (kind != TN_ARRAY) wanted = "an array";
        break;
    case TEST_EXISTS:
        if (kind != TN_BOOL) wanted = "true or false";
        break;
    default: break;
    }
    if (wanted != NULL)
        return failure("INVALID", "%s: `%s`: `%s` needs %s, and %s was found", reading->what, path, name, wanted,
                       tn_kind_name(condition->operand));
    if (condition->test == TEST_IN && tn.value->count(condition->operand) > TN_STORE_IN_MAX)
        return failure("LIMIT", "%s: `%s`: `in` has %llu values; at most %d are allowed", reading->what, path,
                       (unsigned long long)tn.value->count(condition->operand), TN_STORE_IN_MAX);
    return NULL;
}

static tn_value counted(struct reading *reading) {
    if (++reading->conditions <= TN_STORE_FILTER_MAX) return NULL;
    return failure("LIMIT", "%s: the filter has more than %d conditions", reading->what, TN_STORE_FILTER_MAX);
}

/* {lt: 5, ge: 1}: as many conditions; any other value: one. */
static tn_value read_member(struct reading *reading, tn_value name, tn_value wanted, struct condition *out,
                            uint64_t *count) {
    struct condition condition = {.test = TEST_EQ, .operand = wanted};
    struct shown shown, other;
    tn_value why = path_read(reading->arena, name, reading->what, &condition.path);
    bool tests = tn.value->kind(wanted) == TN_OBJECT;
    uint64_t items = tests ? tn.value->count(wanted) : 1;
    if (why == NULL && items == 0)
        why = failure("INVALID",
                      "%s: `%s`: the object has no condition; it can have eq, ne, lt, le, gt, ge, in, exists "
                      "and contains ({eq: {}} is the empty object)",
                      reading->what, show(condition.path.text, &shown));
    for (uint64_t i = 0; why == NULL && i < items; i++) {
        if (tests) {
            tn_value key = NULL;
            (void)tn.value->entry(wanted, i, &key, &condition.operand);
            unsigned test = 0;
            while (test_names[test] != NULL && !text_is(text_of(key), test_names[test])) test++;
            if (test_names[test] == NULL) {
                return failure("INVALID",
                               "%s: `%s`: there is no condition `%s`; there are eq, ne, lt, le, gt, ge, in, exists and "
                               "contains (to compare with an object: {eq: {…}})",
                               reading->what, show(condition.path.text, &shown), show(text_of(key), &other));
            }
            condition.test = (enum filter_test)test;
        }
        why = check_operand(reading, &condition);
        if (why == NULL) why = counted(reading);
        if (why == NULL) out[(*count)++] = condition;
    }
    return why;
}

static tn_value read_any(struct reading *reading, tn_value list, unsigned depth, struct condition *out,
                         uint64_t *count) {
    if (tn.value->kind(list) != TN_ARRAY)
        return failure("INVALID", "%s: `any` is an array of filters, and %s was found", reading->what,
                       tn_kind_name(list));
    uint64_t items = tn.value->count(list);
    tn_value why = items > TN_STORE_FILTER_MAX ? failure("LIMIT", "%s: `any` has %llu filters; at most %d are allowed",
                                                         reading->what, (unsigned long long)items, TN_STORE_FILTER_MAX)
                                               : counted(reading);
    if (why != NULL) return why;
    const struct filter **filters = arena_alloc(reading->arena, (items + 1) * sizeof(void *));
    if (filters == NULL) return failure_memory();
    for (uint64_t i = 0; why == NULL && i < items; i++) {
        struct filter *filter = NULL;
        why = read_filter(reading, tn.value->at(list, i), depth + 1, &filter);
        filters[i] = filter;
    }
    if (why == NULL) out[(*count)++] = (struct condition){.test = TEST_ANY, .count = items, .filters = filters};
    return why;
}

static tn_value read_filter(struct reading *reading, tn_value source, unsigned depth, struct filter **out) {
    if (tn.value->kind(source) != TN_OBJECT)
        return failure("INVALID", "%s: a filter is an object of member paths, and %s was found", reading->what,
                       tn_kind_name(source));
    if (depth > DEPTH_MAX)
        return failure("LIMIT", "%s: the filter has `any` in `any` more than %d deep", reading->what, DEPTH_MAX);
    uint64_t members = tn.value->count(source), room = 0;
    tn_value key = NULL, wanted = NULL, why = NULL;
    for (uint64_t i = 0; i < members && room <= TN_STORE_FILTER_MAX; i++) {
        (void)tn.value->entry(source, i, &key, &wanted);
        room += tn.value->kind(wanted) == TN_OBJECT ? tn.value->count(wanted) + 1 : 1;
    }
    struct condition *conditions = arena_alloc(reading->arena, (room + 1) * sizeof *conditions);
    struct filter *filter = arena_alloc(reading->arena, sizeof *filter);
    if (conditions == NULL || filter == NULL) return failure_memory();
    for (uint64_t i = 0; why == NULL && i < members; i++) {
        (void)tn.value->entry(source, i, &key, &wanted);
        why = text_is(text_of(key), "any") ? read_any(reading, wanted, depth, conditions, &filter->count)
                                           : read_member(reading, key, wanted, conditions, &filter->count);
    }
    filter->conditions = conditions;
    if (why == NULL) *out = filter;
    return why;
}

tn_value filter_read(struct arena *arena, tn_value source, const char *what, struct filter **out) {
    struct reading reading = {arena, what, 0};
    *out = NULL;
    if (source == NULL || tn.value->kind(source) == TN_NULL) return NULL;
    return read_filter(&reading, source, 0, out);
}

/* ---- Asking ---- */

static int sign(bool less, bool greater) { return (int)greater - (int)less; }

static int compare_int_double(int64_t a, double b) {
    if (b >= 9223372036854775808.0) return -1;
    if (b < -9223372036854775808.0) return 1;
    double whole = trunc(b);
    int64_t integer = (int64_t)whole;
    if (a != integer) return sign(a<integer, a> integer);
    return sign(b > whole, b < whole);
}

int number_compare(tn_value a, tn_value b) {
    int64_t i = 0, j = 0;
    double x = 0, y = 0;
    bool whole_a = tn.value->kind(a) == TN_INT, whole_b = tn.value->kind(b) == TN_INT;
    (void)(whole_a ? tn.value->as_int(a, &i) : tn.value->as_double(a, &x));
    (void)(whole_b ? tn.value->as_int(b, &j) : tn.value->as_double(b, &y));
    if (whole_a && whole_b) return sign(i<j, i> j);
    if (whole_a) return compare_int_double(i, y);
    if (whole_b) return -compare_int_double(j, x);
    return sign(x<y, x> y);
}

/* False where the two have no order. */
static bool compare(tn_value a, tn_value b, int *order) {
    if (is_number(a) && is_number(b)) {
        *order = number_compare(a, b);
        return true;
    }
    struct text left = text_of(a), right = text_of(b);
    if (left.data == NULL || right.data == NULL) return false;
    *order = text_compare(left, right);
    return true;
}

static bool equals(tn_value found, tn_value wanted) {
    if (tn.value->kind(wanted) == TN_NULL) return found == NULL || tn.value->kind(found) == TN_NULL;
    return found != NULL && tn.value->equal(found, wanted) == 1;
}

static bool among(tn_value found, tn_value list) {
    for (uint64_t i = 0; i < tn.value->count(list); i++)
        if (equals(found, tn.value->at(list, i))) return true;
    return false;
}

static bool contains(tn_value found, tn_value wanted) {
    if (tn.value->kind(found) != TN_ARRAY) return false;
    for (uint64_t i = 0; i < tn.value->count(found); i++)
        if (tn.value->equal(tn.value->at(found, i), wanted) == 1) return true;
    return false;
}

static bool holds(const struct condition *condition, tn_value value) {
    if (condition->test == TEST_ANY) {
        for (uint64_t i = 0; i < condition->count; i++)
            if (filter_fits(condition->filters[i], value)) return true;
        return false;
    }
    tn_value found = path_get(&condition->path, value);
    int32_t wanted = 0;
    int order = 0;
    switch (condition->test) {
    case TEST_EQ: return equals(found, condition->operand);
    case TEST_NE: return !equals(found, condition->operand);
    case TEST_LT: return compare(found, condition->operand, &order) && order < 0;
    case TEST_LE: return compare(found, condition->operand, &order) && order <= 0;
    case TEST_GT: return compare(found, condition->operand, &order) && order > 0;
    case TEST_GE: return compare(found, condition->operand, &order) && order >= 0;
    case TEST_IN: return among(found, condition->operand);
    case TEST_EXISTS: (void)tn.value->as_bool(condition->operand, &wanted); return (found != NULL) == (wanted != 0);
    case TEST_CONTAINS: return contains(found, condition->operand);
    case TEST_ANY: break;
    }
    return false;
}

bool filter_fits(const struct filter *filter, tn_value value) {
    for (uint64_t i = 0; filter != NULL && i < filter->count; i++)
        if (!holds(&filter->conditions[i], value)) return false;
    return true;
}

/* ---- Ordering ---- */

static int rank(tn_value value) {
    switch (tn.value->kind(value)) {
    case TN_NONE:
    case TN_NULL: return 0;
    case TN_BOOL:
    case TN_INT:
    case TN_DOUBLE: return 1;
    default: return 2;
    }
}

/* Owned. */
static tn_value as_number(tn_value value) {
    int32_t truth = 0;
    return tn.value->as_bool(value, &truth) == TN_OK ? tn_int(truth) : tn_retain(value);
}

static tn_value as_string(tn_value value) {
    return tn.value->kind(value) == TN_STRING ? tn_retain(value) : tn.value->to_json(value);
}

int order_compare(tn_value a, tn_value b) {
    int first = rank(a), second = rank(b), order = 0;
    if (first != second || first == 0) return first - second;
    tn_value left = first == 1 ? as_number(a) : as_string(a), right = first == 1 ? as_number(b) : as_string(b);
    (void)compare(left, right, &order);
    tn_release(left);
    tn_release(right);
    return order;
}
