/*
 * cache.c - a table of slots; the hash of collection and key decides the slot, and a newer record replaces an older
 * one.
 */
#include "cache.h"

static unsigned slot_of(int64_t collection, struct tn_store_text key) {
    uint64_t hash = 1469598103934665603u ^ (uint64_t)collection; /* FNV-1a */
    for (uint64_t i = 0; i < key.length; i++) hash = (hash ^ (unsigned char)key.data[i]) * 1099511628211u;
    return (unsigned)((hash ^ hash >> 32) % CACHE_SLOTS);
}

static bool slot_has(const struct cached *slot, int64_t collection, struct tn_store_text key) {
    return slot->key != NULL && slot->collection == collection && slot->length == key.length &&
           memcmp(slot->key, key.data, key.length) == 0;
}

const struct cached *cache_find(const struct cache *cache, int64_t collection, struct tn_store_text key) {
    const struct cached *slot = cache->slots != NULL ? &cache->slots[slot_of(collection, key)] : NULL;
    return slot != NULL && slot_has(slot, collection, key) ? slot : NULL;
}

static void slot_empty(struct cache *cache, struct cached *slot) {
    if (slot->key == NULL) return;
    tn_store_free(slot->key);
    tn_release(slot->value);
    cache->bytes -= slot->size;
    cache->count--;
    *slot = (struct cached){.key = NULL};
}

void cache_put(struct cache *cache, int64_t collection, struct tn_store_text key, const struct row *row, tn_value value,
               uint64_t size) {
    if (cache->slots == NULL) cache->slots = tn_store_alloc(CACHE_SLOTS * sizeof *cache->slots);
    if (cache->slots == NULL) return;
    struct cached *slot = &cache->slots[slot_of(collection, key)];
    bool same = slot_has(slot, collection, key), fits = size <= CACHE_VALUE_MAX;
    if (!same || !fits) slot_empty(cache, slot);
    if (!fits) return;
    if (!same) {
        if (cache->bytes + size > CACHE_BYTES) cache_clear(cache);
        char *copy = cache->slots != NULL ? tn_store_alloc(key.length + 1) : NULL;
        if (copy == NULL) return;
        memcpy(copy, key.data, key.length);
        *slot = (struct cached){.collection = collection, .key = copy, .length = key.length};
        cache->count++;
    }
    tn_value before = slot->value;
    cache->bytes += size - slot->size;
    slot->size = size;
    slot->row = *row;
    slot->value = tn_retain(value);
    tn_release(before);
}

void cache_drop(struct cache *cache, int64_t collection, struct tn_store_text key) {
    if (cache->slots == NULL) return;
    struct cached *slot = &cache->slots[slot_of(collection, key)];
    if (slot_has(slot, collection, key)) slot_empty(cache, slot);
}

static void cache_drop_matching(struct cache *cache, const int64_t *collection) {
    for (unsigned i = 0; i < CACHE_SLOTS && cache->count > 0; i++)
        if (collection == NULL || cache->slots[i].collection == *collection) slot_empty(cache, &cache->slots[i]);
}

void cache_drop_collection(struct cache *cache, int64_t collection) { cache_drop_matching(cache, &collection); }

void cache_clear(struct cache *cache) { cache_drop_matching(cache, NULL); }
