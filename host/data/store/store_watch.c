/*
 * store_watch.c - see store_watch.h.
 */
#include "host/data/store/store_watch.h"
#include "adl/value/memory.h"
#include "host/base/container_of.h"
#include "host/base/loop.h"

struct store_watcher {
    struct store_watcher *next;
    struct store_watches *watches;
    struct loop *loop;
    void (*changed)(void *user);
    void *user;
    struct loop_work work;
    bool posted, removed;
};

void store_watches_init(struct store_watches *watches) { pthread_mutex_init(&watches->lock, NULL); }

void store_watches_finish(struct store_watches *watches) { pthread_mutex_destroy(&watches->lock); }

static void watcher_run(struct loop_work *work) {
    struct store_watcher *watcher = CONTAINER_OF(work, struct store_watcher, work);
    struct store_watches *watches = watcher->watches;
    pthread_mutex_lock(&watches->lock);
    watcher->posted = false;
    bool removed = watcher->removed;
    pthread_mutex_unlock(&watches->lock);
    if (removed)
        mem_free(watcher);
    else
        watcher->changed(watcher->user);
}

struct store_watcher *store_watches_add(struct store_watches *watches, struct loop *loop, void (*changed)(void *user),
                                        void *user, bool *is_first) {
    struct store_watcher *watcher = mem_zalloc(sizeof *watcher);
    watcher->watches = watches;
    watcher->loop = loop;
    watcher->changed = changed;
    watcher->user = user;
    watcher->work.run = watcher_run;
    pthread_mutex_lock(&watches->lock);
    *is_first = watches->first == NULL;
    watcher->next = watches->first;
    watches->first = watcher;
    pthread_mutex_unlock(&watches->lock);
    return watcher;
}

void store_watches_remove(struct store_watches *watches, struct store_watcher *watcher) {
    pthread_mutex_lock(&watches->lock);
    struct store_watcher **at = &watches->first;
    while (*at != watcher) at = &(*at)->next;
    *at = watcher->next;
    watcher->removed = true;
    bool posted = watcher->posted;
    pthread_mutex_unlock(&watches->lock);
    if (!posted) mem_free(watcher);
}

void store_watches_notify(void *user) {
    struct store_watches *watches = user;
    pthread_mutex_lock(&watches->lock);
    for (struct store_watcher *watcher = watches->first; watcher; watcher = watcher->next) {
        if (watcher->posted) continue;
        watcher->posted = true;
        loop_post(watcher->loop, &watcher->work);
    }
    pthread_mutex_unlock(&watches->lock);
}
