/*
 * store_link.c - readers hold the lock shared while they wait for the store's thread, which may be a reader, too;
 * closing takes it after that thread has ended.
 */
#include "host/data/store/store_link.h"
#include "adl/value/memory.h"
#include "host/data/store/store_internal.h"
#include <pthread.h>

struct store_link {
    _Atomic int references;
    _Atomic int used;
    _Atomic int failures; /* members of `failed` */
    pthread_rwlock_t lock;
    struct store *store; /* under the lock; NULL after store_close */
    pthread_mutex_t failed_lock;
    tn_value failed; /* {owner: error object} */
};

struct store_link *store_link_new(struct store *store) {
    struct store_link *link = mem_zalloc(sizeof *link);
    link->store = store;
    link->failed = value_object();
    atomic_init(&link->references, 1);
    pthread_rwlock_init(&link->lock, NULL);
    pthread_mutex_init(&link->failed_lock, NULL);
    return link;
}

struct store_link *store_link_ref(struct store_link *link) {
    (void)atomic_fetch_add_explicit(&link->references, 1, memory_order_relaxed);
    return link;
}

void store_link_unref(struct store_link *link) {
    if (!link || atomic_fetch_sub_explicit(&link->references, 1, memory_order_acq_rel) != 1) return;
    pthread_rwlock_destroy(&link->lock);
    pthread_mutex_destroy(&link->failed_lock);
    value_unref(link->failed);
    mem_free(link);
}

void store_link_close(struct store_link *link) {
    pthread_rwlock_wrlock(&link->lock);
    link->store = NULL;
    pthread_rwlock_unlock(&link->lock);
    store_link_unref(link);
}

int32_t store_link_read(struct store_link *link, store_perform_fn *perform, void *user, tn_value *out,
                        struct error *error) {
    pthread_rwlock_rdlock(&link->lock);
    int32_t status = link->store ? store_perform_now(link->store, perform, user, out, error)
                                 : error_set(error, TN_ERROR, "STORE_ERROR", "the store is closed");
    pthread_rwlock_unlock(&link->lock);
    return status;
}

void store_link_count(struct store_link *link, int by) {
    (void)atomic_fetch_add_explicit(&link->used, by, memory_order_relaxed);
}

bool store_link_is_used(struct store_link *link) { return atomic_load_explicit(&link->used, memory_order_relaxed) > 0; }

/* ---- Failures ---- */

void store_link_fail(struct store_link *link, const char *owner, const struct error *error) {
    pthread_mutex_lock(&link->failed_lock);
    link->failed = value_set_take(link->failed, owner, error_to_value(error));
    atomic_store(&link->failures, (int)value_count(link->failed));
    pthread_mutex_unlock(&link->failed_lock);
}

int32_t store_link_failure(struct store_link *link, const char *owner, struct error *error) {
    if (atomic_load(&link->failures) == 0) return TN_OK;
    int32_t status = TN_OK;
    pthread_mutex_lock(&link->failed_lock);
    tn_value found = value_get(link->failed, owner);
    if (found) {
        if (error) error_from_value(error, found);
        status = TN_ERROR;
    }
    pthread_mutex_unlock(&link->failed_lock);
    return status;
}

void store_link_forget(struct store_link *link, const char *owner) {
    if (atomic_load(&link->failures) == 0) return;
    pthread_mutex_lock(&link->failed_lock);
    link->failed = value_remove_take(link->failed, value_text(owner));
    atomic_store(&link->failures, (int)value_count(link->failed));
    pthread_mutex_unlock(&link->failed_lock);
}
