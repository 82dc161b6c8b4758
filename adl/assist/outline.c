/*
 * outline.c - the symbols of a document, section by section.
 */
#include "adl/assist/outline.h"
#include "adl/assist/walk.h"
#include "adl/document/keys.h"
#include "adl/document/place.h"
#include "adl/tree/tree.h"
#include "adl/value/buffer.h"
#include "adl/value/memory.h"
#include <string.h>

/* What is common to the items of one outline. */
struct outline_writer {
    const struct tree *tree;
    struct assist_outline *outline;
};

#define OUTLINE_TEXT_MAX 200u /* bytes of a name or a detail */

static char *outline_text(const char *text, size_t length) {
    if (length > OUTLINE_TEXT_MAX) {
        length = OUTLINE_TEXT_MAX;
        while (length > 0 && ((unsigned char)text[length] & 0xc0) == 0x80) length--;
    }
    return mem_text_n(text, length);
}

static void outline_add(struct outline_writer *writer, struct assist_outline_item item, const struct buffer *name,
                        const struct buffer *detail) {
    struct assist_outline *outline = writer->outline;
    item.name = name->length ? outline_text(name->data, name->length) : mem_text("?");
    item.detail = detail ? outline_text(buffer_cstr(detail), detail->length) : mem_text("");
    if (item.name_span.start < item.span.start || item.name_span.end > item.span.end) item.name_span = item.span;
    MEM_GROW(outline->items, outline->count, outline->capacity);
    outline->items[outline->count++] = item;
}

static void write_text_of(struct buffer *out, const struct tree *tree, const struct tree_node *node) {
    size_t length = 0;
    const char *text = node ? tree_text(tree, node, &length) : NULL;
    if (text) buffer_append(out, text, length);
}

/* "a", "a, b" for a text or a list of texts. */
static void write_texts_of(struct buffer *out, const struct tree *tree, const struct tree_node *node) {
    if (!node || node->kind != TN_ARRAY) {
        write_text_of(out, tree, node);
        return;
    }
    for (uint32_t i = 0; i < node->count && out->length < OUTLINE_TEXT_MAX; i++) {
        if (i) buffer_text(out, ", ");
        write_text_of(out, tree, node->items[i].node);
    }
}

/* ---- Items of sections ---- */

static void outline_named(struct outline_writer *writer, enum assist_outline_kind kind, const struct tree_node *node,
                          struct span span, const char *name_key, const char *detail_key, const char *more_key) {
    struct buffer name, detail;
    const struct tree_node *named = node->kind == TN_OBJECT ? tree_get(node, name_key) : node;
    buffer_init(&name, SIZE_MAX);
    buffer_init(&detail, SIZE_MAX);
    write_text_of(&name, writer->tree, named);
    write_text_of(&detail, writer->tree, tree_get(node, detail_key));
    if (more_key && tree_get(node, more_key)) {
        buffer_text(&detail, " ");
        write_text_of(&detail, writer->tree, tree_get(node, more_key));
    }
    struct assist_outline_item item = {.kind = kind, .depth = 1, .span = span, .name_span = span};
    if (named) item.name_span = place_in_quotes(tree_source(writer->tree), named->span);
    outline_add(writer, item, &name, &detail);
    buffer_finish(&name);
    buffer_finish(&detail);
}

static void write_targets(struct buffer *out, const struct tree *tree, const struct tree_node *edge) {
    const struct tree_node *conditions = tree_get(edge, "conditions");
    write_texts_of(out, tree, tree_get(edge, "to"));
    for (uint32_t i = 0; conditions && conditions->kind == TN_ARRAY && i < conditions->count; i++) {
        if (out->length > OUTLINE_TEXT_MAX) return;
        if (i) buffer_text(out, ", ");
        write_text_of(out, tree, tree_get(conditions->items[i].node, "to"));
    }
}

static void outline_edge(struct outline_writer *writer, const struct tree_node *node, struct span span) {
    struct buffer name, detail;
    buffer_init(&name, SIZE_MAX);
    buffer_init(&detail, SIZE_MAX);
    write_texts_of(&name, writer->tree, tree_get(node, "from"));
    buffer_text(&name, " → ");
    write_targets(&name, writer->tree, node);
    write_text_of(&detail, writer->tree, tree_get(node, "type"));
    const struct tree_node *from = tree_get(node, "from");
    struct assist_outline_item item = {.kind = OUTLINE_EDGE, .depth = 1, .span = span, .name_span = span};
    if (from) item.name_span = from->span;
    outline_add(writer, item, &name, &detail);
    buffer_finish(&name);
    buffer_finish(&detail);
}

