/*
 * tree_build.h - building a tree from the outside in; used only by the YAML and the JSON reader.
 *
 * A reader calls open, key, scalar and close in the order of the text. The builder implements what both formats share:
 * the arena, the limits, duplicate keys, anchors, and leaving out parts that could not be read. It never fails: past a
 * limit it reports once and sets `stopped`, and the reader ends.
 *
 *     builder_open(b, TN_OBJECT, TREE_FLOW, 0);
 *     builder_key(b, "a", 1, key_span);
 *     builder_scalar(b, value_int(1), TREE_LITERAL, span);
 *     builder_close(b, 7);
 */
#ifndef TENON_ADL_TREE_BUILD_H
#define TENON_ADL_TREE_BUILD_H

#include "adl/diagnostic/diagnostic.h"
#include "adl/tree/tree.h"

struct yaml_reuse;

struct builder_frame {
    size_t base; /* the frame's first item on the stack */
    struct span key_span;
    tn_value key;       /* borrowed from the tree; NULL unless a key waits for its value */
    const char *anchor; /* its name, or NULL */
    uint32_t start, total_before, anchor_serial;
    uint32_t height; /* height of the highest collection inside */
    uint8_t kind, style;
    bool incomplete;
    bool drop; /* the next value belongs to a key that was refused */
};

struct builder_anchor {
    char *name;
    const struct tree_node *node; /* NULL if it is open or could not be read */
    uint32_t serial, total, height;
    bool open;
};

#define BUILDER_KEYS 1024u /* size of a cache for repeated keys; a power of two */

struct builder {
    struct tree *tree;
    struct source *source; /* the source of the tree */
    struct diagnostics *found;
    size_t older; /* diagnostics that were in `found` before */
    struct tree_limits limits;
    struct tree_item *stack; /* items of all open frames */
    uint32_t *totals;        /* `total` after each of these items */
    size_t stack_count, stack_capacity, totals_capacity;
    struct builder_frame *frames; /* limits.depth entries */
    uint32_t depth;
    uint32_t skip;                  /* number of open collections inside a skipped part */
    uint32_t total;                 /* nodes so far, with aliases expanded */
    bool ascii;                     /* the whole text is ASCII */
    bool stopped;                   /* a limit was passed: reading ends */
    bool lost_sections;             /* a syntax error may be the cause of an unknown alias: do not report it */
    struct builder_anchor *anchors; /* sorted by name */
    uint32_t anchor_count, anchor_capacity, serial;
    const char *pending_anchor; /* the anchor of the next node, or NULL */
    uint32_t pending_serial;
    uint32_t *gaps; /* sorted offsets: a collection that contains one of them is incomplete (conflict.h) */
    size_t gap_count;
    struct yaml_reuse *reuse; /* an earlier version of the text, or NULL */
    tn_value keys[BUILDER_KEYS];
};

void builder_open(struct builder *builder, int kind, enum tree_style style, uint32_t start);
/* The node is incomplete if parts of it are broken or were dropped. */
void builder_close(struct builder *builder, uint32_t end);
/* True if the next node is a key: the innermost open collection is a mapping without a pending key. */
bool builder_wants_key(const struct builder *builder);
void builder_key(struct builder *builder, const char *text, size_t length, struct span span);
/* Reports that the key was refused (its diagnostic exists): its value is left out, and the mapping is incomplete. */
void builder_bad_key(struct builder *builder);
/* Takes ownership of `value`. */
void builder_scalar(struct builder *builder, tn_value value, enum tree_style style, struct span span);
void builder_broken(struct builder *builder, struct span span);
/* Adds a complete item of `nodes` nodes, which is in the tree's memory, to the innermost open collection. */
void builder_item(struct builder *builder, struct tree_item item, uint32_t nodes);
/* Sets the anchor of the next node. `span` is the anchor's. */
void builder_anchor(struct builder *builder, const char *name, struct span span);
void builder_alias(struct builder *builder, const char *name, struct span span);
/* Returns the scalar text of an alias that is used as a key, or NULL if it is not a scalar; records its place. */
const char *builder_alias_key(struct builder *builder, const char *name, struct span span, size_t *length);
/* Returns false, after reporting it, if a scalar is too long. */
bool builder_length_allowed(struct builder *builder, size_t length, struct span span);
/* Starts to skip as if inside one collection; the reader continues to report opens and closes. */
void builder_skip(struct builder *builder);

/* ---- Recovery ---- */

/* A state to return to: `depth` open collections, with their items up to then. The next node of a mapping is a key. */
struct builder_mark {
    uint32_t depth, total;
    size_t stack_count, diagnostics;
};
struct builder_mark builder_mark(const struct builder *builder);
/*
 * Returns to the mark: removes nodes, keys, and what was reported since then in the range `lost`, except merge
 * conflicts. Anchors in `lost` are forgotten.
 */
void builder_rewind(struct builder *builder, const struct builder_mark *mark, struct span lost);
/* Removes what is in the collections above `depth` and ends after `from`; a key keeps a broken value. */
void builder_drop(struct builder *builder, uint32_t depth, uint32_t from);
/* Closes the collections above `depth` as incomplete, at `end`. A key without a value gets a broken one. */
void builder_cut(struct builder *builder, uint32_t depth, uint32_t end);
/* The innermost open collection lacks items. */
void builder_incomplete(struct builder *builder);

/* The readers. tree_read closes what is still open. */
void tree_read_json(struct builder *builder);
/* `before` is the tree of an earlier version of the text, or NULL. */
void tree_read_yaml(struct builder *builder, const struct tree *before);

/* ---- Scalars (scalar.c) ---- */

/* Returns a JSON number's text as a value (a new reference), or NULL if it is too large for a double. */
tn_value scalar_number(const char *text, size_t length);
/* Returns a plain YAML scalar as a value by the core schema (a new reference), or NULL for a number out of range. */
tn_value scalar_plain(const char *text, size_t length);

#endif
