/*
 * sql.c - building statements, and the functions of ours that they call.
 *
 * What is compared and how is decided by filter.h, in tn_fits, whatever SQLite would say: it reads some doubles and
 * strings (with a NUL) otherwise than we do, and its true is 1. The conditions of narrow.c only spare it most records.
 */
#include "sql.h"
#include "narrow.h"
#include "place.h"
#include "schema.h"
#include <endian.h>

#define FITS_TYPE "tenon filter"
#define PATH_TYPE "tenon path"

/* ---- Text and parameters ---- */

void sql_init(struct sql *sql, struct arena *arena) {
    *sql = (struct sql){.arena = arena};
    sql->last = &sql->first;
}

void sql_add(struct sql *sql, const char *text) {
    uint64_t length = strlen(text);
    if (sql->length + length + 1 > sql->room) {
        uint64_t room = (sql->length + length + 1) * 2 + 500;
        char *larger = arena_alloc(sql->arena, room);
        if (larger == NULL) {
            sql->failed = true;
            return;
        }
        if (sql->length > 0) memcpy(larger, sql->text, sql->length);
        sql->text = larger;
        sql->room = room;
    }
    memcpy(sql->text + sql->length, text, length + 1);
    sql->length += length;
}

static void add_parameter(struct sql *sql, const struct parameter *pattern) {
    struct parameter *parameter = arena_alloc(sql->arena, sizeof *parameter);
    sql->failed |= parameter == NULL;
    if (parameter == NULL) return;
    *parameter = *pattern;
    parameter->next = NULL;
    *sql->last = parameter;
    sql->last = &parameter->next;
    sql_add(sql, "?");
}

void sql_text(struct sql *sql, struct text text) {
    add_parameter(sql, &(struct parameter){.kind = BIND_TEXT, .text = text});
}

void sql_int(struct sql *sql, int64_t number) {
    add_parameter(sql, &(struct parameter){.kind = BIND_INT, .integer = number});
}

void sql_double(struct sql *sql, double number) {
    add_parameter(sql, &(struct parameter){.kind = BIND_DOUBLE, .real = number});
}

void sql_blob(struct sql *sql, const void *data, uint64_t length) {
    add_parameter(sql, &(struct parameter){.kind = BIND_BLOB, .text = {data, length}});
}

void sql_pointer(struct sql *sql, const void *pointer, const char *type) {
    add_parameter(sql, &(struct parameter){.kind = BIND_POINTER, .pointer = pointer, .type = type});
}

