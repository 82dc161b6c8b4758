/*
 * graph.h - a checked document that is ready to run: components created, names resolved, routes in order.
 *
 * A graph is immutable once built, and any number of runs on its loop share it. The routes of each source (a node, or
 * START) lie in document order, so the successors of a step are found by walking one array. A graph is callable like a
 * component; subgraphs, and graphs as tools, are called this way.
 *
 *     struct graph *graph;
 *     if (graph_build(engine, document, 0, NULL, &graph, &error) != TN_OK) return report(&error);
 *     struct run *run = run_new(graph, &options);
 *     graph_unref(graph);   // the run keeps it
 *
 * All functions are [loop].
 */
#ifndef TENON_HOST_ENGINE_GRAPH_GRAPH_H
#define TENON_HOST_ENGINE_GRAPH_GRAPH_H

#include "adl/document/document.h"
#include "host/plugin/call/call.h"
#include <tenon/util/sha256.h>

struct authority;
struct cache;
struct config_places;
struct diagnostics;
struct draw_inside;
struct engine;
struct graphs;

enum route_kind { ROUTE_STATIC, ROUTE_CONDITIONAL, ROUTE_MAP, ROUTE_JOIN };

struct graph_route {
    uint32_t kind;   /* enum route_kind */
    uint32_t edge;   /* the document's edge */
    int32_t target;  /* static: the node, or DOCUMENT_END */
    uint32_t join;   /* join: its index in graph.joins */
    uint32_t member; /* join: which of its sources this is, counted over all joins */
};

struct graph_source {
    const struct graph_route *routes;
    uint32_t count;
    int32_t single; /* the node or DOCUMENT_END, if the only route is static; else DOCUMENT_NOWHERE */
};

struct graph_join {
    uint32_t edge;
    uint32_t first, count; /* its members: [first, first + count) */
};

struct graph_node {
    struct callable *callable;
    struct callable *gate; /* called before it, until a person has approved the node (node_gate.h); or NULL */
    const uint32_t *reads; /* fields; borrowed from the callable */
    uint32_t read_count;
    bool may_retry, may_cache; /* derived from the effects of its component and of the components that it calls */
    struct cache *cache;       /* in memory; NULL without `cache` in the document, or if the node may not be cached */
    bool cached_in_store;      /* it has `cache` in the store instead */
    char *identity;            /* cache_identity; NULL until saved_cache.c needs it, "" if it is not known */
    struct graph_source source;
};

#define GRAPH_SPARE_MAX 64u

struct graph {
    struct callable callable; /* first */
    struct engine *engine;
    struct document *document;
    struct authority *authority;     /* the document's frame (plugin/call/authority.h) */
    uint32_t depth;                  /* graphs around it; bounded by DOCUMENT_SUBGRAPH_DEPTH_MAX */
    struct graph *next_open;         /* next graph in graphs->open */
    char *path;                      /* the key in graphs->open; NULL if graph_open did not open it */
    tn_value value;                  /* the document as a component created it; NULL for a document from a file */
    struct graph *around;            /* during graph_build: the graph that is being built around it */
    struct diagnostics *diagnostics; /* during graph_build: its `diagnostics` */
    struct config_places *places;    /* during graph_build with `check`; NULL until a mistake is reported */
    uint32_t building_node;          /* during graph_build: the node whose component is created */
    bool checks;                     /* during graph_build: its `check` */
    bool alone, whole;               /* see graph_origin */
    struct graph *newer;             /* owned; the same document, built after plugins were upgraded; or NULL */
    char identity[TN_SHA256_TEXT];   /* "" until graph_identity is called */
    char code[TN_SHA256_TEXT];       /* hash of its description; "" until cache_identity.c needs it */
    tn_value unread;                 /* graph_unread_channels; NULL until then */
    bool cache_failed;               /* a failure of the cache in the store was logged */
    uint64_t upgrades;               /* registry_upgrades when it was built */
    struct graph_node *nodes;
    struct graph_source start;
    struct graph_route *routes; /* all of them; the sources point into it */
    struct graph_join *joins;
    uint32_t join_count, member_count;
    struct callable **reducers;           /* [channel_count]; NULL for built-in reducers; NULL if all are built in */
    struct activation *spare_activations; /* the array of a run that was freed, for the next run; or NULL */
    uint32_t spare_capacity;              /* capacity of spare_activations; at most GRAPH_SPARE_MAX */
    bool has_deferred, has_interrupts, has_ephemeral;
    bool repeatable, cacheable;                 /* all nodes may be repeated, may be cached */
    bool callees_repeatable, callees_cacheable; /* during build_node: the same for what the node has bound */
    bool nested_repeatable;                     /* during build_node: false if a nested graph must not be repeated */
};

