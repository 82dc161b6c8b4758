/*
 * memory.c - the plugin `tenon.memory`: a store in the process's memory.
 *
 * All stores that are opened with the same path share one dataset. It exists until the plugin ends, even if no store is
 * open. Each call holds the dataset's lock. Every query scans all records of the collection: the code is simple, so
 * that this store can be the reference for other stores.
 */
#include "backend.h"
#include "map.h"
#include "words.h"
#include <pthread.h>
#include <stdlib.h>

/* The records of one path. */
struct dataset {
    struct dataset *next;
    struct text path;
    pthread_mutex_t lock; /* guards the map */
    struct map map;
};

struct tn_store {
    struct dataset *dataset;
    bool writing; /* in a transaction: this store holds the lock */
};

static pthread_mutex_t datasets_lock = PTHREAD_MUTEX_INITIALIZER;
static struct dataset *datasets; /* guarded by datasets_lock */

/* ---- Opening ---- */

static struct dataset *dataset_lookup_or_new(struct text path) {
    pthread_mutex_lock(&datasets_lock);
    struct dataset *dataset = datasets;
    while (dataset != NULL && text_compare(dataset->path, path) != 0) dataset = dataset->next;
    if (dataset == NULL && (dataset = store_alloc(sizeof *dataset + path.length + 1)) != NULL) {
        memcpy((char *)(dataset + 1), path.data, path.length);
        dataset->path = (struct text){(char *)(dataset + 1), path.length};
        (void)pthread_mutex_init(&dataset->lock, NULL);
        dataset->next = datasets;
        datasets = dataset;
    }
    pthread_mutex_unlock(&datasets_lock);
    return dataset;
}

static tn_value memory_open_path(tn_value options, tn_store **out) {
    static const char *const own[] = {NULL};
    struct text path;
    tn_value why = backend_read_options(options, "memory", own, &path);
    if (why != NULL) return why;
    struct dataset *dataset = dataset_lookup_or_new(path);
    tn_store *store = store_alloc(sizeof *store);
    if (store == NULL || dataset == NULL) {
        store_free(store);
        return failure_memory();
    }
    store->dataset = dataset;
    *out = store;
    return NULL;
}

static int32_t memory_open(void *self, tn_value options, tn_store **store, tn_value *error) {
    (void)self;
    return backend_fail_take(memory_open_path(options, store), error);
}

static void memory_close(tn_store *store) { store_free(store); }

/* ---- Writing ---- */

static tn_value memory_transaction_begin(tn_store *store) {
    pthread_mutex_lock(&store->dataset->lock);
    store->writing = true;
    return NULL;
}

static tn_value memory_transaction_commit(tn_store *store) {
    map_commit(&store->dataset->map);
    store->writing = false;
    pthread_mutex_unlock(&store->dataset->lock);
    return NULL;
}

static void memory_transaction_rollback(tn_store *store) {
    map_rollback(&store->dataset->map);
    store->writing = false;
    pthread_mutex_unlock(&store->dataset->lock);
}

/* Locks the dataset, unless a transaction of this store already holds the lock. Returns the map. */
static struct map *memory_lock(tn_store *store) {
    if (!store->writing) pthread_mutex_lock(&store->dataset->lock);
    return &store->dataset->map;
}

static void memory_unlock(tn_store *store) {
    if (!store->writing) pthread_mutex_unlock(&store->dataset->lock);
}

static bool entry_is_live(const struct entry *entry, int64_t now) { return entry != NULL && entry->expires_at > now; }

static tn_value memory_find(tn_store *store, struct text name, struct text key, int64_t now, bool want_value,
                            struct record *out) {
    const struct entry *entry = map_find(map_collection(memory_lock(store), name, false), key);
    *out = (struct record){.version = 0};
    if (entry_is_live(entry, now)) {
        out->version = entry->version;
        if (want_value) out->value = tn_retain(entry->value);
    }
    memory_unlock(store);
    return NULL;
}

static tn_value memory_write(tn_store *store, const struct change *change, int64_t now) {
    struct map *map = &store->dataset->map;
    struct collection *collection = map_collection(map, change->collection, true);
    const struct attributes *attributes = change->attributes;
    const struct entry *before = map_find(collection, change->key);
    struct entry next = {.expires_at = INT64_MAX};
    if (entry_is_live(before, now)) next = *before;
    next.key = change->key;
    next.version = change->version;
    next.value = change->value;
    next.size = change->size;
    if (attributes->words_action != ATTRIBUTE_KEEP) next.words = attributes->words;
    if (attributes->vector_action != ATTRIBUTE_KEEP)
        next.vector = attributes->vector, next.vector_count = attributes->vector_count;
    if (attributes->words_action == ATTRIBUTE_REMOVE) next.words = (struct text){NULL, 0};
    if (attributes->vector_action == ATTRIBUTE_REMOVE) next.vector_count = 0;
    if (attributes->expires_action != ATTRIBUTE_KEEP)
        next.expires_at = attributes->expires_action == ATTRIBUTE_SET ? attributes->expires_at : INT64_MAX;
    struct entry *entry = map_entry_new(&next);
    return entry != NULL && map_put_take(map, collection, entry) ? NULL : failure_memory();
}

