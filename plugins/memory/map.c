/*
 * map.c - collections as sorted arrays of entries, with an undo log.
 *
 * Arrays never shrink. A rollback returns to an earlier size, so it needs no allocation.
 */
#include "map.h"

/* ---- Entries ---- */

struct entry *map_entry_new(const struct entry *pattern) {
    uint64_t floats = pattern->vector_count * sizeof(float);
    struct entry *entry = store_alloc(sizeof *entry + floats + pattern->key.length + 1 + pattern->words.length + 1);
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

static void map_entry_free(struct entry *entry) {
    if (entry != NULL) tn_release(entry->value);
    store_free(entry);
}

/* ---- Lookup ---- */

struct collection *map_collection(struct map *map, struct text name, bool create) {
    struct collection *found = map->collections;
    while (found != NULL && text_compare(found->name, name) != 0) found = found->next;
    if (found != NULL || !create) return found;
    found = store_alloc(sizeof *found + name.length + 1);
    if (found == NULL) return NULL;
    memcpy((char *)(found + 1), name.data, name.length);
    found->name = (struct text){(char *)(found + 1), name.length};
    found->next = map->collections;
    map->collections = found;
    return found;
}

uint64_t map_lower_bound(const struct collection *collection, struct text key) {
    uint64_t low = 0, high = collection->count;
    while (low < high) {
        uint64_t middle = (low + high) / 2;
        if (text_compare(collection->entries[middle]->key, key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct entry *map_find(const struct collection *collection, struct text key) {
    if (collection == NULL) return NULL;
    uint64_t at = map_lower_bound(collection, key);
    if (at == collection->count || text_compare(collection->entries[at]->key, key) != 0) return NULL;
    return collection->entries[at];
}

/* ---- Changes ---- */

/* Replaces the key's entry by `entry` (NULL: removes it). Returns the old entry. The array has room for one more. */
static struct entry *map_replace(struct collection *collection, struct text key, struct entry *entry) {
    struct entry *before = map_find(collection, key);
    uint64_t at = map_lower_bound(collection, key), rest = collection->count - at;
    struct entry **slot = collection->entries + at;
    if (before != NULL && entry == NULL) {
        memmove(slot, slot + 1, (rest - 1) * sizeof(struct entry *));
        collection->count--;
    } else if (entry != NULL) {
        if (before == NULL) {
            memmove(slot + 1, slot, rest * sizeof(struct entry *));
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

static bool map_change(struct map *map, struct collection *collection, struct text key, struct entry *entry) {
    void *entries = collection->entries, *undo_log = map->undo_log;
    bool grown = map_grow(&entries, collection->count, &collection->capacity, sizeof(struct entry *)) &&
                 map_grow(&undo_log, map->undo_count, &map->undo_capacity, sizeof(struct undo));
    collection->entries = entries;
    map->undo_log = undo_log;
    if (!grown) return false;
    struct entry *before = map_replace(collection, key, entry);
    if (before != NULL || entry != NULL) map->undo_log[map->undo_count++] = (struct undo){collection, before, entry};
    return true;
}

bool map_put_take(struct map *map, struct collection *collection, struct entry *entry) {
    if (collection != NULL && map_change(map, collection, entry->key, entry)) return true;
    map_entry_free(entry);
    return false;
}

bool map_remove(struct map *map, struct collection *collection, struct text key) {
    return collection == NULL || map_change(map, collection, key, NULL);
}

void map_commit(struct map *map) {
    for (uint64_t i = 0; i < map->undo_count; i++) map_entry_free(map->undo_log[i].before);
    map->undo_count = 0;
}

void map_rollback(struct map *map) {
    while (map->undo_count > 0) {
        struct undo *undo = &map->undo_log[--map->undo_count];
        (void)map_replace(undo->collection, undo->after != NULL ? undo->after->key : undo->before->key, undo->before);
        map_entry_free(undo->after);
    }
}

void map_finish(struct map *map) {
    map_rollback(map);
    while (map->collections != NULL) {
        struct collection *collection = map->collections;
        map->collections = collection->next;
        for (uint64_t i = 0; i < collection->count; i++) map_entry_free(collection->entries[i]);
        store_free(collection->entries);
        store_free(collection);
    }
    store_free(map->undo_log);
    *map = (struct map){0};
}
