/*
 * thread_left.h - threads whose run was started by a host of `tenon serve` that has ended: another host, or the next
 * one, continues them. A thread is left if its record has THREAD_SERVED, and the run is
 *
 *     running   the process has died, or could not write the end
 *     stopped   the host was asked to end (a client that stops a run removes THREAD_SERVED)
 *     failed    because the store did not accept a commit
 *
 * and was so within the last THREAD_LEFT_DAYS. They are found by the index of the threads' status. A host claims a
 * thread before it continues it, so that several hosts of one store do not continue the same one; and the record counts
 * the claims, so that a run that ends its host each time is not continued for ever.
 *
 *     threads_left(store, on_left, me);                      // {threads: [{thread_id, served, graph}], later}
 *     thread_claim_left(store, "support-42", on_claimed, me); // {record} or {later} or {given_up}
 *
 * `done` is called once, later. Thread: loop.
 */
#ifndef TENON_HOST_DATA_THREAD_THREAD_LEFT_H
#define TENON_HOST_DATA_THREAD_THREAD_LEFT_H

#include "host/data/store/store.h"

#define THREAD_LEFT_DAYS    7
#define THREAD_LEFT_MAX     1000  /* threads that one call of threads_left returns, the oldest first */
#define THREAD_LEFT_CLAIMS  3     /* deaths of hosts at one checkpoint; then the run is given up */
#define THREAD_LEFT_HELD_MS 10000 /* how long a claim keeps a host on another machine from claiming */

/*
 * {threads: [{thread_id, served, graph}], later: bool}. `graph` is the identity of its document. later: there are
 * others, which a living process runs, or which are beyond the limit: ask again.
 */
void threads_left(struct store *store, store_done *done, void *user);
/*
 * {record}: the caller continues it. {later: true}: another process runs it, or is about to. {given_up: true}: its host
 * has died THREAD_LEFT_CLAIMS times without a new checkpoint; it is `failed` now, with HOST_ENDED. {}: it is not left.
 */
void thread_claim_left(struct store *store, const char *id, store_done *done, void *user);

#endif
