/*
 * schema.h - the tables, their versions, and the collections.
 */
#ifndef TENON_PLUGINS_POSTGRES_SCHEMA_H
#define TENON_PLUGINS_POSTGRES_SCHEMA_H

#include "connection.h"

/*
 * Creates or upgrades the tables, and reads the collections. Called for each new connection, because another release or
 * a restored backup may have changed them.
 */
tn_value schema_open(tn_store *store);
/* Creates the indexes that the host requests, {collection: [[path, …], …]}. */
tn_value schema_create_indexes(tn_store *store, tn_value indexes);
/* Reads the collections again if another host has changed them. */
tn_value schema_refresh(tn_store *store);

/*
 * Runs a query of records of the collection. If another host has moved them to the table `hot` since the collections
 * were read, it fails, and the request is repeated.
 */
tn_value schema_query(tn_store *store, const struct collection *collection, const struct sql *sql);

/* Returns the collection that is known here, or NULL. */
struct collection *schema_collection(tn_store *store, struct tn_store_text name);
/* Finds the collection in the database; with `create`, creates it. *out is NULL if it does not exist. */
tn_value schema_lookup(tn_store *store, struct tn_store_text name, bool create, struct collection **out);

#endif
