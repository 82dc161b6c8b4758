/*
 * narrow.h - translates a filter to SQL conditions that can use an index. They select all records that match the
 * filter, and possibly more.
 *
 * Conditions that SQL cannot express, or would evaluate differently from filter.h, are left out. If an index contains a
 * member, its path is part of the SQL text, because SQLite only then uses the index. Otherwise the path is bound.
 */
#ifndef TENON_PLUGINS_SQLITE_NARROW_H
#define TENON_PLUGINS_SQLITE_NARROW_H

#include "sql.h"

/* Appends " AND (…)" for each condition that SQL can express. */
void narrow_filter(struct sql *sql, const tn_store *store, struct tn_store_text collection,
                   const struct tn_store_filter *filter);
/*
 * Appends "collection = …". If the collection has indexes, its name is part of the text, because each index is limited
 * to one collection (WHERE collection = …). `filter` may be NULL.
 */
void narrow_collection(struct sql *sql, const tn_store *store, struct tn_store_text collection,
                       const struct tn_store_filter *filter);
/* Appends an expression for the value of a member. False, without appending, if SQL cannot express its path. */
bool narrow_member(struct sql *sql, const tn_store *store, struct tn_store_text collection,
                   const struct tn_store_path *path);

#endif
