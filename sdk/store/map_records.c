/*
 * map_records.c - the functions of a backend on a map: reading, writing, lists and searches.
 *
 * Every list, count and search scans all records in its range of keys.
 */
#include <stdlib.h>
#include <tenon/store/backend.h>
#include <tenon/store/map.h>
#include <tenon/store/words.h>

static bool entry_is_live(const struct tn_store_entry *entry, int64_t now) {
    return entry != NULL && entry->expires_at > now;
}

tn_value tn_store_map_read(const struct tn_store_map *map, struct tn_store_text collection, struct tn_store_text key,
                           int64_t now, bool want_value, struct tn_store_record *out) {
    const struct tn_store_entry *entry = tn_store_map_find(tn_store_map_get(map, collection), key);
    *out = (struct tn_store_record){.version = 0};
    if (!entry_is_live(entry, now)) return NULL;
    out->version = entry->version;
    if (want_value) out->value = tn_retain(entry->value);
    return NULL;
}

tn_value tn_store_map_write(struct tn_store_map *map, const struct tn_store_change *change, int64_t now) {
    struct tn_store_collection *collection = tn_store_map_collection(map, change->collection);
    const struct tn_store_attributes *attributes = change->attributes;
    const struct tn_store_entry *before = tn_store_map_find(collection, change->key);
    struct tn_store_entry next = {.expires_at = INT64_MAX};
    if (entry_is_live(before, now)) next = *before;
    next.key = change->key;
    next.version = change->version;
    next.value = change->value;
    next.size = change->size;
    if (attributes->words_action != TN_STORE_KEEP) next.words = attributes->words;
    if (attributes->vector_action != TN_STORE_KEEP)
        next.vector = attributes->vector, next.vector_count = attributes->vector_count;
    if (attributes->words_action == TN_STORE_REMOVE) next.words = (struct tn_store_text){NULL, 0};
    if (attributes->vector_action == TN_STORE_REMOVE) next.vector_count = 0;
    if (attributes->expires_action != TN_STORE_KEEP)
        next.expires_at = attributes->expires_action == TN_STORE_SET ? attributes->expires_at : INT64_MAX;
    struct tn_store_entry *entry = tn_store_map_entry_new(&next);
    return entry != NULL && tn_store_map_put_take(map, collection, entry) ? NULL : tn_store_failure_memory();
}

tn_value tn_store_map_delete(struct tn_store_map *map, struct tn_store_text collection, struct tn_store_text key) {
    return tn_store_map_remove(map, tn_store_map_get(map, collection), key) ? NULL : tn_store_failure_memory();
}

/* Stores the index of the first entry in the range, and the index after its last entry. */
static void key_range_bounds(const struct tn_store_collection *collection, const struct tn_store_range *range,
                             uint64_t *first, uint64_t *end) {
    *first = range->from.data != NULL ? tn_store_map_lower_bound(collection, range->from) : 0;
    *end = range->to.data != NULL ? tn_store_map_lower_bound(collection, range->to) : collection->count;
}

tn_value tn_store_map_delete_range(struct tn_store_map *map, const struct tn_store_selection *selection, int64_t now,
                                   int64_t *count) {
    struct tn_store_collection *collection = tn_store_map_get(map, selection->collection);
    uint64_t first = 0, last = 0;
    if (collection != NULL) key_range_bounds(collection, &selection->range, &first, &last);
    while (last > first) {
        const struct tn_store_entry *entry = collection->entries[--last];
        *count += entry_is_live(entry, now);
        if (!tn_store_map_remove(map, collection, entry->key)) return tn_store_failure_memory();
    }
    return NULL;
}

/* ---- Reading ---- */

struct match {
    const struct tn_store_entry *entry;
    double score;
    const struct tn_store_selection *selection; /* whose order compares it: qsort has no argument for it */
};

