/*
 * filter.c - reads FILTERs and applies them to values.
 *
 * Values are equal if the host says so: the comparison is deep, and 1 equals 1.0. `lt`, `le`, `gt` and `ge` compare a
 * number with a number, or a string with a string; for other pairs they are false. An operand of the wrong kind (`lt`
 * with an object, `in` without an array) is an error when the filter is read.
 */
#include <math.h>
#include <tenon/store/filter.h>

#define DEPTH_MAX 8 /* nesting of `any` */

struct reader {
    struct tn_arena *arena;
    const char *what;
    uint64_t conditions; /* read so far, nested filters included */
};

static const char *const test_names[] = {"eq", "ne", "lt", "le", "gt", "ge", "in", "exists", "contains", NULL};

/* ---- Paths ---- */

tn_value tn_store_path_read(struct tn_arena *arena, tn_value source, const char *what, struct tn_store_path *out) {
    struct tn_store_text text = tn_store_text_of(source);
    struct tn_store_excerpt excerpt;
    if (text.data == NULL)
        return tn_store_failure("INVALID", "%s: a member path must be a string, like \"payload.priority\"; found %s",
                                what, tn_kind_name(source));
    if (text.length > TN_STORE_KEY_MAX)
        return tn_store_failure("LIMIT", "%s: the member path `%s` has %llu bytes; at most %d are allowed", what,
                                tn_store_text_excerpt(text, &excerpt), (unsigned long long)text.length,
                                TN_STORE_KEY_MAX);
    if (memchr(text.data, '\0', text.length) != NULL)
        return tn_store_failure("INVALID", "%s: the member path `%s` has a NUL in it", what,
                                tn_store_text_excerpt(text, &excerpt));
    uint64_t count = 1;
    for (uint64_t i = 0; i < text.length; i++) count += text.data[i] == '.';
    const char **names = tn_arena_alloc(arena, count * sizeof *names);
    char *copy = tn_arena_alloc(arena, text.length + 1);
    if (names == NULL || copy == NULL) return tn_store_failure_memory();
    memcpy(copy, text.data, text.length);
    names[0] = copy;
    count = 1;
    for (uint64_t i = 0; i < text.length; i++) {
        if (copy[i] != '.') continue;
        copy[i] = '\0';
        names[count++] = copy + i + 1;
    }
    *out = (struct tn_store_path){text, count, names};
    return NULL;
}

tn_value tn_store_path_get(const struct tn_store_path *path, tn_value value) {
    for (uint64_t i = 0; i < path->count && value != NULL; i++) value = tn_get(value, path->names[i]);
    return value;
}

/* ---- Reading ---- */

static tn_value filter_read_nested(struct reader *reader, tn_value source, unsigned depth,
                                   struct tn_store_filter **out);

static bool filter_is_number(tn_value value) {
    int32_t kind = tn.value->kind(value);
    return kind == TN_INT || kind == TN_DOUBLE;
}

static tn_value filter_check_operand(const struct reader *reader, const struct tn_store_condition *condition) {
    const char *name = test_names[condition->test];
    int32_t kind = tn.value->kind(condition->operand);
    struct tn_store_excerpt excerpt;
    const char *path = tn_store_text_excerpt(condition->path.text, &excerpt), *wanted = NULL;
    switch (condition->test) {
    case TN_STORE_TEST_LT:
    case TN_STORE_TEST_LE:
    case TN_STORE_TEST_GT:
    case TN_STORE_TEST_GE:
        if (!filter_is_number(condition->operand) && kind != TN_STRING) wanted = "a number or a string";
        break;
    case TN_STORE_TEST_IN:
        if (kind != TN_ARRAY) wanted = "an array";
        break;
    case TN_STORE_TEST_EXISTS:
        if (kind != TN_BOOL) wanted = "true or false";
        break;
    default: break;
    }
    if (wanted != NULL)
        return tn_store_failure("INVALID", "%s: `%s`: `%s` needs %s; found %s", reader->what, path, name, wanted,
                                tn_kind_name(condition->operand));
    if (condition->test == TN_STORE_TEST_IN && tn.value->count(condition->operand) > TN_STORE_IN_MAX)
        return tn_store_failure("LIMIT", "%s: `%s`: `in` has %llu values; at most %d are allowed", reader->what, path,
                                (unsigned long long)tn.value->count(condition->operand), TN_STORE_IN_MAX);
    return NULL;
}

static tn_value filter_count_condition(struct reader *reader) {
    if (++reader->conditions <= TN_STORE_FILTER_MAX) return NULL;
    return tn_store_failure("LIMIT", "%s: the filter has more than %d conditions", reader->what, TN_STORE_FILTER_MAX);
}

