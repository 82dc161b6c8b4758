/*
 * tree_arena.h - the memory of a tree; private to adl/tree.
 *
 * The memory of an arena is freed all at once. A tree has one arena, and one reference of each of its values.
 */
#ifndef TENON_ADL_TREE_ARENA_H
#define TENON_ADL_TREE_ARENA_H

#include "adl/tree/tree.h"

struct tree_arena {
    struct tree_block *blocks; /* newest first */
    char *at, *end;            /* the free part of the newest block */
    size_t next_size;
};

struct tree {
    struct source *source;
    const struct tree_node *root;
    bool whole;
    bool reusable;  /* YAML in which nothing was reported, without anchors: yaml_reuse.c can start from it */
    uint32_t nodes; /* nodes, with aliases expanded */
    struct tree_arena arena;
    tn_value *held; /* the references to all values of the tree */
    size_t held_count, held_capacity;
    struct tree_anchor *anchors; /* sorted when reading has ended */
    size_t anchor_count, anchor_capacity;
};

void *tree_alloc(struct tree *tree,
                 size_t size);      /* aligned for every type of the tree; a size of 0 returns a valid pointer */
void tree_clear(struct tree *tree); /* frees all nodes and values */
void tree_hold(struct tree *tree, tn_value value); /* takes the reference */

#endif