/* Compares by the members of the order, then by key. Negative if `a` is first. */
static int selection_compare(const struct tn_store_selection *selection, const struct tn_store_entry *a,
                             const struct tn_store_entry *b) {
    for (uint64_t i = 0; i < selection->order_count; i++) {
        const struct tn_store_path *path = &selection->order[i];
        int order = tn_store_order_compare(tn_store_path_get(path, a->value), tn_store_path_get(path, b->value));
        if (order != 0) return selection->reverse ? -order : order;
    }
    int order = tn_store_text_compare(a->key, b->key);
    return selection->reverse ? -order : order;
}

static int match_compare_order(const void *a, const void *b) {
    const struct match *left = a, *right = b;
    return selection_compare(left->selection, left->entry, right->entry);
}

static int match_compare_score(const void *a, const void *b) {
    const struct match *left = a, *right = b;
    if (left->score != right->score) return left->score > right->score ? -1 : 1;
    return tn_store_text_compare(left->entry->key, right->entry->key);
}

/* Returns the fraction of the words in `text` that are in `wanted`. 0 if `text` lacks a word of `wanted`. */
static double words_score(struct tn_store_text text, struct tn_store_text wanted) {
    double hits = 0, all = 0;
    struct tn_store_text word, other, rest = text;
    while (tn_store_words_next(&rest, &other)) all++;
    while (tn_store_words_next(&wanted, &word)) {
        double times = 0;
        rest = text;
        while (tn_store_words_next(&rest, &other)) times += tn_store_text_compare(word, other) == 0;
        if (times == 0) return 0;
        hits += times;
    }
    return all > 0 ? hits / all : 0;
}

/* True if the entry matches the search; *score is how well. Always true for a list or count. */
static bool selection_matches(const struct tn_store_selection *selection, const struct tn_store_entry *entry,
                              double *score) {
    if (selection->vector != NULL) {
        if (entry->vector_count != selection->vector_count) return false;
        *score = tn_store_vector_similarity(entry->vector, selection->vector, selection->vector_count);
    } else if (selection->words.data != NULL) {
        *score = entry->words.data != NULL ? words_score(entry->words, selection->words) : 0;
        return *score > 0;
    }
    return true;
}

/* Stores all matching entries, ordered by key, in *out. The caller frees it with tn_store_free. */
static tn_value selection_collect(const struct tn_store_collection *collection,
                                  const struct tn_store_selection *selection, int64_t now, struct match **out,
                                  uint64_t *count) {
    uint64_t first = 0, last = 0;
    *count = 0;
    if (collection != NULL) key_range_bounds(collection, &selection->range, &first, &last);
    struct match *list = last > first ? tn_store_alloc((last - first) * sizeof *list) : NULL;
    if (list == NULL && last > first) return tn_store_failure_memory();
    for (; first < last; first++) {
        const struct tn_store_entry *entry = collection->entries[first];
        double score = 0;
        if (!entry_is_live(entry, now) || !selection_matches(selection, entry, &score) ||
            !tn_store_filter_matches(selection->where, entry->value))
            continue;
        list[(*count)++] = (struct match){entry, score, selection};
    }
    *out = list;
    return NULL;
}

static void page_add_matches(const struct match *list, uint64_t count, struct tn_store_page *page) {
    for (uint64_t i = 0; i < count; i++) {
        const struct tn_store_entry *entry = list[i].entry;
        struct tn_store_record record = {.key = entry->key,
                                         .version = entry->version,
                                         .value = entry->value,
                                         .size = entry->size,
                                         .score = list[i].score,
                                         .words = entry->words,
                                         .vector = entry->vector_count > 0 ? entry->vector : NULL,
                                         .vector_count = entry->vector_count,
                                         .expires = entry->expires_at != INT64_MAX,
                                         .expires_at = entry->expires_at};
        if (!tn_store_page_add(page, &record)) break;
    }
}

