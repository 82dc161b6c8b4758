/*
 * saved_cache.h - the outcomes of a node in the store: `cache: {ttl: …, store: true}`.
 *
 * A record is named after what the outcome depends on (cache_identity.h) and a part of the hash of the input, so that a
 * node has a limited number of records; it contains the complete hash. Channels are saved by name, because other
 * documents with the same node have other channels. A failure of the store never fails a run: it is logged, once for
 * each graph, and the node runs.
 *
 *     struct saved_name name;
 *     if (!saved_cache_name(graph, node, key, &name)) run_the_node();
 *     lookup = saved_cache_lookup(graph, &name, on_found, user);   // NULL: the store cannot be opened
 *     saved_cache_put(graph, node, &name, outcome);
 *
 * Thread: loop.
 */
#ifndef TENON_HOST_ENGINE_GRAPH_SAVED_CACHE_H
#define TENON_HOST_ENGINE_GRAPH_SAVED_CACHE_H

#include "adl/value/value.h"
#include <stdbool.h>
#include <stdint.h>
#include <tenon/util/sha256.h>

#define SAVED_CACHE_SLOTS  65536u /* records of a node */
#define SAVED_CACHE_DIGITS 4u     /* of the input's hash, which name the record */

struct graph;
struct saved_lookup;

struct saved_name {
    char key[TN_SHA256_TEXT + 1 + SAVED_CACHE_DIGITS]; /* IDENTITY/SLOT */
    char input[TN_SHA256_TEXT];
};

/* False if the node has no records, because its identity is not known. */
bool saved_cache_name(struct graph *graph, uint32_t node, tn_value key, struct saved_name *name);

/* `outcome` is borrowed: {writes: [[channel, value]], output?}; NULL if the store has none. */
typedef void saved_cache_found(void *user, tn_value outcome);

/*
 * Looks up the outcome. `found` is called once, later, unless the lookup is cancelled before. Returns NULL if the store
 * cannot be opened.
 */
struct saved_lookup *saved_cache_lookup(struct graph *graph, const struct saved_name *name, saved_cache_found *found,
                                        void *user);
void saved_lookup_cancel(struct saved_lookup *lookup); /* NULL is allowed */
/* Saves an outcome for the ttl of the node. Does not wait until it is written. */
void saved_cache_put(struct graph *graph, uint32_t node, const struct saved_name *name, tn_value outcome);

#endif
