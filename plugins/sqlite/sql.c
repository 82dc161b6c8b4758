/*
 * sql.c - builds statements, and implements the SQL functions that they call.
 *
 * A statement is one text with `?` for each value, and a list of the values (struct parameter). Both are in the arena
 * of the request and are appended together, so the n-th value belongs to the n-th `?`. If an allocation fails, `failed`
 * is set, and only sql_prepare returns the error.
 *
 * Each record is checked by filter.h, which the SQL function tn_matches calls. SQL conditions alone would differ for
 * some doubles, for strings with a NUL, and for booleans, which are integers in SQLite. The conditions of narrow.c only
 * reduce the number of records that are checked.
 *
 * The parts of a list of the collection `runs` where `state` is `open`, ordered by `at`, after a given record:
 *
 *     sql_add_where    WHERE collection = ? AND ifnull(expires_at, …) > ? AND [narrow_filter] AND tn_matches(json, ?)
 *     sql_add_after    AND ((AT > ?) OR (AT = ? AND key > ?))
 *     sql_add_order    ORDER BY AT, key
 *
 * AT is the member's column if it is indexed. Otherwise it is json_extract(json, ?) if SQL can express the path
 * (narrow_member), else tn_member(json, ?). If the column only has the start of texts, the order is that of the column
 * first, and then that of the whole member.
 */
#include "sql.h"
#include "narrow.h"
#include "schema.h"
#include <endian.h>
#include <tenon/store/backend.h>

/* Types of the pointers that are bound: SQLite passes a pointer only to a function that asks for the same type. */
#define FILTER_TYPE "tenon filter" /* struct tn_store_filter: the second argument of tn_matches */
#define PATH_TYPE   "tenon path"   /* struct tn_store_path: the second argument of tn_member */

/* ---- Text and parameters ---- */

void sql_init(struct sql *sql, struct tn_arena *arena, const struct collection *collection) {
    *sql = (struct sql){.arena = arena, .collection = collection};
    sql->last = &sql->first;
}

void sql_add(struct sql *sql, const char *text) {
    uint64_t length = strlen(text);
    if (sql->length + length + 1 > sql->capacity) {
        uint64_t capacity = (sql->length + length + 1) * 2 + 500;
        char *larger = tn_arena_alloc(sql->arena, capacity);
        if (larger == NULL) {
            sql->failed = true;
            return;
        }
        if (sql->length > 0) memcpy(larger, sql->text, sql->length);
        sql->text = larger;
        sql->capacity = capacity;
    }
    memcpy(sql->text + sql->length, text, length + 1);
    sql->length += length;
}

/* Appends `?` and a copy of the parameter; what the parameter points to is borrowed. */
static void sql_add_parameter(struct sql *sql, const struct parameter *pattern) {
    struct parameter *parameter = tn_arena_alloc(sql->arena, sizeof *parameter);
    sql->failed |= parameter == NULL;
    if (parameter == NULL) return;
    *parameter = *pattern;
    parameter->next = NULL;
    *sql->last = parameter;
    sql->last = &parameter->next;
    sql_add(sql, "?");
}

void sql_bind_text(struct sql *sql, struct tn_store_text text) {
    sql_add_parameter(sql, &(struct parameter){.kind = BIND_TEXT, .text = text});
}

void sql_bind_int(struct sql *sql, int64_t number) {
    sql_add_parameter(sql, &(struct parameter){.kind = BIND_INT, .integer = number});
}

void sql_bind_double(struct sql *sql, double number) {
    sql_add_parameter(sql, &(struct parameter){.kind = BIND_DOUBLE, .real = number});
}

void sql_bind_blob(struct sql *sql, const void *data, uint64_t length) {
    sql_add_parameter(sql, &(struct parameter){.kind = BIND_BLOB, .text = {data, length}});
}

static void sql_bind_pointer(struct sql *sql, const void *pointer, const char *type) {
    sql_add_parameter(sql, &(struct parameter){.kind = BIND_POINTER, .pointer = pointer, .type = type});
}

