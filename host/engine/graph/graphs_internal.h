/*
 * graphs_internal.h - what the graphs of one host share. Private to engine/graph.
 */
#ifndef TENON_HOST_ENGINE_GRAPH_GRAPHS_INTERNAL_H
#define TENON_HOST_ENGINE_GRAPH_GRAPHS_INTERNAL_H

#include <stdint.h>

struct documents;
struct graph;

struct graphs {
    struct graph *open;          /* the graphs that graph_open built and that are still in use, linked by next_open */
    struct graph *building;      /* the innermost graph that is being built, or NULL */
    struct documents *documents; /* owned */
    uint32_t callee_depth;       /* components that are being created for each other */
};

#endif
