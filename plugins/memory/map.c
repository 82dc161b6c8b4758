/*
 * map.c - collections as sorted arrays of entries, with a journal of what was replaced.
 *
 * Arrays never shrink: undoing goes back through sizes that they have had, and so needs no memory.
 */
#include "map.h"

/* ---- Entries ---- */

struct entry *entry_new(const struct entry *pattern) {
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

void entry_free(struct entry *entry) {
    if (entry != NULL) tn_release(entry->value);
    store_free(entry);
}

/* ---- Looking ---- */

struct collection *map_collection(struct map *map, struct text name, bool make) {
    struct collection *found = map->collections;
    while (found != NULL && text_compare(found->name, name) != 0) found = found->next;
    if (found != NULL || !make) return found;
    found = store_alloc(sizeof *found + name.length + 1);
    if (found == NULL) return NULL;
    memcpy((char *)(found + 1), name.data, name.length);
    found->name = (struct text){(char *)(found + 1), name.length};
    found->next = map->collections;
    map->collections = found;
    return found;
}

uint64_t map_at(const struct collection *collection, struct text key) {
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
    uint64_t at = map_at(collection, key);
    if (at == collection->count || text_compare(collection->entries[at]->key, key) != 0) return NULL;
    return collection->entries[at];
}

/* ---- Changing ---- */

/* Makes `entry` (NULL: nothing) what stands at the key; returns what stood there. There is room. */
static struct entry *swap(struct collection *collection, struct text key, struct entry *entry) {
    struct entry *before = map_find(collection, key);
    uint64_t at = map_at(collection, key), behind = collection->count - at;
    struct entry **place = collection->entries + at;
    if (before != NULL && entry == NULL) {
        memmove(place, place + 1, (behind - 1) * sizeof(struct entry *));
        collection->count--;
    } else if (entry != NULL) {
        if (before == NULL) {
            memmove(place + 1, place, behind * sizeof(struct entry *));
            collection->count++;
        }
        *place = entry;
    }
    return before;
}

static bool grow(void **list, uint64_t count, uint64_t *room, uint64_t size) {
    if (count < *room) return true;
    uint64_t larger = *room * 2 + 16;
    void *grown = tn.core->resize(tn.host, *list, larger * size);
    if (grown == NULL) return false;
    *list = grown;
    *room = larger;
    return true;
}

static bool change(struct map *map, struct collection *collection, struct text key, struct entry *entry) {
    void *entries = collection->entries, *journal = map->journal;
    bool room = grow(&entries, collection->count, &collection->room, sizeof(struct entry *)) &&
                grow(&journal, map->journal_count, &map->journal_room, sizeof(struct undo));
    collection->entries = entries;
    map->journal = journal;
    if (!room) return false;
    struct entry *before = swap(collection, key, entry);
    if (before != NULL || entry != NULL) map->journal[map->journal_count++] = (struct undo){collection, before, entry};
    return true;
}

bool map_put(struct map *map, struct collection *collection, struct entry *entry) {
    if (collection != NULL && change(map, collection, entry->key, entry)) return true;
    entry_free(entry);
    return false;
}

bool map_remove(struct map *map, struct collection *collection, struct text key) {
    return collection == NULL || change(map, collection, key, NULL);
}

void map_keep(struct map *map) {
    for (uint64_t i = 0; i < map->journal_count; i++) entry_free(map->journal[i].before);
    map->journal_count = 0;
}

void map_undo(struct map *map) {
    while (map->journal_count > 0) {
        struct undo *undo = &map->journal[--map->journal_count];
        (void)swap(undo->collection, undo->after != NULL ? undo->after->key : undo->before->key, undo->before);
        entry_free(undo->after);
    }
}

void map_finish(struct map *map) {
    map_undo(map);
    while (map->collections != NULL) {
        struct collection *collection = map->collections;
        map->collections = collection->next;
        for (uint64_t i = 0; i < collection->count; i++) entry_free(collection->entries[i]);
        store_free(collection->entries);
        store_free(collection);
    }
    store_free(map->journal);
    *map = (struct map){0};
}
