/*
 * reader.h - the state shared by the parts of the reader while one document is read; private to adl/document.
 *
 * document_read (read.c) handles the sections in this order; each may rely on those before it:
 *
 *     read.c          the tree, version, agent, defaults, requires, budget, schemas
 *     read_state.c    channels, models, tools
 *     read_node.c     nodes: ids, types, policies
 *     read_edge.c     edges: their ends and the names of items
 *     check_expr.c    conditions and lists of edges, expressions and templates of configs
 *     check_config.c  each config against its component's schema, and the names in its x-tenon strings
 *                     (check_annotated.c, check_name.c);
 *                     values that a channel or a tool refuses in every run (check_literal.c)
 *     check_graph.c   the whole graph
 *     check_limit.c   the least number of super-steps
 *
 * Errors that only follow from another error are not reported. If a section could not be read completely, its names are
 * incomplete, and an unknown name is reported only if it is near a known one. The `…_whole` flags record this.
 */
#ifndef TENON_ADL_DOCUMENT_READER_H
#define TENON_ADL_DOCUMENT_READER_H

#include "adl/diagnostic/diagnostic.h"
#include "adl/document/document.h"
#include "adl/document/keys.h"
#include "adl/document/names.h"
#include "adl/document/place.h"
#include "adl/document/uses.h"
#include "adl/expr/expr.h"
#include "adl/source/source.h"
#include "adl/tree/tree.h"

/* A document with the data that is private to this folder. */
struct document_whole {
    struct document document;
    struct names nodes;          /* by id … */
    uint32_t *node_of_name;      /* … the node of each name; of two nodes with one id, the first */
    struct names fields;         /* channels, then locals; the index of a name is its field */
    struct names models;         /* the index of a name is its model */
    struct document **subgraphs; /* documents that nodes name, each once; owned references */
    uint32_t *subgraph_nodes;    /* the node that names it */
    uint32_t subgraph_count;
};

/* A node type; looked up once. */
struct node_type {
    const struct component_info *component; /* NULL where unknown */
    bool annotated;                         /* its schema contains x-tenon */
    bool has_defaults;
    bool has_variables; /* its schema contains x-tenon-variables */
};

/* Data about a node besides struct document_node. */
struct node_note {
    const struct tree_item *config; /* NULL where absent */
    const struct tree_node *node;
    const struct tree_node *on_error;
    uint32_t first_write, write_count; /* range of reader->writes */
    bool duplicate, nameless;          /* no edge can name it, which is not reported again */
    bool meant;                        /* a mistyped name probably means this node */
    bool uses_run;                     /* its config uses more of `run` than `run.configurable` */
    bool has_item;                     /* a map edge leads to it */
    bool model_chooses;                /* its config lists tools, of which a model chooses */
    const struct component_info *tool; /* a tool that its config names and that it calls itself; or NULL */
};

/* A channel that a node's config writes. */
struct node_write {
    uint32_t channel;
    struct span span;
};

/* State shared by a document and the documents inside it. */
struct session {
    const struct catalog *catalog;
    struct diagnostics *found;
    const char *active[DOCUMENT_SUBGRAPH_DEPTH_MAX + 1]; /* paths of the open documents, outermost first */
    uint32_t depth;
    struct document **documents; /* inner documents read so far; owned references */
    uint32_t document_count;
    uint64_t file_bytes;                 /* of all files that were read */
    const struct use_observer *observer; /* of the outermost document, which takes it; may be NULL */
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
    const struct catalog *catalog; /* may be NULL */
    struct diagnostics *found;
    const struct use_observer *observer; /* receives the names; may be NULL */
    struct document_whole *whole;
    struct document *document; /* &whole->document */
    struct document_retry default_retry;
    int64_t default_total_ms, default_idle_ms;
    struct node_note *notes; /* [node] */
    struct names types;
    struct node_type *node_types; /* [index in types] */
    struct node_write *writes;
    uint32_t write_count, write_capacity;
    uint32_t link_capacity;                        /* of document->links */
    struct expr_fields edge_fields, config_fields; /* channels; channels and items' names */
    uint32_t *field_kinds;
    uint64_t *reaches; /* set of pairs: which node receives which local */
    uint64_t reach_count;
    bool channels_whole, nodes_whole, edges_whole, models_whole, tools_whole;
    struct span limit_span; /* of the value of agent.recursion_limit; empty without one */
    bool plugin_missing;    /* a required plugin is missing: its components are not reported as unknown */
    bool start_meant;       /* a mistyped name probably means START */
    bool items_known;       /* only map edges start tasks with an item, and all of them are known */
    bool edge_unknown;      /* an end of an edge is unknown, without a near name */
};

