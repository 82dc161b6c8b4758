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

/*
 * The arrows by source, and the sources in the order of the text. A source is a node + 1; 0 is START. Everything is
 * computed in time that is linear in nodes and arrows.
 */
struct outline {
    uint32_t sources;
    struct draw_arrow *arrows;
    size_t *first;   /* [source]: its arrows are [first[source], first[source + 1]) */
    uint32_t *depth; /* [source]: the number of arrows from START; `sources` if no way leads there */
    uint32_t *order; /* [position]: the source */
};

/* Counts one entry further than place_arrow places, which leaves each entry at the first arrow of its source. */
static void count_arrow(void *user, const struct document *document, const struct draw_arrow *arrow) {
    (void)document;
    struct outline *outline = user;
    if (arrow->from >= DOCUMENT_START) outline->first[arrow->from + 1 + 2]++;
}

static void place_arrow(void *user, const struct document *document, const struct draw_arrow *arrow) {
    (void)document;
    struct outline *outline = user;
    if (arrow->from >= DOCUMENT_START) outline->arrows[outline->first[arrow->from + 1 + 1]++] = *arrow;
}

static void outline_group_arrows(struct outline *outline, const struct document *document) {
    outline->first = mem_zalloc((outline->sources + 2u) * sizeof *outline->first);
    draw_each_arrow(document, count_arrow, outline);
    for (uint32_t i = 1; i < outline->sources + 2u; i++) outline->first[i] += outline->first[i - 1];
    outline->arrows = mem_array(NULL, outline->first[outline->sources + 1u] + 1u, sizeof *outline->arrows);
    draw_each_arrow(document, place_arrow, outline);
}

/* A search from START, level by level; `order` is its queue. */
static void outline_measure_depths(struct outline *outline) {
    uint32_t reached = 1;
    outline->depth = mem_array(NULL, outline->sources, sizeof *outline->depth);
    outline->order = mem_array(NULL, outline->sources, sizeof *outline->order);
    for (uint32_t i = 0; i < outline->sources; i++) outline->depth[i] = outline->sources;
    outline->depth[0] = 0;
    outline->order[0] = 0;
    for (uint32_t next = 0; next < reached; next++) {
        uint32_t source = outline->order[next];
        for (size_t i = outline->first[source]; i < outline->first[source + 1]; i++) {
            int32_t to = outline->arrows[i].to;
            if (to < 0 || outline->depth[to + 1] < outline->sources) continue;
            outline->depth[to + 1] = outline->depth[source] + 1;
            outline->order[reached++] = (uint32_t)to + 1;
        }
    }
}

/* Sources of the same depth stay in the order of the document. */
static void outline_sort(struct outline *outline) {
    uint32_t *start = mem_zalloc((outline->sources + 2u) * sizeof *start); /* [depth] */
    for (uint32_t i = 0; i < outline->sources; i++) start[outline->depth[i] + 1]++;
    for (uint32_t i = 1; i < outline->sources + 2u; i++) start[i] += start[i - 1];
    for (uint32_t i = 0; i < outline->sources; i++) outline->order[start[outline->depth[i]]++] = i;
    mem_free(start);
}

static void text_arrow(struct buffer *out, const struct document *document, const struct draw_arrow *arrow) {
    char *label = draw_one_line(arrow->label);
    const char *hole = strstr(arrow->says, "%s");
    buffer_format(out, "    %s %s", arrow->dashed ? "┄┄▶" : "──▶", draw_end_name(document, arrow->to));
    if (*label && hole)
        buffer_format(out, "  %.*s%s%s", (int)(hole - arrow->says), arrow->says, label, hole + 2);
    else if (*label)
        buffer_format(out, "  %s", arrow->says);
    buffer_char(out, '\n');
    mem_free(label);
}

static void text_source(struct buffer *out, const struct document *document, const struct outline *outline,
                        uint32_t source) {
    if (source == 0) {
        buffer_text(out, "○ START\n");
    } else {
        const struct document_node *node = &document->nodes[source - 1];
        buffer_format(out, "● %s  (%s)%s\n", value_chars(node->id, NULL), value_chars(node->type, NULL),
                      node->defer ? "  deferred" : "");
    }
    for (size_t i = outline->first[source]; i < outline->first[source + 1] && !out->overflow; i++)
        text_arrow(out, document, &outline->arrows[i]);
}

static void text_nodes(struct buffer *out, const struct document *document) {
    struct outline outline = {.sources = document->node_count + 1};
    outline_group_arrows(&outline, document);
    outline_measure_depths(&outline);
    outline_sort(&outline);
    for (uint32_t i = 0; i < outline.sources && !out->overflow; i++)
        text_source(out, document, &outline, outline.order[i]);
    mem_free(outline.arrows);
    mem_free(outline.first);
    mem_free(outline.depth);
    mem_free(outline.order);
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
