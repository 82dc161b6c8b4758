/*
 * thread_nodes.h - the nodes of large values that were packed a short time ago (thread_pack.h), found by identity.
 *
 * A new value is packed several times before a step is over: in the note about its activation, in the checkpoint as
 * input and as change, in the snapshot. Each time its chunks would be made and hashed again, although a value never
 * changes. The table holds a reference to each value, so no other value can get its address. It is dropped with each
 * checkpoint of the outermost run, and when it is full.
 *
 *     struct thread_nodes nodes = {0};
 *     thread_nodes_add(&nodes, value, chunk, depth, node);
 *     node = thread_nodes_find(&nodes, value, chunk, depth); // borrowed; NULL if it is not there
 *     thread_nodes_clear(&nodes);
 */
#ifndef TENON_HOST_DATA_THREAD_THREAD_NODES_H
#define TENON_HOST_DATA_THREAD_THREAD_NODES_H

#include "adl/value/value.h"
#include <stddef.h>
#include <stdint.h>

#define THREAD_NODES_MAX       1024                        /* values; one more drops the others */
#define THREAD_NODES_BYTES_MAX ((int64_t)64 * 1024 * 1024) /* of these values; a larger value is not kept */

struct thread_node_entry;

struct thread_nodes {
    struct thread_node_entry *entries; /* a hash table; NULL: none */
    uint32_t count, capacity;
    int64_t bytes;
};

/*
 * `chunk` and `depth` are those with which the value was packed (struct thread_packer); a node is found for the same
 * chunk, and for no greater depth. A text has the same node for all: chunk 0 and depth PACK_DEPTH_MAX.
 */
tn_value thread_nodes_find(const struct thread_nodes *nodes, tn_value value, size_t chunk, int depth);
/*
 * Both values are borrowed. `bytes` is the size of `value` without the parts that have an entry of their own. Replaces
 * what is known about the value.
 */
void thread_nodes_add(struct thread_nodes *nodes, tn_value value, size_t chunk, int depth, tn_value node,
                      int64_t bytes);
void thread_nodes_clear(struct thread_nodes *nodes);

#endif