/* Ends a message about a missing component: names files that are not used and may contain it, or is "". */
const char *missing_text(const struct reader *reader);
#define report(reader, code, where, ...) diagnostics_add((reader)->found, code, (reader)->source, where, __VA_ARGS__)

/* ---- read.c: values that keys_read has found to be of the right form ---- */

tn_value read_text(const struct reader *reader, const struct tree_node *node); /* a new reference */
int64_t read_duration(const struct reader *reader, const struct tree_node *node);
/* Returns the index of the node's text in the key's words, or -1. */
int32_t read_word(const struct reader *reader, enum key key, const struct tree_node *node);
/* Reads `node` into `retry`, which contains the defaults. */
void read_retry(struct reader *reader, const struct tree_node *node, struct span span, struct document_retry *retry);
void read_timeout(struct reader *reader, const struct tree_node *node, struct span span, int64_t *total_ms,
                  int64_t *idle_ms);
/*
 * Compiles a JSON Schema of the document. *value is a new reference. On failure (reported) returns false and sets both
 * to NULL.
 */
bool read_schema(struct reader *reader, const struct tree_item *item, tn_value *value, struct schema **schema);
/*
 * True if an undeclared name may be declared in a part of `section` that could not be read (`whole` is true if
 * everything was read): the text contains it as a word, or no known name is near. Reporting it would be an error that
 * only follows from another one.
 */
bool may_be_unread(const struct reader *reader, bool whole, const char *section, const struct nearest *nearest,
                   const char *name, size_t length);
/* Reads a name of 1 to DOCUMENT_NAME_MAX bytes; otherwise reports "`what` …" and returns false. */
bool read_name(struct reader *reader, const char *what, const struct tree_node *node, tn_value *out);
/* Returns the number of items to read: at most `most`; further ones are reported and skipped. */
uint32_t read_count(struct reader *reader, const char *what, const struct tree_node *list, uint32_t most);
/* For a string or a list of strings: the number of strings, and each of them. */
uint32_t read_text_count(const struct tree_node *node);
const struct tree_node *read_text_at(const struct tree_node *node, uint32_t index);
/* Reads one document within a session. The tree is borrowed; its mistakes have been reported. */
struct document *document_read_within(struct session *session, struct tree *tree);

/* ---- read_state.c, read_node.c, read_edge.c ---- */

void read_channels(struct reader *reader, const struct tree_item *item);
void read_models(struct reader *reader, const struct tree_item *item);
void read_tools(struct reader *reader, const struct tree_item *item);
void read_nodes(struct reader *reader, const struct tree_item *item);
void read_edges(struct reader *reader, const struct tree_item *item);
void read_error_channel(struct reader *reader); /* after nodes and channels */
void read_on_errors(struct reader *reader);     /* after nodes */
bool channel_is_list(
    const struct document_channel *channel); /* append, union, messages: the schema describes one item */

enum end_side { END_FROM, END_TO };
/* Returns a node's index, a sentinel that `side` allows, or DOCUMENT_NOWHERE (reported). */
int32_t resolve_end(struct reader *reader, enum end_side side, const struct tree_node *node);