static tn_value memory_delete(tn_store *store, struct text name, struct text key) {
    struct map *map = &store->dataset->map;
    return map_remove(map, map_collection(map, name, false), key) ? NULL : failure_memory();
}

/* Stores the index of the first entry in the range, and the index after its last entry. */
static void key_range_bounds(const struct collection *collection, const struct key_range *range, uint64_t *first,
                             uint64_t *end) {
    *first = range->from.data != NULL ? map_lower_bound(collection, range->from) : 0;
    *end = range->to.data != NULL ? map_lower_bound(collection, range->to) : collection->count;
}

static tn_value memory_delete_range(tn_store *store, const struct selection *selection, int64_t now, int64_t *count) {
    struct map *map = &store->dataset->map;
    struct collection *collection = map_collection(map, selection->collection, false);
    uint64_t first = 0, last = 0;
    if (collection != NULL) key_range_bounds(collection, &selection->range, &first, &last);
    while (last > first) {
        const struct entry *entry = collection->entries[--last];
        *count += entry_is_live(entry, now);
        if (!map_remove(map, collection, entry->key)) return failure_memory();
    }
    return NULL;
}

/* ---- Reading ---- */

struct match {
    const struct entry *entry;
    double score;
};

/* Compares by the members of the order, then by key. Negative if `a` is first. */
static int selection_compare(const struct selection *selection, const struct entry *a, const struct entry *b) {
    for (uint64_t i = 0; i < selection->order_count; i++) {
        const struct path *path = &selection->order[i];
        int order = order_compare(path_get(path, a->value), path_get(path, b->value));
        if (order != 0) return selection->reverse ? -order : order;
    }
    int order = text_compare(a->key, b->key);
    return selection->reverse ? -order : order;
}

static int match_compare_order(const void *a, const void *b, void *selection) {
    return selection_compare(selection, ((const struct match *)a)->entry, ((const struct match *)b)->entry);
}

static int match_compare_score(const void *a, const void *b, void *unused) {
    const struct match *left = a, *right = b;
    (void)unused;
    if (left->score != right->score) return left->score > right->score ? -1 : 1;
    return text_compare(left->entry->key, right->entry->key);
}

/* Returns the fraction of the words in `text` that are in `wanted`. 0 if `text` lacks a word of `wanted`. */
static double words_score(struct text text, struct text wanted) {
    double hits = 0, all = 0;
    struct text word, other, rest = text;
    while (words_next(&rest, &other)) all++;
    while (words_next(&wanted, &word)) {
        double times = 0;
        rest = text;
        while (words_next(&rest, &other)) times += text_compare(word, other) == 0;
        if (times == 0) return 0;
        hits += times;
    }
    return all > 0 ? hits / all : 0;
}

/* True if the entry matches the search; *score is how well. Always true for a list or count. */
static bool selection_matches(const struct selection *selection, const struct entry *entry, double *score) {
    if (selection->vector != NULL) {
        if (entry->vector_count != selection->vector_count) return false;
        *score = vector_similarity(entry->vector, selection->vector, selection->vector_count);
    } else if (selection->words.data != NULL) {
        *score = entry->words.data != NULL ? words_score(entry->words, selection->words) : 0;
        return *score > 0;
    }
    return true;
}

/* Stores all matching entries, ordered by key, in *out. The caller frees it with store_free. */
static tn_value selection_collect(const struct collection *collection, const struct selection *selection, int64_t now,
                                  struct match **out, uint64_t *count) {
    uint64_t first = 0, last = 0;
    *count = 0;
    if (collection != NULL) key_range_bounds(collection, &selection->range, &first, &last);
    struct match *list = last > first ? store_alloc((last - first) * sizeof *list) : NULL;
    if (list == NULL && last > first) return failure_memory();
    for (; first < last; first++) {
        const struct entry *entry = collection->entries[first];
        double score = 0;
        if (!entry_is_live(entry, now) || !selection_matches(selection, entry, &score) ||
            !filter_matches(selection->where, entry->value))
            continue;
        list[(*count)++] = (struct match){entry, score};
    }
    *out = list;
    return NULL;
}

static void page_add_matches(const struct match *list, uint64_t count, struct page *page) {
    for (uint64_t i = 0; i < count; i++) {
        const struct entry *entry = list[i].entry;
        struct record record = {entry->key, entry->version, entry->value, entry->size, list[i].score};
        if (!page_add(page, &record)) break;
    }
}

