/*
 * narrow.h - a filter as conditions of SQL, so that an index can be used: never fewer records than those that fit.
 *
 * What of a filter SQL cannot say, or would say otherwise than filter.h does, is left out. A path stands in the text
 * where an index of the collection begins with it, and so needs it there; everywhere else it is bound.
 */
#ifndef TENON_PLUGINS_SQLITE_NARROW_H
#define TENON_PLUGINS_SQLITE_NARROW_H

#include "sql.h"

/* " AND …", or nothing. */
void narrow_filter(struct sql *sql, const tn_store *store, struct text collection, const struct filter *filter);
/* "collection = …", its name in the text where it has indexes, which are of it alone. `filter` may be NULL. */
void narrow_collection(struct sql *sql, const tn_store *store, struct text collection, const struct filter *filter);
/* A member's value; false, with nothing added, where SQL cannot say its path. */
bool narrow_member(struct sql *sql, const tn_store *store, struct text collection, const struct path *path);

#endif
