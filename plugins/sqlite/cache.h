/*
 * cache.h - small records that were read to be changed, so that the next change need not read and parse them again.
 *
 * A run changes the record of its thread in each super-step. The cache is used only in transactions that may write, and
 * only if no other connection has changed the file since the last one: records.c compares SQLite's data version. What
 * this connection changes is also changed here, and everything is dropped after a rollback.
 *
 *     const struct cached *found = cache_find(&store->cache, collection_id, key);
 *     if (found == NULL) cache_put(&store->cache, collection_id, key, &row, value, size);
 *
 * Memory: at most CACHE_BYTES of JSON, and the keys.
 */
#ifndef TENON_PLUGINS_SQLITE_CACHE_H
#define TENON_PLUGINS_SQLITE_CACHE_H

#include <tenon/store/base.h>

#define CACHE_SLOTS     4096
#define CACHE_BYTES     2097152 /* of JSON of all records */
#define CACHE_VALUE_MAX 8192    /* of JSON of one record */

/* What is known of a record besides its value. */
struct row {
    bool known; /* false: the other members are not valid */
    int64_t id; /* 0: no record */
    int64_t version, expires_at;
    bool expires, expired;
    int found_by; /* FOUND_BY_… */
};

struct cached {
    int64_t collection;
    char *key;             /* NULL: the slot is empty */
    uint64_t length, size; /* size: of the JSON */
    struct row row;
    tn_value value;
};

struct cache {
    struct cached *slots; /* NULL until the first record */
    uint64_t bytes;
    unsigned count;
    uint32_t version; /* SQLite's data version after the last transaction of this connection */
};

/* Returns the record, or NULL. Valid until the next call with the cache. */
const struct cached *cache_find(const struct cache *cache, int64_t collection, struct tn_store_text key);
/* Keeps a record, or replaces it. Does nothing if it is too large. The value is retained. */
void cache_put(struct cache *cache, int64_t collection, struct tn_store_text key, const struct row *row, tn_value value,
               uint64_t size);
void cache_drop(struct cache *cache, int64_t collection, struct tn_store_text key);
/* Drops the records of a collection, or all. */
void cache_drop_collection(struct cache *cache, int64_t collection);
void cache_clear(struct cache *cache);

#endif
