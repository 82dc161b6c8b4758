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

struct narrowing {
    struct sql *sql;
    const tn_store *store;
    struct tn_store_text collection;
};

/* ---- Names ---- */

static bool narrow_has_indexes(const tn_store *store, struct tn_store_text collection) {
    for (const struct index *index = store->indexes; index != NULL; index = index->next)
        if (tn_store_text_compare(index->collection, collection) == 0) return true;
    return false;
}

static bool narrow_is_indexed(const tn_store *store, struct tn_store_text collection,
                              const struct tn_store_path *path) {
    for (const struct index *index = store->indexes; index != NULL; index = index->next) {
        if (tn_store_text_compare(index->collection, collection) != 0) continue;
        for (uint64_t i = 0; i < index->count; i++)
            if (tn_store_text_compare(index->paths[i].text, path->text) == 0) return true;
    }
    return false;
}

/* True if the first member of an index is in a condition of the filter that can use the index. */
static bool narrow_filter_has_index(const tn_store *store, struct tn_store_text collection,
                                    const struct tn_store_filter *filter) {
    for (const struct index *index = store->indexes; index != NULL; index = index->next) {
        if (tn_store_text_compare(index->collection, collection) != 0) continue;
        for (uint64_t i = 0; filter != NULL && i < filter->count; i++) {
            enum tn_store_test test = filter->conditions[i].test;
            bool ranged = test != TN_STORE_TEST_ANY && test != TN_STORE_TEST_NE && test != TN_STORE_TEST_EXISTS &&
                          test != TN_STORE_TEST_CONTAINS;
            if (ranged && tn_store_text_compare(index->paths[0].text, filter->conditions[i].path.text) == 0)
                return true;
        }
    }
    return false;
}

/* Without statistics, SQLite's planner may choose the index on (collection, key); `likelihood` prevents that. */
void narrow_collection(struct sql *sql, const tn_store *store, struct tn_store_text collection,
                       const struct tn_store_filter *filter) {
    char *quoted = narrow_has_indexes(store, collection) ? schema_quote(sql->arena, collection, '\'') : NULL;
    bool finds = quoted != NULL && narrow_filter_has_index(store, collection, filter);
    sql_add(sql, finds ? "likelihood(collection = " : "collection = ");
    if (quoted != NULL)
        sql_add(sql, quoted);
    else
        sql_bind_text(sql, collection);
    if (finds) sql_add(sql, ", 0.999)");
}

/* Appends a call of `function` (json_extract or json_type) with the member's path. */
static bool narrow_add_json_call(struct sql *sql, const tn_store *store, struct tn_store_text collection,
                                 const struct tn_store_path *path, const char *function) {
    char *path_sql = NULL;
    if (!schema_json_path(sql->arena, path, &path_sql)) return false;
    struct tn_store_text text = {path_sql, strlen(path_sql)};
    char *quoted = narrow_is_indexed(store, collection, path) ? schema_quote(sql->arena, text, '\'') : NULL;
    sql_add(sql, function);
    sql_add(sql, "(json, ");
    if (quoted != NULL)
        sql_add(sql, quoted);
    else
        sql_bind_text(sql, text);
    sql_add(sql, ")");
    return true;
}

