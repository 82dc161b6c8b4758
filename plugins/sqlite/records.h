/*
 * records.h - the functions of place.h over an open file: writing in records.c, reading in lists.c.
 */
#ifndef TENON_PLUGINS_SQLITE_RECORDS_H
#define TENON_PLUGINS_SQLITE_RECORDS_H

#include "database.h"
#include "place.h"

tn_value records_begin(tn_store *store);
tn_value records_end(tn_store *store);
void records_undo(tn_store *store);
tn_value records_find(tn_store *store, struct text collection, struct text key, int64_t now, bool want_value,
                      struct record *out);
tn_value records_write(tn_store *store, const struct change *change, int64_t now);
tn_value records_remove(tn_store *store, struct text collection, struct text key);
tn_value records_remove_range(tn_store *store, const struct selection *selection, int64_t now, int64_t *count);
/* Some of those that have expired, in a transaction of its own; *count is 0 when none is left. */
tn_value records_remove_expired(tn_store *store, int64_t now, int64_t *count);

tn_value lists_list(tn_store *store, const struct selection *selection, int64_t now, struct page *page);
tn_value lists_count(tn_store *store, const struct selection *selection, int64_t now, int64_t *count);
tn_value lists_search(tn_store *store, const struct selection *selection, int64_t now, struct page *page);

#endif