/* ---- check_value.c ---- */

/* A value of the document that must fit a JSON Schema. */
struct value_check {
    const struct schema *schema;
    const struct tree_node *node; /* its place in the document; NULL if absent, which means empty */
    struct span span;             /* its key: the place for reporting missing members */
    const char *path;             /* "config": start of the path in messages */
    const char *of;               /* "node `judge`" */
    const char *type; /* "node type `llm`": the origin of the schema; NULL means the document's own schema */
    bool partial;     /* missing members may come from elsewhere */
    enum diagnostic_code missing, unknown, wrong;
};
/* The length of a message without the suggestion at its end, which is printed separately. For "%.*s". */
int message_length(const char *message, const char *suggestion);
/* What stands at a place of a value: what the document has there, or what replaced a reference (config.h). */
enum value_stand_in { STAND_IN_NONE, STAND_IN_FILE, STAND_IN_UNKNOWN };
/*
 * Reports everything that does not fit. Returns the value with plain scalars converted to strings where the schema
 * requires it. `stand_in` (may be NULL) says what is at a JSON Pointer: the text of a file is not quoted, and a value
 * that is not known is not reported.
 */
tn_value check_value_take(struct reader *reader, const struct value_check *check, tn_value value,
                          enum value_stand_in (*stand_in)(void *user, const char *pointer), void *user);
struct schema_error;
/* Reports the mistakes of a value for which `certain` returns true. Plain scalars are not converted. */
void check_value_certain(struct reader *reader, const struct value_check *check, tn_value value,
                         bool (*certain)(void *user, const struct schema_error *error), void *user);
/* Writes "`config.messages[2].content` of node `judge`"; returns `out`. */
const char *where_in_config(const struct reader *reader, uint32_t node, const char *pointer, char out[256]);
/* Returns the node at the exact pointer below `node`, or NULL. *item is the item that contains it, or NULL. */
const struct tree_node *find_pointer(const struct tree_node *node, const char *pointer, const struct tree_item **item);

/* ---- check_literal.c ---- */

/*
 * Returns the value that an expression or a literal of a config has in every run, as a new reference; NULL if it
 * depends on the run, or fails.
 */
tn_value literal_value(tn_value written);
/* `place` describes the value for messages; its schema is not used. Reports what the channel never accepts. */
void check_channel_literal(struct reader *reader, const struct value_check *place,
                           const struct document_channel *channel, tn_value value);
/* Checks the names of arguments, and the values that are known, against the schema of `place`, the tool's. */
void check_tool_arguments(struct reader *reader, const struct value_check *place, tn_value written);

/* ---- check_name.c ---- */

/* Offers the components of a kind to `nearest`. */
void add_component_candidates(struct reader *reader, const char *kind, struct nearest *nearest);
/* Adds "did you mean", with a fix that keeps the quotes of the text at `span`. */
void suggest_nearest(struct reader *reader, struct diagnostic *diagnostic, struct span span,
                     const struct nearest *nearest);
/* Checks `provider:model` or a provider; reports an unknown provider. `fallback`: there are alternatives. */
bool check_provider(struct reader *reader, const char *text, size_t length, struct span span, bool fallback);
bool provider_known(struct reader *reader, const char *text, size_t length);
/* Checks of names; each reports an unknown name. */
void check_model_name(struct reader *reader, const char *text, size_t length, struct span span, uint32_t node,
                      const char *pointer);
/* Hints at anchors that no alias uses. */
void check_anchors(const struct tree *tree, struct diagnostics *found);
/* Warns about `$NAME` and similar forms in members that hold secrets. `mapping` may be NULL. */
void check_placeholders(struct reader *reader, const struct tree_node *mapping);
/* Warns if a tool of this name, or that matches this pattern, has effects that must not be repeated and no key. */
void check_tool_key(struct reader *reader, const char *text, size_t length, struct span span);
/* `pointer` is NULL if the name is in the document's own list, which allows it. */
void check_tool_name(struct reader *reader, const char *text, size_t length, struct span span, uint32_t node,
                     const char *pointer);

