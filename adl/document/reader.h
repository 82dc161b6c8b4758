/*
 * reader.h - what the parts of the reader share while one document is read; included by this folder's .c files alone.
 *
 * document_read (read.c) goes through the sections in this order, each of which may rely on those before it:
 *
 *     read.c          the tree, version, agent, defaults, requires, budget, schemas
 *     read_state.c    channels, models, tools
 *     read_node.c     nodes: ids, types, policies
 *     read_edge.c     edges: their ends and the names of items
 *     check_expr.c    conditions and lists of edges, expressions and templates of configs
 *     check_config.c  each config against its component's schema, and what its x-tenon strings name (check_name.c)
 *     check_graph.c   the graph as a whole
 *
 * "No error that only follows from another one": where a section was not read whole, its names are not known whole,
 * and what looks unknown is reported only if it is near a known name. That is what the `…_whole` flags are for.
 */
#ifndef TENON_ADL_DOCUMENT_READER_H
#define TENON_ADL_DOCUMENT_READER_H

#include "adl/diagnostic/diagnostic.h"
#include "adl/document/document.h"
#include "adl/document/keys.h"
#include "adl/document/names.h"
#include "adl/expr/expr.h"
#include "adl/text/source.h"
#include "adl/text/tree.h"

/* A document with what only this folder knows of it. */
struct document_whole {
    struct document document;
    struct names nodes;          /* by id … */
    uint32_t *node_of_name;      /* … the node that each name is; of two nodes with one id, the first */
    struct names fields;         /* channels, then locals: a name's index is its field */
    struct names models;         /* a name's index is its model */
    struct document **subgraphs; /* documents that nodes name, each once; references */
    uint32_t *subgraph_nodes;    /* the node that names it */
    uint32_t subgraph_count;
};

/* One node type, looked up once. */
struct node_type {
    const struct component_info *component; /* NULL where unknown */
    bool annotated;                         /* its schema has x-tenon somewhere */
    bool has_defaults;
    bool has_variables; /* and x-tenon-variables */
};

/* What is remembered of a node besides struct document_node. */
struct node_note {
    const struct tree_item *config; /* NULL where absent */
    const struct tree_node *node;
    const struct tree_node *on_error;
    uint32_t first_write, write_count; /* in reader->writes */
    bool duplicate, nameless;          /* it can be reached by no edge, which is no mistake of its own */
    bool meant;                        /* a mistyped name was probably this node's */
};

/* A channel that a node's config names as written. */
struct node_write {
    uint32_t channel;
    struct span span;
};

/* A reference from a config to another node, by x-tenon `node`: it counts as an edge. */
struct node_link {
    uint32_t from;
    int32_t to;
};

/* Shared by a document and the documents it names. */
struct session {
    const struct catalog *catalog;
    struct diagnostics *found;
    char *active[DOCUMENT_SUBGRAPH_DEPTH_MAX + 1]; /* paths of the documents being read, outermost first */
    uint32_t depth;
    struct session_document {
        char *path;
        struct document *document;
    } * documents; /* read already */
    uint32_t document_count;
    struct session_kind {
        const char *kind;
        struct names names;
        bool filled;
    } kinds[5]; /* components by kind, for suggestions */
};

struct reader {
    struct session *session;
    struct source *source;
    struct tree *tree;
    const struct catalog *catalog; /* NULL: none */
    struct diagnostics *found;
    struct document_whole *whole;
    struct document *document; /* &whole->document */
    struct document_retry default_retry;
    int64_t default_total_ms, default_idle_ms;
    struct node_note *notes; /* of each node */
    struct names types;
    struct node_type *node_types; /* by index in types */
    struct node_write *writes;
    uint32_t write_count, write_capacity;
    struct node_link *links;
    uint32_t link_count, link_capacity;
    struct expr_fields edge_fields, config_fields; /* channels; channels and items' names */
    uint32_t *field_kinds;
    uint64_t *reaches; /* which node gets which local: a set of pairs */
    uint64_t reach_count;
    bool channels_whole, nodes_whole, edges_whole, models_whole, tools_whole;
    bool plugin_missing; /* a required plugin is: its components are not unknown, they are missing with it */
    bool start_meant;    /* a mistyped name was probably START */
    bool edge_unknown;   /* an end of an edge is nowhere, and no near name tells what was meant */
};

