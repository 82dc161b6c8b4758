/*
 * narrow.c - translates filters to SQL.
 *
 * The SQL condition of a test is true for every record that passes the test. SQLite and the host may parse a decimal
 * number to slightly different doubles, so a number that is not an exact integer becomes a small range around it. A
 * test with a string that contains NUL is left out, because some releases of SQLite cut strings at a NUL.
 */
#include "narrow.h"
#include "schema.h"
#include <math.h>

#define EXACT 9007199254740992.0 /* 2^53: every integer up to this is exact as a double */

/* ---- Names ---- */

static bool narrow_order_has_index(const struct collection *collection, const struct tn_store_selection *selection) {
    const struct member *first = selection->order_count > 0 ? catalog_member(collection, &selection->order[0]) : NULL;
    return first != NULL && first->leads;
}

/* True if the first member of an index is in a condition of the filter that can use the index. */
static bool narrow_filter_has_index(const struct collection *collection, const struct tn_store_filter *filter) {
    for (uint64_t i = 0; filter != NULL && i < filter->count; i++) {
        enum tn_store_test test = filter->conditions[i].test;
        bool ranged = test != TN_STORE_TEST_ANY && test != TN_STORE_TEST_NE && test != TN_STORE_TEST_EXISTS &&
                      test != TN_STORE_TEST_CONTAINS;
        const struct member *member = ranged ? catalog_member(collection, &filter->conditions[i].path) : NULL;
        if (member != NULL && member->leads) return true;
    }
    return false;
}

bool narrow_has_index(const struct collection *collection, const struct tn_store_selection *selection) {
    return narrow_filter_has_index(collection, selection->where) || narrow_order_has_index(collection, selection);
}

/* Without statistics, SQLite's planner may choose the index on (collection, key); `likelihood` prevents that. */
void narrow_collection(struct sql *sql, const struct tn_store_selection *selection) {
    const struct collection *collection = sql->collection;
    bool finds = !sql->few && narrow_has_index(collection, selection);
    char number[24];
    sql_add(sql, finds ? "likelihood(collection = " : "collection = ");
    (void)snprintf(number, sizeof number, "%lld", (long long)collection->id);
    if (collection->count > 0)
        sql_add(sql, number);
    else
        sql_bind_int(sql, collection->id);
    if (finds) sql_add(sql, ", 0.999)");
}

static void narrow_add_column(struct sql *sql, const struct member *member) {
    char name[16];
    (void)snprintf(name, sizeof name, "m%d", member->place);
    sql_add(sql, name);
}

/* Appends a call of `function` (json_extract or json_type) with the member's path. */
static bool narrow_add_json_call(struct sql *sql, const struct tn_store_path *path, const char *function) {
    char *path_sql = NULL;
    if (!schema_json_path(sql->arena, path, &path_sql)) return false;
    sql_add(sql, function);
    sql_add(sql, "(json, ");
    sql_bind_text(sql, (struct tn_store_text){path_sql, strlen(path_sql)});
    sql_add(sql, ")");
    return true;
}

bool narrow_member(struct sql *sql, const struct tn_store_path *path) {
    const struct member *member = catalog_member(sql->collection, path);
    if (member == NULL || member->prefix > 0) return narrow_add_json_call(sql, path, "json_extract");
    narrow_add_column(sql, member);
    return true;
}

/* ---- Values ---- */

static bool narrow_has_nul(struct tn_store_text text) { return memchr(text.data, '\0', text.length) != NULL; }

static bool narrow_is_exact(tn_value number) {
    double real = 0;
    return tn.value->as_double(number, &real) == TN_OK && fabs(real) < EXACT && trunc(real) == real;
}

/* True if SQLite's `=` holds whenever filter.h finds a value equal to this one. */
static bool narrow_is_plain(tn_value value) {
    switch (tn.value->kind(value)) {
    case TN_BOOL: return true;
    case TN_INT:
    case TN_DOUBLE: return narrow_is_exact(value);
    case TN_STRING: return !narrow_has_nul(tn_store_text_of(value));
    default: return false;
    }
}

