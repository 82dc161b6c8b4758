/*
 * store.h - the place where things stay, as the host uses it: one open store, a thread for it, and a queue.
 *
 * A store is a plugin's (tenon/store.h says what a batch and a query are). Its functions may block, so they are called
 * on one thread of the store's own, in the order asked for; what came of it is told on the loop. Nobody waits for the
 * opening: where it fails, every request does, with its error.
 *
 *     struct store *store = host_store(host, &error);               // opened when first asked for
 *     store_commit_take(store, batch, on_committed, me);
 *     ...
 *     static void on_committed(void *user, int32_t status, tn_value result, const struct error *error) { ... }
 *
 * Everything is [loop].
 */
#ifndef TENON_HOST_STORE_H
#define TENON_HOST_STORE_H

#include "adl/value/error.h"
#include "adl/value/value.h"
#include <stdbool.h>

struct host;
struct store;

/* TN_OK with the result (borrowed), or a failing status with the error: code and message as the store gave them. */
typedef void store_done(void *user, int32_t status, tn_value result, const struct error *error);

/*
 * The store of this host: `store` of tenon.yaml, or SQLite in .tenon/ beside that file, or in the user's data folder
 * where there is none. Borrowed; opened when first asked for, closed with the host. NULL: no plugin provides it.
 */
struct store *host_store(struct host *host, struct error *error);
/* One of the caller's own: `options` is {use, path, …}; the plugin is the one that provides stores and is called so. */
struct store *store_open(struct host *host, tn_value options, struct error *error);
/* What was asked for before is done first, and told. NULL is allowed. */
void store_close(struct store *store);
const char *store_path(const struct store *store); /* where it is; borrowed */

/* `done` may be NULL; it is never called from inside. */
void store_commit_take(struct store *store, tn_value batch, store_done *done, void *user);
void store_query_take(struct store *store, tn_value query, store_done *done, void *user);
void store_maintain(struct store *store, store_done *done, void *user);

/*
 * Several requests that depend on each other: `perform` is called on the store's thread, and may ask as often as it
 * needs; nothing else that this host asks for comes between. It must touch nothing that belongs to the loop. Its status
 * and *result (a reference of its own) are what `done` is told.
 */
struct session;
typedef int32_t store_perform_fn(struct session *session, void *user, tn_value *result, struct error *error);
void store_perform(struct store *store, store_perform_fn *perform, void *perform_user, store_done *done, void *user);
int32_t session_query_take(struct session *session, tn_value query, tn_value *result, struct error *error);
int32_t session_commit_take(struct session *session, tn_value batch, tn_value *result, struct error *error);

/*
 * [store's thread] Every record of a collection with a key in [from, to), in order, page by page; NULL ends are open.
 * Stops at the first status that is not TN_OK. What `visit` changes meanwhile it may or may not see.
 */
typedef int32_t session_visit_fn(void *user, const char *key, tn_value value, struct error *error);
int32_t session_each(struct session *session, const char *collection, const char *from, const char *to,
                     session_visit_fn *visit, void *user, struct error *error);

/* The same, for whoever has nothing else to do: runs the loop until it is done. *out: a new reference. */
int32_t store_commit_wait(struct store *store, tn_value batch, tn_value *out, struct error *error);
int32_t store_query_wait(struct store *store, tn_value query, tn_value *out, struct error *error);
int32_t store_perform_wait(struct store *store, store_perform_fn *perform, void *perform_user, tn_value *out,
                           struct error *error);

/* ---- Parts of batches and queries: new values, taking the references marked _take ---- */

tn_value store_put(const char *collection, const char *key, tn_value value_take);
tn_value store_merge(const char *collection, const char *key, tn_value patch_take);
tn_value store_delete(const char *collection, const char *key);
tn_value store_delete_range(const char *collection, const char *from, const char *to);
tn_value store_if_version(tn_value operation, int64_t version);   /* takes `operation`, and gives it back */
tn_value store_if_where(tn_value operation, tn_value where_take); /* likewise */
tn_value store_get(const char *collection, const char *key);      /* a query */
tn_value store_list(const char *collection, const char *from, const char *to, int64_t limit); /* NULL ends: open */

#endif
