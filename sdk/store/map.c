/*
 * map.c - collections as sorted arrays of entries, with an undo log.
 *
 * Arrays never shrink. A rollback returns to an earlier size, so it needs no allocation.
 */
#include <tenon/store/map.h>

/* ---- Entries ---- */

struct tn_store_entry *tn_store_map_entry_new(const struct tn_store_entry *pattern) {
    uint64_t floats = pattern->vector_count * sizeof(float);
    struct tn_store_entry *entry =
        tn_store_alloc(sizeof *entry + floats + pattern->key.length + 1 + pattern->words.length + 1);
    if (entry == NULL) return NULL;
    char *rest = (char *)(entry + 1);
    *entry = *pattern;
    if (floats > 0) memcpy(rest, pattern->vector, floats);
    entry->vector = (const float *)(const void *)(entry + 1);
    rest += floats;
    memcpy(rest, pattern->key.data, pattern->key.length);
    entry->key.data = rest;
    rest += pattern->key.length + 1;
    if (pattern->words.length > 0) memcpy(rest, pattern->words.data, pattern->words.length);
    entry->words.data = pattern->words.data != NULL ? rest : NULL;
    tn_retain(entry->value);
    return entry;
}

static void map_entry_free(struct tn_store_entry *entry) {
    if (entry != NULL) tn_release(entry->value);
    tn_store_free(entry);
}

/* ---- Lookup ---- */

struct tn_store_collection *tn_store_map_get(const struct tn_store_map *map, struct tn_store_text name) {
    struct tn_store_collection *found = map->collections;
    while (found != NULL && tn_store_text_compare(found->name, name) != 0) found = found->next;
    return found;
}

struct tn_store_collection *tn_store_map_collection(struct tn_store_map *map, struct tn_store_text name) {
    struct tn_store_collection *found = tn_store_map_get(map, name);
    if (found != NULL) return found;
    found = tn_store_alloc(sizeof *found + name.length + 1);
    if (found == NULL) return NULL;
    memcpy((char *)(found + 1), name.data, name.length);
    found->name = (struct tn_store_text){(char *)(found + 1), name.length};
    found->next = map->collections;
    map->collections = found;
    return found;
}

uint64_t tn_store_map_lower_bound(const struct tn_store_collection *collection, struct tn_store_text key) {
    uint64_t low = 0, high = collection->count;
    while (low < high) {
        uint64_t middle = (low + high) / 2;
        if (tn_store_text_compare(collection->entries[middle]->key, key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct tn_store_entry *tn_store_map_find(const struct tn_store_collection *collection, struct tn_store_text key) {
    if (collection == NULL) return NULL;
    uint64_t at = tn_store_map_lower_bound(collection, key);
    if (at == collection->count || tn_store_text_compare(collection->entries[at]->key, key) != 0) return NULL;
    return collection->entries[at];
}

/* ---- Changes ---- */

/* Replaces the key's entry by `entry` (NULL: removes it). Returns the old entry. The array has room for one more. */
static struct tn_store_entry *map_replace(struct tn_store_collection *collection, struct tn_store_text key,
                                          struct tn_store_entry *entry) {
    struct tn_store_entry *before = tn_store_map_find(collection, key);
    uint64_t at = tn_store_map_lower_bound(collection, key), rest = collection->count - at;
    struct tn_store_entry **slot = collection->entries + at;
    if (before != NULL && entry == NULL) {
        memmove(slot, slot + 1, (rest - 1) * sizeof(struct tn_store_entry *));
        collection->count--;
    } else if (entry != NULL) {
        if (before == NULL) {
            memmove(slot + 1, slot, rest * sizeof(struct tn_store_entry *));
            collection->count++;
        }
        *slot = entry;
    }
    return before;
}

static bool map_grow(void **list, uint64_t count, uint64_t *capacity, uint64_t size) {
    if (count < *capacity) return true;
    uint64_t larger = *capacity * 2 + 16;
    void *grown = tn.core->resize(tn.host, *list, larger * size);
    if (grown == NULL) return false;
    *list = grown;
    *capacity = larger;
    return true;
}

static bool map_change(struct tn_store_map *map, struct tn_store_collection *collection, struct tn_store_text key,
                       struct tn_store_entry *entry) {
    void *entries = collection->entries, *undo_log = map->undo_log;
    bool grown = map_grow(&entries, collection->count, &collection->capacity, sizeof(struct tn_store_entry *)) &&
                 map_grow(&undo_log, map->undo_count, &map->undo_capacity, sizeof(struct tn_store_undo));
    collection->entries = entries;
    map->undo_log = undo_log;
    if (!grown) return false;
    struct tn_store_entry *before = map_replace(collection, key, entry);
    if (before != NULL || entry != NULL)
        map->undo_log[map->undo_count++] = (struct tn_store_undo){collection, before, entry};
    return true;
}

bool tn_store_map_put_take(struct tn_store_map *map, struct tn_store_collection *collection,
                           struct tn_store_entry *entry) {
    if (collection != NULL && map_change(map, collection, entry->key, entry)) return true;
    map_entry_free(entry);
    return false;
}

bool tn_store_map_remove(struct tn_store_map *map, struct tn_store_collection *collection, struct tn_store_text key) {
    return collection == NULL || map_change(map, collection, key, NULL);
}

void tn_store_map_commit(struct tn_store_map *map) {
    for (uint64_t i = 0; i < map->undo_count; i++) map_entry_free(map->undo_log[i].before);
    map->undo_count = 0;
}

void tn_store_map_rollback(struct tn_store_map *map) {
    while (map->undo_count > 0) {
        struct tn_store_undo *undo = &map->undo_log[--map->undo_count];
        (void)map_replace(undo->collection, undo->after != NULL ? undo->after->key : undo->before->key, undo->before);
        map_entry_free(undo->after);
    }
}

void tn_store_map_finish(struct tn_store_map *map) {
    tn_store_map_rollback(map);
    while (map->collections != NULL) {
        struct tn_store_collection *collection = map->collections;
        map->collections = collection->next;
        for (uint64_t i = 0; i < collection->count; i++) map_entry_free(collection->entries[i]);
        tn_store_free(collection->entries);
        tn_store_free(collection);
    }
    tn_store_free(map->undo_log);
    *map = (struct tn_store_map){0};
}
