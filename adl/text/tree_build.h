/*
 * tree_build.h - building a tree from the outside in; shared by the YAML and the JSON reader, and by nobody else.
 *
 * A reader calls open, key, scalar and close in the order of the text. The builder owns all that is the same for both
 * formats: the arena, the limits, duplicate keys, anchors, and leaving out what could not be read. It never fails: past
 * a limit it reports once and sets `stopped`, and the reader ends.
 *
 *     builder_open(b, TN_OBJECT, TREE_FLOW, 0);
 *     builder_key(b, "a", 1, key_span);
 *     builder_scalar(b, value_int(1), TREE_LITERAL, span);
 *     builder_close(b, 7);
 */
#ifndef TENON_ADL_TREE_BUILD_H
#define TENON_ADL_TREE_BUILD_H

#include "adl/diagnostic/diagnostic.h"
#include "adl/text/tree.h"

struct builder_frame {
    size_t base; /* the frame's first item on the stack */
    struct span key_span;
    tn_value key;       /* borrowed from the tree; NULL while none waits for its value */
    const char *anchor; /* its name; NULL without */
    uint32_t start, total_before, anchor_serial;
    uint32_t height; /* of the highest collection inside */
    uint8_t kind, style;
    bool incomplete;
    bool drop; /* the next value belongs to a key that was refused */
};

struct builder_anchor {
    char *name;
    const struct tree_node *node; /* NULL while it is open, or could not be read */
    uint32_t serial, total, height;
    bool open;
};

#define BUILDER_KEYS 1024u /* a cache: keys that come again share one value; a power of two */

struct builder {
    struct tree *tree;
    struct source *source; /* the tree's */
    struct diagnostics *found;
    struct tree_limits limits;
    struct tree_item *stack; /* items of all open frames */
    size_t stack_count, stack_capacity;
    struct builder_frame *frames; /* limits.depth of them */
    uint32_t depth;
    uint32_t skip;                  /* collections open inside a part that is skipped */
    uint32_t total;                 /* nodes so far, aliases expanded */
    bool ascii;                     /* the whole text is */
    bool stopped;                   /* a limit was passed: nothing more is read */
    bool lost_sections;             /* an unknown alias may follow from a syntax error: say nothing */
    struct builder_anchor *anchors; /* sorted by name */
    uint32_t anchor_count, anchor_capacity, serial;
    const char *pending_anchor; /* the anchor of the next node; NULL without */
    uint32_t pending_serial;
    tn_value keys[BUILDER_KEYS];
};

void builder_open(struct builder *builder, int kind, enum tree_style style, uint32_t start);
/* With broken or dropped parts inside, the node is incomplete. */
void builder_close(struct builder *builder, uint32_t end);
/* Whether the next node is a key: the innermost open collection is a mapping that waits for one. */
bool builder_wants_key(const struct builder *builder);
void builder_key(struct builder *builder, const char *text, size_t length, struct span span);
/* The key was refused (and reported): its value will be left out, and the mapping is incomplete. */
void builder_bad_key(struct builder *builder);
/* Takes `value`. */
void builder_scalar(struct builder *builder, tn_value value, enum tree_style style, struct span span);
void builder_broken(struct builder *builder, struct span span);
/* The next node is anchored. `span` is the anchor's. */
void builder_anchor(struct builder *builder, const char *name, struct span span);
void builder_alias(struct builder *builder, const char *name, struct span span);
/* The scalar text that an alias used as a key stands for; NULL where it is none. */
const char *builder_alias_text(struct builder *builder, const char *name, size_t *length);
/* Reports a scalar that is too long. */
bool builder_length_allowed(struct builder *builder, size_t length, struct span span);
/* Begins to skip, as if inside one collection; the reader passes opens and closes as always. */
void builder_skip(struct builder *builder);
/* Forgets everything that is open inside the root, which stays open with its finished items. */
void builder_unwind(struct builder *builder);

/* The readers. Each leaves all frames closed, or the builder unwound: tree_read closes what is open. */
void tree_read_json(struct builder *builder);
void tree_read_yaml(struct builder *builder);

/* ---- Scalars (scalar.c) ---- */

/* A JSON number's text as a value (a new reference); NULL where it is too large for a double. */
tn_value scalar_number(const char *text, size_t length);
/* A plain YAML scalar by the core schema (a new reference); NULL for a number that no value can hold. */
tn_value scalar_plain(const char *text, size_t length);

#endif
