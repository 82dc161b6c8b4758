/*
 * narrow.c - filters as SQL.
 *
 * Each test of filter.h has a condition that holds wherever it does. Numbers that are not exact everywhere are looked
 * for in a small range around them; strings with a NUL, which some releases of SQLite cut there, are not looked for.
 */
#include "narrow.h"
#include "schema.h"
#include <math.h>

#define EXACT 9007199254740992.0 /* every integer up to here is a double */

struct narrowing {
    struct sql *sql;
    const tn_store *store;
    struct text collection;
};

/* ---- Names ---- */

static bool has_indexes(const tn_store *store, struct text collection) {
    for (const struct index *index = store->indexes; index != NULL; index = index->next)
        if (text_compare(index->collection, collection) == 0) return true;
    return false;
}

static bool is_indexed(const tn_store *store, struct text collection, const struct path *path) {
    for (const struct index *index = store->indexes; index != NULL; index = index->next) {
        if (text_compare(index->collection, collection) != 0) continue;
        for (uint64_t i = 0; i < index->count; i++)
            if (text_compare(index->paths[i].text, path->text) == 0) return true;
    }
    return false;
}

/* Is there an index that the filter could begin with? */
static bool finds_index(const tn_store *store, struct text collection, const struct filter *filter) {
    for (const struct index *index = store->indexes; index != NULL; index = index->next) {
        if (text_compare(index->collection, collection) != 0) continue;
        for (uint64_t i = 0; filter != NULL && i < filter->count; i++) {
            enum filter_test test = filter->conditions[i].test;
            bool ranged = test != TEST_ANY && test != TEST_NE && test != TEST_EXISTS && test != TEST_CONTAINS;
            if (ranged && text_compare(index->paths[0].text, filter->conditions[i].path.text) == 0) return true;
        }
    }
    return false;
}

/* A planner without statistics takes the collection for as good a reason as a member to choose an index by. */
void narrow_collection(struct sql *sql, const tn_store *store, struct text collection, const struct filter *filter) {
    char *quoted = has_indexes(store, collection) ? schema_quote(sql->arena, collection, '\'') : NULL;
    bool finds = quoted != NULL && finds_index(store, collection, filter);
    sql_add(sql, finds ? "likelihood(collection = " : "collection = ");
    if (quoted != NULL)
        sql_add(sql, quoted);
    else
        sql_text(sql, collection);
    if (finds) sql_add(sql, ", 0.999)");
}

static bool call(struct sql *sql, const tn_store *store, struct text collection, const struct path *path,
                 const char *function) {
    char *said = NULL;
    if (!schema_path(sql->arena, path, &said)) return false;
    struct text text = {said, strlen(said)};
    char *quoted = is_indexed(store, collection, path) ? schema_quote(sql->arena, text, '\'') : NULL;
    sql_add(sql, function);
    sql_add(sql, "(json, ");
    if (quoted != NULL)
        sql_add(sql, quoted);
    else
        sql_text(sql, text);
    sql_add(sql, ")");
    return true;
}

bool narrow_member(struct sql *sql, const tn_store *store, struct text collection, const struct path *path) {
    return call(sql, store, collection, path, "json_extract");
}

/* ---- Values ---- */

static bool has_nul(struct text text) { return memchr(text.data, '\0', text.length) != NULL; }

static bool is_exact(tn_value number) {
    double real = 0;
    return tn.value->as_double(number, &real) == TN_OK && fabs(real) < EXACT && trunc(real) == real;
}

/* One that can be looked for by equality as it is. */
static bool is_plain(tn_value value) {
    switch (tn.value->kind(value)) {
    case TN_BOOL: return true;
    case TN_INT:
    case TN_DOUBLE: return is_exact(value);
    case TN_STRING: return !has_nul(text_of(value));
    default: return false;
    }
}

/* Away from zero or towards it, further than two ways of reading one number can be apart. */
static double beside(tn_value number, double way) {
    double real = 0;
    (void)tn.value->as_double(number, &real);
    for (int i = 0; i < 4; i++) real = nextafter(real, way);
    return real;
}

static void add_number(struct sql *sql, tn_value number, double way) {
    int64_t integer = 0;
    if (!is_exact(number))
        sql_double(sql, beside(number, way));
    else if (tn.value->as_int(number, &integer) == TN_OK)
        sql_int(sql, integer);
}

/* ---- Tests: false where nothing was added ---- */

typedef bool narrow_test(const struct narrowing *narrowing, const struct condition *condition);

static bool add_member(const struct narrowing *narrowing, const struct condition *condition) {
    return narrow_member(narrowing->sql, narrowing->store, narrowing->collection, &condition->path);
}

static bool narrow_eq(const struct narrowing *narrowing, const struct condition *condition) {
    struct sql *sql = narrowing->sql;
    int32_t kind = tn.value->kind(condition->operand), truth = 0;
    bool number = kind == TN_INT || kind == TN_DOUBLE;
    if (kind != TN_NULL && !number && !is_plain(condition->operand)) return false;
    if (!add_member(narrowing, condition)) return false;
    if (kind == TN_NULL) {
        sql_add(sql, " IS NULL");
    } else if (kind == TN_STRING) {
        sql_add(sql, " = ");
        sql_text(sql, text_of(condition->operand));
    } else if (kind == TN_BOOL) {
        (void)tn.value->as_bool(condition->operand, &truth);
        sql_add(sql, truth ? " = 1" : " = 0");
    } else if (is_exact(condition->operand)) {
        sql_add(sql, " = ");
        add_number(sql, condition->operand, 0);
    } else {
        sql_add(sql, " BETWEEN ");
        add_number(sql, condition->operand, -INFINITY);
        sql_add(sql, " AND ");
        add_number(sql, condition->operand, INFINITY);
    }
    return true;
}