#define report(reader, code, where, ...) diagnostics_add((reader)->found, code, (reader)->source, where, __VA_ARGS__)

/* ---- read.c: values that keys_read has found to be of the right form ---- */

tn_value read_text(const struct reader *reader, const struct tree_node *node); /* a new reference */
int64_t read_duration(const struct reader *reader, const struct tree_node *node);
/* The index of a text of key's words; -1 where it is none of them. */
int32_t read_word(const struct reader *reader, enum key key, const struct tree_node *node);
/* Reads `node` into `retry`, whose members are the defaults. */
void read_retry(struct reader *reader, const struct tree_node *node, struct span span, struct document_retry *retry);
void read_timeout(struct reader *reader, const struct tree_node *node, struct span span, int64_t *total_ms,
                  int64_t *idle_ms);
/* Compiles a JSON Schema of the document. *value is a new reference; false (reported) leaves both NULL. */
bool read_schema(struct reader *reader, const struct tree_item *item, tn_value *value, struct schema **schema);
/*
 * Whether a name that nothing declares may be declared in a part of `section` that could not be read (`whole` says that
 * there is none): it stands there as a word, or is near to nothing that is known. To call it unknown would be an error
 * that only follows from another.
 */
bool may_be_unread(const struct reader *reader, bool whole, const char *section, const struct nearest *nearest,
                   const char *name, size_t length);
/* A name is not empty and at most DOCUMENT_NAME_MAX bytes; else reported as "`what` …", and false. */
bool read_name(struct reader *reader, const char *what, const struct tree_node *node, tn_value *out);
/* The items of a list, bounded: more than `most` are reported, and not read. */
uint32_t read_count(struct reader *reader, const char *what, const struct tree_node *list, uint32_t most);
/* Of a text that may also be a list of texts: calls with each. */
uint32_t read_text_count(const struct tree_node *node);
const struct tree_node *read_text_at(const struct tree_node *node, uint32_t index);
/* Reads one document within a session. */
struct document *document_read_within(struct session *session, struct source *source);

/* ---- read_state.c, read_node.c, read_edge.c ---- */

void read_channels(struct reader *reader, const struct tree_item *item);
void read_models(struct reader *reader, const struct tree_item *item);
void read_tools(struct reader *reader, const struct tree_item *item);
void read_nodes(struct reader *reader, const struct tree_item *item);
void read_edges(struct reader *reader, const struct tree_item *item);
void read_error_channel(struct reader *reader);               /* after nodes and channels */
void read_on_errors(struct reader *reader);                   /* after nodes */
bool channel_is_list(const struct document_channel *channel); /* append, union, messages: its schema is of one item */

enum end_side { END_FROM, END_TO };
/* A node's index, a sentinel where `side` allows it, or DOCUMENT_NOWHERE (reported). */
int32_t resolve_end(struct reader *reader, enum end_side side, const struct tree_node *node);

/* ---- check_value.c ---- */

/* A value of the document that has to fit a JSON Schema. */
struct value_check {
    const struct schema *schema;
    const struct tree_node *node; /* where it is written; NULL: nowhere, it is empty */
    struct span span;             /* its key: what is blamed for what is missing at its top */
    const char *path;             /* "config": begins the name of each place in it */
    const char *of;               /* "node `judge`" */
    const char *type;             /* "node type `llm`": what wants it so; NULL: the schema does */
    bool partial;                 /* what is missing may come from elsewhere */
    enum diagnostic_code missing, unknown, wrong;
};
/* Of a message that ends with the suggestion: without it, since it is said apart. For "%.*s". */
int message_length(const char *message, const char *suggestion);
/*
 * Reports what does not fit. Gives the value back, its plain scalars turned into their text where text is wanted.
 * `hidden` (may be NULL): the JSON Pointer of a value that stands for another one is not blamed.
 */