/* The host creates one for its engine, and frees it when no graph is left. NULL is allowed. */
struct graphs *graphs_new(void);
void graphs_free(struct graphs *graphs);

/*
 * A graph with `whole` has the first two channels `state`, which merges the inputs and what the node writes, and
 * `output`, which has the writes of the last step. The input is an object of any names. The node reads one field, the
 * whole state, under this name. The result is the value of `output`.
 */
#define GRAPH_WHOLE_STATE ""
enum { GRAPH_WHOLE_CHANNEL_STATE, GRAPH_WHOLE_CHANNEL_OUTPUT };

/*
 * Where a document comes from. All zero: a user named it. `depth` is the number of graphs around it. `diagnostics`
 * receives those of the documents that its nodes open; it may be NULL. `value` is the document as a component created
 * it, or NULL.
 */
struct graph_origin {
    uint32_t depth;
    struct diagnostics *diagnostics;
    struct authority *outer; /* the frame that limits the document; NULL: the operator */
    tn_value value;
    bool from_text; /* a component passed it as a text at run time */
    bool alone;     /* a node by itself: keys of the input that it does not use are ignored, and without `output` the
                       result is the input */
    bool whole;     /* its node reads and writes any name: see GRAPH_WHOLE_STATE */
    bool check;     /* report every node that cannot be created into `diagnostics`, at its place in the document */
};

/*
 * Builds a document that document_read found to be correct. Returns INVALID_GRAPH, PERMISSION_DENIED for a node that
 * the document may not contain, or the error of a component's create with the node in its message.
 */
int32_t graph_build(struct engine *engine, struct document *document, const struct graph_origin *origin,
                    struct graph **out, struct error *error);
/* Reads, checks and builds the document in `source`. INVALID_GRAPH names the first mistake. */
int32_t graph_open_source(struct engine *engine, struct source *source, const struct graph_origin *origin,
                          struct graph **out, struct error *error);
/*
 * Reads, checks and builds the document at `path`, which the document `from` names; NULL means that the operator names
 * it. A host builds each file once for each `outer` and each root while it is in use. A file that cannot be read is IO
 * if the operator names it, and otherwise INVALID_GRAPH: the document that names it is wrong.
 */
int32_t graph_open(struct engine *engine, const struct source *from, const char *path,
                   const struct graph_origin *origin, struct graph **out, struct error *error);
/* The same for a document that a plugin names outside of any document. */
int32_t graph_open_for_plugin(struct engine *engine, const char *path, const struct graph_origin *origin,
                              struct graph **out, struct error *error);
/*
 * Checks and builds a document that a node of `around` (`caller`) created. It gets the roles and tools of `around`
 * unless it has some itself. Messages name it `PATH#name.json` and count lines of its indented JSON. Fails if it
 * contains itself.
 */
int32_t graph_open_value(struct graph *around, struct authority *caller, tn_value value, const char *name,
                         struct graph **out, struct error *error);
/* Sets `error` to the first error among the diagnostics, with its place and code. Returns TN_INVALID. */
int32_t graph_refuse(struct error *error, const char *path, const struct diagnostics *found);
/*
 * The graph as it would be built now. If plugins were upgraded, its document is built again, once. If that fails, the
 * error is logged and the old graph stays. Borrowed from `graph`.
 */
struct graph *graph_current(struct graph *graph);
struct graph *graph_ref(struct graph *graph);
void graph_unref(struct graph *graph);
/* Returns NULL if the callable is not a graph; borrowed. */
struct graph *graph_of_callable(struct callable *callable);
/* The graphs that a node may call, in the order in which it bound them; borrowed. NULL after the last one. */
struct graph *graph_inside(const struct graph *graph, uint32_t node, uint32_t index);
/* Sets `out` so that a drawing of the graph's document (adl/draw/draw.h) has the graphs inside its nodes. */
void graph_draw_inside(const struct graph *graph, struct draw_inside *out);

/* The id of the node, "START" or "END", for messages. Borrowed from the document, or static. */
const char *graph_node_name(const struct graph *graph, int32_t node);
/* Looks up a node id or "END". Returns the node, DOCUMENT_END, or DOCUMENT_NOWHERE if it is unknown. */
int32_t graph_find_target(const struct graph *graph, const char *name, size_t length);

#endif
