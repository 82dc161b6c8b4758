/*
 * lists.h - lists, counts and searches.
 *
 * A list is read in chunks. If one chunk is not enough, all are read in one transaction, so that they are of one state.
 */
#ifndef TENON_PLUGINS_POSTGRES_LISTS_H
#define TENON_PLUGINS_POSTGRES_LISTS_H

#include "connection.h"
#include <tenon/store/backend.h>

/* Records in their order, in the arena, with values of their own. */
struct found {
    struct tn_store_record *records;
    uint64_t count, capacity;
};

tn_value lists_list(tn_store *store, const struct tn_store_selection *selection, struct tn_store_page *page);
tn_value lists_count(tn_store *store, const struct tn_store_selection *selection, int64_t *count);
tn_value lists_search(tn_store *store, const struct tn_store_selection *selection, struct tn_store_page *page);
tn_value lists_collections(tn_store *store, struct tn_store_page *page);
/* `get` outside a batch. */
tn_value lists_get(tn_store *store, struct tn_store_text collection, struct tn_store_text key, bool want_value,
                   struct tn_store_record *out);
/*
 * Collects the first `limit` + 1 matching records inside a running transaction, whatever the members of the order are.
 * Reads every record of the range. The caller calls found_free.
 */
tn_value lists_sort(tn_store *store, struct tn_arena *arena, struct collection *collection,
                    const struct tn_store_selection *selection, int64_t now, struct found *out);
void found_free(struct found *found);

#endif
