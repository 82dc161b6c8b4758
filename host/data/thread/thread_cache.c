/*
 * thread_cache.c - a hash table of entries, which are also a list in the order of their use.
 */
#include "host/data/thread/thread_cache.h"
#include "adl/value/memory.h"
#include <string.h>

#define CACHE_BUCKETS 4096u /* a power of two */

struct cache_entry {
    struct cache_entry *next_in_bucket;
    struct cache_entry *newer, *older;
    struct thread_cached cached;
    char id[];
};

struct thread_cache {
    struct cache_entry **buckets; /* NULL until the first entry */
    struct cache_entry *newest, *oldest;
    int64_t bytes;
    uint32_t count;
};

struct thread_cache *thread_cache_new(void) {
    return mem_zalloc(sizeof(struct thread_cache));
}

void thread_cached_finish(struct thread_cached *cached) {
    value_unref(cached->loaded);
    if (cached->extra) cached->free_extra(cached->extra);
    *cached = (struct thread_cached){NULL, 0, NULL, NULL};
}

static struct cache_entry **cache_find(struct thread_cache *cache, const char *id) {
    uint32_t hash = 2166136261u;
    for (const char *at = id; *at; at++) hash = (hash ^ (unsigned char)*at) * 16777619u;
    struct cache_entry **place = &cache->buckets[hash & (CACHE_BUCKETS - 1)];
    while (*place && strcmp((*place)->id, id) != 0) place = &(*place)->next_in_bucket;
    return place;
}

static void cache_remove(struct thread_cache *cache, struct cache_entry **place) {
    struct cache_entry *entry = *place;
    *place = entry->next_in_bucket;
    *(entry->newer ? &entry->newer->older : &cache->newest) = entry->older;
    *(entry->older ? &entry->older->newer : &cache->oldest) = entry->newer;
    cache->bytes -= entry->cached.weight;
    cache->count--;
}

static void cache_evict(struct thread_cache *cache, const char *id) {
    struct cache_entry **place = cache_find(cache, id), *entry = *place;
    if (!entry) return;
    cache_remove(cache, place);
    thread_cached_finish(&entry->cached);
    mem_free(entry);
}

void thread_cache_put_take(struct thread_cache *cache, const char *id, const struct thread_cached *cached) {
    size_t length = strlen(id) + 1;
    if (!cache->buckets) cache->buckets = mem_zalloc(CACHE_BUCKETS * sizeof(struct cache_entry *));
    cache_evict(cache, id);
    if (cached->weight > THREAD_CACHE_BYTES_MAX) {
        struct thread_cached dropped = *cached;
        thread_cached_finish(&dropped);
        return;
    }
    struct cache_entry *entry = mem_alloc(sizeof *entry + length);
    *entry = (struct cache_entry){.older = cache->newest, .cached = *cached};
    memcpy(entry->id, id, length);
    *cache_find(cache, id) = entry;
    *(cache->newest ? &cache->newest->newer : &cache->oldest) = entry;
    cache->newest = entry;
    cache->bytes += cached->weight;
    cache->count++;
    while (cache->bytes > THREAD_CACHE_BYTES_MAX || cache->count > THREAD_CACHE_ENTRIES_MAX)
        cache_evict(cache, cache->oldest->id);
}

bool thread_cache_take(struct thread_cache *cache, const char *id, struct thread_cached *out) {
    struct cache_entry **place = cache->buckets ? cache_find(cache, id) : NULL, *entry = place ? *place : NULL;
    if (!entry) return false;
    cache_remove(cache, place);
    *out = entry->cached;
    mem_free(entry);
    return true;
}

void thread_cache_free(struct thread_cache *cache) {
    if (!cache) return;
    while (cache->oldest) cache_evict(cache, cache->oldest->id);
    mem_free((void *)cache->buckets);
    mem_free(cache);
}
