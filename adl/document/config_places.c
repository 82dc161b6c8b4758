/*
 * config_places.c - places in the configs of nodes.
 */
#include "adl/document/config_places.h"
#include "adl/diagnostic/diagnostic.h"
#include "adl/document/document.h"
#include "adl/source/source.h"
#include "adl/tree/tree.h"
#include "adl/value/memory.h"
#include <string.h>

#define PATH_MAX_TOKENS 64u

struct config_places {
    struct document *document;
    struct tree *tree; /* NULL until the first lookup */
};

struct config_places *config_places_new(struct document *document) {
    struct config_places *places = mem_zalloc(sizeof *places);
    places->document = document_ref(document);
    return places;
}

void config_places_free(struct config_places *places) {
    if (!places) return;
    tree_free(places->tree);
    document_unref(places->document);
    mem_free(places);
}

static struct tree *read_tree_again(struct source *source) {
    struct diagnostics *ignored = diagnostics_new();
    struct tree *tree = tree_read(source, NULL, ignored);
    diagnostics_free(ignored);
    return tree;
}

/* The config of the node in the tree, or NULL. A document without errors has its nodes in the order of the tree. */
static const struct tree_node *places_config(struct config_places *places, uint32_t node) {
    const struct document *document = places->document;
    if (!document->source) return NULL;
    if (!places->tree) places->tree = read_tree_again(document->source);
    const struct tree_node *nodes = tree_get(tree_root(places->tree), "nodes");
    if (!nodes || nodes->kind != TN_ARRAY || node >= nodes->count) return NULL;
    const struct tree_node *item = nodes->items[node].node;
    return item->kind == TN_OBJECT ? tree_get(item, "config") : NULL;
}

static struct span item_span(const struct tree_item *item) {
    return item->node->span.start < item->node->span.end ? item->node->span : item->key_span;
}

bool config_places_named(struct config_places *places, uint32_t node, const char *message, struct span *out) {
    const struct tree_node *config = places_config(places, node);
    if (!config || config->kind != TN_OBJECT) return false;
    for (const char *open = strchr(message, '`'); open; open = strchr(open + 1, '`')) {
        size_t length = strcspn(open + 1, "`.[");
        const struct tree_item *item = length ? tree_find_n(config, open + 1, length) : NULL;
        if (item) {
            *out = item_span(item);
            return true;
        }
        open = strchr(open + 1, '`');
        if (!open) return false;
    }
    return false;
}

bool config_places_at(struct config_places *places, uint32_t node, const char *pointer, struct span *out) {
    const struct tree_node *config = places_config(places, node);
    if (!config) return false;
    *out = tree_at_pointer(config, pointer, NULL)->span;
    return true;
}

/* ---- Copies ---- */

static bool span_has(struct span span, uint32_t at) { return at >= span.start && at < span.end; }

/* The items on the way to the position, outermost first. Returns their number. */
static uint32_t path_to(const struct tree_node *node, uint32_t at, const struct tree_item *path[PATH_MAX_TOKENS]) {
    uint32_t count = 0;
    while (count < PATH_MAX_TOKENS && (node->kind == TN_OBJECT || node->kind == TN_ARRAY)) {
        const struct tree_item *inside = NULL;
        for (uint32_t i = 0; i < node->count && !inside; i++) {
            const struct tree_item *item = &node->items[i];
            if (span_has(item->node->span, at) || (item->key && span_has(item->key_span, at))) inside = item;
        }
        if (!inside) break;
        path[count++] = inside;
        node = inside->node;
    }
    return count;
}

/* Follows the keys of path[from … to) in `node`. An item of a list is found by its position in its own list. */
static const struct tree_item *follow(const struct tree_node *node, const struct tree_item *const *path, uint32_t from,
                                      uint32_t to) {
    const struct tree_item *found = NULL;
    for (uint32_t i = from; i < to; i++) {
        found = NULL;
        if (path[i]->key && node->kind == TN_OBJECT) {
            size_t length;
            const char *key = value_chars(path[i]->key, &length);
            found = tree_find_n(node, key, length);
        } else if (!path[i]->key && i > from && node->kind == TN_ARRAY) {
            size_t index = (size_t)(path[i] - path[i - 1]->node->items);
            found = index < node->count ? &node->items[index] : NULL;
        }
        if (!found) return NULL;
        node = found->node;
    }
    return found;
}

/* Texts must be equal. Numbers can be written differently, and the rest of a list or mapping can be added. */
static bool is_copy(const struct tree_node *copy, const struct tree_node *original) {
    bool texts = copy->kind == TN_STRING && original->kind == TN_STRING;
    return texts ? value_equal(copy->value, original->value) : true;
}

bool config_places_copied(struct config_places *places, uint32_t node, struct source *made, struct span span,
                          struct span *out) {
    const struct tree_node *config = places_config(places, node);
    if (!config) return false;
    struct tree *tree = read_tree_again(made);
    const struct tree_item *path[PATH_MAX_TOKENS], *found = NULL;
    for (uint32_t to = path_to(tree_root(tree), span.start, path); to > 0 && !found; to--)
        for (uint32_t from = 0; from < to && !found; from++) {
            const struct tree_item *item = follow(config, path, from, to);
            if (item && is_copy(path[to - 1]->node, item->node)) found = item;
        }
    if (found) *out = item_span(found);
    tree_free(tree);
    return found != NULL;
}
