/*
 * cache.c - a ring of entries in which the oldest is replaced, with hash chains of ring positions for lookup.
 */
#include "host/engine/cache.h"
#include "adl/value/memory.h"

struct cache_entry {
    uint64_t hash;
    tn_value key, result; /* NULL if the entry is empty */
    int64_t until_ms;
    uint32_t next; /* next entry of the bucket: position + 1, or 0 if it is the last */
};

struct cache {
    int64_t ttl_ms;
    uint32_t newest; /* where the next entry goes */
    uint32_t buckets[CACHE_ENTRIES_MAX];
    struct cache_entry entries[CACHE_ENTRIES_MAX];
};

struct cache *cache_new(int64_t ttl_ms) {
    struct cache *cache = mem_zalloc(sizeof *cache);
    cache->ttl_ms = ttl_ms;
    return cache;
}

void cache_free(struct cache *cache) {
    if (!cache) return;
    for (uint32_t i = 0; i < CACHE_ENTRIES_MAX; i++) {
        value_unref(cache->entries[i].key);
        value_unref(cache->entries[i].result);
    }
    mem_free(cache);
}

static uint32_t *cache_bucket(struct cache *cache, uint64_t hash) { return &cache->buckets[hash % CACHE_ENTRIES_MAX]; }

static struct cache_entry *cache_lookup(struct cache *cache, tn_value key, uint64_t hash) {
    for (uint32_t at = *cache_bucket(cache, hash); at; at = cache->entries[at - 1].next) {
        struct cache_entry *entry = &cache->entries[at - 1];
        if (entry->hash == hash && value_identical(entry->key, key)) return entry;
    }
    return NULL;
}

static void cache_remove_entry(struct cache *cache, uint32_t position) {
    struct cache_entry *entry = &cache->entries[position];
    if (!entry->key) return;
    uint32_t *at = cache_bucket(cache, entry->hash);
    while (*at != position + 1) at = &cache->entries[*at - 1].next;
    *at = entry->next;
    value_unref(entry->key);
    value_unref(entry->result);
    *entry = (struct cache_entry){0};
}

tn_value cache_get(struct cache *cache, tn_value key, int64_t now_ms) {
    struct cache_entry *entry = cache_lookup(cache, key, value_hash(key));
    return entry && now_ms < entry->until_ms ? entry->result : NULL;
}

void cache_put(struct cache *cache, tn_value key, tn_value result, int64_t now_ms) {
    cache_put_for(cache, key, result, cache->ttl_ms, now_ms);
}

void cache_put_for(struct cache *cache, tn_value key, tn_value result, int64_t ttl_ms, int64_t now_ms) {
    uint64_t hash = value_hash(key);
    struct cache_entry *old = cache_lookup(cache, key, hash);
    if (old) cache_remove_entry(cache, (uint32_t)(old - cache->entries));
    uint32_t position = cache->newest;
    cache->newest = (position + 1) % CACHE_ENTRIES_MAX;
    cache_remove_entry(cache, position);
    uint32_t *bucket = cache_bucket(cache, hash);
    int64_t until = ttl_ms > INT64_MAX - now_ms ? INT64_MAX : now_ms + ttl_ms;
    cache->entries[position] = (struct cache_entry){hash, value_ref(key), value_ref(result), until, *bucket};
    *bucket = position + 1;
}
