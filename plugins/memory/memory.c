/*
 * memory.c - the plugin `tenon.memory`: a store in the process's memory.
 *
 * What stands under a path is shared by all who have it open, and stays when nobody has, until the plugin ends. One
 * lock for each path is held during each call; a batch is undone from the map's journal. Everything is found by going
 * through all there is: what this store is for is to be right, so that others can be held against it.
 */
#include "map.h"
#include "place.h"
#include "words.h"
#include <pthread.h>
#include <stdlib.h>

/* Records under one path. */
struct shelf {
    struct shelf *next;
    struct text path;
    pthread_mutex_t lock; /* of the map */
    struct map map;
};

struct tn_store {
    struct shelf *shelf;
    bool writing; /* between begin and end: the lock is held */
};

static pthread_mutex_t shelves_lock = PTHREAD_MUTEX_INITIALIZER;
static struct shelf *shelves; /* under shelves_lock */

/* ---- Opening ---- */

static struct shelf *shelf_of(struct text path) {
    pthread_mutex_lock(&shelves_lock);
    struct shelf *shelf = shelves;
    while (shelf != NULL && text_compare(shelf->path, path) != 0) shelf = shelf->next;
    if (shelf == NULL && (shelf = store_alloc(sizeof *shelf + path.length + 1)) != NULL) {
        memcpy((char *)(shelf + 1), path.data, path.length);
        shelf->path = (struct text){(char *)(shelf + 1), path.length};
        (void)pthread_mutex_init(&shelf->lock, NULL);
        shelf->next = shelves;
        shelves = shelf;
    }
    pthread_mutex_unlock(&shelves_lock);
    return shelf;
}

static tn_value open_shelf(tn_value options, tn_store **out) {
    static const char *const own[] = {NULL};
    struct text path;
    tn_value why = place_options(options, "memory", own, &path);
    if (why != NULL) return why;
    struct shelf *shelf = shelf_of(path);
    tn_store *store = store_alloc(sizeof *store);
    if (store == NULL || shelf == NULL) {
        store_free(store);
        return failure_memory();
    }
    store->shelf = shelf;
    *out = store;
    return NULL;
}

static int32_t open_store(void *self, tn_value options, tn_store **store, tn_value *error) {
    (void)self;
    return place_fail_take(open_shelf(options, store), error);
}

static void close_store(tn_store *store) { store_free(store); }

/* ---- Writing ---- */

static tn_value begin(tn_store *store) {
    pthread_mutex_lock(&store->shelf->lock);
    store->writing = true;
    return NULL;
}

static tn_value end(tn_store *store) {
    map_keep(&store->shelf->map);
    store->writing = false;
    pthread_mutex_unlock(&store->shelf->lock);
    return NULL;
}

static void undo(tn_store *store) {
    map_undo(&store->shelf->map);
    store->writing = false;
    pthread_mutex_unlock(&store->shelf->lock);
}

static struct map *enter(tn_store *store) {
    if (!store->writing) pthread_mutex_lock(&store->shelf->lock);
    return &store->shelf->map;
}

static void leave(tn_store *store) {
    if (!store->writing) pthread_mutex_unlock(&store->shelf->lock);
}

static bool alive(const struct entry *entry, int64_t now) { return entry != NULL && entry->expires_at > now; }

static tn_value find(tn_store *store, struct text name, struct text key, int64_t now, bool want_value,
                     struct record *out) {
    const struct entry *entry = map_find(map_collection(enter(store), name, false), key);
    *out = (struct record){.version = 0};
    if (alive(entry, now)) {
        out->version = entry->version;
        if (want_value) out->value = tn_retain(entry->value);
    }
    leave(store);
    return NULL;
}

static tn_value write(tn_store *store, const struct change *change, int64_t now) {
    struct map *map = &store->shelf->map;
    struct collection *collection = map_collection(map, change->collection, true);
    const struct beside *beside = change->beside;
    const struct entry *before = map_find(collection, change->key);
    struct entry next = {.expires_at = INT64_MAX};
    if (alive(before, now)) next = *before;
    next.key = change->key;
    next.version = change->version;
    next.value = change->value;
    next.size = change->size;
    if (beside->words_how != KEEP) next.words = beside->words;
    if (beside->vector_how != KEEP) next.vector = beside->vector, next.vector_count = beside->vector_count;
    if (beside->words_how == DROP) next.words = (struct text){NULL, 0};
    if (beside->vector_how == DROP) next.vector_count = 0;
    if (beside->expires_how != KEEP) next.expires_at = beside->expires_how == SET ? beside->expires_at : INT64_MAX;
    struct entry *entry = entry_new(&next);
    return entry != NULL && map_put(map, collection, entry) ? NULL : failure_memory();
}