tn_value check_value_take(struct reader *reader, const struct value_check *check, tn_value value,
                          bool (*hidden)(void *user, const char *pointer), void *user);
/* "config.messages[2].content" of "/messages/2/content". */
void path_of_pointer(const char *path, const char *pointer, char *out, size_t size);
/* "`config.messages[2].content` of node `judge`"; returns `out`. */
const char *where_in_config(const struct reader *reader, uint32_t node, const char *pointer, char out[256]);
/* The node at the pointer below `node`, exactly; NULL where it leads to nothing. *item: what holds it, or NULL. */
const struct tree_node *find_pointer(const struct tree_node *node, const char *pointer, const struct tree_item **item);

/* ---- check_name.c ---- */

/* The nearest of a kind's components is offered to `nearest`. */
void offer_components(struct reader *reader, const char *kind, struct nearest *nearest);
/* Adds "did you mean", with a fix that keeps the quotes of the text at `span`. */
void suggest_nearest(struct reader *reader, struct diagnostic *diagnostic, struct span span,
                     const struct nearest *nearest);
/* `provider:model`, or a provider; reported where there is no such provider. `fallback`: others are there to try. */
bool check_provider(struct reader *reader, const char *text, size_t length, struct span span, bool fallback);
bool provider_known(struct reader *reader, const char *text, size_t length);
/* What a component is named by; each reports where the name means nothing. */
void check_model_name(struct reader *reader, const char *text, size_t length, struct span span, uint32_t node,
                      const char *pointer);
/* `pointer` NULL: it is on the document's own list, which allows it. */
void check_tool_name(struct reader *reader, const char *text, size_t length, struct span span, uint32_t node,
                     const char *pointer);
bool is_pattern(const char *text, size_t length);

/* ---- check_expr.c ---- */

/* Where an expression's text is in a source: a scalar of the tree, or the whole of a file of its own. */
struct expr_place {
    struct source *source;
    const struct tree_node *scalar; /* NULL: the text is the source's */
    struct span span;               /* where neither is so: what is blamed */
    bool exact;                     /* scalar, or the source, is the text */
    const char *text;
    size_t length;
    const char *where;   /* "the condition"; NULL: the place in a config below */
    const char *pointer; /* in the config of … */
    uint32_t node;
    tn_value variables; /* of a template: names that its component gives besides, or true for any; NULL: none */
};

/* The names that expressions may use, after channels and edges are read. */
void prepare_expressions(struct reader *reader);
void check_config_expression(struct reader *reader, uint32_t node, const struct expr_place *place);
void check_config_template(struct reader *reader, uint32_t node, const struct expr_place *place);
void check_edge_expressions(struct reader *reader, const struct tree_item *edges);
/* Whether tasks of `node` have that item: `field` is a local of a map edge to it. */
bool local_reaches(const struct reader *reader, uint32_t node, uint32_t field);

/* ---- check_config.c, subgraph.c, check_graph.c ---- */

void check_configs(struct reader *reader);
/* The document that `node` names by `file`, which stands at `span`; NULL where it cannot be read (reported). */
struct document *subgraph_open(struct reader *reader, uint32_t node, const char *file, size_t length, struct span span);
/* What the edges make of the nodes; and what they write, of one channel in one step (check_writes.c). */
void check_graph(struct reader *reader, const struct tree_item *edges);
void check_edges(struct reader *reader, const struct tree_item *edges); /* check_edge.c */
void check_writes(struct reader *reader);
void check_effects(struct reader *reader); /* check_effects.c: retry and cache that effects rule out */

#endif
