/*
 * tree.h - a YAML or JSON document as a tree: one form for both, with the byte range of every value and key.
 *
 * The whole tree is in one arena; nodes are read-only and stay valid until tree_free. A YAML alias yields the anchored
 * node itself, so the tree is a DAG without cycles, and spans point at the anchor's place. A part that could not be
 * read is a node of kind TREE_BROKEN: it was reported, and code that checks the tree must not report it again.
 *
 *     struct tree *tree = tree_read(source, NULL, found);                    // always a tree
 *     const struct tree_node *nodes = tree_get(tree_root(tree), "nodes");
 *     for (uint32_t i = 0; nodes && i < nodes->count; i++) check_node(nodes->items[i].node);
 *     tree_free(tree);
 *
 * A name that ends in ".json" (in any case) is read as JSON, every other name as YAML 1.2 with the core schema: true,
 * false, null, integers (decimal, 0o, 0x) and floats are resolved, every other plain scalar is a string. The following
 * are refused with their position: tags, the merge key `<<`, duplicate keys, keys that are not scalars, more than one
 * document, malformed UTF-8, control characters, and numbers out of range. Each limit below has its own error.
 *
 * A syntax error costs the smallest item that contains it: a value (TREE_BROKEN; its key stays), the rest of a value in
 * brackets (`incomplete`, with the items before the error), or a line that is not an item (the collection around it is
 * `incomplete`). All other items of all collections are read, with one error for each place. In YAML the indentation
 * says where items start, in JSON the commas and brackets of the line, and the columns of the lines below. Of a merge
 * conflict, the lines of the current branch are read, and the collections beside it are `incomplete`. The cost stays
 * linear: at most TREE_RECOVERY_DEPTH + 3 readings of the text, however many errors it has; after one error in a large
 * list, the items above it are read once, and those below it once.
 */
#ifndef TENON_ADL_TREE_H
#define TENON_ADL_TREE_H

#include "adl/value/error.h"
#include "adl/value/value.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct diagnostics;
struct source;
struct tree;

#define TREE_SIZE_MAX   (4u << 20) /* bytes of a document */
#define TREE_DEPTH_MAX  128u       /* nesting of lists and mappings, with aliases expanded */
#define TREE_SCALAR_MAX (1u << 20) /* bytes of one key or scalar, after escapes */
#define TREE_ITEMS_MAX  500000u    /* items of one list or mapping */
#define TREE_NODES_MAX  1000000u   /* nodes of the whole tree, with aliases expanded (counted, never copied) */

#define TREE_DEPTH_CEILING  1000u /* maximum of limits.depth, because users of the tree recurse */
#define TREE_ANCHORS_MAX    1000u /* names of anchors in one document */
#define TREE_RECOVERY_DEPTH 8u    /* levels of lists and mappings around a YAML syntax error that lose one item only */

/* A member that is 0 selects the default above. */
struct tree_limits {
    uint32_t size, depth, scalar, items, nodes;
};

/* Node kinds are TN_NULL … TN_OBJECT (never TN_BYTES), and TREE_BROKEN. */
#define TREE_BROKEN 0

enum tree_style {
    TREE_PLAIN,   /* a YAML scalar without quotes */
    TREE_QUOTED,  /* a scalar in quotes */
    TREE_BLOCK,   /* a scalar by | or >; a list or mapping by indentation */
    TREE_FLOW,    /* a list or mapping in brackets */
    TREE_LITERAL, /* a number, true, false or null of JSON */
};

struct tree_node {
    uint8_t kind;
    uint8_t style;    /* enum tree_style */
    bool incomplete;  /* a list or mapping that lacks items which could not be read */
    uint32_t count;   /* items; 0 for scalars */
    struct span span; /* the value's text with quotes and brackets, without its anchor; empty if the value is absent */
    union {
        tn_value value;                /* scalars: borrowed, never NULL */
        const struct tree_item *items; /* lists and mappings, in document order */
    };
};

