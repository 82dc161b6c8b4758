/*
 * tree.h - the tree of a description's YAML or JSON text. Every node has its line and column.
 *
 * Scalars keep their text; the accessor decides how to interpret it. Aliases, keys that are not texts and duplicate
 * keys are rejected.
 *
 *     char *why;
 *     const struct node *root = tree_read(&arena, text, length, &why);
 *     const struct node *name = node_get(root, "name");
 *
 * Nodes live as long as the arena.
 */
#ifndef TENON_PLUGINS_FFI_TREE_H
#define TENON_PLUGINS_FFI_TREE_H

#include <stdbool.h>
#include <stdint.h>
#include <tenon.h>
#include <tenon/util/arena.h>

#define TREE_TEXT_MAX  (4u << 20) /* bytes of a description */
#define TREE_DEPTH_MAX 32u
#define TREE_NODES_MAX 200000u

enum node_kind { NODE_SCALAR, NODE_LIST, NODE_MAPPING };

struct node {
    enum node_kind kind;
    bool plain; /* a scalar without quotes: may be a number, a truth or null */
    const char *text;
    size_t length;
    uint32_t line, column; /* from 1 */
    struct node **items;   /* of a mapping: key, value, key, value … */
    uint32_t count;        /* items of a list; pairs of a mapping */
};

/* Returns NULL on failure; *why is then a message with the position ("3:7: …"), allocated in the arena. */
const struct node *tree_read(struct tn_arena *arena, const char *text, size_t length, const char **why);

/* All of these accept NULL as an absent node. */
const struct node *node_get(const struct node *mapping, const char *key);
bool node_is_null(const struct node *node);
bool node_is_text(const struct node *node, const char *text);
const char *node_string(const struct node *node); /* a scalar that is not null; else NULL */
bool node_integer(const struct node *node, int64_t *out);
bool node_boolean(const struct node *node, bool *out);
/* Returns the value of a scalar (one reference), or NULL for lists and mappings. */
tn_value node_value(const struct node *node);

#endif
