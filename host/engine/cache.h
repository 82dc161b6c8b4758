/*
 * cache.h - what a node gave for equal input, kept for a while: `cache: {ttl: …}` of a node.
 *
 * The key is made of all that a pure component's result can depend on: the values of the channels it reads, and its
 * input; its version and configuration are fixed for the graph that owns the cache. Bounded: the oldest entry goes.
 * Times are the loop's (loop_now_ms). [loop]
 */
#ifndef TENON_HOST_CACHE_H
#define TENON_HOST_CACHE_H

#include "adl/value/value.h"
#include <stdbool.h>
#include <stdint.h>

#define CACHE_ENTRIES_MAX 1024u /* of one node */

struct cache;

struct cache *cache_new(int64_t ttl_ms);
void cache_free(struct cache *cache); /* NULL is allowed */
/* `key` is borrowed. The result borrowed until the next call; NULL where there is none that is fresh. */
tn_value cache_get(struct cache *cache, tn_value key, int64_t now_ms);
void cache_put(struct cache *cache, tn_value key, tn_value result, int64_t now_ms);

#endif
