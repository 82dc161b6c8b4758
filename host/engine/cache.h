/*
 * cache.h - results for equal inputs, kept for a limited time: `cache: {ttl: …}` of nodes and of roles of models.
 *
 * For a node, activation.c makes the key: the run's `configurable`, the input, and the fields that the node reads. A
 * node whose expressions or templates use more of `run` has no cache. The version and configuration of the component
 * are fixed, because the cache belongs to one graph. When the cache is full, the oldest entry is replaced. Times are
 * those of loop_now_ms. [loop]
 *
 *     tn_value known = cache_get(cache, key, loop_now_ms(loop));
 *     if (!known) cache_put(cache, key, outcome, loop_now_ms(loop));
 */
#ifndef TENON_HOST_ENGINE_CACHE_H
#define TENON_HOST_ENGINE_CACHE_H

#include "adl/value/value.h"
#include <stdbool.h>
#include <stdint.h>

#define CACHE_ENTRIES_MAX 1024u /* number of entries of one node, or of all models */

struct cache;

struct cache *cache_new(int64_t ttl_ms);
void cache_free(struct cache *cache); /* NULL is allowed */
/* The result is borrowed until the next call; NULL if no valid entry exists. */
tn_value cache_get(struct cache *cache, tn_value key, int64_t now_ms);
void cache_put(struct cache *cache, tn_value key, tn_value result, int64_t now_ms);
/* The same with another ttl than that of cache_new. */
void cache_put_for(struct cache *cache, tn_value key, tn_value result, int64_t ttl_ms, int64_t now_ms);

#endif
