/*
 * walk.h - visits the nodes of a tree in the order of the text, without what an alias repeats.
 *
 *     static bool visit(void *self, const struct walk_step *step) { count(self, step->node); return true; }
 *
 *     assist_walk(tree, visit, list);
 */
#ifndef TENON_ADL_ASSIST_WALK_H
#define TENON_ADL_ASSIST_WALK_H

#include "adl/tree/tree.h"

struct walk_step {
    const struct tree_node *node;
    const struct tree_item *item;   /* that contains the node; NULL for the root */
    const struct tree_node *parent; /* NULL for the root */
    uint32_t depth;                 /* 0 for the root */
};

/* Returns false to leave out the items of the node. */
typedef bool (*assist_walk_fn)(void *self, const struct walk_step *step);
void assist_walk(const struct tree *tree, assist_walk_fn visit, void *self);

/* True if the text of the item's value is inside of the collection: it is not an alias, and not absent. */
bool walk_is_inside(const struct tree_node *collection, const struct tree_item *item);
/* The span of an item: with its key, and with its value if that is inside. */
struct span walk_item_span(const struct tree_node *collection, const struct tree_item *item);

#endif
