/*
 * database.h - an open file: its connection, its prepared statements, and what SQLite's failures mean to us.
 *
 * Statements are prepared when first asked for, and kept: the fixed ones for as long as the store is open, those that
 * are made from filters as long as they are among the last that were used. One thread at a time.
 *
 *     sqlite3_stmt *statement = NULL;
 *     tn_value why = database_statement(store, sql, &statement);          // reset, with nothing bound
 *     if (why == NULL) sqlite3_bind_int64(statement, 1, id);
 *     if (why == NULL && !database_step(store, statement, &why)) …        // no row: why is NULL at the end of them
 *     sqlite3_reset(statement);
 */
#ifndef TENON_PLUGINS_SQLITE_DATABASE_H
#define TENON_PLUGINS_SQLITE_DATABASE_H

#include "base.h"
#include "filter.h"
#include <sqlite3.h>

#define DATABASE_STATEMENTS 64 /* kept prepared */

/* Members that a collection's records are looked for by most. */
struct index {
    const struct index *next;
    struct text collection;
    uint64_t count;
    const struct path *paths;
};

/* The record that was looked at last, for the write that follows. */
struct row {
    bool known;
    int64_t id; /* 0: there is none */
    int64_t version, expires_at;
    bool expires, expired;
    int found_by; /* FOUND_BY_… */
};

/* What a record has beside its own table. Kept in the file: never change them. */
#define FOUND_BY_WORDS  1
#define FOUND_BY_VECTOR 2

struct prepared {
    char *sql; /* NULL: free */
    uint64_t hash, used;
    sqlite3_stmt *statement;
};

struct tn_store {
    sqlite3 *database;
    struct arena arena; /* of all that lives as long as the store */
    tn_value options;   /* what path and indexes borrow from */
    const char *path;
    int64_t busy_ms, max_bytes;
    const char *sync;
    bool read_only;
    const struct index *indexes;
    struct row row;
    uint64_t clock; /* for prepared.used */
    struct prepared prepared[DATABASE_STATEMENTS];
};

/* The text is copied. */
tn_value database_statement(tn_store *store, const char *sql, sqlite3_stmt **out);
/* True: there is a row. False: the end, or a failure in *why. */
bool database_step(tn_store *store, sqlite3_stmt *statement, tn_value *why);
/* Steps to the end, and resets. */
tn_value database_run(tn_store *store, sqlite3_stmt *statement);
/* Statements without parameters, one or more; not kept. */
tn_value database_execute(tn_store *store, const char *sql);
/* The first column of the first row. */
tn_value database_number(tn_store *store, const char *sql, int64_t *out);
void database_forget_statements(tn_store *store);

/* What SQLite's last error means: code, found, and what to do. */
tn_value database_failure(tn_store *store);
tn_value database_failure_of(const char *path, int64_t busy_ms, sqlite3 *database, int code);

/* A text that lives until the statement is reset; NUL inside is allowed. */
void database_bind_text(sqlite3_stmt *statement, int at, struct text text);
struct text database_text(sqlite3_stmt *statement, int column);
/* The value in the columns `json` and `bytes` of a row: owned; a failure where it cannot be read. */
tn_value database_value(tn_store *store, sqlite3_stmt *statement, int json, int bytes, tn_value *out, uint64_t *size);

#endif
