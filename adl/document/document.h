/*
 * document.h - one ADL document, typed: names are resolved to indices and expressions are compiled.
 *
 * document_read creates a document from its text. It reports all problems into `diagnostics` and always returns a
 * document, because an editor needs the incomplete one. A graph may be built only if no error was reported. A document
 * is immutable after that and shared between threads by reference. Every part keeps its name and span, so that later
 * errors can point at it.
 *
 *     struct diagnostics *found = diagnostics_new();
 *     struct source *source = source_new("triage.yaml", text, length);
 *     struct document *document = document_read(source, &catalog, found);
 *     if (diagnostics_errors(found) == 0) { ... graph_build(document, ...) ... }
 *     document_unref(document); source_unref(source); diagnostics_free(found);
 *
 * State is addressed by *field*. Fields [0, channel_count) are the channels in document order, with an implicit `error`
 * channel at the end if a node has on_error and the document does not declare that channel. Fields from channel_count
 * on are the names that map edges give their items (`as`), each distinct name once.
 */
#ifndef TENON_ADL_DOCUMENT_H
#define TENON_ADL_DOCUMENT_H

#include "adl/document/catalog.h"
#include "adl/value/error.h"
#include "adl/value/nearest.h"
#include "adl/value/value.h"
#include <stdbool.h>
#include <stdint.h>

struct diagnostics;
struct expr;
struct source;
struct tree;

/* Ends of edges that are not nodes. */
#define DOCUMENT_START   (-1)
#define DOCUMENT_END     (-2)
#define DOCUMENT_NOWHERE (-3) /* absent, or an unknown name (reported) */

/* The variables of every expression in a document, by index in its scope; `state` has the fields described above. */
enum document_variable {
    DOCUMENT_VARIABLE_STATE,
    DOCUMENT_VARIABLE_INPUT,  /* the input of the run; in a node's config: the input of the task */
    DOCUMENT_VARIABLE_ITEM,   /* the item of a map edge's task */
    DOCUMENT_VARIABLE_CONFIG, /* the node's config with its defaults */
    DOCUMENT_VARIABLE_RUN,    /* {run_id, thread_id, step, now, tags, metadata, configurable, …} */
    DOCUMENT_VARIABLE_COUNT
};
/* True if an expression of a document uses more of `run` than `run.configurable`: a cache's key has only that of it. */
bool document_uses_run(const struct expr *expr);

/* Limits of a document; exceeding one is reported as ADL-E…. */
#define DOCUMENT_NODES_MAX          100000u
#define DOCUMENT_CHANNELS_MAX       10000u
#define DOCUMENT_EDGES_MAX          400000u
#define DOCUMENT_CONDITIONS_MAX     1000u /* per edge */
#define DOCUMENT_MODELS_MAX         1000u
#define DOCUMENT_TOOLS_MAX          1000u
#define DOCUMENT_REQUIREMENTS_MAX   1000u
#define DOCUMENT_SUBGRAPHS_MAX      256u /* different documents inside one document */
#define DOCUMENT_SUBGRAPH_DEPTH_MAX 16u
#define DOCUMENT_FILES_MAX          (256u << 20) /* bytes of all files that it and the documents inside it name */
#define DOCUMENT_NAME_MAX           256u         /* bytes of the name of a node, channel or role */

enum channel_type { CHANNEL_LAST_VALUE, CHANNEL_APPEND, CHANNEL_REDUCE, CHANNEL_EPHEMERAL };
enum channel_reducer {
    REDUCER_NONE,
    REDUCER_SUM,
    REDUCER_MAX,
    REDUCER_MIN,
    REDUCER_MERGE,
    REDUCER_UNION,
    REDUCER_MESSAGES,
    REDUCER_COMPONENT
};
enum edge_kind { EDGE_STATIC, EDGE_CONDITIONAL, EDGE_MAP };
enum run_strategy { STRATEGY_PARALLEL, STRATEGY_PICK_FIRST, STRATEGY_PICK_LAST, STRATEGY_STOP_AT_NONLINEAR };

struct document_channel {
    tn_value name;
    enum channel_type type;
    enum channel_reducer reducer;
    const struct component_info *reducer_component; /* REDUCER_COMPONENT only */
    tn_value initial; /* never NULL; the given default, or that of the type (null; [] for append, union, messages; 0 for
                         sum; {} for merge) */
    bool has_initial; /* the document contains a default */
    tn_value schema_value; /* NULL if absent */
    struct schema *schema; /* NULL if absent; describes one item for append, union and messages */
    bool implicit;         /* the `error` channel */
    bool type_unread;      /* its type is wrong and was reported: ignore the substitute type */
    struct span span, name_span;
};

struct document_retry {
    uint32_t max_attempts; /* 1: no retry */
    double factor;
    int64_t initial_ms, max_ms;
};

