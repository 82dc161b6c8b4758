/*
 * store_state.h - what hosts write about a store into the store itself: which hosts use it, and whether it is complete.
 *
 * A host that has a store open for longer than STORE_PRESENCE_FIRST_MS keeps a record in the collection `hosts`, which
 * expires by itself if the host dies. `tenon store copy` reads it, so that it does not copy a store that changes
 * meanwhile. The record `copy` of the collection `store` exists in the target of a copy until that is complete; no host
 * uses such a store. Thread: the store's.
 */
#ifndef TENON_HOST_DATA_STORE_STORE_STATE_H
#define TENON_HOST_DATA_STORE_STORE_STATE_H

#include "adl/value/value.h"
#include <stdbool.h>
#include <tenon/store.h>

#define STORE_STATE_COPY         "copy" /* key of the record of an incomplete copy */
#define STORE_PRESENCE_FIRST_MS  500    /* commands that are shorter write no record */
#define STORE_PRESENCE_EVERY_MS  10000
#define STORE_PRESENCE_EXPIRE_MS 30000

struct store_provider;

/* Of one open store. */
struct store_presence {
    bool off;       /* the store is open for `tenon store` */
    bool written;   /* the record exists */
    int64_t due_ms; /* when it is written next; monotonic. 0: the store has not been opened */
    char id[33];    /* its key */
};

/* STORE_INCOMPLETE if the store is the target of a copy that has not ended. *error is as providers return it. */
int32_t store_state_check(const struct store_provider *provider, tn_store *open, tn_value *error);

/* After the store was opened. */
void store_presence_begin(struct store_presence *presence);
/* Returns how many ms remain until store_presence_write; -1: never. */
int64_t store_presence_wait_ms(const struct store_presence *presence);
/* Writes the record, if it is due. `wall_ms` is since 1970 UTC. */
void store_presence_write(struct store_presence *presence, const struct store_provider *provider, tn_store *open,
                          int64_t wall_ms);
/* Before the store is closed. */
void store_presence_end(struct store_presence *presence, const struct store_provider *provider, tn_store *open);

#endif
