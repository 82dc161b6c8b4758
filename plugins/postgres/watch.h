/*
 * watch.h - notifies other hosts of changes that they wait for, and receives their notifications: NOTIFY and LISTEN.
 *
 * Polling stays the truth: a notification may be late or missing. It is a separate transaction after COMMIT, because
 * NOTIFY holds a lock of the whole database until its transaction has ended. At most one is sent in WATCH_MS; those in
 * between become one, which a thread sends later.
 *
 * The thread has a separate connection. It never opens a transaction there, because one that listens and stays open
 * lets the server's queue of notifications grow.
 */
#ifndef TENON_PLUGINS_POSTGRES_WATCH_H
#define TENON_PLUGINS_POSTGRES_WATCH_H

#include "connection.h"

#define WATCH_MS 5

/* Queues a notification behind COMMIT, or leaves it to the thread. [store] */
tn_value watch_send_notify(tn_store *store);
/* TN_UNSUPPORTED behind a pooler. [store] */
int32_t watch_start(tn_store *store, tn_watch_fn *changed, void *user);
/* Ends the thread; `changed` is not called any more. A notification that is left is sent first. [store] */
void watch_stop(tn_store *store);

#endif
