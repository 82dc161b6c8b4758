/*
 * store.h - one open store: its thread, and the queue of requests to it.
 *
 * A plugin implements the store (tenon/store.h defines batches and queries). Its functions may block, so the host calls
 * them on a thread that belongs to this store, one at a time and in the order of submission. Results are reported on
 * the loop. store_open does not wait until the provider has opened its file: if that fails, every request fails with
 * the same error.
 *
 *     struct store *store = store_open(&from, options, &error);
 *     store_commit_take(store, batch, on_committed, me);
 *     ...
 *     static void on_committed(void *user, int32_t status, tn_value result, const struct error *error) { ... }
 *
 * Thread: loop, unless a function says otherwise.
 */
#ifndef TENON_HOST_DATA_STORE_STORE_H
#define TENON_HOST_DATA_STORE_STORE_H

#include "adl/value/error.h"
#include "adl/value/value.h"
#include <stdbool.h>

struct config;
struct loop;
struct registry;
struct store;
struct store_watcher;

/* The services that a store uses; borrowed while it is open. */
struct store_from {
    struct loop *loop;
    struct registry *registry;   /* finds the plugin that provides the store */
    const struct config *config; /* the default file is in its folder */
};

/* TN_OK with the borrowed result, or a failing status with the provider's error code and message. */
typedef void store_done(void *user, int32_t status, tn_value result, const struct error *error);

/* Opens a store that the caller owns. `options` is {use, path, …}; `use` names the provider's plugin. */
struct store *store_open(const struct store_from *from, tn_value options, struct error *error);
/* The same for `tenon store`: opens the target of an unfinished copy, too, and does not count as a host that uses it.
 */
struct store *store_open_to_maintain(const struct store_from *from, tn_value options, struct error *error);
/*
 * The same store for another loop of the process: requests are run by the thread of `main`, together with those of its
 * other loops, and reported on `loop`. So commits of all loops are grouped, and every loop sees what another one has
 * committed. `main` must stay open until the port is closed. Thread: that of `loop`.
 */
struct store *store_open_port(struct store *main, struct loop *loop);
/* Runs and reports all pending requests first; blocks until then. NULL is allowed. A port closes only itself. */
void store_close(struct store *store);
struct loop *store_loop(const struct store *store);
int64_t store_wall_ms(const struct store *store);  /* the time for records: the store's, or that of its loop */
const char *store_path(const struct store *store); /* path of the store's file; borrowed */

/* `done` may be NULL. It is called later, never from inside these functions. */
void store_commit_take(struct store *store, tn_value batch, store_done *done, void *user);
void store_query_take(struct store *store, tn_value query, store_done *done, void *user);
void store_maintain(struct store *store, store_done *done, void *user);

/*
 * Runs several requests that depend on each other. `perform` is called on the store's thread. It may query and commit
 * through its session, and no other request of this host runs in between. It must not touch anything that belongs to
 * the loop. `done` receives its status and *result (a new reference).
 */
struct session;
typedef int32_t store_perform_fn(struct session *session, void *user, tn_value *result, struct error *error);
void store_perform(struct store *store, store_perform_fn *perform, void *perform_user, store_done *done, void *user);
/*
 * The same for a caller that does not keep `arguments`: release(arguments) is called from the loop before `done`, also
 * if the store cannot be opened and `perform` is not called.
 */
void store_perform_take(struct store *store, store_perform_fn *perform, void *arguments, void (*release)(void *),
                        store_done *done, void *user);
/*
 * The same for a short `perform` of which there may be many at the same time, such as the claim of a Task: it can share
 * the wait for the disk with other requests. It may be called again, if nothing of the first call was written. So it
 * must have no effects but those of its session and its result.
 */
void store_perform_grouped(struct store *store, store_perform_fn *perform, void *perform_user, store_done *done,
                           void *user);
/* Stores the time of the store's clock; false, and *out stays, if it uses the host's. */
bool session_wall_ms(struct session *session, int64_t *out);
int32_t session_query_take(struct session *session, tn_value query, tn_value *result, struct error *error);
int32_t session_commit_take(struct session *session, tn_value batch, tn_value *result, struct error *error);

/*
 * Visits every record of a collection with a key in [from, to), in order, page by page. A bound that is NULL is open.
 * Stops at the first status that is not TN_OK. Changes that `visit` makes may be visible or not. Thread: the store's.
 */
typedef int32_t session_visit_fn(void *user, const char *key, tn_value value, struct error *error);
int32_t session_each(struct session *session, const char *collection, const char *from, const char *to,
                     session_visit_fn *visit, void *user, struct error *error);

/*
 * From now on, `changed(user)` is called on the loop soon after any process has changed Tasks, threads or
 * notifications, if the store can report that (store_watches_changes). Calls may be missing: ask from time to time,
 * too. End it with store_unwatch before the store is closed; NULL is allowed there.
 */
struct store_watcher *store_watch(struct store *store, void (*changed)(void *user), void *user);
void store_unwatch(struct store *store, struct store_watcher *watcher);
bool store_watches_changes(const struct store *store);

/* As above, but these run the loop until the request has ended. *out is a new reference. */
int32_t store_query_wait(struct store *store, tn_value query, tn_value *out, struct error *error);
int32_t store_perform_wait(struct store *store, store_perform_fn *perform, void *perform_user, tn_value *out,
                           struct error *error);

/*
 * The blocking form of any function that calls a store_done once, later, from the loop:
 *
 *     struct store_wait wait = {.done = false};
 *     thread_show(store, id, store_wait_done, &wait);
 *     return store_wait_end(&wait, store_loop(store), out, error);
 *
 * store_wait_end runs the loop until then, and returns what `done` received; `out` may be NULL. After loop_stop it
 * still waits, because the operation may use memory of its caller; then it stops the loop again for the caller.
 */
struct store_wait {
    bool done;
    int32_t status;
    tn_value result; /* owned; NULL without a result */
    struct error error;
};
store_done store_wait_done; /* `user` is the wait */
int32_t store_wait_end(struct store_wait *wait, struct loop *loop, tn_value *out, struct error *error);

/* ---- Parts of batches and queries. Each function returns a new value and takes the references marked _take ---- */

tn_value store_put(const char *collection, const char *key, tn_value value_take);
tn_value store_merge(const char *collection, const char *key, tn_value patch_take);
tn_value store_delete(const char *collection, const char *key);
tn_value store_delete_range(const char *collection, const char *from, const char *to);
/* Add a condition to an operation. They take `operation` and return it. */
tn_value store_if_version(tn_value operation, int64_t version);
tn_value store_if_where(tn_value operation, tn_value where_take);
/* The record of this `put` does not exist any more from then on, in ms since 1970. Takes `operation` and returns it. */
tn_value store_expires_at(tn_value operation, int64_t at_ms);
/* Queries. A bound that is NULL is open. */
tn_value store_get(const char *collection, const char *key);
tn_value store_list(const char *collection, const char *from, const char *to, int64_t limit);

#endif
