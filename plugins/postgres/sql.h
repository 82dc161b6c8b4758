/*
 * sql.h - one SQL statement: its text and its parameters, all in binary form.
 *
 *     struct sql sql;
 *     sql_init(&sql, &arena);
 *     sql_add(&sql, "SELECT version FROM %s.records WHERE collection = 5 AND key = ", schema);
 *     sql_bind_bytes(&sql, key);                       // appends $1
 *
 * Names of collections, keys and values are bytea, so that every text and byte order is the same in every database,
 * whatever its encoding and collation. If an allocation fails, `failed` is set, and connection_send returns the error.
 * Parameters are borrowed until the statement was sent.
 */
#ifndef TENON_PLUGINS_POSTGRES_SQL_H
#define TENON_PLUGINS_POSTGRES_SQL_H

#include <libpq-fe.h>
#include <tenon/store/base.h>

#define SQL_PARAMETERS 128

/* Types of PostgreSQL (pg_type.oid). */
#define SQL_BYTEA       17
#define SQL_INT8        20
#define SQL_INT4        23
#define SQL_TEXT        25
#define SQL_FLOAT8      701
#define SQL_BYTEA_ARRAY 1001
#define SQL_INT4_ARRAY  1007
#define SQL_INT8_ARRAY  1016
#define SQL_INT2_ARRAY  1005
#define SQL_INT2        21

struct sql {
    struct tn_arena *arena;
    char *text;
    uint64_t length, capacity;
    int count;
    bool failed;
    Oid types[SQL_PARAMETERS];
    const char *values[SQL_PARAMETERS];
    int lengths[SQL_PARAMETERS];
};

void sql_init(struct sql *sql, struct tn_arena *arena);
void sql_add(struct sql *sql, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Append $N. */
void sql_bind_bytes(struct sql *sql, struct tn_store_text bytes); /* data NULL: null */
void sql_bind_int8(struct sql *sql, int64_t number);
void sql_bind_double(struct sql *sql, double number);
/* True if both have the same text and parameters. */
bool sql_same(const struct sql *a, const struct sql *b);

/* An array parameter. */
struct array {
    struct tn_arena *arena;
    Oid element;
    char *data;
    uint64_t length, capacity;
    int32_t count;
    bool has_null, failed;
};

void array_init(struct array *array, struct tn_arena *arena, Oid element);
void array_add_bytes(struct array *array, struct tn_store_text bytes); /* data NULL: null */
void array_add_int(struct array *array, int64_t number);               /* of the element's size */
void array_add_null(struct array *array);
void sql_bind_array(struct sql *sql, struct array *array);

#endif