/* Stores the index of the first entry after the record `after` in *first. */
static tn_value selection_skip(const struct collection *collection, struct selection *selection, int64_t now,
                               const struct match *list, uint64_t count, uint64_t *first) {
    struct entry key_only = {.key = selection->after};
    const struct entry *after = &key_only;
    struct excerpt excerpt;
    *first = 0;
    if (selection->after.data == NULL) return NULL;
    if (selection->order_count > 0) {
        after = map_find(collection, selection->after);
        if (!entry_is_live(after, now))
            return failure("NOT_FOUND", "the record `%s`, which `after` names, no longer exists; restart the list",
                           text_excerpt(selection->after, &excerpt));
    }
    while (*first < count && selection_compare(selection, list[*first].entry, after) <= 0) ++*first;
    return NULL;
}

static tn_value memory_list(tn_store *store, const struct selection *wanted, int64_t now, struct page *page) {
    struct selection selection = *wanted;
    struct match *matches = NULL;
    uint64_t count = 0, first = 0;
    const struct collection *collection = map_collection(memory_lock(store), selection.collection, false);
    tn_value why = selection_collect(collection, &selection, now, &matches, &count);
    if (count > 0 && (selection.order_count > 0 || selection.reverse))
        qsort_r(matches, count, sizeof *matches, match_compare_order, &selection);
    if (why == NULL) why = selection_skip(collection, &selection, now, matches, count, &first);
    if (why == NULL && count > 0) page_add_matches(matches + first, count - first, page);
    memory_unlock(store);
    store_free(matches);
    return why;
}

static tn_value memory_count(tn_store *store, const struct selection *selection, int64_t now, int64_t *number) {
    struct match *matches = NULL;
    uint64_t all = 0;
    tn_value why = selection_collect(map_collection(memory_lock(store), selection->collection, false), selection, now,
                                     &matches, &all);
    memory_unlock(store);
    *number = (int64_t)all;
    store_free(matches);
    return why;
}

static tn_value memory_search(tn_store *store, const struct selection *selection, int64_t now, struct page *page) {
    struct match *matches = NULL;
    uint64_t all = 0;
    tn_value why = selection_collect(map_collection(memory_lock(store), selection->collection, false), selection, now,
                                     &matches, &all);
    if (all > 0) qsort_r(matches, all, sizeof *matches, match_compare_score, NULL);
    page_add_matches(matches, all, page);
    memory_unlock(store);
    store_free(matches);
    return why;
}

/* ---- The interface ---- */

static const struct backend backend = {memory_transaction_begin,
                                       memory_transaction_commit,
                                       memory_transaction_rollback,
                                       memory_find,
                                       memory_write,
                                       memory_delete,
                                       memory_delete_range,
                                       memory_list,
                                       memory_count,
                                       memory_search};

static int32_t memory_commit(tn_store *store, tn_value batch, tn_value *result, tn_value *error) {
    return backend_commit(&backend, store, batch, result, error);
}

static int32_t memory_query(tn_store *store, tn_value source, tn_value *result, tn_value *error) {
    return backend_query(&backend, store, source, result, error);
}

static int32_t memory_maintain(tn_store *store, tn_value *result, tn_value *error) {
    int64_t now = tn.core->wall_ms(tn.host), removed = 0, bytes = 0;
    struct map *map = memory_lock(store);
    bool done = true;
    for (struct collection *at = map->collections; at != NULL && done; at = at->next) {
        for (uint64_t i = at->count; i > 0 && done; i--) {
            const struct entry *entry = at->entries[i - 1];
            bool expired = !entry_is_live(entry, now);
            removed += expired;
            if (expired)
                done = map_remove(map, at, entry->key);
            else
                bytes += (int64_t)(entry->size + entry->key.length + entry->words.length);
        }
    }
    map_commit(map);
    memory_unlock(store);
    if (!done) return backend_fail_take(failure_memory(), error);
    return backend_make_maintain_result(removed, bytes, result);
}

static void memory_deinit(void *self) {
    (void)self;
    while (datasets != NULL) {
        struct dataset *dataset = datasets;
        datasets = dataset->next;
        map_finish(&dataset->map);
        (void)pthread_mutex_destroy(&dataset->lock);
        store_free(dataset);
    }
}

static const void *memory_get_interface(void *self, const char *id) {
    static const tn_store_draft store = {sizeof store,  memory_open,  memory_close,
                                         memory_commit, memory_query, memory_maintain};
    static const tn_lifecycle_1 lifecycle = {sizeof lifecycle, NULL, NULL, memory_deinit};
    (void)self;
    if (strcmp(id, TN_STORE_DRAFT) == 0) return &store;
    return strcmp(id, TN_LIFECYCLE_1) == 0 ? &lifecycle : NULL;
}

TN_EXPORT const tn_plugin *tn_plugin_entry_1(const tn_host *host) {
    static const tn_plugin plugin = {sizeof plugin, NULL, memory_get_interface};
    return backend_plugin_entry(host, &plugin);
}