/* Each member of an object ({lt: 5, ge: 1}) becomes one condition. Any other value becomes one `eq`. */
static tn_value filter_read_member(struct reader *reader, tn_value name, tn_value wanted,
                                   struct tn_store_condition *out, uint64_t *count) {
    struct tn_store_condition condition = {.test = TN_STORE_TEST_EQ, .operand = wanted};
    struct tn_store_excerpt excerpt, other;
    tn_value why = tn_store_path_read(reader->arena, name, reader->what, &condition.path);
    bool tests = tn.value->kind(wanted) == TN_OBJECT;
    uint64_t items = tests ? tn.value->count(wanted) : 1;
    if (why == NULL && items == 0)
        why = tn_store_failure("INVALID",
                               "%s: `%s`: the object has no condition; use eq, ne, lt, le, gt, ge, in, exists "
                               "or contains ({eq: {}} is the empty object)",
                               reader->what, tn_store_text_excerpt(condition.path.text, &excerpt));
    for (uint64_t i = 0; why == NULL && i < items; i++) {
        if (tests) {
            tn_value key = NULL;
            (void)tn.value->entry(wanted, i, &key, &condition.operand);
            unsigned test = 0;
            while (test_names[test] != NULL && !tn_store_text_is(tn_store_text_of(key), test_names[test])) test++;
            if (test_names[test] == NULL) {
                return tn_store_failure("INVALID",
                                        "%s: `%s`: unknown condition `%s`; use eq, ne, lt, le, gt, ge, in, exists or "
                                        "contains (to compare with an object: {eq: {…}})",
                                        reader->what, tn_store_text_excerpt(condition.path.text, &excerpt),
                                        tn_store_text_excerpt(tn_store_text_of(key), &other));
            }
            condition.test = (enum tn_store_test)test;
        }
        why = filter_check_operand(reader, &condition);
        if (why == NULL) why = filter_count_condition(reader);
        if (why == NULL) out[(*count)++] = condition;
    }
    return why;
}

static tn_value filter_read_any(struct reader *reader, tn_value list, unsigned depth, struct tn_store_condition *out,
                                uint64_t *count) {
    if (tn.value->kind(list) != TN_ARRAY)
        return tn_store_failure("INVALID", "%s: `any` must be an array of filters; found %s", reader->what,
                                tn_kind_name(list));
    uint64_t items = tn.value->count(list);
    tn_value why = items > TN_STORE_FILTER_MAX
                       ? tn_store_failure("LIMIT", "%s: `any` has %llu filters; at most %d are allowed", reader->what,
                                          (unsigned long long)items, TN_STORE_FILTER_MAX)
                       : filter_count_condition(reader);
    if (why != NULL) return why;
    const struct tn_store_filter **filters = tn_arena_alloc(reader->arena, (items + 1) * sizeof(void *));
    if (filters == NULL) return tn_store_failure_memory();
    for (uint64_t i = 0; why == NULL && i < items; i++) {
        struct tn_store_filter *filter = NULL;
        why = filter_read_nested(reader, tn.value->at(list, i), depth + 1, &filter);
        filters[i] = filter;
    }
    if (why == NULL)
        out[(*count)++] = (struct tn_store_condition){.test = TN_STORE_TEST_ANY, .count = items, .filters = filters};
    return why;
}

static tn_value filter_read_nested(struct reader *reader, tn_value source, unsigned depth,
                                   struct tn_store_filter **out) {
    if (tn.value->kind(source) != TN_OBJECT)
        return tn_store_failure("INVALID", "%s: a filter must be an object of member paths; found %s", reader->what,
                                tn_kind_name(source));
    if (depth > DEPTH_MAX)
        return tn_store_failure("LIMIT", "%s: the filter has `any` in `any` more than %d deep", reader->what,
                                DEPTH_MAX);
    uint64_t members = tn.value->count(source), capacity = 0;
    tn_value key = NULL, wanted = NULL, why = NULL;
    for (uint64_t i = 0; i < members && capacity <= TN_STORE_FILTER_MAX; i++) {
        (void)tn.value->entry(source, i, &key, &wanted);
        capacity += tn.value->kind(wanted) == TN_OBJECT ? tn.value->count(wanted) + 1 : 1;
    }
    struct tn_store_condition *conditions = tn_arena_alloc(reader->arena, (capacity + 1) * sizeof *conditions);
    struct tn_store_filter *filter = tn_arena_alloc(reader->arena, sizeof *filter);
    if (conditions == NULL || filter == NULL) return tn_store_failure_memory();
    for (uint64_t i = 0; why == NULL && i < members; i++) {
        (void)tn.value->entry(source, i, &key, &wanted);
        why = tn_store_text_is(tn_store_text_of(key), "any")
                  ? filter_read_any(reader, wanted, depth, conditions, &filter->count)
                  : filter_read_member(reader, key, wanted, conditions, &filter->count);
    }
    filter->conditions = conditions;
    if (why == NULL) *out = filter;
    return why;
}

tn_value tn_store_filter_read(struct tn_arena *arena, tn_value source, const char *what, struct tn_store_filter **out) {
    struct reader reader = {arena, what, 0};
    *out = NULL;
    if (source == NULL || tn.value->kind(source) == TN_NULL) return NULL;
    return filter_read_nested(&reader, source, 0, out);
}

/* ---- Matching ---- */

static int order_sign(bool less, bool greater) { return (int)greater - (int)less; }