tn_value sql_statement(struct sql *sql, tn_store *store, sqlite3_stmt **out) {
    if (sql->failed) return failure_memory();
    tn_value why = database_statement(store, sql->text, out);
    int at = 1;
    for (const struct parameter *p = sql->first; why == NULL && p != NULL; p = p->next, at++) {
        union {
            const void *from;
            void *to;
        } pointer = {p->pointer}; /* SQLite takes no const one; tn_fits and tn_member only read */
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

void sql_where(struct sql *sql, const tn_store *store, const struct selection *selection, int64_t now) {
    const struct extent *extent = &selection->extent;
    sql_add(sql, " WHERE ");
    narrow_collection(sql, store, selection->collection, selection->where);
    if (extent->from.data != NULL) {
        sql_add(sql, " AND key >= ");
        sql_text(sql, extent->from);
    }
    if (extent->to.data != NULL) {
        sql_add(sql, " AND key < ");
        sql_text(sql, extent->to);
    }
    sql_add(sql, " AND ifnull(expires_at, 9223372036854775807) > ");
    sql_int(sql, now);
    if (selection->where == NULL || selection->where->count == 0) return;
    narrow_filter(sql, store, selection->collection, selection->where);
    sql_add(sql, " AND tn_fits(json, ");
    sql_pointer(sql, selection->where, FITS_TYPE);
    sql_add(sql, ")");
}

static void add_member(struct sql *sql, const tn_store *store, const struct selection *selection, uint64_t i) {
    if (narrow_member(sql, store, selection->collection, &selection->order[i])) return;
    sql_add(sql, "tn_member(json, ");
    sql_pointer(sql, &selection->order[i], PATH_TYPE);
    sql_add(sql, ")");
}

void sql_members(struct sql *sql, const tn_store *store, const struct selection *selection) {
    for (uint64_t i = 0; i < selection->order_count; i++) {
        if (i > 0) sql_add(sql, ", ");
        add_member(sql, store, selection, i);
    }
}

void sql_order(struct sql *sql, const tn_store *store, const struct selection *selection) {
    const char *way = selection->reverse ? " DESC, " : ", ";
    sql_add(sql, " ORDER BY ");
    for (uint64_t i = 0; i < selection->order_count; i++) {
        add_member(sql, store, selection, i);
        sql_add(sql, way);
    }
    sql_add(sql, selection->reverse ? "key DESC" : "key");
}

/* A value of another statement's row; texts and blobs are copied. */
static void bind_column(struct sql *sql, sqlite3_stmt *row, int column) {
    struct text text;
    switch (sqlite3_column_type(row, column)) {
    case SQLITE_INTEGER: sql_int(sql, sqlite3_column_int64(row, column)); return;
    case SQLITE_FLOAT: sql_double(sql, sqlite3_column_double(row, column)); return;
    default: text = database_text(row, column);
    }
    char *copy = arena_alloc(sql->arena, text.length + 1);
    if (copy != NULL) memcpy(copy, text.data, text.length);
    sql->failed |= copy == NULL;
    sql_text(sql, (struct text){copy, text.length});
}

/* (a is y1 and b is y2 and …) for the members before the last, then what is behind in the last: null comes first. */
static void add_behind(struct sql *sql, const tn_store *store, const struct selection *selection, sqlite3_stmt *after,
                       uint64_t last) {
    for (uint64_t i = 0; i < last; i++) {
        add_member(sql, store, selection, i);
        if (sqlite3_column_type(after, (int)i) == SQLITE_NULL) {
            sql_add(sql, " IS NULL AND ");
            continue;
        }
        sql_add(sql, " = ");
        bind_column(sql, after, (int)i);
        sql_add(sql, " AND ");
    }
    if (last == selection->order_count) {
        sql_add(sql, selection->reverse ? "key < " : "key > ");
        sql_text(sql, selection->after);
        return;
    }
    if (sqlite3_column_type(after, (int)last) == SQLITE_NULL) {
        if (selection->reverse) {
            sql_add(sql, "0"); /* nothing comes after null there */
            return;
        }
        add_member(sql, store, selection, last);
        sql_add(sql, " IS NOT NULL");
        return;
    }
    if (selection->reverse) {
        sql_add(sql, "(");
        add_member(sql, store, selection, last);
        sql_add(sql, " IS NULL OR ");
    }
    add_member(sql, store, selection, last);
    sql_add(sql, selection->reverse ? " < " : " > ");
    bind_column(sql, after, (int)last);
    if (selection->reverse) sql_add(sql, ")");
}

void sql_after(struct sql *sql, const tn_store *store, const struct selection *selection, sqlite3_stmt *after) {
    sql_add(sql, " AND (");
    for (uint64_t last = 0; last <= selection->order_count; last++) {
        sql_add(sql, last > 0 ? " OR (" : "(");
        add_behind(sql, store, selection, after, last);
        sql_add(sql, ")");
    }
    sql_add(sql, ")");
}

/* ---- Functions ---- */

/* A record's value for looking at its members; bytes have none. False: an error has been given. */
static bool read_json(sqlite3_context *context, sqlite3_value *column, tn_value *out) {
    *out = NULL;
    if (sqlite3_value_type(column) == SQLITE_NULL) return true;
    const char *text = (const char *)sqlite3_value_text(column);
    if (text != NULL && tn.value->from_json(text, (uint64_t)sqlite3_value_bytes(column), out) == TN_OK) return true;
    sqlite3_result_error(context, "a record's value is no JSON", -1);
    sqlite3_result_error_code(context, SQLITE_CORRUPT);
    return false;
}

static void fits(sqlite3_context *context, int count, sqlite3_value **arguments) {
    tn_value value = NULL;
    const struct filter *filter = sqlite3_value_pointer(arguments[1], FITS_TYPE);
    (void)count;
    if (!read_json(context, arguments[0], &value)) return;
    sqlite3_result_int(context, filter_fits(filter, value));
    tn_release(value);
}

/* As json_extract does, for names that it cannot find. */
static void member(sqlite3_context *context, int count, sqlite3_value **arguments) {
    tn_value value = NULL;
    const struct path *path = sqlite3_value_pointer(arguments[1], PATH_TYPE);
    int32_t truth = 0;
    int64_t integer = 0;
    double real = 0;
    (void)count;
    if (path == NULL || !read_json(context, arguments[0], &value)) return;
    tn_value found = path_get(path, value);
    int32_t kind = tn.value->kind(found);
    if (kind == TN_BOOL && tn.value->as_bool(found, &truth) == TN_OK) {
        sqlite3_result_int(context, truth != 0);
    } else if (kind == TN_INT && tn.value->as_int(found, &integer) == TN_OK) {
        sqlite3_result_int64(context, integer);
    } else if (kind == TN_DOUBLE && tn.value->as_double(found, &real) == TN_OK) {
        sqlite3_result_double(context, real);
    } else if (kind > TN_NULL) {
        tn_value text = kind == TN_STRING ? tn_retain(found) : tn.value->to_json(found);
        struct text chars = text_of(text);
        sqlite3_result_text64(context, chars.data, chars.length, SQLITE_TRANSIENT, SQLITE_UTF8);
        tn_release(text);
    }
    tn_release(value);
}

/* Of a vector in the file to one that is bound, of the same length. */
static void like(sqlite3_context *context, int count, sqlite3_value **arguments) {
    const unsigned char *kept = sqlite3_value_blob(arguments[0]);
    const float *wanted = sqlite3_value_blob(arguments[1]);
    uint64_t length = (uint64_t)sqlite3_value_bytes(arguments[0]) / sizeof(float);
    (void)count;
    float *vector = store_alloc((length + 1) * sizeof *vector);
    if (vector == NULL || kept == NULL || wanted == NULL) {
        sqlite3_result_error_nomem(context);
    } else {
        for (uint64_t i = 0; i < length; i++) {
            uint32_t bits;
            memcpy(&bits, kept + i * sizeof bits, sizeof bits);
            bits = le32toh(bits);
            memcpy(&vector[i], &bits, sizeof bits);
        }
        sqlite3_result_double(context, likeness(vector, wanted, length));
    }
    store_free(vector);
}

tn_value sql_functions(tn_store *store) {
    static const struct {
        const char *name;
        void (*function)(sqlite3_context *, int, sqlite3_value **);
    } functions[] = {{"tn_fits", fits}, {"tn_member", member}, {"tn_likeness", like}};
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (sqlite3_create_function(store->database, functions[i].name, 2,
                                    SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_DIRECTONLY, NULL, functions[i].function,
                                    NULL, NULL) != SQLITE_OK)
            return database_failure(store);
    return NULL;
}