/* Stores the index of the first entry after the record `after` in *first. */
static tn_value selection_skip(const struct tn_store_collection *collection, const struct tn_store_selection *selection,
                               int64_t now, const struct match *list, uint64_t count, uint64_t *first) {
    struct tn_store_entry key_only = {.key = selection->after};
    const struct tn_store_entry *after = &key_only;
    struct tn_store_excerpt excerpt;
    *first = 0;
    if (selection->after.data == NULL) return NULL;
    if (selection->order_count > 0) {
        after = tn_store_map_find(collection, selection->after);
        if (!entry_is_live(after, now))
            return tn_store_failure("NOT_FOUND",
                                    "the record `%s`, which `after` names, no longer exists; restart the list",
                                    tn_store_text_excerpt(selection->after, &excerpt));
    }
    while (*first < count && selection_compare(selection, list[*first].entry, after) <= 0) ++*first;
    return NULL;
}

tn_value tn_store_map_list(const struct tn_store_map *map, const struct tn_store_selection *selection, int64_t now,
                           struct tn_store_page *page) {
    struct match *matches = NULL;
    uint64_t count = 0, first = 0;
    const struct tn_store_collection *collection = tn_store_map_get(map, selection->collection);
    tn_value why = selection_collect(collection, selection, now, &matches, &count);
    if (count > 0 && (selection->order_count > 0 || selection->reverse))
        qsort(matches, count, sizeof *matches, match_compare_order);
    if (why == NULL) why = selection_skip(collection, selection, now, matches, count, &first);
    if (why == NULL && count > 0) page_add_matches(matches + first, count - first, page);
    tn_store_free(matches);
    return why;
}

tn_value tn_store_map_count(const struct tn_store_map *map, const struct tn_store_selection *selection, int64_t now,
                            int64_t *count) {
    struct match *matches = NULL;
    uint64_t all = 0;
    tn_value why = selection_collect(tn_store_map_get(map, selection->collection), selection, now, &matches, &all);
    *count = (int64_t)all;
    tn_store_free(matches);
    return why;
}

tn_value tn_store_map_search(const struct tn_store_map *map, const struct tn_store_selection *selection, int64_t now,
                             struct tn_store_page *page) {
    struct match *matches = NULL;
    uint64_t all = 0;
    tn_value why = selection_collect(tn_store_map_get(map, selection->collection), selection, now, &matches, &all);
    if (all > 0) qsort(matches, all, sizeof *matches, match_compare_score);
    page_add_matches(matches, all, page);
    tn_store_free(matches);
    return why;
}

static const struct tn_store_collection *collection_of_next_name(const struct tn_store_map *map,
                                                                 const struct tn_store_collection *after) {
    const struct tn_store_collection *next = NULL;
    for (const struct tn_store_collection *at = map->collections; at != NULL; at = at->next) {
        if (at->count == 0 || (after != NULL && tn_store_text_compare(at->name, after->name) <= 0)) continue;
        if (next == NULL || tn_store_text_compare(at->name, next->name) < 0) next = at;
    }
    return next;
}

tn_value tn_store_map_collections(const struct tn_store_map *map, int64_t now, struct tn_store_page *page) {
    const struct tn_store_collection *at = NULL;
    (void)now; /* a collection whose records have all expired may be listed */
    while ((at = collection_of_next_name(map, at)) != NULL && tn_store_page_add_name(page, at->name)) continue;
    return NULL;
}

/* ---- Maintenance ---- */

tn_value tn_store_map_remove_expired(struct tn_store_map *map, int64_t now, int64_t *removed, int64_t *bytes) {
    *removed = *bytes = 0;
    for (struct tn_store_collection *at = map->collections; at != NULL; at = at->next) {
        for (uint64_t i = at->count; i > 0; i--) {
            const struct tn_store_entry *entry = at->entries[i - 1];
            if (entry_is_live(entry, now)) {
                *bytes += (int64_t)(entry->size + entry->key.length + entry->words.length);
                continue;
            }
            if (!tn_store_map_remove(map, at, entry->key)) return tn_store_failure_memory();
            ++*removed;
        }
    }
    return NULL;
}