/* Moves the number four doubles towards `direction`: more than two parsers of the same number differ. */
static double narrow_neighbour(tn_value number, double direction) {
    double real = 0;
    (void)tn.value->as_double(number, &real);
    for (int i = 0; i < 4; i++) real = nextafter(real, direction);
    return real;
}

static void narrow_add_number(struct sql *sql, tn_value number, double direction) {
    int64_t integer = 0;
    if (!narrow_is_exact(number))
        sql_bind_double(sql, narrow_neighbour(number, direction));
    else if (tn.value->as_int(number, &integer) == TN_OK)
        sql_bind_int(sql, integer);
}

/* ---- Tests: return false if they append nothing ---- */

typedef bool narrow_test(struct sql *sql, const struct tn_store_condition *condition);

static bool narrow_add_member(struct sql *sql, const struct tn_store_condition *condition) {
    return narrow_member(sql, &condition->path);
}

static bool narrow_eq(struct sql *sql, const struct tn_store_condition *condition) {
    int32_t kind = tn.value->kind(condition->operand), truth = 0;
    bool number = kind == TN_INT || kind == TN_DOUBLE;
    if (kind != TN_NULL && !number && !narrow_is_plain(condition->operand)) return false;
    if (!narrow_add_member(sql, condition)) return false;
    if (kind == TN_NULL) {
        sql_add(sql, " IS NULL");
    } else if (kind == TN_STRING) {
        sql_add(sql, " = ");
        sql_bind_text(sql, tn_store_text_of(condition->operand));
    } else if (kind == TN_BOOL) {
        (void)tn.value->as_bool(condition->operand, &truth);
        sql_add(sql, truth ? " = 1" : " = 0");
    } else if (narrow_is_exact(condition->operand)) {
        sql_add(sql, " = ");
        narrow_add_number(sql, condition->operand, 0);
    } else {
        sql_add(sql, " BETWEEN ");
        narrow_add_number(sql, condition->operand, -INFINITY);
        sql_add(sql, " AND ");
        narrow_add_number(sql, condition->operand, INFINITY);
    }
    return true;
}

static bool narrow_ne(struct sql *sql, const struct tn_store_condition *condition) {
    if (tn.value->kind(condition->operand) != TN_NULL || !narrow_add_member(sql, condition)) return false;
    sql_add(sql, " IS NOT NULL");
    return true;
}

/* SQLite orders numbers before all strings, so a comparison needs a second bound to exclude the other kind. */
static bool narrow_less(struct sql *sql, const struct tn_store_condition *condition) {
    struct tn_store_text text = tn_store_text_of(condition->operand);
    if ((text.data != NULL && narrow_has_nul(text)) || !narrow_add_member(sql, condition)) return false;
    if (text.data == NULL) {
        sql_add(sql, " <= ");
        narrow_add_number(sql, condition->operand, INFINITY);
    } else {
        sql_add(sql, " BETWEEN '' AND ");
        sql_bind_text(sql, text);
    }
    return true;
}

static bool narrow_greater(struct sql *sql, const struct tn_store_condition *condition) {
    struct tn_store_text text = tn_store_text_of(condition->operand);
    if ((text.data != NULL && narrow_has_nul(text)) || !narrow_add_member(sql, condition)) return false;
    sql_add(sql, " >= ");
    if (text.data != NULL) {
        sql_bind_text(sql, text);
        return true;
    }
    narrow_add_number(sql, condition->operand, -INFINITY);
    sql_add(sql, " AND ");
    (void)narrow_add_member(sql, condition);
    sql_add(sql, " < ''");
    return true;
}

static bool narrow_in(struct sql *sql, const struct tn_store_condition *condition) {
    tn_value list = condition->operand;
    bool has_null = false;
    for (uint64_t i = 0; i < tn.value->count(list); i++) {
        if (tn.value->kind(tn.value->at(list, i)) == TN_NULL)
            has_null = true;
        else if (!narrow_is_plain(tn.value->at(list, i)))
            return false;
    }
    if (!narrow_add_member(sql, condition)) return false;
    /* One parameter for any number of values, so that the statement can be cached. */
    tn_value json = tn_to_json(list);
    struct tn_store_text text = tn_store_text_of(json);
    char *copy = tn_arena_alloc(sql->arena, text.length + 1);
    sql->failed |= copy == NULL;
    if (copy != NULL) memcpy(copy, text.data, text.length);
    tn_release(json);
    sql_add(sql, " IN (SELECT value FROM json_each(");
    sql_bind_text(sql, (struct tn_store_text){copy, text.length});
    sql_add(sql, "))");
    if (!has_null) return true;
    sql_add(sql, " OR ");
    (void)narrow_add_member(sql, condition);
    sql_add(sql, " IS NULL");
    return true;
}

