/*
 * thread_cache.h - what was saved last of threads that have ended a run in this process, so that their next run does
 * not read it again.
 *
 * An entry is what thread_read would return, and belongs to one version of the thread's record: it is used only if the
 * record still has that version and fence, so a change by anyone else makes it useless, never wrong. Entries are
 * evicted by size, the oldest first.
 *
 *     thread_cache_put_take(cache, "support-42", &(struct thread_cached){loaded, weight, indexes, free_indexes});
 *     if (thread_cache_take(cache, "support-42", &cached)) …          // the caller owns it; it is not in the cache now
 *
 * Thread: loop.
 */
#ifndef TENON_HOST_DATA_THREAD_THREAD_CACHE_H
#define TENON_HOST_DATA_THREAD_THREAD_CACHE_H

#include "adl/value/value.h"
#include <stdbool.h>
#include <stdint.h>

#define THREAD_CACHE_BYTES_MAX   67108864 /* of all entries, about (value_weight) */
#define THREAD_CACHE_ENTRIES_MAX 10000

struct thread_cache;

struct thread_cached {
    tn_value loaded; /* as the result of thread_read */
    int64_t weight;  /* of the state */
    void *extra;     /* of the engine: what it has computed from the state; or NULL */
    void (*free_extra)(void *extra);
};

struct thread_cache *thread_cache_new(void);
void thread_cache_free(struct thread_cache *cache); /* NULL is allowed */
/* Takes the members of `cached`. An entry that is larger than the whole cache is not kept. */
void thread_cache_put_take(struct thread_cache *cache, const char *id, const struct thread_cached *cached);
/* Moves the entry of a thread out of the cache. Returns false if there is none. */
bool thread_cache_take(struct thread_cache *cache, const char *id, struct thread_cached *out);
void thread_cached_finish(struct thread_cached *cached); /* an empty one is allowed */

#endif
