/*
 * thread_nodes.c - a hash table from values, by their address, to the nodes as which they were packed. Open addressing:
 * at most half of the places are used, and entries are only removed all at once.
 */
#include "host/data/thread/thread_nodes.h"
#include "adl/value/memory.h"

#define NODES_FIRST 16u /* places; a power of two */

struct thread_node_entry {
    tn_value value, node; /* references; value NULL: the place is free */
    size_t chunk;
    int depth;
};

/* The place of the value, or the free one that it would get. */
static struct thread_node_entry *nodes_place(struct thread_node_entry *entries, uint32_t capacity, tn_value value) {
    uint64_t hash = (uint64_t)(uintptr_t)value * UINT64_C(0x9e3779b97f4a7c15); /* addresses differ in the middle bits */
    uint32_t at = (uint32_t)(hash >> 32) & (capacity - 1);
    while (entries[at].value && entries[at].value != value) at = (at + 1) & (capacity - 1);
    return &entries[at];
}

tn_value thread_nodes_find(const struct thread_nodes *nodes, tn_value value, size_t chunk, int depth) {
    if (!nodes->count) return NULL;
    const struct thread_node_entry *entry = nodes_place(nodes->entries, nodes->capacity, value);
    return entry->value && entry->chunk == chunk && depth <= entry->depth ? entry->node : NULL;
}

static void nodes_grow(struct thread_nodes *nodes) {
    uint32_t capacity = nodes->capacity ? 2 * nodes->capacity : NODES_FIRST;
    struct thread_node_entry *entries = mem_zalloc(capacity * sizeof *entries);
    for (uint32_t i = 0; i < nodes->capacity; i++)
        if (nodes->entries[i].value) *nodes_place(entries, capacity, nodes->entries[i].value) = nodes->entries[i];
    mem_free(nodes->entries);
    nodes->entries = entries;
    nodes->capacity = capacity;
}

void thread_nodes_add(struct thread_nodes *nodes, tn_value value, size_t chunk, int depth, tn_value node,
                      int64_t bytes) {
    if (bytes > THREAD_NODES_BYTES_MAX) return;
    if (nodes->count == THREAD_NODES_MAX || nodes->bytes > THREAD_NODES_BYTES_MAX - bytes) thread_nodes_clear(nodes);
    if (2 * nodes->count >= nodes->capacity) nodes_grow(nodes);
    struct thread_node_entry *entry = nodes_place(nodes->entries, nodes->capacity, value);
    if (entry->value) {
        value_unref(entry->node);
    } else {
        entry->value = value_ref(value);
        nodes->count++;
        nodes->bytes += bytes;
    }
    entry->node = value_ref(node);
    entry->chunk = chunk;
    entry->depth = depth;
}

void thread_nodes_clear(struct thread_nodes *nodes) {
    for (uint32_t i = 0; i < nodes->capacity; i++) {
        value_unref(nodes->entries[i].value);
        value_unref(nodes->entries[i].node);
    }
    mem_free(nodes->entries);
    *nodes = (struct thread_nodes){NULL, 0, 0, 0};
}
