/*
 * tree.h - a description's text as a tree: YAML, or JSON, which is YAML; every node knows its line.
 *
 * Scalars keep their text: what it is taken for depends on who asks. Aliases, tags and keys that are no texts are
 * refused; so are two equal keys.
 *
 *     char *why;
 *     const struct node *root = tree_read(&arena, text, length, &why);
 *     const struct node *name = node_get(root, "name");
 *
 * Nodes live as long as the arena.
 */
#ifndef TENON_PLUGINS_FFI_TREE_H
#define TENON_PLUGINS_FFI_TREE_H

#include "arena.h"
#include <stdbool.h>
#include <stdint.h>
#include <tenon.h>

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

/* NULL on failure: *why says what and where ("3:7: …"), in the arena. */
const struct node *tree_read(struct arena *arena, const char *text, size_t length, const char **why);

/* All of these allow NULL, as a node that is not there. */
const struct node *node_get(const struct node *mapping, const char *key);
const struct node *node_at(const struct node *list, uint32_t index);
bool node_is_null(const struct node *node);
bool node_is_text(const struct node *node, const char *text);
const char *node_string(const struct node *node); /* a scalar that is not null; else NULL */
bool node_integer(const struct node *node, int64_t *out);
bool node_number(const struct node *node, double *out); /* finite; integers too */
bool node_truth(const struct node *node, bool *out);
/* A scalar as the value it stands for: one reference; NULL for lists and mappings. */
tn_value node_value(const struct node *node);

#endif