static bool narrow_ne(const struct narrowing *narrowing, const struct condition *condition) {
    if (tn.value->kind(condition->operand) != TN_NULL || !add_member(narrowing, condition)) return false;
    sql_add(narrowing->sql, " IS NOT NULL");
    return true;
}

/* Numbers stand before all strings, so that each kind has a second end. */
static bool narrow_less(const struct narrowing *narrowing, const struct condition *condition) {
    struct text text = text_of(condition->operand);
    if ((text.data != NULL && has_nul(text)) || !add_member(narrowing, condition)) return false;
    if (text.data == NULL) {
        sql_add(narrowing->sql, " <= ");
        add_number(narrowing->sql, condition->operand, INFINITY);
    } else {
        sql_add(narrowing->sql, " BETWEEN '' AND ");
        sql_text(narrowing->sql, text);
    }
    return true;
}

static bool narrow_greater(const struct narrowing *narrowing, const struct condition *condition) {
    struct text text = text_of(condition->operand);
    if ((text.data != NULL && has_nul(text)) || !add_member(narrowing, condition)) return false;
    sql_add(narrowing->sql, " >= ");
    if (text.data != NULL) {
        sql_text(narrowing->sql, text);
        return true;
    }
    add_number(narrowing->sql, condition->operand, -INFINITY);
    sql_add(narrowing->sql, " AND ");
    (void)add_member(narrowing, condition);
    sql_add(narrowing->sql, " < ''");
    return true;
}

static bool narrow_in(const struct narrowing *narrowing, const struct condition *condition) {
    struct sql *sql = narrowing->sql;
    tn_value list = condition->operand;
    bool nothing = false;
    for (uint64_t i = 0; i < tn.value->count(list); i++) {
        if (tn.value->kind(tn.value->at(list, i)) == TN_NULL)
            nothing = true;
        else if (!is_plain(tn.value->at(list, i)))
            return false;
    }
    if (!add_member(narrowing, condition)) return false;
    /* One parameter, however many they are: the statement can be kept. */
    tn_value json = tn.value->to_json(list);
    struct text text = text_of(json);
    char *copy = arena_alloc(sql->arena, text.length + 1);
    sql->failed |= copy == NULL;
    if (copy != NULL) memcpy(copy, text.data, text.length);
    tn_release(json);
    sql_add(sql, " IN (SELECT value FROM json_each(");
    sql_text(sql, (struct text){copy, text.length});
    sql_add(sql, "))");
    if (!nothing) return true;
    sql_add(sql, " OR ");
    (void)add_member(narrowing, condition);
    sql_add(sql, " IS NULL");
    return true;
}

static bool narrow_exists(const struct narrowing *narrowing, const struct condition *condition) {
    int32_t truth = 0;
    (void)tn.value->as_bool(condition->operand, &truth);
    if (!call(narrowing->sql, narrowing->store, narrowing->collection, &condition->path, "json_type")) return false;
    sql_add(narrowing->sql, truth ? " IS NOT NULL" : " IS NULL");
    return true;
}

static void narrow_all(const struct narrowing *narrowing, const struct filter *filter);

static bool narrow_any(const struct narrowing *narrowing, const struct condition *condition) {
    struct sql *sql = narrowing->sql;
    sql_add(sql, "0");
    for (uint64_t i = 0; i < condition->count; i++) {
        sql_add(sql, " OR ");
        narrow_all(narrowing, condition->filters[i]);
    }
    return true;
}

static narrow_test *const tests[] = {
    [TEST_EQ] = narrow_eq,         [TEST_NE] = narrow_ne,      [TEST_LT] = narrow_less, [TEST_LE] = narrow_less,
    [TEST_GT] = narrow_greater,    [TEST_GE] = narrow_greater, [TEST_IN] = narrow_in,   [TEST_ANY] = narrow_any,
    [TEST_EXISTS] = narrow_exists, [TEST_CONTAINS] = NULL,
};

/* A test that adds nothing takes back the bracket before it. */
static bool narrow_one(const struct narrowing *narrowing, const struct condition *condition, const char *before) {
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

static void narrow_all(const struct narrowing *narrowing, const struct filter *filter) {
    bool added = false;
    sql_add(narrowing->sql, "(");
    for (uint64_t i = 0; i < filter->count; i++)
        added |= narrow_one(narrowing, &filter->conditions[i], added ? " AND (" : "(");
    if (!added) sql_add(narrowing->sql, "1");
    sql_add(narrowing->sql, ")");
}

void narrow_filter(struct sql *sql, const tn_store *store, struct text collection, const struct filter *filter) {
    struct narrowing narrowing = {sql, store, collection};
    for (uint64_t i = 0; i < filter->count; i++) (void)narrow_one(&narrowing, &filter->conditions[i], " AND (");
}
