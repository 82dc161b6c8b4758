/*
 * tree_arena.h - what a tree is made of inside: private to adl/text.
 *
 * An arena gives memory that is freed all at once; a tree holds one, and one reference of each value in it.
 */
#ifndef TENON_ADL_TREE_ARENA_H
#define TENON_ADL_TREE_ARENA_H

#include "adl/text/tree.h"

struct tree_arena {
    struct tree_block *blocks; /* the newest first */
    char *at, *end;            /* what is free in it */
    size_t next_size;
};

struct tree {
    struct source *source;
    const struct tree_node *root;
    bool whole;
    struct tree_arena arena;
    tn_value *held; /* references of all values of the tree */
    size_t held_count, held_capacity;
};

void *tree_alloc(struct tree *tree, size_t size);  /* aligned for any type here; 0 bytes are a valid pointer */
void tree_hold(struct tree *tree, tn_value value); /* takes the reference */

#endif
