/*
 * sql.h - builds a statement from SQL text and bound parameters.
 *
 * A value is always bound, and never part of the text. The number of a collection is part of the text if the collection
 * has indexes, because SQLite only then uses them.
 *
 *     struct sql sql;
 *     sql_init(&sql, &arena, collection);
 *     sql_add(&sql, "SELECT key FROM entries");
 *     sql_add_where(&sql, selection, now);
 *     tn_value why = sql_prepare(&sql, store, &statement);
 */
#ifndef TENON_PLUGINS_SQLITE_SQL_H
#define TENON_PLUGINS_SQLITE_SQL_H

#include "catalog.h"
#include "database.h"
#include <tenon/store/request.h>

enum bind { BIND_TEXT, BIND_INT, BIND_DOUBLE, BIND_BLOB, BIND_POINTER };

/* The value of one `?`. */
struct parameter {
    struct parameter *next;
    enum bind kind;
    struct tn_store_text text; /* BIND_TEXT and BIND_BLOB; borrowed until the statement is reset */
    int64_t integer;           /* BIND_INT */
    double real;               /* BIND_DOUBLE */
    const void *pointer;       /* BIND_POINTER; borrowed until the statement is reset */
    const char *type;          /* BIND_POINTER: for sqlite3_value_pointer */
};

struct sql {
    struct tn_arena *arena;              /* borrowed; owns the text and the parameters */
    const struct collection *collection; /* borrowed; NULL: the functions that need one are not called */
    char *text;                          /* NULL while it is empty */
    uint64_t length, capacity;           /* in bytes */
    bool failed;                         /* an allocation failed; sql_prepare reports it */
    bool few;  /* set before sql_add_where: the range of keys has so few records that its index is the best one */
    bool many; /* the same: it has so many that another index is better */
    struct parameter *first, **last; /* in the order of the `?` */
};

void sql_init(struct sql *sql, struct tn_arena *arena, const struct collection *collection);
void sql_add(struct sql *sql, const char *text);
/* Each appends `?` and a parameter. Texts and blobs are borrowed until the statement is reset. */
void sql_bind_text(struct sql *sql, struct tn_store_text text);
void sql_bind_int(struct sql *sql, int64_t number);
void sql_bind_double(struct sql *sql, double number);
void sql_bind_blob(struct sql *sql, const void *data, uint64_t length);

/* Prepares the statement and binds its parameters. The cache of database.h owns *out: reset it after use. */
tn_value sql_prepare(struct sql *sql, tn_store *store, sqlite3_stmt **out);

/* Sets *small if the range of keys has at most `few` records. A range without bounds is not small. */
tn_value sql_range_is_small(tn_store *store, struct tn_arena *arena, const struct collection *collection,
                            const struct tn_store_range *range, int64_t few, bool *small);
/* Appends " WHERE collection = … AND …". Selects by collection, key range, expiry and filter. */
void sql_add_where(struct sql *sql, const struct tn_store_selection *selection, int64_t now);
/* Appends " AND …", which selects the records after `after`: a row with the order's members. Copies its values. */
void sql_add_after(struct sql *sql, const struct tn_store_selection *selection, sqlite3_stmt *after);
/* Appends the expressions by which the order sorts, separated by commas: at least one for each member. */
void sql_add_members(struct sql *sql, const struct tn_store_selection *selection);
/* Appends " ORDER BY …": the members of the order, then the key. */
void sql_add_order(struct sql *sql, const struct tn_store_selection *selection);

/*
 * The result of an SQL function: the member in a record's JSON, as json_extract returns it, but for all names. NULL if
 * it is null or does not exist; true is 1; arrays and objects are JSON text. `prefix`: see struct member.
 */
void sql_result_member(sqlite3_context *context, sqlite3_value *json, const struct tn_store_path *path,
                       uint64_t prefix);

/* Registers the SQL functions that statements call: tn_matches, tn_member and tn_similarity. */
tn_value sql_register_functions(tn_store *store);

#endif
