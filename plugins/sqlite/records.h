/*
 * records.h - implements backend.h for an open file. records.c finds and writes single records; lists.c reads many.
 */
#ifndef TENON_PLUGINS_SQLITE_RECORDS_H
#define TENON_PLUGINS_SQLITE_RECORDS_H

#include "database.h"
#include <tenon/store/backend.h>

tn_value records_begin(tn_store *store);
tn_value records_commit(tn_store *store);
void records_rollback(tn_store *store);
/* Batches until records_group_end become durable together. It fails if none of them did. */
tn_value records_group_begin(tn_store *store);
tn_value records_group_end(tn_store *store);
tn_value records_find(tn_store *store, struct tn_store_text collection, struct tn_store_text key, int64_t now,
                      bool want_value, struct tn_store_record *out);
tn_value records_write(tn_store *store, const struct tn_store_change *change, int64_t now);
tn_value records_add(tn_store *store, const struct tn_store_change *change, int64_t now, bool *added);
tn_value records_remove(tn_store *store, struct tn_store_text collection, struct tn_store_text key);
tn_value records_remove_range(tn_store *store, const struct tn_store_selection *selection, int64_t now, int64_t *count);
/* Removes a part of the expired records, in one transaction. *count is their number: 0 when all are removed. */
tn_value records_remove_expired(tn_store *store, int64_t now, int64_t *count);

tn_value lists_list(tn_store *store, const struct tn_store_selection *selection, int64_t now,
                    struct tn_store_page *page);
tn_value lists_count(tn_store *store, const struct tn_store_selection *selection, int64_t now, int64_t *count);
tn_value lists_search(tn_store *store, const struct tn_store_selection *selection, int64_t now,
                      struct tn_store_page *page);
tn_value lists_collections(tn_store *store, int64_t now, struct tn_store_page *page);

#endif