static tn_value delete (tn_store *store, struct text name, struct text key) {
    struct map *map = &store->shelf->map;
    return map_remove(map, map_collection(map, name, false), key) ? NULL : failure_memory();
}

/* The places of an extent's first record and of the one behind its last. */
static void bounds(const struct collection *collection, const struct extent *extent, uint64_t *first, uint64_t *end) {
    *first = extent->from.data != NULL ? map_at(collection, extent->from) : 0;
    *end = extent->to.data != NULL ? map_at(collection, extent->to) : collection->count;
}

static tn_value delete_range(tn_store *store, const struct selection *selection, int64_t now, int64_t *count) {
    struct map *map = &store->shelf->map;
    struct collection *collection = map_collection(map, selection->collection, false);
    uint64_t first = 0, last = 0;
    if (collection != NULL) bounds(collection, &selection->extent, &first, &last);
    while (last > first) {
        const struct entry *entry = collection->entries[--last];
        *count += alive(entry, now);
        if (!map_remove(map, collection, entry->key)) return failure_memory();
    }
    return NULL;
}

/* ---- Reading ---- */

struct found {
    const struct entry *entry;
    double score;
};

/* Negative where `a` comes first: by the members, then by the key. */
static int compare(const struct selection *selection, const struct entry *a, const struct entry *b) {
    for (uint64_t i = 0; i < selection->order_count; i++) {
        const struct path *path = &selection->order[i];
        int order = order_compare(path_get(path, a->value), path_get(path, b->value));
        if (order != 0) return selection->reverse ? -order : order;
    }
    int order = text_compare(a->key, b->key);
    return selection->reverse ? -order : order;
}

static int by_order(const void *a, const void *b, void *selection) {
    return compare(selection, ((const struct found *)a)->entry, ((const struct found *)b)->entry);
}

static int by_score(const void *a, const void *b, void *unused) {
    const struct found *left = a, *right = b;
    (void)unused;
    if (left->score != right->score) return left->score > right->score ? -1 : 1;
    return text_compare(left->entry->key, right->entry->key);
}