bool narrow_member(struct sql *sql, const tn_store *store, struct tn_store_text collection,
                   const struct tn_store_path *path) {
    return narrow_add_json_call(sql, store, collection, path, "json_extract");
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

typedef bool narrow_test(const struct narrowing *narrowing, const struct tn_store_condition *condition);

static bool narrow_add_member(const struct narrowing *narrowing, const struct tn_store_condition *condition) {
    return narrow_member(narrowing->sql, narrowing->store, narrowing->collection, &condition->path);
}

static bool narrow_eq(const struct narrowing *narrowing, const struct tn_store_condition *condition) {
    struct sql *sql = narrowing->sql;
    int32_t kind = tn.value->kind(condition->operand), truth = 0;
    bool number = kind == TN_INT || kind == TN_DOUBLE;
    if (kind != TN_NULL && !number && !narrow_is_plain(condition->operand)) return false;
    if (!narrow_add_member(narrowing, condition)) return false;
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

static bool narrow_ne(const struct narrowing *narrowing, const struct tn_store_condition *condition) {
    if (tn.value->kind(condition->operand) != TN_NULL || !narrow_add_member(narrowing, condition)) return false;
    sql_add(narrowing->sql, " IS NOT NULL");
    return true;
}

/* SQLite orders numbers before all strings, so a comparison needs a second bound to exclude the other kind. */
static bool narrow_less(const struct narrowing *narrowing, const struct tn_store_condition *condition) {
    struct tn_store_text text = tn_store_text_of(condition->operand);
    if ((text.data != NULL && narrow_has_nul(text)) || !narrow_add_member(narrowing, condition)) return false;
    if (text.data == NULL) {
        sql_add(narrowing->sql, " <= ");
        narrow_add_number(narrowing->sql, condition->operand, INFINITY);
    } else {
        sql_add(narrowing->sql, " BETWEEN '' AND ");
        sql_bind_text(narrowing->sql, text);
    }
    return true;
}

static bool narrow_greater(const struct narrowing *narrowing, const struct tn_store_condition *condition) {
    struct tn_store_text text = tn_store_text_of(condition->operand);
    if ((text.data != NULL && narrow_has_nul(text)) || !narrow_add_member(narrowing, condition)) return false;
    sql_add(narrowing->sql, " >= ");
    if (text.data != NULL) {
        sql_bind_text(narrowing->sql, text);
        return true;
    }
    narrow_add_number(narrowing->sql, condition->operand, -INFINITY);
    sql_add(narrowing->sql, " AND ");
    (void)narrow_add_member(narrowing, condition);
    sql_add(narrowing->sql, " < ''");
    return true;
}

static bool narrow_in(const struct narrowing *narrowing, const struct tn_store_condition *condition) {
    struct sql *sql = narrowing->sql;
    tn_value list = condition->operand;
    bool has_null = false;
    for (uint64_t i = 0; i < tn.value->count(list); i++) {
        if (tn.value->kind(tn.value->at(list, i)) == TN_NULL)
            has_null = true;
        else if (!narrow_is_plain(tn.value->at(list, i)))
            return false;
    }
    if (!narrow_add_member(narrowing, condition)) return false;
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
    (void)narrow_add_member(narrowing, condition);
    sql_add(sql, " IS NULL");
    return true;
}

static bool narrow_exists(const struct narrowing *narrowing, const struct tn_store_condition *condition) {
    int32_t truth = 0;
    (void)tn.value->as_bool(condition->operand, &truth);
    if (!narrow_add_json_call(narrowing->sql, narrowing->store, narrowing->collection, &condition->path, "json_type"))
        return false;
    sql_add(narrowing->sql, truth ? " IS NOT NULL" : " IS NULL");
    return true;
}

static void narrow_conditions(const struct narrowing *narrowing, const struct tn_store_filter *filter);

static bool narrow_any(const struct narrowing *narrowing, const struct tn_store_condition *condition) {
    struct sql *sql = narrowing->sql;
    sql_add(sql, "0");
    for (uint64_t i = 0; i < condition->count; i++) {
        sql_add(sql, " OR ");
        narrow_conditions(narrowing, condition->filters[i]);
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
static bool narrow_condition(const struct narrowing *narrowing, const struct tn_store_condition *condition,
                             const char *before) {
    struct sql *sql = narrowing->sql;
    uint64_t length = sql->length;
    sql_add(sql, before);
    if (tests[condition->test] != NULL && tests[condition->test](narrowing, condition)) {
        sql_add(sql, ")");
        return true;
    }
    sql->length = length;
    if (sql->text != NULL) sql->text[length] = '\0';
    return false;
}

static void narrow_conditions(const struct narrowing *narrowing, const struct tn_store_filter *filter) {
    bool added = false;
    sql_add(narrowing->sql, "(");
    for (uint64_t i = 0; i < filter->count; i++)
        added |= narrow_condition(narrowing, &filter->conditions[i], added ? " AND (" : "(");
    if (!added) sql_add(narrowing->sql, "1");
    sql_add(narrowing->sql, ")");
}

void narrow_filter(struct sql *sql, const tn_store *store, struct tn_store_text collection,
                   const struct tn_store_filter *filter) {
    struct narrowing narrowing = {sql, store, collection};
    for (uint64_t i = 0; i < filter->count; i++) (void)narrow_condition(&narrowing, &filter->conditions[i], " AND (");
}