struct document_node {
    tn_value id, type;
    tn_value config;                        /* an object without the schema's defaults, with {file: …} unresolved */
    const struct component_info *component; /* NULL where unknown */
    struct document_retry retry;
    int64_t timeout_total_ms, timeout_idle_ms; /* 0 means no limit */
    int64_t cache_ttl_ms;                      /* -1 if not cached */
    bool cache_in_store;
    bool interrupt_before, interrupt_after, defer;
    int32_t on_error;       /* node, DOCUMENT_END or DOCUMENT_NOWHERE */
    struct span retry_span; /* the node's own `retry`; empty without one */
    struct span span, id_span, type_span, config_span;
};

struct document_condition {
    tn_value text;
    const struct expr *expression; /* NULL for `default` */
    int32_t to;
    struct span span, expression_span, to_span;
};

struct document_edge {
    enum edge_kind kind;
    int32_t *from; /* several nodes: a join */
    uint32_t from_count;
    int32_t *to; /* several nodes: a fan-out; static and map edges */
    uint32_t to_count;
    struct document_condition *conditions; /* conditional edges */
    uint32_t condition_count;
    tn_value over_text;      /* map edges */
    const struct expr *over; /* returns the list of items */
    uint32_t as_field;       /* the field of the item; UINT32_MAX without `as` */
    int32_t empty;           /* target for an empty list, or DOCUMENT_NOWHERE */
    struct span span;
};

/*
 * A node to which a node may continue by itself (`goto`), because its config names it: x-tenon `node`; or END, because
 * the config has a string with x-tenon `end`. It counts as an edge when the graph is checked and drawn. `to` is
 * DOCUMENT_NOWHERE for an unknown name (reported).
 */
struct document_link {
    uint32_t from;
    int32_t to;
};

/* A role and the model that the document binds it to by default. */
struct document_model {
    tn_value role;
    tn_value binding; /* a string provider:model, an object with provider and options, or an array of those */
    struct span span, role_span;
};

struct document_tool {
    tn_value pattern; /* a tool's id, or a pattern with '*' */
    tn_value options; /* an object: approval, limits; may be empty */
    struct span span;
};

struct document_requirement {
    tn_value plugin;
    tn_value constraint; /* ">= 1.2", or "" */
    struct span span;
};

struct document {
    uint32_t references; /* atomic; document_ref, document_unref */
    struct source *source;
    tn_value name, description; /* agent.name or the file's name; description may be NULL */
    uint32_t recursion_limit;   /* 25 */
    uint32_t concurrency;       /* concurrent tasks of one run; default 16 */
    int64_t timeout_ms;         /* limit for a run; 0 means no limit */
    enum run_strategy strategy;
    tn_value input_value, output_value; /* the schemas in the document, or NULL */
    struct schema *input, *output;
    tn_value budget; /* object or NULL */
    struct document_channel *channels;
    uint32_t channel_count;
    int32_t error_channel; /* receives the errors that `on_error` handles; -1 without `on_error` */
    tn_value *locals;      /* names of fields channel_count + i */
    uint32_t local_count;
    struct document_node *nodes;
    uint32_t node_count;
    struct document_edge *edges;
    uint32_t edge_count;
    struct document_link *links; /* in the order of the nodes; none if read without a catalog */
    uint32_t link_count;
    struct document_model *models;
    uint32_t model_count;
    struct document_tool *tools; /* if tools_given is false, everything is allowed */
    uint32_t tool_count;
    bool tools_given;
    struct document_requirement *requirements;
    uint32_t requirement_count;
};

/*
 * Reads and checks a document. If `catalog` is NULL, components and files are not checked. Never returns NULL; the
 * caller owns one reference. Any thread; only reference counts are shared.
 */
struct document *document_read(struct source *source, const struct catalog *catalog, struct diagnostics *found);
/* The same for a tree whose mistakes are already in `found` (tree_read). The tree is borrowed, and not needed later. */
struct document *document_read_tree(struct tree *tree, const struct catalog *catalog, struct diagnostics *found);
struct document *document_ref(struct document *document);
void document_unref(struct document *document);

/* Returns the index, or -1. Constant time. */
int32_t document_find_node(const struct document *document, const char *id, size_t length);
int32_t document_find_channel(const struct document *document, const char *name, size_t length);
/* "; did you mean …?" for a name that does not exist, or "". Implicit channels are not suggested. */
struct nearest_hint document_node_hint(const struct document *document, const char *id, size_t length);
struct nearest_hint document_channel_hint(const struct document *document, const char *name, size_t length);
/* Returns the field with that name (a channel or an item's name), or -1. */
int32_t document_find_field(const struct document *document, const char *name, size_t length);
const struct document_model *document_find_model(const struct document *document, const char *role);
/* True if a node of this type, which may be NULL, can start any node. */
bool may_lead_anywhere(const struct component_info *component);
/* Returns the document that the node's config names (x-tenon `document`), borrowed, or NULL. */
struct document *document_subgraph(const struct document *document, uint32_t node);

/*
 * Returns the node's config for its component: with the schema's defaults, and with {file: …} in the place of a string
 * replaced by the file's text. A new reference; NULL with error set if a file cannot be read.
 */
tn_value document_node_config(const struct document *document, uint32_t node, const struct catalog *catalog,
                              struct error *error);

#endif
