/*
 * sql.h - statements made of parts: text, and what is bound to its parameters, in one go.
 *
 * No value ever becomes part of the text. A name does where an index needs it, quoted by schema.h.
 *
 *     struct sql sql = SQL_INIT(&arena);
 *     sql_add(&sql, "SELECT key FROM records");
 *     sql_where(&sql, store, selection, now);
 *     tn_value why = sql_statement(&sql, store, &statement);
 */
#ifndef TENON_PLUGINS_SQLITE_SQL_H
#define TENON_PLUGINS_SQLITE_SQL_H

#include "database.h"
#include "request.h"

enum bind { BIND_TEXT, BIND_INT, BIND_DOUBLE, BIND_BLOB, BIND_POINTER };

struct parameter {
    struct parameter *next;
    enum bind kind;
    struct text text; /* of BIND_BLOB as well */
    int64_t integer;
    double real;
    const void *pointer;
    const char *type; /* of the pointer */
};

struct sql {
    struct arena *arena;
    char *text;
    uint64_t length, room;
    bool failed; /* no memory */
    struct parameter *first, **last;
};

void sql_init(struct sql *sql, struct arena *arena);
void sql_add(struct sql *sql, const char *text);
/* One `?` and what it stands for; borrowed until the statement is reset. */
void sql_text(struct sql *sql, struct text text);
void sql_int(struct sql *sql, int64_t number);
void sql_double(struct sql *sql, double number);
void sql_blob(struct sql *sql, const void *data, uint64_t length);
void sql_pointer(struct sql *sql, const void *pointer, const char *type);

/* The prepared statement, bound. */
tn_value sql_statement(struct sql *sql, tn_store *store, sqlite3_stmt **out);

/* " WHERE collection = … AND …": collection, extent, what has not expired, and the filter. */
void sql_where(struct sql *sql, const tn_store *store, const struct selection *selection, int64_t now);
/* " AND …" for what comes behind the record `after`: its values are bound. */
void sql_after(struct sql *sql, const tn_store *store, const struct selection *selection, sqlite3_stmt *after);
/* "order members, …", each an expression, for a select. */
void sql_members(struct sql *sql, const tn_store *store, const struct selection *selection);
void sql_order(struct sql *sql, const tn_store *store, const struct selection *selection);

/* The functions that statements use: tn_fits, tn_member, tn_likeness. */
tn_value sql_functions(tn_store *store);

#endif
