/*
 * walk.c - walks a tree. The tree bounds the depth (TREE_DEPTH_CEILING).
 */
#include "adl/assist/walk.h"

bool walk_is_inside(const struct tree_node *collection, const struct tree_item *item) {
    const struct span span = item->node->span;
    uint32_t from = item->key ? item->key_span.end : collection->span.start;
    return span.start < span.end && span.start >= from && span.end <= collection->span.end;
}

struct span walk_item_span(const struct tree_node *collection, const struct tree_item *item) {
    bool inside = walk_is_inside(collection, item);
    if (!item->key) return inside ? item->node->span : (struct span){collection->span.start, collection->span.start};
    return (struct span){item->key_span.start, inside ? item->node->span.end : item->key_span.end};
}

static void walk_node(const struct walk_step *step, assist_walk_fn visit, void *self) {
    const struct tree_node *node = step->node;
    if (!visit(self, step) || (node->kind != TN_ARRAY && node->kind != TN_OBJECT)) return;
    uint32_t from = node->span.start; /* of two items that are the same node, the second is an alias */
    for (uint32_t i = 0; i < node->count; i++) {
        const struct tree_item *item = &node->items[i];
        if (!walk_is_inside(node, item) || item->node->span.start < from) continue;
        const struct walk_step inner = {item->node, item, node, step->depth + 1};
        walk_node(&inner, visit, self);
        from = item->node->span.end;
    }
}

void assist_walk(const struct tree *tree, assist_walk_fn visit, void *self) {
    const struct walk_step root = {.node = tree_root(tree)};
    walk_node(&root, visit, self);
}
