/*
 * tenon/store/map.h - records in memory: collections of entries, sorted by key, with transactions.
 *
 * A store that keeps its records in memory, and on disk in its own form, needs no more than this for the functions of a
 * backend: most of them are here. An entry never changes: a write replaces it. The undo log lists the changes since the
 * last commit, for a store to save, and keeps the replaced entries until tn_store_map_commit frees them, or
 * tn_store_map_rollback restores them. An empty map is zeroed. Not thread-safe.
 *
 *     struct tn_store_map map = {0};
 *     why = tn_store_map_write(&map, change, now);                  // as `write` of a backend
 *     for (uint64_t i = 0; i < map.undo_count; i++) save(map.undo_log[i].collection, map.undo_log[i].after);
 *     tn_store_map_commit(&map);                                    // or tn_store_map_rollback
 *     tn_store_map_finish(&map);
 */
#ifndef TENON_STORE_MAP_H
#define TENON_STORE_MAP_H

#include <tenon/store/backend.h>

#ifdef __cplusplus
extern "C" {
#endif

struct tn_store_entry {
    struct tn_store_text key; /* the bytes of key, words and vector are in the entry's memory block */
    int64_t version;
    tn_value value;             /* owned */
    uint64_t size;              /* of the value, in bytes */
    struct tn_store_text words; /* data is NULL if a search by text does not find the entry */
    const float *vector;
    uint64_t vector_count;
    int64_t expires_at; /* ms since 1970 UTC. INT64_MAX: never */
};

struct tn_store_collection {
    struct tn_store_collection *next;
    struct tn_store_text name;
    uint64_t count, capacity;
    struct tn_store_entry **entries; /* sorted by key */
};

/* A change; NULL: no entry. Of several changes of a key, the last one counts. */
struct tn_store_undo {
    struct tn_store_collection *collection;
    struct tn_store_entry *before, *after; /* `before` is owned; both are valid until the commit or rollback */
};

struct tn_store_map {
    struct tn_store_collection *collections;
    struct tn_store_undo *undo_log;
    uint64_t undo_count, undo_capacity;
};

/* ---- The functions of a backend (backend.h) ---- */

/* `find` of a backend. */
tn_value tn_store_map_read(const struct tn_store_map *map, struct tn_store_text collection, struct tn_store_text key,
                           int64_t now, bool want_value, struct tn_store_record *out);
tn_value tn_store_map_write(struct tn_store_map *map, const struct tn_store_change *change, int64_t now);
/* `remove` and `remove_range` of a backend. */
tn_value tn_store_map_delete(struct tn_store_map *map, struct tn_store_text collection, struct tn_store_text key);
tn_value tn_store_map_delete_range(struct tn_store_map *map, const struct tn_store_selection *selection, int64_t now,
                                   int64_t *count);
tn_value tn_store_map_list(const struct tn_store_map *map, const struct tn_store_selection *selection, int64_t now,
                           struct tn_store_page *page);
tn_value tn_store_map_count(const struct tn_store_map *map, const struct tn_store_selection *selection, int64_t now,
                            int64_t *count);
tn_value tn_store_map_search(const struct tn_store_map *map, const struct tn_store_selection *selection, int64_t now,
                             struct tn_store_page *page);
tn_value tn_store_map_collections(const struct tn_store_map *map, int64_t now, struct tn_store_page *page);
/* For `maintain`. *bytes is the size of the records that remain. */
tn_value tn_store_map_remove_expired(struct tn_store_map *map, int64_t now, int64_t *removed, int64_t *bytes);

/* ---- Entries ---- */

/* Returns the collection; NULL if it does not exist. */
struct tn_store_collection *tn_store_map_get(const struct tn_store_map *map, struct tn_store_text name);
/* Returns the collection, which is created if necessary; NULL if allocation fails. */
struct tn_store_collection *tn_store_map_collection(struct tn_store_map *map, struct tn_store_text name);
/* Returns a copy of `pattern`, with its own reference to the value, for tn_store_map_put_take. NULL if allocation
 * fails. */
struct tn_store_entry *tn_store_map_entry_new(const struct tn_store_entry *pattern);
/* Returns the index of the first entry whose key is not less than `key`, or collection->count. */
uint64_t tn_store_map_lower_bound(const struct tn_store_collection *collection, struct tn_store_text key);
/* Returns the entry, borrowed until the next change. NULL if it does not exist. */
struct tn_store_entry *tn_store_map_find(const struct tn_store_collection *collection, struct tn_store_text key);
/* Takes the entry. Returns false if allocation fails, or if the collection is NULL: the map is unchanged then. */
bool tn_store_map_put_take(struct tn_store_map *map, struct tn_store_collection *collection,
                           struct tn_store_entry *entry);
/* Removes the entry, if it exists. False if allocation fails: the map is unchanged then. */
bool tn_store_map_remove(struct tn_store_map *map, struct tn_store_collection *collection, struct tn_store_text key);
/* Frees the replaced entries: the changes since the last commit are final. */
void tn_store_map_commit(struct tn_store_map *map);
/* Undoes the changes since the last commit, newest first. Cannot fail. */
void tn_store_map_rollback(struct tn_store_map *map);
void tn_store_map_finish(struct tn_store_map *map);

#ifdef __cplusplus
}
#endif
#endif
