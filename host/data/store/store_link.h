/*
 * store_link.h - a way to read from a store on any thread, for values whose parts are read when they are needed
 * (adl/value/deferred.h). It outlives the store: after store_close it only fails.
 *
 *     struct store_link *link = store_link_ref(store_link(store));
 *     status = store_link_read(link, read_chunks, me, &items, &error);      // blocks
 *     store_link_unref(link);
 *
 * What cannot be read is noted under the name of its owner, so that the owner's next commit is refused: nothing may be
 * saved that was computed without it.
 */
#ifndef TENON_HOST_DATA_STORE_STORE_LINK_H
#define TENON_HOST_DATA_STORE_STORE_LINK_H

#include "host/data/store/store.h"

struct store_link;

/* [loop] The link of an open store; borrowed. */
struct store_link *store_link(const struct store *store);
struct store_link *store_link_ref(struct store_link *link); /* [any] */
void store_link_unref(struct store_link *link);             /* [any] */
/*
 * [any] Runs `perform` on the store's thread and waits for it; on that thread itself, runs it at once. *out is a new
 * reference. STORE_ERROR after store_close. Not from inside a function of the store's plugin.
 */
int32_t store_link_read(struct store_link *link, store_perform_fn *perform, void *user, tn_value *out,
                        struct error *error);
/* [any] The number of values that may be read through the link increases or decreases. */
void store_link_count(struct store_link *link, int by);
bool store_link_is_used(struct store_link *link); /* [any] there are such values */

/* [any] Notes that something of `owner` could not be read. */
void store_link_fail(struct store_link *link, const char *owner, const struct error *error);
/* [any] The noted failure of `owner`: its status, with the error; TN_OK if there is none. */
int32_t store_link_failure(struct store_link *link, const char *owner, struct error *error);
void store_link_forget(struct store_link *link, const char *owner); /* [any] forgets it */

/* For store.c. */
struct store_link *store_link_new(struct store *store);
void store_link_close(struct store_link *link); /* waits for reads that have begun, and releases its reference */

#endif
