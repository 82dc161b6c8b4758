/*
 * map.h - collections of entries in order of their keys, each change of which can be taken back.
 *
 * An entry never changes: writing puts another in its place. What was there is kept in a journal until map_keep (it was
 * right) or map_undo (put all of it back, latest first). Not for several threads at once.
 *
 *     struct collection *tasks = map_collection(map, name, true);
 *     if (!map_put(map, tasks, entry)) return failure_memory();          // the entry is the map's now
 *     map_undo(map);
 */
#ifndef TENON_PLUGINS_MEMORY_MAP_H
#define TENON_PLUGINS_MEMORY_MAP_H

#include "base.h"

struct entry {
    struct text key; /* in the same block as the entry, as are words and vector */
    int64_t version;
    tn_value value;
    uint64_t size;
    struct text words; /* data is NULL where there are none */
    const float *vector;
    uint64_t vector_count;
    int64_t expires_at; /* INT64_MAX: never */
};

struct collection {
    struct collection *next;
    struct text name;
    uint64_t count, room;
    struct entry **entries; /* by key */
};

struct undo {
    struct collection *collection;
    struct entry *before, *after; /* one of them may be NULL */
};

struct map {
    struct collection *collections;
    struct undo *journal;
    uint64_t journal_count, journal_room;
};

/* A copy of all that the pattern has, the value retained; NULL where there is no memory. */
struct entry *entry_new(const struct entry *pattern);
void entry_free(struct entry *entry);

/* NULL where there is none (or, with `make`, no memory). */
struct collection *map_collection(struct map *map, struct text name, bool make);
/* The first place whose key is not less; there may be another key, or none. */
uint64_t map_at(const struct collection *collection, struct text key);
struct entry *map_find(const struct collection *collection, struct text key);
/* Takes the entry; false, with nothing done and the entry freed, where there is no memory. */
bool map_put(struct map *map, struct collection *collection, struct entry *entry);
bool map_remove(struct map *map, struct collection *collection, struct text key);
void map_keep(struct map *map);
void map_undo(struct map *map);
void map_finish(struct map *map);

#endif
