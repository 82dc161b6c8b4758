/*
 * collections.h - the collections of records that the host keeps, and what they are looked up by.
 *
 * One row each: whoever keeps something new adds one. The names are in files of users: they stay.
 */
#ifndef TENON_HOST_STORE_COLLECTIONS_H
#define TENON_HOST_STORE_COLLECTIONS_H

#include "adl/value/value.h"

/* Name in C, name in the store, member paths that filters and orders ask for ("" none; one index a word). */
#define STORE_COLLECTIONS(COLLECTION)                                                                                  \
    COLLECTION(THREADS, "threads", "updated_at status")                                                                \
    COLLECTION(GRAPHS, "graphs", "")           /* what threads are pinned to, by hash */                               \
    COLLECTION(CHECKPOINTS, "checkpoints", "") /* THREAD/SEQ: what a step changed, and what is next */                 \
    COLLECTION(SNAPSHOTS, "snapshots", "")     /* THREAD/SEQ: the whole state, now and then */                         \
    COLLECTION(PENDING, "pending", "")         /* THREAD/…: what tasks of the step under way have done */            \
    COLLECTION(NESTED, "nested", "")           /* THREAD/SCOPE/SEQ: steps of graphs inside tasks under way */          \
    COLLECTION(JOURNAL, "journal", "")         /* THREAD/SEQ/…: what came from outside */                            \
    COLLECTION(TASKS, "tasks", "claimable_ms task_type,claimable_ms state")                                            \
    COLLECTION(ARTIFACTS, "artifacts", "")                                                                             \
    COLLECTION(BODIES, "bodies", "")     /* ARTIFACT/OFFSET: what does not fit into its record */                      \
    COLLECTION(UPLOADS, "uploads", "")   /* ARTIFACT: bodies that are not whole yet */                                 \
    COLLECTION(REQUESTS, "requests", "") /* OPERATION/KEY: what has been made with an idempotency key */               \
    COLLECTION(MEMORIES, "memories", "") /* NAMESPACE/…/KEY */

#define STORE_NAME(name, text, indexes) static const char STORE_##name[] __attribute__((unused)) = text;
STORE_COLLECTIONS(STORE_NAME)
#undef STORE_NAME

/* {collection: [[path, …], …]}, as a store is opened with; a new reference. */
tn_value collections_indexes(void);

#endif