/* How much of the text the words are; 0 where one of them is not in it. */
static double score_of(struct text text, struct text wanted) {
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

/* Does a search find the entry? A list does not ask. */
static bool matches(const struct selection *selection, const struct entry *entry, double *score) {
    if (selection->vector != NULL) {
        if (entry->vector_count != selection->vector_count) return false;
        *score = likeness(entry->vector, selection->vector, selection->vector_count);
    } else if (selection->words.data != NULL) {
        *score = entry->words.data != NULL ? score_of(entry->words, selection->words) : 0;
        return *score > 0;
    }
    return true;
}

/* All that fit, by key, into a block that the caller frees. */
static tn_value gather(const struct collection *collection, const struct selection *selection, int64_t now,
                       struct found **out, uint64_t *count) {
    uint64_t first = 0, last = 0;
    *count = 0;
    if (collection != NULL) bounds(collection, &selection->extent, &first, &last);
    struct found *list = last > first ? store_alloc((last - first) * sizeof *list) : NULL;
    if (list == NULL && last > first) return failure_memory();
    for (; first < last; first++) {
        const struct entry *entry = collection->entries[first];
        double score = 0;
        if (!alive(entry, now) || !matches(selection, entry, &score) || !filter_fits(selection->where, entry->value))
            continue;
        list[(*count)++] = (struct found){entry, score};
    }
    *out = list;
    return NULL;
}

static void give(const struct found *list, uint64_t count, struct page *page) {
    for (uint64_t i = 0; i < count; i++) {
        const struct entry *entry = list[i].entry;
        struct record record = {entry->key, entry->version, entry->value, entry->size, list[i].score};
        if (!page_add(page, &record)) break;
    }
}

/* The first in the list that comes behind the record `after`. */
static tn_value skip(const struct collection *collection, struct selection *selection, int64_t now,
                     const struct found *list, uint64_t count, uint64_t *first) {
    struct entry key_alone = {.key = selection->after};
    const struct entry *after = &key_alone;
    struct shown shown;
    *first = 0;
    if (selection->after.data == NULL) return NULL;
    if (selection->order_count > 0) {
        after = map_find(collection, selection->after);
        if (!alive(after, now))
            return failure("NOT_FOUND", "the record `%s`, which `after` names, is gone; begin the list anew",
                           show(selection->after, &shown));
    }
    while (*first < count && compare(selection, list[*first].entry, after) <= 0) ++*first;
    return NULL;
}

static tn_value list(tn_store *store, const struct selection *wanted, int64_t now, struct page *page) {
    struct selection selection = *wanted;
    struct found *found = NULL;
    uint64_t count = 0, first = 0;
    const struct collection *collection = map_collection(enter(store), selection.collection, false);
    tn_value why = gather(collection, &selection, now, &found, &count);
    if (count > 0 && (selection.order_count > 0 || selection.reverse))
        qsort_r(found, count, sizeof *found, by_order, &selection);
    if (why == NULL) why = skip(collection, &selection, now, found, count, &first);
    if (why == NULL && count > 0) give(found + first, count - first, page);
    leave(store);
    store_free(found);
    return why;
}

static tn_value count(tn_store *store, const struct selection *selection, int64_t now, int64_t *number) {
    struct found *found = NULL;
    uint64_t all = 0;
    tn_value why = gather(map_collection(enter(store), selection->collection, false), selection, now, &found, &all);
    leave(store);
    *number = (int64_t)all;
    store_free(found);
    return why;
}

static tn_value search(tn_store *store, const struct selection *selection, int64_t now, struct page *page) {
    struct found *found = NULL;
    uint64_t all = 0;
    tn_value why = gather(map_collection(enter(store), selection->collection, false), selection, now, &found, &all);
    if (all > 0) qsort_r(found, all, sizeof *found, by_score, NULL);
    give(found, all, page);
    leave(store);
    store_free(found);
    return why;
}

/* ---- The interface ---- */

static const struct place place = {begin, end, undo, find, write, delete, delete_range, list, count, search};

static int32_t commit(tn_store *store, tn_value batch, tn_value *result, tn_value *error) {
    return place_commit(&place, store, batch, result, error);
}

static int32_t query(tn_store *store, tn_value source, tn_value *result, tn_value *error) {
    return place_query(&place, store, source, result, error);
}

static int32_t maintain(tn_store *store, tn_value *result, tn_value *error) {
    int64_t now = tn.core->wall_ms(tn.host), removed = 0, bytes = 0;
    struct map *map = enter(store);
    bool done = true;
    for (struct collection *at = map->collections; at != NULL && done; at = at->next) {
        for (uint64_t i = at->count; i > 0 && done; i--) {
            const struct entry *entry = at->entries[i - 1];
            bool gone = !alive(entry, now);
            removed += gone;
            if (gone)
                done = map_remove(map, at, entry->key);
            else
                bytes += (int64_t)(entry->size + entry->key.length + entry->words.length);
        }
    }
    map_keep(map);
    leave(store);
    if (!done) return place_fail_take(failure_memory(), error);
    return place_maintained(removed, bytes, result);
}

static void deinit(void *self) {
    (void)self;
    while (shelves != NULL) {
        struct shelf *shelf = shelves;
        shelves = shelf->next;
        map_finish(&shelf->map);
        (void)pthread_mutex_destroy(&shelf->lock);
        store_free(shelf);
    }
}

static const void *offer(void *self, const char *id) {
    static const tn_store_draft store = {sizeof store, 0, open_store, close_store, commit, query, maintain};
    static const tn_lifecycle_1 lifecycle = {sizeof lifecycle, 0, NULL, NULL, deinit};
    (void)self;
    if (strcmp(id, TN_STORE_DRAFT) == 0) return &store;
    return strcmp(id, TN_LIFECYCLE_1) == 0 ? &lifecycle : NULL;
}

TN_EXPORT const tn_plugin *tn_plugin_entry_1(const tn_host *host) {
    static const tn_plugin plugin = {sizeof plugin, 0, NULL, offer};
    return place_entry(host, &plugin);
}
