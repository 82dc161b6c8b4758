/*
 * map.h - collections of entries, sorted by key, with transactions.
 *
 * An entry never changes: a write replaces it. An undo log keeps the replaced entries until map_commit frees them, or
 * map_rollback restores them. Not thread-safe.
 *
 *     struct collection *tasks = map_collection(map, name, true);
 *     if (!map_put_take(map, tasks, entry)) return failure_memory();          // the map owns the entry now
 *     map_rollback(map);
 */
#ifndef TENON_PLUGINS_MEMORY_MAP_H
#define TENON_PLUGINS_MEMORY_MAP_H

#include "base.h"

struct entry {
    struct text key; /* the bytes of key, words and vector are in the entry's memory block */
    int64_t version;
    tn_value value;    /* owned */
    uint64_t size;     /* of the value, in bytes */
    struct text words; /* data is NULL if a search by text does not find the entry */
    const float *vector;
    uint64_t vector_count;
    int64_t expires_at; /* ms since 1970 UTC. INT64_MAX: never */
};

struct collection {
    struct collection *next;
    struct text name;
    uint64_t count, capacity;
    struct entry **entries; /* sorted by key */
};

struct undo {
    struct collection *collection;
    struct entry *before, *after; /* `before` is owned. NULL: no entry */
};

struct map {
    struct collection *collections;
    struct undo *undo_log;
    uint64_t undo_count, undo_capacity;
};

/* Returns a copy of `pattern`, with its own reference to the value. NULL if allocation fails. */
struct entry *map_entry_new(const struct entry *pattern);

/* Returns the collection. If it does not exist: NULL, or with `create` a new one (NULL if allocation fails). */
struct collection *map_collection(struct map *map, struct text name, bool create);
/* Returns the index of the first entry whose key is not less than `key`, or collection->count. */
uint64_t map_lower_bound(const struct collection *collection, struct text key);
/* Returns the entry, borrowed until the next change. NULL if it does not exist. */
struct entry *map_find(const struct collection *collection, struct text key);
/* Takes the entry. Returns false if allocation fails, or if the collection is NULL: the map is unchanged then. */
bool map_put_take(struct map *map, struct collection *collection, struct entry *entry);
/* Removes the entry, if it exists. False if allocation fails: the map is unchanged then. */
bool map_remove(struct map *map, struct collection *collection, struct text key);
/* Frees the replaced entries: the changes since the last commit are final. */
void map_commit(struct map *map);
/* Undoes the changes since the last commit, newest first. Cannot fail. */
void map_rollback(struct map *map);
void map_finish(struct map *map);

#endif