static int order_compare_int_double(int64_t a, double b) {
    if (b >= 9223372036854775808.0) return -1;
    if (b < -9223372036854775808.0) return 1;
    double truncated = trunc(b);
    int64_t integer = (int64_t)truncated;
    if (a != integer) return order_sign(a<integer, a> integer);
    return order_sign(b > truncated, b < truncated);
}

/* Compares integers and doubles exactly. */
static int order_compare_numbers(tn_value a, tn_value b) {
    int64_t i = 0, j = 0;
    double x = 0, y = 0;
    bool a_is_int = tn.value->kind(a) == TN_INT, b_is_int = tn.value->kind(b) == TN_INT;
    (void)(a_is_int ? tn.value->as_int(a, &i) : tn.value->as_double(a, &x));
    (void)(b_is_int ? tn.value->as_int(b, &j) : tn.value->as_double(b, &y));
    if (a_is_int && b_is_int) return order_sign(i<j, i> j);
    if (a_is_int) return order_compare_int_double(i, y);
    if (b_is_int) return -order_compare_int_double(j, x);
    return order_sign(x<y, x> y);
}

/* Returns false if the two values are not ordered. */
static bool filter_compare(tn_value a, tn_value b, int *order) {
    if (filter_is_number(a) && filter_is_number(b)) {
        *order = order_compare_numbers(a, b);
        return true;
    }
    struct tn_store_text left = tn_store_text_of(a), right = tn_store_text_of(b);
    if (left.data == NULL || right.data == NULL) return false;
    *order = tn_store_text_compare(left, right);
    return true;
}

static bool filter_equals(tn_value found, tn_value wanted) {
    if (tn.value->kind(wanted) == TN_NULL) return found == NULL || tn.value->kind(found) == TN_NULL;
    return found != NULL && tn.value->equal(found, wanted) == 1;
}

static bool filter_is_in(tn_value found, tn_value list) {
    for (uint64_t i = 0; i < tn.value->count(list); i++)
        if (filter_equals(found, tn.value->at(list, i))) return true;
    return false;
}

static bool filter_contains(tn_value found, tn_value wanted) {
    if (tn.value->kind(found) != TN_ARRAY) return false;
    for (uint64_t i = 0; i < tn.value->count(found); i++)
        if (tn.value->equal(tn.value->at(found, i), wanted) == 1) return true;
    return false;
}

static bool condition_matches(const struct tn_store_condition *condition, tn_value value) {
    if (condition->test == TN_STORE_TEST_ANY) {
        for (uint64_t i = 0; i < condition->count; i++)
            if (tn_store_filter_matches(condition->filters[i], value)) return true;
        return false;
    }
    tn_value found = tn_store_path_get(&condition->path, value);
    int32_t wanted = 0;
    int order = 0;
    switch (condition->test) {
    case TN_STORE_TEST_EQ: return filter_equals(found, condition->operand);
    case TN_STORE_TEST_NE: return !filter_equals(found, condition->operand);
    case TN_STORE_TEST_LT: return filter_compare(found, condition->operand, &order) && order < 0;
    case TN_STORE_TEST_LE: return filter_compare(found, condition->operand, &order) && order <= 0;
    case TN_STORE_TEST_GT: return filter_compare(found, condition->operand, &order) && order > 0;
    case TN_STORE_TEST_GE: return filter_compare(found, condition->operand, &order) && order >= 0;
    case TN_STORE_TEST_IN: return filter_is_in(found, condition->operand);
    case TN_STORE_TEST_EXISTS:
        (void)tn.value->as_bool(condition->operand, &wanted);
        return (found != NULL) == (wanted != 0);
    case TN_STORE_TEST_CONTAINS: return filter_contains(found, condition->operand);
    case TN_STORE_TEST_ANY: break;
    }
    return false;
}

bool tn_store_filter_matches(const struct tn_store_filter *filter, tn_value value) {
    for (uint64_t i = 0; filter != NULL && i < filter->count; i++)
        if (!condition_matches(&filter->conditions[i], value)) return false;
    return true;
}

/* ---- Ordering ---- */

static int order_rank(tn_value value) {
    switch (tn.value->kind(value)) {
    case TN_NONE:
    case TN_NULL: return 0;
    case TN_BOOL:
    case TN_INT:
    case TN_DOUBLE: return 1;
    default: return 2;
    }
}

/* Returns a boolean as 0 or 1, and a number unchanged. The caller owns the result. */
static tn_value order_as_number(tn_value value) {
    int32_t truth = 0;
    return tn.value->as_bool(value, &truth) == TN_OK ? tn_int(truth) : tn_retain(value);
}

/* Returns a string unchanged, and another value as JSON. The caller owns the result. */
static tn_value order_as_string(tn_value value) {
    return tn.value->kind(value) == TN_STRING ? tn_retain(value) : tn_to_json(value);
}

int tn_store_order_compare(tn_value a, tn_value b) {
    int first = order_rank(a), second = order_rank(b), order = 0;
    if (first != second || first == 0) return first - second;
    tn_value left = first == 1 ? order_as_number(a) : order_as_string(a),
             right = first == 1 ? order_as_number(b) : order_as_string(b);
    (void)filter_compare(left, right, &order);
    tn_release(left);
    tn_release(right);
    return order;
}