struct tree_item {
    tn_value key; /* borrowed; a string in mappings, NULL in lists */
    struct span key_span;
    const struct tree_node *node; /* never NULL */
};

/*
 * Reads `source` and reports into `found`. `limits` may be NULL. Never returns NULL. The tree holds a reference to
 * `source`. Any thread.
 */
struct tree *tree_read(struct source *source, const struct tree_limits *limits, struct diagnostics *found);
/*
 * The same result, sooner: `before` is the tree of an earlier version of the text, read with the same limits, or NULL.
 * If one item of a list like `nodes` changed, only that item is parsed. The new tree shares only values with `before`.
 */
struct tree *tree_read_next(struct source *source, const struct tree *before, const struct tree_limits *limits,
                            struct diagnostics *found);
void tree_free(struct tree *tree); /* NULL is allowed */

/* A place of a YAML text that has an anchor or an alias. */
struct tree_anchor {
    struct span span; /* with the `&` or `*` */
    bool alias;
    const struct tree_node
        *node; /* alias: the value that it stands for; NULL if the anchor is unknown. NULL for anchors */
};
/*
 * Returns the anchors and aliases by position, borrowed. Anchors of keys, which name no value, are not among them, nor
 * are those in a part of the text that could not be read.
 */
const struct tree_anchor *tree_anchors(const struct tree *tree, size_t *count);

/* True if `name` has the extension ".json". */
bool tree_name_is_json(const char *name);

const struct tree_node *tree_root(const struct tree *tree); /* never NULL; an empty document is a null node */
struct source *tree_source(const struct tree *tree);        /* borrowed */
bool tree_is_whole(const struct tree *tree);                /* true if no node is broken or incomplete */

/*
 * Returns the item, or its node, of a key in a mapping. NULL if absent, if `node` is NULL, or if it is not a mapping.
 */
const struct tree_item *tree_find(const struct tree_node *node, const char *key);
const struct tree_item *tree_find_n(const struct tree_node *node, const char *key, size_t length);
const struct tree_node *tree_get(const struct tree_node *node, const char *key);

/*
 * Returns a string's text, or the source text of a plain YAML scalar (`1.0`, `no`, `0x1F`). Returns NULL for null, JSON
 * numbers, collections and broken nodes. Source text is not NUL-terminated. Borrowed from the tree.
 */
const char *tree_text(const struct tree *tree, const struct tree_node *node, size_t *length);
/* The result of tree_text as a string value; a new reference, or NULL. */
tn_value tree_to_string(const struct tree *tree, const struct tree_node *node);

/* Returns the node as a value, a new reference. Broken items are left out; a broken node itself is null. */
tn_value tree_to_value(const struct tree_node *node);

/*
 * Returns the node that a JSON Pointer (RFC 6901) names below `node`, or the deepest node on the way if it does not
 * exist. *item (which may be NULL) is set to the item that contains the result, or to NULL if the result is `node`.
 */
const struct tree_node *tree_at_pointer(const struct tree_node *node, const char *pointer,
                                        const struct tree_item **item);

/*
 * Finds many JSON Pointers below one node. A search for a key starts at the key that was found last in that mapping:
 * pointers in the order of the document take linear time together, where each tree_at_pointer scans the mapping.
 *
 *     struct tree_finder finder = {.root = node};
 *     const struct tree_node *member = tree_finder_at(&finder, "/values/a", &item);
 */
#define TREE_FINDER_LEVELS 64u /* levels below the root with a place to start from; deeper mappings are scanned */
struct tree_finder {
    const struct tree_node *root;
    struct {
        const struct tree_node *node;
        uint32_t next;
    } levels[TREE_FINDER_LEVELS];
};
/* Returns the node at the exact pointer and sets *item (may be NULL) to the item that contains it; else both NULL. */
const struct tree_node *tree_finder_at(struct tree_finder *finder, const char *pointer, const struct tree_item **item);

#endif
