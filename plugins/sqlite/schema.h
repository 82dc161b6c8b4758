/*
 * schema.h - creates, checks and upgrades the schema of a file.
 *
 * application_id in the file identifies our files, and user_version is the version of the schema. A file of a newer
 * release or of another application is not changed.
 */
#ifndef TENON_PLUGINS_SQLITE_SCHEMA_H
#define TENON_PLUGINS_SQLITE_SCHEMA_H

#include "database.h"

#define SCHEMA_APPLICATION 0x54656e6f /* "Teno" */

/* Upgrades the open file (it may be empty) to the newest version. Then sets WAL mode and the connection's options. */
tn_value schema_open(tn_store *store);

/* Stores the path in the form of SQLite's JSON functions: $."a"."b". False if that form cannot express it, or if
 * allocation fails. */
bool schema_json_path(struct tn_arena *arena, const struct tn_store_path *path, char **out);

#endif