static void outline_list(struct outline_writer *writer, const char *section, const struct tree_node *list) {
    uint32_t from = list->span.start; /* an item before it is an alias */
    for (uint32_t i = 0; i < list->count; i++) {
        const struct tree_node *node = list->items[i].node;
        if (!walk_is_inside(list, &list->items[i]) || node->span.start < from) continue;
        from = node->span.end;
        if (strcmp(section, "nodes") == 0)
            outline_named(writer, OUTLINE_NODE, node, node->span, "id", "type", NULL);
        else if (strcmp(section, "channels") == 0)
            outline_named(writer, OUTLINE_CHANNEL, node, node->span, "name", "type", "reducer");
        else if (strcmp(section, "edges") == 0)
            outline_edge(writer, node, node->span);
        else if (strcmp(section, "tools") == 0)
            outline_named(writer, OUTLINE_TOOL, node, node->span, "name", "approval", NULL);
        else if (strcmp(section, "requires") == 0)
            outline_named(writer, OUTLINE_PLUGIN, node, node->span, "", "", NULL);
    }
}

static void outline_members(struct outline_writer *writer, enum assist_outline_kind kind,
                            const struct tree_node *mapping) {
    for (uint32_t i = 0; i < mapping->count; i++) {
        const struct tree_item *member = &mapping->items[i];
        struct buffer name, detail;
        buffer_init(&name, SIZE_MAX);
        buffer_init(&detail, SIZE_MAX);
        size_t length;
        const char *key = value_chars(member->key, &length);
        buffer_append(&name, key, length);
        write_texts_of(&detail, writer->tree, member->node);
        if (!detail.length) write_text_of(&detail, writer->tree, tree_get(member->node, "provider"));
        const struct assist_outline_item item = {.kind = kind,
                                                 .depth = 1,
                                                 .span = walk_item_span(mapping, member),
                                                 .name_span =
                                                     place_in_quotes(tree_source(writer->tree), member->key_span)};
        outline_add(writer, item, &name, &detail);
        buffer_finish(&name);
        buffer_finish(&detail);
    }
}

static void outline_section(struct outline_writer *writer, const struct tree_node *root,
                            const struct tree_item *section) {
    struct buffer name, detail;
    size_t length;
    const char *key = value_chars(section->key, &length);
    buffer_init(&name, SIZE_MAX);
    buffer_init(&detail, SIZE_MAX);
    buffer_append(&name, key, length);
    write_text_of(&detail, writer->tree, section->node);
    const struct assist_outline_item item = {.kind = OUTLINE_SECTION,
                                             .span = walk_item_span(root, section),
                                             .name_span =
                                                 place_in_quotes(tree_source(writer->tree), section->key_span)};
    outline_add(writer, item, &name, &detail);
    buffer_finish(&name);
    buffer_finish(&detail);
    if (!walk_is_inside(root, section)) return;
    bool schema = strcmp(key, "input") == 0 || strcmp(key, "output") == 0;
    if (section->node->kind == TN_ARRAY) outline_list(writer, key, section->node);
    if (section->node->kind == TN_OBJECT && !schema)
        outline_members(writer, strcmp(key, "models") == 0 ? OUTLINE_ROLE : OUTLINE_PROPERTY, section->node);
}

struct assist_outline *assist_outline(const struct assist *assist) {
    struct assist_outline *outline = mem_zalloc(sizeof *outline);
    struct outline_writer writer = {assist->tree, outline};
    const struct tree_node *root = tree_root(assist->tree);
    for (uint32_t i = 0; root->kind == TN_OBJECT && i < root->count; i++)
        outline_section(&writer, root, &root->items[i]);
    return outline;
}

void assist_outline_free(struct assist_outline *outline) {
    if (!outline) return;
    for (size_t i = 0; i < outline->count; i++) {
        mem_free(outline->items[i].name);
        mem_free(outline->items[i].detail);
    }
    mem_free(outline->items);
    mem_free(outline);
}
