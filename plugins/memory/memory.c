/*
 * memory.c - the plugin `tenon.memory`: a store in the process's memory.
 *
 * All stores that are opened with the same path share one dataset. It exists until the plugin ends, even if no store is
 * open. Each call holds the dataset's lock. Every query scans all records of the collection: the code is simple, so
 * that this store can be the reference for other stores.
 */
#include <pthread.h>
#include <tenon/store/backend.h>
#include <tenon/store/map.h>

/* The records of one path. */
struct dataset {
    struct dataset *next;
    struct tn_store_text path;
    pthread_mutex_t lock; /* guards the map */
    struct tn_store_map map;
};

struct tn_store {
    struct dataset *dataset;
    bool writing; /* in a transaction: this store holds the lock */
};

static pthread_mutex_t datasets_lock = PTHREAD_MUTEX_INITIALIZER;
static struct dataset *datasets; /* guarded by datasets_lock */

/* ---- Opening ---- */

static struct dataset *dataset_lookup_or_new(struct tn_store_text path) {
    pthread_mutex_lock(&datasets_lock);
    struct dataset *dataset = datasets;
    while (dataset != NULL && tn_store_text_compare(dataset->path, path) != 0) dataset = dataset->next;
    if (dataset == NULL && (dataset = tn_store_alloc(sizeof *dataset + path.length + 1)) != NULL) {
        memcpy((char *)(dataset + 1), path.data, path.length);
        dataset->path = (struct tn_store_text){(char *)(dataset + 1), path.length};
        (void)pthread_mutex_init(&dataset->lock, NULL);
        dataset->next = datasets;
        datasets = dataset;
    }
    pthread_mutex_unlock(&datasets_lock);
    return dataset;
}

static tn_value memory_open_path(tn_value options, tn_store **out) {
    static const char *const own[] = {NULL};
    struct tn_store_text path;
    tn_value why = tn_store_read_options(options, "memory", own, &path);
    if (why != NULL) return why;
    struct dataset *dataset = dataset_lookup_or_new(path);
    tn_store *store = tn_store_alloc(sizeof *store);
    if (store == NULL || dataset == NULL) {
        tn_store_free(store);
        return tn_store_failure_memory();
    }
    store->dataset = dataset;
    *out = store;
    return NULL;
}

static int32_t memory_open(void *self, tn_value options, tn_store **store, tn_value *error) {
    (void)self;
    return tn_store_fail_take(memory_open_path(options, store), error);
}

static void memory_close(tn_store *store) { tn_store_free(store); }

/* ---- Writing ---- */

static tn_value memory_transaction_begin(tn_store *store) {
    pthread_mutex_lock(&store->dataset->lock);
    store->writing = true;
    return NULL;
}

static tn_value memory_transaction_commit(tn_store *store) {
    tn_store_map_commit(&store->dataset->map);
    store->writing = false;
    pthread_mutex_unlock(&store->dataset->lock);
    return NULL;
}

static void memory_transaction_rollback(tn_store *store) {
    tn_store_map_rollback(&store->dataset->map);
    store->writing = false;
    pthread_mutex_unlock(&store->dataset->lock);
}

/* Locks the dataset, unless a transaction of this store already holds the lock. Returns the map. */
static struct tn_store_map *memory_lock(tn_store *store) {
    if (!store->writing) pthread_mutex_lock(&store->dataset->lock);
    return &store->dataset->map;
}

static void memory_unlock(tn_store *store) {
    if (!store->writing) pthread_mutex_unlock(&store->dataset->lock);
}

static tn_value memory_write(tn_store *store, const struct tn_store_change *change, int64_t now) {
    return tn_store_map_write(&store->dataset->map, change, now);
}

static tn_value memory_delete(tn_store *store, struct tn_store_text collection, struct tn_store_text key) {
    return tn_store_map_delete(&store->dataset->map, collection, key);
}

static tn_value memory_delete_range(tn_store *store, const struct tn_store_selection *selection, int64_t now,
                                    int64_t *count) {
    return tn_store_map_delete_range(&store->dataset->map, selection, now, count);
}

/* ---- Reading ---- */

static tn_value memory_find(tn_store *store, struct tn_store_text collection, struct tn_store_text key, int64_t now,
                            bool want_value, struct tn_store_record *out) {
    tn_value why = tn_store_map_read(memory_lock(store), collection, key, now, want_value, out);
    memory_unlock(store);
    return why;
}

static tn_value memory_list(tn_store *store, const struct tn_store_selection *selection, int64_t now,
                            struct tn_store_page *page) {
    tn_value why = tn_store_map_list(memory_lock(store), selection, now, page);
    memory_unlock(store);
    return why;
}

static tn_value memory_count(tn_store *store, const struct tn_store_selection *selection, int64_t now, int64_t *count) {
    tn_value why = tn_store_map_count(memory_lock(store), selection, now, count);
    memory_unlock(store);
    return why;
}

static tn_value memory_search(tn_store *store, const struct tn_store_selection *selection, int64_t now,
                              struct tn_store_page *page) {
    tn_value why = tn_store_map_search(memory_lock(store), selection, now, page);
    memory_unlock(store);
    return why;
}

static tn_value memory_collections(tn_store *store, int64_t now, struct tn_store_page *page) {
    tn_value why = tn_store_map_collections(memory_lock(store), now, page);
    memory_unlock(store);
    return why;
}

/* ---- The interface ---- */

static const struct tn_store_backend backend = {memory_transaction_begin,
                                                memory_transaction_commit,
                                                memory_transaction_rollback,
                                                memory_find,
                                                memory_write,
                                                memory_delete,
                                                memory_delete_range,
                                                memory_list,
                                                memory_count,
                                                memory_search,
                                                memory_collections,
                                                .format = NULL};

static int32_t memory_commit(tn_store *store, tn_value batch, tn_value *result, tn_value *error) {
    return tn_store_backend_commit(&backend, store, batch, result, error);
}

static int32_t memory_query(tn_store *store, tn_value source, tn_value *result, tn_value *error) {
    return tn_store_backend_query(&backend, store, source, result, error);
}

static int32_t memory_maintain(tn_store *store, tn_value *result, tn_value *error) {
    int64_t removed = 0, bytes = 0;
    struct tn_store_map *map = memory_lock(store);
    tn_value why = tn_store_map_remove_expired(map, tn.core->wall_ms(tn.host), &removed, &bytes);
    tn_store_map_commit(map);
    memory_unlock(store);
    return why != NULL ? tn_store_fail_take(why, error) : tn_store_make_maintained(removed, bytes, result);
}

static void memory_deinit(void *self) {
    (void)self;
    while (datasets != NULL) {
        struct dataset *dataset = datasets;
        datasets = dataset->next;
        tn_store_map_finish(&dataset->map);
        (void)pthread_mutex_destroy(&dataset->lock);
        tn_store_free(dataset);
    }
}

static const tn_store_draft memory_store = {sizeof memory_store, memory_open,     memory_close, memory_commit,
                                            memory_query,        memory_maintain, .watch = NULL};

TN_PLUGIN("tenon.memory", "0.1.0", "A store in the process's memory, for tests")
TN_PROVIDES(store, TN_STORE_DRAFT, &memory_store)
TN_LIFECYCLE(NULL, NULL, memory_deinit)
