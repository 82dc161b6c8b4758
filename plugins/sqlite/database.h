/*
 * database.h - an open file: its connection, its prepared statements, and the failures for SQLite's errors.
 *
 * Statements are prepared on first use and cached by their text. The cache keeps those that were used most recently.
 * Only one thread may use a store at a time.
 *
 *     sqlite3_stmt *statement = NULL;
 *     tn_value why = database_prepare(store, sql, &statement);          // reset, with nothing bound
 *     if (why == NULL) sqlite3_bind_int64(statement, 1, id);
 *     if (why == NULL && !database_step(store, statement, &why)) …        // no more rows: why is NULL
 *     sqlite3_reset(statement);
 */
#ifndef TENON_PLUGINS_SQLITE_DATABASE_H
#define TENON_PLUGINS_SQLITE_DATABASE_H

#include "cache.h"
#include <sqlite3.h>
#include <tenon/store/base.h>
#include <tenon/store/filter.h>

#define DATABASE_STATEMENTS 64  /* size of the cache of prepared statements */
#define DATABASE_PLACES     256 /* more than statements, so that few share one */

struct checkpointer;
struct collection;

/* Which search data a record has. These numbers are stored in files: never change them. */
#define FOUND_BY_WORDS  1
#define FOUND_BY_VECTOR 2

struct prepared {
    char *sql; /* NULL: unused */
    uint64_t hash, used;
    sqlite3_stmt *statement;
};

struct tn_store {
    sqlite3 *database;
    struct tn_arena arena; /* for data that lives as long as the store */
    tn_value options;      /* path and indexes borrow from it */
    const char *path;
    int64_t busy_ms, max_bytes;
    const char *sync;
    bool read_only;
    int64_t format_before; /* the version of the schema before this store was opened; 0: the file was created */
    struct row row;        /* the record that was found last: the next write uses it, and needs no second lookup */
    struct cache cache;
    struct collection *known[128];     /* catalog.h: those that were looked up; the first NULL ends the list */
    int64_t schema_version;            /* SQLite's, when `known` was empty; -1 at first */
    bool added_collection;             /* by the transaction that is open */
    bool wrote;                        /* the present batch has written something */
    bool in_group;                     /* records.c */
    unsigned careful;                  /* so many groups have savepoints, the present one included */
    tn_value group_failure;            /* why nothing of the group can be written any more; NULL: it can */
    struct checkpointer *checkpointer; /* NULL: SQLite writes the log into the file when it commits */
    uint64_t clock;                    /* counts uses, for prepared.used */
    struct prepared prepared[DATABASE_STATEMENTS];
    unsigned char places[DATABASE_PLACES]; /* by hash: the index at which a statement was found last */
};

/* Stores a prepared statement without bound parameters, from the cache if possible. The cache owns it. */
tn_value database_prepare(tn_store *store, const char *sql, sqlite3_stmt **out);
/* Steps to the next row. False if there is no more row, or on a failure, which *why then contains. */
bool database_step(tn_store *store, sqlite3_stmt *statement, tn_value *why);
/* Runs the statement to its end and resets it. */
tn_value database_run(tn_store *store, sqlite3_stmt *statement);
/* Runs one or more statements without parameters. They are not cached. */
tn_value database_execute(tn_store *store, const char *sql);
/* Runs the statement and stores the first column of its first row. *out is unchanged if it has no rows. */
tn_value database_read_number(tn_store *store, const char *sql, int64_t *out);
void database_free_statements(tn_store *store);

/* Returns the failure for the connection's last error. Its message says what happened and what the operator can do. */
tn_value database_failure(tn_store *store);
/* The same for a code that SQLite returned. `database` may be NULL. */
tn_value database_failure_for_code(const char *path, int64_t busy_ms, sqlite3 *database, int code);

/* Returns STORE_CORRUPT, with what is damaged. */
tn_value database_damaged(tn_store *store, const char *what);
/* Checks what the host relies on: the key of a record is UTF-8, and its version can be increased. */
tn_value database_check_row(tn_store *store, struct tn_store_text key, int64_t version);

/* Binds a text, borrowed until the statement is reset. It may contain NUL. */
void database_bind_text(sqlite3_stmt *statement, int at, struct tn_store_text text);
/* Returns the text of a column, borrowed until the next step. */
struct tn_store_text database_column_text(sqlite3_stmt *statement, int column);
/* Reads a record's value: the column `json`, or the column `bytes` if that is NULL. The caller owns *out. */
tn_value database_read_value(tn_store *store, sqlite3_stmt *statement, int json, int bytes, tn_value *out,
                             uint64_t *size);

#endif
