/*
 * draw_text.c - a document as text for people: the nodes by their depth from START, each with its successors.
 *
 * Nodes that cannot be reached from START are last. The documents inside nodes follow, each below a line with the path
 * of its node.
 */
#include "adl/document/document.h"
#include "adl/draw/draw_internal.h"
#include "adl/value/memory.h"
#include <string.h>

struct reach {
    int32_t *depth; /* [node + 1]; START is 0; -1 if not reachable */
    int32_t level;
    bool grew;
};

static void spread(void *user, const struct document *document, const struct draw_arrow *arrow) {
    (void)document;
    struct reach *reach = user;
    if (arrow->from < DOCUMENT_START || arrow->to < 0 || reach->depth[arrow->from + 1] != reach->level) return;
    if (reach->depth[arrow->to + 1] >= 0) return;
    reach->depth[arrow->to + 1] = reach->level + 1;
    reach->grew = true;
}

struct leads {
    struct buffer *out;
    int32_t from;
};

static void list_arrow(void *user, const struct document *document, const struct draw_arrow *arrow) {
    struct leads *leads = user;
    if (arrow->from != leads->from || leads->out->overflow) return;
    char *label = draw_one_line(arrow->label);
    const char *hole = strstr(arrow->says, "%s");
    buffer_format(leads->out, "    %s %s", arrow->dashed ? "┄┄▶" : "──▶", draw_end_name(document, arrow->to));
    if (*label && hole)
        buffer_format(leads->out, "  %.*s%s%s", (int)(hole - arrow->says), arrow->says, label, hole + 2);
    else if (*label)
        buffer_format(leads->out, "  %s", arrow->says);
    buffer_char(leads->out, '\n');
    mem_free(label);
}

static void text_node(struct buffer *out, const struct document *document, int32_t from) {
    struct leads leads = {out, from};
    if (from == DOCUMENT_START)
        buffer_text(out, "○ START\n");
    else
        buffer_format(out, "● %s  (%s)%s\n", draw_end_name(document, from),
                      value_chars(document->nodes[from].type, NULL), document->nodes[from].defer ? "  deferred" : "");
    draw_each_arrow(document, list_arrow, &leads);
}

static void text_nodes(struct buffer *out, const struct document *document) {
    struct reach reach = {mem_array(NULL, document->node_count + 1u, sizeof(int32_t)), 0, true};
    for (uint32_t i = 0; i <= document->node_count; i++) reach.depth[i] = -1;
    reach.depth[0] = 0;
    for (; reach.grew; reach.level++) {
        reach.grew = false;
        draw_each_arrow(document, spread, &reach);
    }
    for (int32_t level = 0; level <= reach.level; level++)
        for (int32_t i = -1; i < (int32_t)document->node_count; i++)
            if (reach.depth[i + 1] == level) text_node(out, document, i);
    for (int32_t i = 0; i < (int32_t)document->node_count; i++)
        if (reach.depth[i + 1] < 0) text_node(out, document, i);
    mem_free(reach.depth);
}

/* `path` is that of the node that runs the document; "" for the outermost one. */
static void text_document(struct buffer *out, const struct document *document, const struct draw_inside *inside,
                          const char *path) {
    const struct document *inner;
    struct draw_inside in_inner;
    if (*path) buffer_format(out, "\n◎ inside %s\n", path);
    text_nodes(out, document);
    for (uint32_t i = 0; inside && i < document->node_count; i++) {
        for (uint32_t k = 0; (inner = draw_find_inside(inside, i, k, &in_inner)) != NULL; k++) {
            tn_value whole = value_format("%s%s%s", path, *path ? "/" : "", draw_end_name(document, (int32_t)i));
            text_document(out, inner, &in_inner, value_chars(whole, NULL));
            value_unref(whole);
        }
    }
}

void draw_as_text(struct buffer *out, const struct document *document, const struct draw_inside *inside) {
    text_document(out, document, inside, "");
}
