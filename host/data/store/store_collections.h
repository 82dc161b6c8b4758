/*
 * store_collections.h - the collections of records that the host keeps, and their indexes.
 *
 * To keep a new kind of record, add a row. The names are in users' files, so they must not change.
 */
#ifndef TENON_HOST_DATA_STORE_STORE_COLLECTIONS_H
#define TENON_HOST_DATA_STORE_STORE_COLLECTIONS_H

#include "adl/value/value.h"

/*
 * Name in C, name in the store, indexes. An index is a list of member paths, separated by commas, that a filter or an
 * order uses; indexes are separated by spaces; "" means no index. "updated_at:13" is the start of the member, which has
 * the hour: each super-step changes the time, and would otherwise write an index. The comment shows the form of the
 * keys.
 */
#define STORE_COLLECTIONS(COLLECTION)                                                                                  \
    COLLECTION(THREADS, "threads", "updated_at:13 status,updated_at:13")                                               \
    COLLECTION(GRAPHS, "graphs", "")           /* HASH: the documents that threads are pinned to */                    \
    COLLECTION(CHECKPOINTS, "checkpoints", "") /* THREAD/SEQ: the changes of a super-step, and the next activations */ \
    COLLECTION(SNAPSHOTS, "snapshots", "")     /* THREAD/SEQ: the whole state, after every few checkpoints */          \
    COLLECTION(CHUNKS, "chunks", "")           /* THREAD/HASH: pieces of large values */                               \
    COLLECTION(PENDING, "pending", "")         /* THREAD/…: results of activations of the unfinished super-step */   \
    COLLECTION(NESTED, "nested", "")           /* THREAD/SCOPE/SEQ: checkpoints of nested runs that have not ended */  \
    COLLECTION(JOURNAL, "journal", "")         /* THREAD/SEQ/…: results of calls to the outside world */             \
    COLLECTION(THREAD_ARTIFACTS, "thread_artifacts",                                                                   \
               "")                     /* THREAD/ARTIFACT: which Artifacts the runs of a thread used */                \
    COLLECTION(BATCHES, "batches", "") /* NAME: batches whose lines are saved in threads */                            \
    COLLECTION(TASKS, "tasks", "claimable_ms task_type,claimable_ms state")                                            \
    COLLECTION(ARTIFACTS, "artifacts", "")                                                                             \
    COLLECTION(BODIES, "bodies", "")       /* ARTIFACT/OFFSET: parts of bodies that do not fit into the record */      \
    COLLECTION(UPLOADS, "uploads", "")     /* ARTIFACT: unfinished uploads of bodies */                                \
    COLLECTION(REQUESTS, "requests", "")   /* OPERATION/KEY: the record that an idempotency key created */             \
    COLLECTION(SCHEDULES, "schedules", "") /* NAME: until when the due times of a schedule are handled */              \
    COLLECTION(RUN_SCHEDULES, "run_schedules", "next_ms") /* ID: a schedule that a client has made (run_schedule.h) */ \
    COLLECTION(MEMORIES, "memories", "")                  /* NAMESPACE/…/KEY */                                      \
    COLLECTION(KEYS, "keys", "")         /* NAME: a key of the HTTP server, as a hash (data/access) */                 \
    COLLECTION(KEY_USES, "key_uses", "") /* DAY/NAME: what a key of the HTTP server has used (data/access) */          \
    COLLECTION(CACHE, "cache", "")       /* NODE/SLOT: results of nodes with `cache: {store: true}` */                 \
    COLLECTION(HOSTS, "hosts", "")       /* ID: a host that uses the store now (store_state.h); never copied */        \
    COLLECTION(STATE, "store", "")       /* `copy`: the store is the target of an unfinished copy; never copied */

#define STORE_NAME(name, text, indexes) static const char STORE_##name[] __attribute__((unused)) = text;
STORE_COLLECTIONS(STORE_NAME)
#undef STORE_NAME

/* {collection: [[path, …], …]}, an option for opening a store. Returns a new reference. */
tn_value store_collections_indexes(void);

#endif
