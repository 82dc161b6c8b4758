/*
 * graph.h - a checked document made ready to run: components created, names resolved, routing laid out.
 *
 * Immutable once built, and shared by any number of runs on its loop. For every source (a node, or START) its routes
 * lie in document order, so that a step's successors are found by walking one array. A graph is callable like any
 * component: that is what a subgraph and a graph offered as a tool are.
 *
 *     struct graph *graph;
 *     if (graph_build(host, document, &graph, &error) != TN_OK) return report(&error);
 *     struct run *run = run_new(graph, &options);
 *     graph_unref(graph);   // the run keeps it
 *
 * [loop]
 */
#ifndef TENON_HOST_GRAPH_H
#define TENON_HOST_GRAPH_H

#include "adl/document/document.h"
#include "adl/value/sha256.h"
#include "host/call/call.h"

struct host;
struct cache;

enum route_kind { ROUTE_STATIC, ROUTE_CONDITIONAL, ROUTE_MAP, ROUTE_JOIN };

struct graph_route {
    uint32_t kind;   /* enum route_kind */
    uint32_t edge;   /* the document's edge */
    int32_t target;  /* static: the node, or DOCUMENT_END */
    uint32_t member; /* join: which of its sources this is, counted over all joins */
};

struct graph_source {
    const struct graph_route *routes;
    uint32_t count;
    int32_t single; /* its one static successor (a node or DOCUMENT_END), where that is all there is; else NOWHERE */
};

struct graph_join {
    uint32_t edge;
    uint32_t first, count; /* its members: [first, first + count) */
};

struct graph_node {
    struct callable *callable;
    const uint32_t *reads; /* fields; borrowed from the callable */
    uint32_t read_count;
    bool may_retry, may_cache; /* by the effects its component declares, and those that it calls */
    struct cache *cache;       /* NULL where the node has none */
    struct graph_source source;
};

struct graph {
    struct callable callable; /* first: a graph can be called */
    struct host *host;
    struct document *document;
    uint32_t depth;          /* graphs around it; bounded by DOCUMENT_SUBGRAPH_DEPTH_MAX */
    struct graph *next_open; /* the host's list of what graph_open gave */
    char *path;              /* its key there; NULL where graph_build made it */
    tn_value value;          /* of a document that a component has made: as that gave it; else NULL */
    struct graph *around;    /* while it is built: what is being built meanwhile (host.h, `building`) */
    struct graph *newer;     /* the same document with plugins that have been upgraded since; one reference, or NULL */
    char identity[SHA256_TEXT]; /* identity.h's; "" until it is asked for */
    uint64_t upgrades;          /* of the registry, when this was built */
    struct graph_node *nodes;
    struct graph_source start;
    struct graph_route *routes; /* all of them; the sources point into it */
    struct graph_join *joins;
    uint32_t join_count, member_count;
    struct callable **reducers; /* [channel_count]; NULL where the reducer is built in */
    bool has_deferred, has_interrupts, has_ephemeral;
    bool repeatable, cacheable;                 /* every node's component may be repeated, may be cached */
    bool callees_repeatable, callees_cacheable; /* while a node is built: likewise of what it has bound so far */
};

/*
 * Builds what document_read found without errors. INVALID_GRAPH, or what a component's create refused with, its message
 * naming the node. `depth` of nesting is the host's affair: 0 for a document that a user named.
 */
int32_t graph_build(struct host *host, struct document *document, uint32_t depth, struct graph **out,
                    struct error *error);
/* Reads, checks and builds the document at `path` ("resolved from" `from`); each is built once per host while in use.
 */
int32_t graph_open(struct host *host, const char *from, const char *path, uint32_t depth, struct graph **out,
                   struct error *error);
/* graph_build of a document that a component has made, as the value `value`. */
int32_t graph_build_value(struct host *host, struct document *document, tn_value value, uint32_t depth,
                          struct graph **out, struct error *error);
/*
 * Checks and builds the document that a node of `around` has made: a graph of its own, with the roles and tools of
 * `around` where it has none. Its places in messages are in its JSON, indented, as `PATH#name.json`. Inside itself it
 * is refused.
 */
int32_t graph_open_value(struct graph *around, tn_value value, const char *name, struct graph **out,
                         struct error *error);
/* What an unchecked document is refused with: its first error, where it is, and its code. Returns TN_INVALID. */
int32_t graph_refuse(struct error *error, const char *path, const struct diagnostics *found);
/*
 * The graph as it would be built now: itself, or, where plugins have been upgraded since, its document built anew,
 * once. A document that the new plugins refuse stays with the old ones, and that is logged. Borrowed from `graph`.
 */
struct graph *graph_current(struct graph *graph);
struct graph *graph_ref(struct graph *graph);
void graph_unref(struct graph *graph);
/* The graph that a callable is, borrowed; NULL where it is something else. */
struct graph *graph_of_callable(struct callable *callable);
/* The graphs that a node may call, in the order they were bound; borrowed. NULL past the last one. */
struct graph *graph_inside(const struct graph *graph, uint32_t node, uint32_t index);

/* "node `judge`", "START", "END": for messages. Borrowed from the document, or static. */
const char *graph_node_name(const struct graph *graph, int32_t node);
/* Node, DOCUMENT_END, or DOCUMENT_NOWHERE. */
int32_t graph_find_target(const struct graph *graph, const char *name, size_t length);

#endif
