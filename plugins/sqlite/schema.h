/*
 * schema.h - what a file of ours looks like, how it is made, and how an older one becomes as the newest.
 *
 * A file says whose it is (application_id) and which version of the schema it has (user_version). One of a newer
 * release, or of somebody else, is left exactly as it is.
 */
#ifndef TENON_PLUGINS_SQLITE_SCHEMA_H
#define TENON_PLUGINS_SQLITE_SCHEMA_H

#include "database.h"

#define SCHEMA_APPLICATION 0x54656e6f /* "Teno" */

/* Brings the open file, which may be empty, to the newest version; then WAL, sync and what else a connection needs. */
tn_value schema_open(tn_store *store);
/* Reads {collection: [[path, …], …]}, and makes the indexes that are missing. */
tn_value schema_index(tn_store *store, tn_value indexes);

/* SQL for a member's value, as it stands in indexes: json_extract(json, '$."a"."b"'). False: it cannot be said. */
bool schema_path(struct arena *arena, const struct path *path, char **out);
/* A string of SQL, quotes and all; NULL where there is no memory, or a NUL in it. */
char *schema_quote(struct arena *arena, struct text text, char quote);

#endif
