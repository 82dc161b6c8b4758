/*
 * visit.c - a walk over the tree that follows keys.def; its depth is that of the table.
 */
#include "adl/assist/visit.h"
#include "adl/assist/known.h"
#include "adl/schema/schema.h"
#include "adl/value/memory.h"
#include <string.h>

#define SCHEMA_DEPTH_SEARCHED 32u
#define CONFIG_DEPTH_SEARCHED 64u

struct visit {
    const struct assist *assist;
    const struct assist_visitor *visitor;
    void *user;
    struct tree_finder finder; /* of members of the config that is visited */
    struct {
        const struct component_info *component;
        bool annotated;
    } seen[VISIT_COMPONENTS_MAX];
    uint32_t seen_count;
};

static bool touches(const struct visit *visit, struct span span) {
    return span.start <= visit->visitor->range.end && visit->visitor->range.start <= span.end;
}

/* ---- Configs ---- */

/* True if a schema has one of the annotations at any depth. */
static bool schema_has_annotation(const struct visit *visit, tn_value schema, uint32_t depth) {
    if (depth > SCHEMA_DEPTH_SEARCHED) return true;
    const char *const *wanted = visit->visitor->annotations;
    for (size_t i = 0; value_is(schema, TN_ARRAY) && i < value_count(schema); i++)
        if (schema_has_annotation(visit, value_at(schema, i), depth + 1)) return true;
    for (size_t i = 0; value_is(schema, TN_OBJECT) && i < value_count(schema); i++) {
        tn_value value = value_value_at(schema, i);
        bool annotation = value_text_is(value_key_at(schema, i), "x-tenon");
        for (size_t j = 0; annotation && wanted[j]; j++)
            if (value_text_is(value, wanted[j])) return true;
        if (schema_has_annotation(visit, value, depth + 1)) return true;
    }
    return false;
}

static bool component_mentions(struct visit *visit, const struct component_info *component) {
    for (uint32_t i = 0; i < visit->seen_count; i++)
        if (visit->seen[i].component == component) return visit->seen[i].annotated;
    bool annotated = schema_has_annotation(visit, schema_document(component->config), 0);
    if (visit->seen_count == VISIT_COMPONENTS_MAX) return annotated;
    visit->seen[visit->seen_count].component = component;
    visit->seen[visit->seen_count++].annotated = annotated;
    return annotated;
}

static void visit_annotation(void *user, const char *pointer, bool on_key, tn_value where, tn_value annotation) {
    struct visit *visit = user;
    if (!value_is(where, TN_STRING) || !value_is(annotation, TN_STRING)) return;
    const struct tree_item *item;
    const struct tree_node *node = tree_finder_at(&visit->finder, pointer, &item);
    if (!item || (!on_key && node->kind >= TN_ARRAY)) return;
    struct span span = on_key ? item->key_span : node->span;
    if (touches(visit, span))
        visit->visitor->annotated(visit->user, value_chars(annotation, NULL), on_key ? NULL : node, span);
}

static void visit_files(const struct visit *visit, const struct tree_node *node, uint32_t depth) {
    bool container = node->kind == TN_OBJECT || node->kind == TN_ARRAY;
    if (!container || depth > CONFIG_DEPTH_SEARCHED) return;
    const struct tree_node *file = node->count == 1 ? tree_get(node, "file") : NULL;
    if (file && file->kind == TN_STRING) visit->visitor->file(visit->user, file);
    for (uint32_t i = 0; i < node->count; i++) visit_files(visit, node->items[i].node, depth + 1);
}

static void visit_config(struct visit *visit, const struct tree_node *node, const struct tree_node *config) {
    size_t length = 0;
    const struct tree_node *type = tree_get(node, "type");
    const char *id = type ? tree_text(visit->assist->tree, type, &length) : NULL;
    const struct component_info *component = id ? known_component(visit->assist, "node", id, length) : NULL;
    if (config->kind != TN_OBJECT) return;
    if (visit->visitor->file) visit_files(visit, config, 0);
    if (!component || !visit->visitor->annotated || !component_mentions(visit, component)) return;
    visit->finder = (struct tree_finder){.root = config};
    tn_value value = tree_to_value(config);
    schema_each_annotation(component->config, value, "x-tenon", visit_annotation, visit);
    value_unref(value);
}

/* ---- Mappings ---- */

static void visit_mapping(struct visit *visit, enum keys_mapping in, const struct tree_node *node);

/* A value of a key, or one of its items. */
static void visit_value(struct visit *visit, const struct document_key *key, const struct tree_node *node) {
    if (!touches(visit, node->span)) return;
    if (node->kind == TN_OBJECT && key->of != KEYS_NONE) visit_mapping(visit, key->of, node);
    if (visit->visitor->value) visit->visitor->value(visit->user, key, node);
}

static void visit_row(struct visit *visit, const struct document_key *key, const struct tree_node *node) {
    bool names = (key->forms & KEY_NAMES) && node->kind == TN_OBJECT, list = node->kind == TN_ARRAY;
    if (!names && !list) visit_value(visit, key, node);
    for (uint32_t i = 0; (names || list) && i < node->count; i++) visit_value(visit, key, node->items[i].node);
}

static void visit_mapping(struct visit *visit, enum keys_mapping in, const struct tree_node *node) {
    const struct document_mapping *mapping = document_mapping(in);
    for (uint32_t i = 0; i < node->count; i++) {
        const struct tree_item *item = &node->items[i];
        for (uint32_t j = 0; item->key && j < mapping->key_count; j++) {
            const struct document_key *key = &mapping->keys[j];
            if (!value_text_is(item->key, key->name) || item->node->kind == TREE_BROKEN) continue;
            if (key->key == KEY_NODE_CONFIG)
                visit_config(visit, node, item->node);
            else
                visit_row(visit, key, item->node);
        }
    }
}

void assist_visit(const struct assist *assist, const struct assist_visitor *visitor, void *user) {
    struct visit *visit = mem_zalloc(sizeof *visit);
    const struct tree_node *root = tree_root(assist->tree);
    visit->assist = assist;
    visit->visitor = visitor;
    visit->user = user;
    if (root->kind == TN_OBJECT) visit_mapping(visit, KEYS_ROOT, root);
    mem_free(visit);
}
