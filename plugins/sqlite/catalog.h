/*
 * catalog.h - the collections of a file: their numbers, and the members of their records that are indexed.
 *
 * Records refer to their collection by a number. An indexed member has a *place*: a column of `entries` (m1, m2, …)
 * that has its value. Indexes are over these columns and not over the JSON, because SQLite rewrites an index over an
 * expression whenever the JSON changes, also if the member stays the same.
 *
 * The columns are filled by the process that writes a record, so every process must know all members of the file before
 * it writes. A new member changes SQLite's schema version: catalog_refresh compares it in each transaction.
 *
 *     const struct collection *collection = NULL;
 *     tn_value why = catalog_find(store, name, &collection);      // id -1 if the file does not have it
 *     if (why == NULL) … collection->id …                         // valid until the next call with this store
 */
#ifndef TENON_PLUGINS_SQLITE_CATALOG_H
#define TENON_PLUGINS_SQLITE_CATALOG_H

#include "database.h"

#define CATALOG_PLACES 4   /* columns for indexed members: m1 … m4 */
#define CATALOG_KNOWN  128 /* collections that are kept in memory */

struct member {
    struct tn_store_path path;
    uint64_t prefix; /* of a string, only so many bytes are in the column; 0: all */
    int place;       /* 1: m1, … */
    bool leads;      /* it is the first member of an index */
};

struct collection {
    struct tn_store_text name;
    int64_t id; /* -1: the file does not have it */
    unsigned count;
    struct member members[CATALOG_PLACES];
    struct tn_arena arena; /* of the texts above */
};

/* Looks up a collection. *out is never NULL, also after a failure. */
tn_value catalog_find(tn_store *store, struct tn_store_text name, const struct collection **out);
/* The same in a transaction that may write: adds the collection to the file if it does not have it. */
tn_value catalog_require(tn_store *store, struct tn_store_text name, const struct collection **out);
/* Forgets what another process has changed. Call it in a transaction that may write, if the file was changed. */
tn_value catalog_refresh(tn_store *store);
/* Forgets all collections. Call it after a transaction was rolled back that may have added one. */
void catalog_forget(tn_store *store);
/* Returns the indexed member with this path, or NULL. */
const struct member *catalog_member(const struct collection *collection, const struct tn_store_path *path);
/* Reads {collection: [[path, …], …]}, and creates the missing columns and indexes. A path is a text like
 * "payload.priority"; "updated_at:13" indexes only the first 13 bytes of a string. */
tn_value catalog_create_indexes(tn_store *store, tn_value indexes);

/* Binds the member's value in a record's value, in the form that its column has. Valid as long as `value`. */
void catalog_bind(sqlite3_stmt *statement, int at, const struct member *member, tn_value value);
/* Registers the SQL function tn_indexed, which fills a new column. */
tn_value catalog_register(tn_store *store);

#endif