static bool narrow_exists(struct sql *sql, const struct tn_store_condition *condition) {
    int32_t truth = 0;
    (void)tn.value->as_bool(condition->operand, &truth);
    if (!narrow_add_json_call(sql, &condition->path, "json_type")) return false;
    sql_add(sql, truth ? " IS NOT NULL" : " IS NULL");
    return true;
}

static void narrow_conditions(struct sql *sql, const struct tn_store_filter *filter);

static bool narrow_any(struct sql *sql, const struct tn_store_condition *condition) {
    sql_add(sql, "0");
    for (uint64_t i = 0; i < condition->count; i++) {
        sql_add(sql, " OR ");
        narrow_conditions(sql, condition->filters[i]);
    }
    return true;
}

static narrow_test *const tests[] = {
    [TN_STORE_TEST_EQ] = narrow_eq,   [TN_STORE_TEST_NE] = narrow_ne,      [TN_STORE_TEST_LT] = narrow_less,
    [TN_STORE_TEST_LE] = narrow_less, [TN_STORE_TEST_GT] = narrow_greater, [TN_STORE_TEST_GE] = narrow_greater,
    [TN_STORE_TEST_IN] = narrow_in,   [TN_STORE_TEST_ANY] = narrow_any,    [TN_STORE_TEST_EXISTS] = narrow_exists,
    [TN_STORE_TEST_CONTAINS] = NULL,
};

/* Appends `before` (which opens a bracket), the test and ")". Appends nothing if SQL cannot express the test. */
static bool narrow_condition(struct sql *sql, const struct tn_store_condition *condition, const char *before) {
    uint64_t length = sql->length;
    sql_add(sql, before);
    if (tests[condition->test] != NULL && tests[condition->test](sql, condition)) {
        sql_add(sql, ")");
        return true;
    }
    sql->length = length;
    if (sql->text != NULL) sql->text[length] = '\0';
    return false;
}

static void narrow_conditions(struct sql *sql, const struct tn_store_filter *filter) {
    bool added = false;
    sql_add(sql, "(");
    for (uint64_t i = 0; i < filter->count; i++)
        added |= narrow_condition(sql, &filter->conditions[i], added ? " AND (" : "(");
    if (!added) sql_add(sql, "1");
    sql_add(sql, ")");
}

/*
 * A column with the start of texts: conditions on the start, so that SQLite can use the index. The whole member is in
 * another condition.
 */
static void narrow_start(struct sql *sql, const struct tn_store_condition *condition) {
    static const char *const operators[] = {
        [TN_STORE_TEST_EQ] = " = ",  [TN_STORE_TEST_LT] = " <= ", [TN_STORE_TEST_LE] = " <= ",
        [TN_STORE_TEST_GT] = " >= ", [TN_STORE_TEST_GE] = " >= ",
    };
    const struct member *member = catalog_member(sql->collection, &condition->path);
    struct tn_store_text text = tn_store_text_of(condition->operand);
    if (member == NULL || member->prefix == 0 || text.data == NULL || condition->test > TN_STORE_TEST_GE ||
        operators[condition->test] == NULL)
        return;
    if (text.length > member->prefix) text.length = member->prefix;
    sql_add(sql, " AND ");
    narrow_add_column(sql, member);
    sql_add(sql, operators[condition->test]);
    sql_bind_text(sql, text);
}

void narrow_filter(struct sql *sql, const struct tn_store_filter *filter) {
    for (uint64_t i = 0; i < filter->count; i++) {
        (void)narrow_condition(sql, &filter->conditions[i], " AND (");
        if (filter->conditions[i].test != TN_STORE_TEST_ANY) narrow_start(sql, &filter->conditions[i]);
    }
}