tn_value sql_prepare(struct sql *sql, tn_store *store, sqlite3_stmt **out) {
    if (sql->failed) return tn_store_failure_memory();
    tn_value why = database_prepare(store, sql->text, out);
    int at = 1;
    for (const struct parameter *p = sql->first; why == NULL && p != NULL; p = p->next, at++) {
        union {
            const void *from;
            void *to;
        } pointer = {p->pointer}; /* SQLite's parameter is not const; tn_matches and tn_member only read */
        switch (p->kind) {
        case BIND_TEXT: database_bind_text(*out, at, p->text); break;
        case BIND_INT: (void)sqlite3_bind_int64(*out, at, p->integer); break;
        case BIND_DOUBLE: (void)sqlite3_bind_double(*out, at, p->real); break;
        case BIND_BLOB: (void)sqlite3_bind_blob64(*out, at, p->text.data, p->text.length, SQLITE_STATIC); break;
        case BIND_POINTER: (void)sqlite3_bind_pointer(*out, at, pointer.to, p->type, NULL); break;
        }
    }
    return why;
}

/* ---- Parts ---- */

static void sql_add_range(struct sql *sql, const struct tn_store_range *range, const char *key) {
    if (range->from.data != NULL) {
        sql_add(sql, " AND ");
        sql_add(sql, key);
        sql_add(sql, " >= ");
        sql_bind_text(sql, range->from);
    }
    if (range->to.data != NULL) {
        sql_add(sql, " AND ");
        sql_add(sql, key);
        sql_add(sql, " < ");
        sql_bind_text(sql, range->to);
    }
}

tn_value sql_range_is_small(tn_store *store, struct tn_arena *arena, const struct collection *collection,
                            const struct tn_store_range *range, int64_t few, bool *small) {
    sqlite3_stmt *statement = NULL;
    struct sql sql;
    *small = false;
    if (range->from.data == NULL && range->to.data == NULL) return NULL;
    sql_init(&sql, arena, collection);
    sql_add(&sql, "SELECT count(*) FROM (SELECT 1 FROM entries WHERE collection = ");
    sql_bind_int(&sql, collection->id);
    sql_add_range(&sql, range, "key");
    sql_add(&sql, " LIMIT ");
    sql_bind_int(&sql, few + 1);
    sql_add(&sql, ")");
    tn_value why = sql_prepare(&sql, store, &statement);
    if (why == NULL && database_step(store, statement, &why)) *small = sqlite3_column_int64(statement, 0) <= few;
    if (statement != NULL) (void)sqlite3_reset(statement);
    return why;
}

void sql_add_where(struct sql *sql, const struct tn_store_selection *selection, int64_t now) {
    const struct tn_store_range *range = &selection->range;
    sql_add(sql, " WHERE ");
    narrow_collection(sql, selection);
    sql_add_range(sql, range, sql->many ? "+key" : "key"); /* `+`: SQLite uses no index */
    sql_add(sql, " AND ifnull(expires_at, 9223372036854775807) > ");
    sql_bind_int(sql, now);
    if (selection->where == NULL || selection->where->count == 0) return;
    narrow_filter(sql, selection->where);
    sql_add(sql, " AND tn_matches(json, ");
    sql_bind_pointer(sql, selection->where, FILTER_TYPE);
    sql_add(sql, ")");
}

/* ---- Orders ---- */

#define TERMS_MAX (2 * TN_STORE_ORDER_MAX)

/* An expression by which an order sorts. */
struct term {
    const struct tn_store_path *path;
    const struct member *column; /* NULL: the whole member */
};

static unsigned order_terms(const struct sql *sql, const struct tn_store_selection *selection,
                            struct term out[TERMS_MAX]) {
    unsigned count = 0;
    for (uint64_t i = 0; i < selection->order_count && i < TN_STORE_ORDER_MAX; i++) {
        const struct member *member = catalog_member(sql->collection, &selection->order[i]);
        if (member != NULL) out[count++] = (struct term){&selection->order[i], member};
        if (member == NULL || member->prefix > 0) out[count++] = (struct term){&selection->order[i], NULL};
    }
    return count;
}

static void sql_add_term(struct sql *sql, const struct term *term) {
    char name[16];
    if (term->column != NULL) {
        (void)snprintf(name, sizeof name, "m%d", term->column->place);
        sql_add(sql, name);
    } else if (!narrow_member(sql, term->path)) {
        sql_add(sql, "tn_member(json, ");
        sql_bind_pointer(sql, term->path, PATH_TYPE);
        sql_add(sql, ")");
    }
}

