/*
 * batch.h - a batch as one transaction of two rounds.
 *
 *     round 1   BEGIN; check meta; delete ranges; candidates of `take`; SELECT … FOR UPDATE of all other records
 *     (the operations are applied here, in memory, by the code that all stores share: tenon/store/backend.h)
 *     round 2   write the records that have changed, and a row of `commits`; COMMIT
 *
 * Between the rounds, a record of the batch is an *entry*: what the database has, and the change to be written. A batch
 * that depends on its own effects in a way that round 1 cannot foresee writes them earlier and needs more rounds:
 * batch_flush, then another query. The result is the same.
 */
#ifndef TENON_PLUGINS_POSTGRES_BATCH_H
#define TENON_PLUGINS_POSTGRES_BATCH_H

#include "connection.h"
#include <tenon/store/backend.h>

#define BATCH_INLINE_MAX 65536 /* a larger value is read on its own, so that a round has a bounded size */

/* Which search data a record has. These numbers are stored: never change them. */
#define FOUND_BY_WORDS  1
#define FOUND_BY_VECTOR 2

enum entry_state { ENTRY_CLEAN, ENTRY_WRITTEN, ENTRY_REMOVED };

struct entry {
    struct entry *next, *next_changed; /* of the same hash; of all that are not clean */
    struct collection *collection;
    struct tn_store_text key;
    /* In the database, as this transaction sees it. */
    bool known;  /* otherwise none of the members below is valid, except the change */
    bool stored; /* the row exists; it may have expired */
    int stored_found_by;
    /* Now. */
    int64_t version;    /* 0: no record */
    int64_t expires_at; /* INT64_MAX: never */
    int found_by;
    tn_value value; /* owned; NULL: not read yet */
    uint64_t size;
    /* The change. */
    enum entry_state state;
    bool changed;              /* in the list of changed entries */
    bool planned, wants_value; /* round 1 reads it; with its value */
    struct tn_store_text json; /* data NULL: the value is bytes */
    enum tn_store_action words_action, vector_action;
    struct tn_store_text words;
    const float *vector;
    uint64_t vector_count;
};

/* Passed: taken, and as it is now, no other take of the group matches it; only takes of the group can change it. */
enum take_state { TAKE_FREE, TAKE_TAKEN, TAKE_PASSED };

/* The `take` operations of a batch that have the same condition in SQL, and their candidates. */
struct take_group {
    struct take_group *next;
    struct sql sql;
    struct collection *collection;
    uint64_t operations, count, limit; /* of operations; of candidates; that were requested */
    uint64_t slot;                     /* of its result in round 1 */
    struct entry **candidates;
    unsigned char *taken; /* for each candidate, an enum take_state */
};

/* A delete_range that round 1 runs. */
struct early_range {
    struct early_range *next;
    const struct tn_store_selection *selection;
    uint64_t slot;
    int64_t count;
};

struct batch {
    struct tn_arena arena;
    const struct tn_store_operation *operations;
    uint64_t count;
    int64_t now;
    struct entry **table; /* hash table */
    uint64_t table_size;
    struct entry *changed, **last_changed;
    struct take_group *takes;
    struct early_range *ranges;
    bool wakes;   /* a change that other hosts wait for: NOTIFY */
    bool flushed; /* some changes were written before round 2 */
    bool in_transaction;
};

/* For the backend. `prepare` is called before `begin`. */
tn_value batch_prepare(tn_store *store, const struct tn_store_operation *operations, uint64_t count);
tn_value batch_begin(tn_store *store);
tn_value batch_commit(tn_store *store);
void batch_rollback(tn_store *store);
tn_value batch_find(tn_store *store, struct tn_store_text collection, struct tn_store_text key, bool want_value,
                    struct tn_store_record *out);
tn_value batch_write(tn_store *store, const struct tn_store_change *change);
tn_value batch_remove(tn_store *store, struct tn_store_text collection, struct tn_store_text key);
tn_value batch_remove_range(tn_store *store, const struct tn_store_selection *selection, int64_t *count);

/* ---- For take.c and flush.c ---- */

struct entry *batch_entry(tn_store *store, struct collection *collection, struct tn_store_text key);
/* Fills an entry that is not known from the columns version, expires_at, found_by, json, bytes, starting at `column`.
 */
tn_value entry_read_row(tn_store *store, struct entry *entry, const PGresult *result, int row, int column);
/* Reads the value if the entry does not have it. */
tn_value entry_need_value(tn_store *store, struct entry *entry);
/* Sends the changes. batch_flush also runs them. */
tn_value flush_send(tn_store *store);
tn_value batch_flush(tn_store *store);
/* Appends the columns for entry_read_row, of the table `r`. */
void sql_add_columns(struct sql *sql, const char *want);

/* take.c: adds the `take` to a group, if round 1 can find its candidates. */
tn_value take_plan(tn_store *store, uint64_t operation);
tn_value take_send(tn_store *store, uint64_t *slot);
tn_value take_read(tn_store *store);
/* `list` of the backend for a take. */
tn_value take_list(tn_store *store, const struct tn_store_selection *selection, struct tn_store_page *page);

#endif