/* ---- check_expr.c ---- */

/* The place of an expression's text in a source: a scalar of the tree, or a whole file. */
struct expr_place {
    struct source *source;
    const struct tree_node *scalar; /* NULL if the text is the whole source */
    struct span span;               /* fallback for reports */
    bool exact;                     /* the scalar or the source is exactly the text */
    const char *text;
    size_t length;
    const char *where;   /* for messages: "the condition"; NULL to use the place in the config */
    const char *pointer; /* place in the config of `node` */
    uint32_t node;
    tn_value variables; /* names that the component passes: a list, or true for any; may be NULL */
};

/* Prepares the names for expressions, after channels and edges are read. */
void prepare_expressions(struct reader *reader);
void check_config_expression(struct reader *reader, uint32_t node, const struct expr_place *place);
void check_config_template(struct reader *reader, uint32_t node, const struct expr_place *place);
void check_edge_expressions(struct reader *reader, const struct tree_item *edges);
/* True if tasks of `node` have that item; `field` is a local of a map edge. */
bool local_reaches(const struct reader *reader, uint32_t node, uint32_t field);

/* ---- uses.c: names for the observer; nothing happens without one. `node` is UINT32_MAX outside of nodes. ---- */

void use_scalar(const struct reader *reader, enum use_kind kind, uint32_t access, const struct tree_node *scalar,
                uint32_t node);
void use_key(const struct reader *reader, enum use_kind kind, uint32_t access, const struct tree_item *item,
             uint32_t node);
/* The provider in `openai:gpt-4o-mini`, or the whole text. */
void use_provider(const struct reader *reader, const struct tree_node *scalar, uint32_t node);
/* A text that could not be read. */
void use_unread(const struct reader *reader, struct source *source, struct span span, uint32_t node);
void use_unread_expression(const struct reader *reader, const struct expr_place *place);
/* A use of the state in an expression. There must be an observer. */
void use_field(const struct reader *reader, const struct expr_place *place, struct place_cursor *cursor,
               const struct expr_field_name *field);
/* The place of an expression or a template. */
void use_text(const struct reader *reader, enum use_kind kind, const struct expr_place *place);

/* A text in a config: a scalar, the key of an item, or a default if both are NULL. */
struct config_use {
    uint32_t node;
    const char *pointer;
    const struct tree_node *scalar;
    const struct tree_item *item;
    const char *text; /* of a default */
    size_t length;
    struct span span; /* the place that stands for a default */
};
void use_in_config(const struct reader *reader, const struct config_use *where, enum use_kind kind, uint32_t access,
                   const char *path);

/* ---- inner_file.c ---- */

/*
 * Reads a file that the document names, as the catalog does, which must have a function for it. Fails if the session
 * has read more than DOCUMENT_FILES_MAX, or if the name contains a NUL character.
 */
tn_value read_named_file(struct reader *reader, const char *file, size_t length, struct catalog_file *found,
                         struct error *error);

/* ---- check_config.c, subgraph.c, check_graph.c ---- */

void check_configs(struct reader *reader);
/* Opens the document that `node` names by `file` at `span`; NULL if it cannot be read (reported). */
struct document *subgraph_open(struct reader *reader, uint32_t node, const char *file, size_t length, struct span span);
/* Checks the graph; and several writes to one channel in one step (check_writes.c). */
void check_graph(struct reader *reader, const struct tree_item *edges);
void check_edges(struct reader *reader, const struct tree_item *edges); /* check_edge.c */
/* Called last of these: a graph whose every run exceeds its recursion limit. */
void check_limit(struct reader *reader, const struct tree_item *edges);
void check_writes(struct reader *reader);
void check_effects(struct reader *reader); /* check_effects.c: retry and cache that effects do not allow */

#endif
