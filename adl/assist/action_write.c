/*
 * action_write.c - new items and members of sections, in the style of the document.
 */
#include "adl/assist/action_internal.h"
#include "adl/document/document.h"
#include "adl/tree/tree.h"
#include "adl/value/memory.h"
#include <string.h>

static bool source_is_json(const struct source *source) { return tree_name_is_json(source_name(source)); }

void action_scalar(struct buffer *out, const struct source *source, const char *text) {
    assist_scalar(out, text, strlen(text), source_is_json(source) ? '"' : 0);
}

void action_write(struct buffer *out, const struct source *source, bool block, uint32_t indent,
                  const struct action_field *fields, size_t count) {
    if (!block) buffer_char(out, '{');
    for (size_t i = 0; i < count; i++) {
        if (i && block) buffer_format(out, "%s%*s", assist_line_end(source), (int)indent, "");
        if (i && !block) buffer_text(out, ", ");
        action_scalar(out, source, fields[i].key);
        bool lines = fields[i].value[0] == '\n' || fields[i].value[0] == '\r';
        buffer_format(out, lines ? ":%s" : ": %s", fields[i].value);
    }
    if (!block) buffer_char(out, '}');
}

/* True if new items of the list are written in block style. */
static bool action_is_block(const struct tree_node *list) {
    if (list->kind != TN_ARRAY || list->style == TREE_FLOW || !list->count) return false;
    const struct tree_node *last = list->items[list->count - 1].node;
    return last->kind == TN_OBJECT && last->style != TREE_FLOW;
}

/* ---- Sections ---- */

static bool is_comment_before(const struct source *source, uint32_t line) {
    size_t length;
    const char *text = source_line(source, line, &length);
    return length > 0 && text[0] == '#';
}

/* Where a new section begins: before `nodes` and its comment, or at the end. */
static uint32_t section_place(const struct assist *assist) {
    const struct tree_item *nodes = tree_find(tree_root(assist->tree), "nodes");
    if (!nodes) return (uint32_t)source_length(assist->source);
    uint32_t line = source_line_at(assist->source, nodes->key_span.start);
    while (line > 0 && is_comment_before(assist->source, line - 1)) line--;
    return source_line_span(assist->source, line).start;
}

/* Creates the section with one line of content, or with the content in braces. */
static bool add_section(struct assist_edits *edits, const struct assist *assist, const char *section,
                        const char *content, const char *in_braces) {
    struct buffer out;
    struct source *source = assist->source;
    const struct tree_node *root = tree_root(assist->tree);
    if (root->kind != TN_OBJECT) return false;
    if (root->style == TREE_FLOW) return assist_edit_add_member(edits, source, root, section, in_braces);
    uint32_t at = section_place(assist);
    const char *text = source_text(source), *end = assist_line_end(source);
    bool line_start = at == 0 || text[at - 1] == '\n' || text[at - 1] == '\r';
    buffer_init(&out, SIZE_MAX);
    buffer_format(&out, "%s%s:%s  %s%s", line_start ? "" : end, section, end, content, end);
    assist_edit_insert(edits, source, at, buffer_cstr(&out));
    buffer_finish(&out);
    return true;
}

/* Fills a section without a value. */
static bool fill_section(struct assist_edits *edits, struct source *source, const struct tree_item *item,
                         const char *content) {
    struct buffer out;
    const char *text = source_text(source), *colon = strchr(text + item->key_span.end, ':');
    if (!colon) return false;
    buffer_init(&out, SIZE_MAX);
    buffer_format(&out, "%s  %s", assist_line_end(source), content);
    assist_edit_insert(edits, source, (uint32_t)(colon - text) + 1, buffer_cstr(&out));
    buffer_finish(&out);
    return true;
}

static bool is_absent_value(const struct tree_item *item) {
    return item->node->kind == TN_NULL && item->node->span.start == item->node->span.end;
}

bool action_append(struct assist_edits *edits, const struct assist *assist, const char *section,
                   const struct action_field *fields, size_t count) {
    struct buffer item, line;
    struct source *source = assist->source;
    const struct tree_item *place = tree_find(tree_root(assist->tree), section);
    bool block = place && action_is_block(place->node), added;
    uint32_t indent = block ? assist_column(source, place->node->span.start) + 2 : 0;
    buffer_init(&item, SIZE_MAX);
    buffer_init(&line, SIZE_MAX);
    action_write(&item, source, block, indent, fields, count);
    if (place && !is_absent_value(place)) {
        added = assist_edit_append_item(edits, source, place->node, buffer_cstr(&item));
    } else {
        buffer_format(&line, "- %s", buffer_cstr(&item));
        struct buffer braces;
        buffer_init(&braces, SIZE_MAX);
        buffer_format(&braces, "[%s]", buffer_cstr(&item));
        added = place ? fill_section(edits, source, place, buffer_cstr(&line))
                      : add_section(edits, assist, section, buffer_cstr(&line), buffer_cstr(&braces));
        buffer_finish(&braces);
    }
    buffer_finish(&item);
    buffer_finish(&line);
    return added;
}

bool action_add_member(struct assist_edits *edits, const struct assist *assist, const char *section, const char *key,
                       const char *value) {
    struct source *source = assist->source;
    const struct tree_item *place = tree_find(tree_root(assist->tree), section);
    if (place && !is_absent_value(place)) return assist_edit_add_member(edits, source, place->node, key, value);
    struct buffer line, braces;
    const struct action_field field = {key, value};
    buffer_init(&line, SIZE_MAX);
    buffer_init(&braces, SIZE_MAX);
    action_write(&line, source, true, 2, &field, 1);
    action_write(&braces, source, false, 0, &field, 1);
    bool added = place ? fill_section(edits, source, place, buffer_cstr(&line))
                       : add_section(edits, assist, section, buffer_cstr(&line), buffer_cstr(&braces));
    buffer_finish(&line);
    buffer_finish(&braces);
    return added;
}

char *action_unique_id(const struct assist *assist, const char *base) {
    struct buffer out;
    buffer_init(&out, SIZE_MAX);
    for (uint32_t number = 1;; number++) {
        buffer_clear(&out);
        buffer_text(&out, base);
        if (number > 1) buffer_format(&out, "_%u", number);
        if (document_find_node(assist->document, buffer_cstr(&out), out.length) < 0) return buffer_detach(&out, NULL);
    }
}
