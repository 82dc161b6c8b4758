/*
 * vector_codes.h - the index for searches by vector: one byte per number, in blocks that a search reads from start to
 * end.
 *
 * The vectors of one collection that have the same length are a *space*. Each has a *slot* there: its id, a factor, and
 * its numbers, scaled to -127 … 127. Slots 0 to count - 1 are used, without gaps: if one is freed, the last one moves
 * into it. A block is one row with as many slots as fit into CODES_BLOCK bytes. So a search reads a quarter of the
 * bytes of the vectors, in few rows, and the order of writes does not matter for its quality: nothing is trained, and
 * nothing has to be rebuilt.
 *
 * A search takes the candidates that are best by their codes, reads their vectors, and ranks them by the true cosine.
 * The functions that change something are called in the transaction that changes the table `vectors`.
 */
#ifndef TENON_PLUGINS_SQLITE_VECTOR_CODES_H
#define TENON_PLUGINS_SQLITE_VECTOR_CODES_H

#include "database.h"
#include <tenon/store/backend.h>

#define CODES_BLOCK     65536 /* bytes of a block, or one slot if that is larger */
#define CODES_SLOTS_MAX 256   /* slots of a block */
#define CODES_EXACT_MAX 4000  /* so many vectors are compared one by one: that is quick enough, and exact */

/* Adds the vector of the record with this id, which has none. */
tn_value codes_add(tn_store *store, int64_t collection, int64_t id, const float *vector, uint64_t count);
/* Removes the vector of this record, if it has one. */
tn_value codes_remove(tn_store *store, int64_t id);
/* Removes the vectors of all records that the statement returns. Resets it. */
tn_value codes_remove_all(tn_store *store, sqlite3_stmt *ids);
/* Adds all vectors of a file that has no index yet. */
tn_value codes_build(tn_store *store);

/*
 * Finds the records that a search by vector returns, in a transaction. *ids is a JSON array of their ids, in `arena`;
 * its data is NULL if the vectors are to be compared one by one instead, because there are few, or because too few
 * candidates match the selection.
 */
tn_value codes_search(tn_store *store, struct tn_arena *arena, const struct collection *collection,
                      const struct tn_store_selection *selection, int64_t now, struct tn_store_text *ids);

#endif
