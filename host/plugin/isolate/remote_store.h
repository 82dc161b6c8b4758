/*
 * remote_store.h - a store that an isolated plugin provides: tn_store_draft over a process for each open store.
 *
 * The host opens a store and calls it on the store's own thread (data/store), and the calls block. So that thread
 * starts the process, and waits for its answers. Nothing here uses the host's loop, or what the loop changes.
 *
 *     const tn_store_draft *vtable = plugin->get(plugin->self, TN_STORE_DRAFT);   // returns &remote_store
 *
 * A process that ends fails the request in it with STORE_ERROR; the next request starts it again. What it answers is
 * not trusted: remote_store_check.c compares it with what tenon/store.h promises.
 */
#ifndef TENON_HOST_PLUGIN_ISOLATE_REMOTE_STORE_H
#define TENON_HOST_PLUGIN_ISOLATE_REMOTE_STORE_H

#include "adl/value/value.h"
#include <limits.h>
#include <stdbool.h>
#include <tenon/store.h>

#define REMOTE_STORE_MS       60000  /* limit for opening a store, a batch and a query */
#define REMOTE_MAINTAIN_MS    600000 /* limit for `maintain` */
#define REMOTE_STORE_CLOSE_MS 10000  /* limit for closing a store */
#define REMOTE_STORE_PAUSE_MS 1000   /* a request waits for a pause after deaths, if the pause is not longer */

/* The functions run on any thread, one at a time for each store; `self` is the remote. */
extern const tn_store_draft remote_store;

/*
 * Finds the folder that the process of a store may read and change: the location itself if it is a folder, or else the
 * folder that contains it, in which nothing else may be. Returns false, with *error in the form of tenon/store.h, if
 * something else is in that folder.
 */
bool remote_store_folder(const char *location, char folder[PATH_MAX], tn_value *error);

/* Return NULL, or what is wrong with a result, a new string. */
tn_value remote_store_check_commit(tn_value batch, tn_value result);
tn_value remote_store_check_query(tn_value query, tn_value result);
tn_value remote_store_check_maintain(tn_value argument, tn_value result); /* argument: NULL */

#endif