void sql_add_members(struct sql *sql, const struct tn_store_selection *selection) {
    struct term terms[TERMS_MAX];
    unsigned count = order_terms(sql, selection, terms);
    for (unsigned i = 0; i < count; i++) {
        if (i > 0) sql_add(sql, ", ");
        sql_add_term(sql, &terms[i]);
    }
}

void sql_add_order(struct sql *sql, const struct tn_store_selection *selection) {
    struct term terms[TERMS_MAX];
    unsigned count = order_terms(sql, selection, terms);
    sql_add(sql, " ORDER BY ");
    for (unsigned i = 0; i < count; i++) {
        sql_add_term(sql, &terms[i]);
        sql_add(sql, selection->reverse ? " DESC, " : ", ");
    }
    sql_add(sql, selection->reverse ? "key DESC" : "key");
}

/* Binds a copy of a value in another statement's row. */
static void sql_bind_column(struct sql *sql, sqlite3_stmt *row, int column) {
    struct tn_store_text text;
    switch (sqlite3_column_type(row, column)) {
    case SQLITE_INTEGER: sql_bind_int(sql, sqlite3_column_int64(row, column)); return;
    case SQLITE_FLOAT: sql_bind_double(sql, sqlite3_column_double(row, column)); return;
    default: text = database_column_text(row, column);
    }
    char *copy = tn_arena_alloc(sql->arena, text.length + 1);
    if (copy != NULL) memcpy(copy, text.data, text.length);
    sql->failed |= copy == NULL;
    sql_bind_text(sql, (struct tn_store_text){copy, text.length});
}

/*
 * Appends the condition for records that equal `after` in the first `equal` terms, and follow it in the next one (or in
 * the key, if all terms are equal). null is ordered first.
 */
static void sql_add_after_case(struct sql *sql, const struct tn_store_selection *selection, const struct term *terms,
                               unsigned count, sqlite3_stmt *after, unsigned equal) {
    for (unsigned i = 0; i < equal; i++) {
        sql_add_term(sql, &terms[i]);
        if (sqlite3_column_type(after, (int)i) == SQLITE_NULL) {
            sql_add(sql, " IS NULL AND ");
            continue;
        }
        sql_add(sql, " = ");
        sql_bind_column(sql, after, (int)i);
        sql_add(sql, " AND ");
    }
    if (equal == count) {
        sql_add(sql, selection->reverse ? "key < " : "key > ");
        sql_bind_text(sql, selection->after);
        return;
    }
    if (sqlite3_column_type(after, (int)equal) == SQLITE_NULL) {
        if (selection->reverse) {
            sql_add(sql, "0"); /* in reverse, no value follows null */
            return;
        }
        sql_add_term(sql, &terms[equal]);
        sql_add(sql, " IS NOT NULL");
        return;
    }
    if (selection->reverse) {
        sql_add(sql, "(");
        sql_add_term(sql, &terms[equal]);
        sql_add(sql, " IS NULL OR ");
    }
    sql_add_term(sql, &terms[equal]);
    sql_add(sql, selection->reverse ? " < " : " > ");
    sql_bind_column(sql, after, (int)equal);
    if (selection->reverse) sql_add(sql, ")");
}

/* The first term alone bounds the rows, which the OR of the cases hides from SQLite's planner. */
static void sql_add_after_bound(struct sql *sql, const struct tn_store_selection *selection, const struct term *term,
                                sqlite3_stmt *after) {
    if (term->column == NULL || selection->reverse || sqlite3_column_type(after, 0) == SQLITE_NULL) return;
    sql_add(sql, " AND ");
    sql_add_term(sql, term);
    sql_add(sql, " >= ");
    sql_bind_column(sql, after, 0);
}

void sql_add_after(struct sql *sql, const struct tn_store_selection *selection, sqlite3_stmt *after) {
    struct term terms[TERMS_MAX];
    unsigned count = order_terms(sql, selection, terms);
    if (count > 0) sql_add_after_bound(sql, selection, &terms[0], after);
    sql_add(sql, " AND (");
    for (unsigned equal = 0; equal <= count; equal++) {
        sql_add(sql, equal > 0 ? " OR (" : "(");
        sql_add_after_case(sql, selection, terms, count, after, equal);
        sql_add(sql, ")");
    }
    sql_add(sql, ")");
}

/* ---- Functions ---- */

