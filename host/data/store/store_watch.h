/*
 * store_watch.h - who is called when a process has changed the store. For store.c; store_watch is in store.h.
 *
 * The provider calls from another thread (`watch` of tenon/store.h). Each watcher is called on its own loop, once for
 * all changes until then. A watcher that is removed while its call is posted is freed when that has run.
 */
#ifndef TENON_HOST_DATA_STORE_STORE_WATCH_H
#define TENON_HOST_DATA_STORE_STORE_WATCH_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

struct loop;
struct store_watcher;

struct store_watches {
    pthread_mutex_t lock; /* guards the list, and `posted` and `removed` of the watchers */
    struct store_watcher *first;
    atomic_bool active; /* the provider reports changes */
};

void store_watches_init(struct store_watches *watches);
void store_watches_finish(struct store_watches *watches);
/* *is_first is true if there was no watcher before. */
struct store_watcher *store_watches_add(struct store_watches *watches, struct loop *loop, void (*changed)(void *user),
                                        void *user, bool *is_first);
/* Thread: the watcher's loop. */
void store_watches_remove(struct store_watches *watches, struct store_watcher *watcher);
/* A tn_watch_fn; `user` is the struct. Thread: any. */
void store_watches_notify(void *user);

#endif
