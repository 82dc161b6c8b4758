/*
 * narrow.h - translates a filter to SQL conditions that can use an index. They select all records that match the
 * filter, and possibly more.
 *
 * Conditions that SQL cannot express, or would evaluate differently from filter.h, are left out. The conditions are
 * about sql->collection.
 */
#ifndef TENON_PLUGINS_SQLITE_NARROW_H
#define TENON_PLUGINS_SQLITE_NARROW_H

#include "sql.h"

/* Appends " AND (…)" for each condition that SQL can express. */
void narrow_filter(struct sql *sql, const struct tn_store_filter *filter);
/* True if the order or the filter of the selection can use an index of the collection. */
bool narrow_has_index(const struct collection *collection, const struct tn_store_selection *selection);
/* Appends "collection = …". */
void narrow_collection(struct sql *sql, const struct tn_store_selection *selection);
/*
 * Appends an expression for the value of a member: its column, or json_extract. False, without appending, if SQL cannot
 * express its path.
 */
bool narrow_member(struct sql *sql, const struct tn_store_path *path);

#endif