/* Parses a record's JSON. *out is NULL if the value is bytes. False if an error was set in `context`. */
static bool sql_read_json(sqlite3_context *context, sqlite3_value *column, tn_value *out) {
    *out = NULL;
    if (sqlite3_value_type(column) == SQLITE_NULL) return true;
    const char *text = (const char *)sqlite3_value_text(column);
    if (text != NULL && tn.value->from_json(tn.host, text, (uint64_t)sqlite3_value_bytes(column), out, NULL) == TN_OK)
        return true;
    sqlite3_result_error(context, "a record's value is not JSON", -1);
    sqlite3_result_error_code(context, SQLITE_CORRUPT);
    return false;
}

/* tn_matches(json, filter): 1 if the record matches. */
static void sql_tn_matches(sqlite3_context *context, int count, sqlite3_value **arguments) {
    tn_value value = NULL;
    const struct tn_store_filter *filter = sqlite3_value_pointer(arguments[1], FILTER_TYPE);
    (void)count;
    if (!sql_read_json(context, arguments[0], &value)) return;
    sqlite3_result_int(context, tn_store_filter_matches(filter, value));
    tn_release(value);
}

void sql_result_member(sqlite3_context *context, sqlite3_value *json, const struct tn_store_path *path,
                       uint64_t prefix) {
    tn_value value = NULL;
    int32_t truth = 0;
    int64_t integer = 0;
    double real = 0;
    if (!sql_read_json(context, json, &value)) return;
    tn_value found = tn_store_path_get(path, value);
    int32_t kind = tn.value->kind(found);
    if (kind == TN_BOOL && tn.value->as_bool(found, &truth) == TN_OK) {
        sqlite3_result_int(context, truth != 0);
    } else if (kind == TN_INT && tn.value->as_int(found, &integer) == TN_OK) {
        sqlite3_result_int64(context, integer);
    } else if (kind == TN_DOUBLE && tn.value->as_double(found, &real) == TN_OK) {
        sqlite3_result_double(context, real);
    } else if (kind > TN_NULL) {
        tn_value text = kind == TN_STRING ? tn_retain(found) : tn_to_json(found);
        struct tn_store_text chars = tn_store_text_of(text);
        uint64_t length = prefix > 0 && chars.length > prefix ? prefix : chars.length;
        sqlite3_result_text64(context, chars.data, length, SQLITE_TRANSIENT, SQLITE_UTF8);
        tn_release(text);
    }
    tn_release(value);
}

/* tn_member(json, path) */
static void sql_tn_member(sqlite3_context *context, int count, sqlite3_value **arguments) {
    const struct tn_store_path *path = sqlite3_value_pointer(arguments[1], PATH_TYPE);
    (void)count;
    if (path != NULL) sql_result_member(context, arguments[0], path, 0);
}

/* tn_similarity(stored, wanted): both vectors have the same length; the stored one is little-endian. */
static void sql_tn_similarity(sqlite3_context *context, int count, sqlite3_value **arguments) {
    const unsigned char *stored = sqlite3_value_blob(arguments[0]);
    const float *wanted = sqlite3_value_blob(arguments[1]);
    uint64_t length = (uint64_t)sqlite3_value_bytes(arguments[0]) / sizeof(float);
    (void)count;
    float *vector = tn_store_alloc((length + 1) * sizeof *vector);
    if (vector == NULL || stored == NULL || wanted == NULL) {
        sqlite3_result_error_nomem(context);
    } else {
        for (uint64_t i = 0; i < length; i++) {
            uint32_t bits;
            memcpy(&bits, stored + i * sizeof bits, sizeof bits);
            bits = le32toh(bits);
            memcpy(&vector[i], &bits, sizeof bits);
        }
        sqlite3_result_double(context, tn_store_vector_similarity(vector, wanted, length));
    }
    tn_store_free(vector);
}

tn_value sql_register_functions(tn_store *store) {
    static const struct {
        const char *name;
        void (*function)(sqlite3_context *, int, sqlite3_value **);
    } functions[] = {
        {"tn_matches", sql_tn_matches}, {"tn_member", sql_tn_member}, {"tn_similarity", sql_tn_similarity}};
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (sqlite3_create_function(store->database, functions[i].name, 2,
                                    SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_DIRECTONLY, NULL, functions[i].function,
                                    NULL, NULL) != SQLITE_OK)
            return database_failure(store);
    return NULL;
}
