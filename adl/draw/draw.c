/*
 * draw.c - the arrows of a document, its drawing as JSON, and the table of formats.
 *
 * Every form draws the same arrows: draw_each_arrow is the only function that reads the edges. The other forms are in
 * draw_text.c, draw_markup.c, draw_svg.c and draw_html.c.
 */
#include "adl/document/document.h"
#include "adl/draw/draw_internal.h"
#include "adl/value/json.h"
#include <string.h>

/* ---- Arrows ---- */

const char *draw_end_name(const struct document *document, int32_t end) {
    if (end == DOCUMENT_START) return "START";
    if (end == DOCUMENT_END) return "END";
    return end >= 0 ? value_chars(document->nodes[end].id, NULL) : "?";
}

static void each_arrow_of_edge(const struct document *document, uint32_t index, int32_t from, draw_arrow_fn *visit,
                               void *user) {
    const struct document_edge *edge = &document->edges[index];
    bool map = edge->kind == EDGE_MAP, join = edge->from_count > 1;
    struct draw_arrow arrow = {.from = from,
                               .label = join ? "join" : "",
                               .says = "(%s)",
                               .kind = join ? DRAW_JOIN : DRAW_PLAIN,
                               .edge = index,
                               .span = edge->span};
    if (map) {
        arrow.label = value_chars(edge->over_text, NULL);
        arrow.text = edge->over_text;
        arrow.dashed = true;
        arrow.says = "for each of %s";
        arrow.kind = DRAW_MAP;
    }
    for (uint32_t t = 0; t < edge->to_count; t++) {
        arrow.to = edge->to[t];
        visit(user, document, &arrow);
    }
    for (uint32_t c = 0; c < edge->condition_count; c++) {
        const struct document_condition *condition = &edge->conditions[c];
        bool otherwise = value_text_is(condition->text, "default");
        visit(user, document,
              &(struct draw_arrow){from, condition->to, value_chars(condition->text, NULL), condition->text, true,
                                   otherwise ? "otherwise" : "when %s", otherwise ? DRAW_OTHERWISE : DRAW_CONDITION,
                                   index, condition->span});
    }
    if (map && edge->empty != DOCUMENT_NOWHERE)
        visit(user, document,
              &(struct draw_arrow){from, edge->empty, "empty", NULL, true, "if the list is %s", DRAW_EMPTY, index,
                                   edge->span});
}

static void each_arrow_of_node(const struct document *document, uint32_t index, draw_arrow_fn *visit, void *user) {
    const struct document_node *node = &document->nodes[index];
    if (node->on_error == DOCUMENT_NOWHERE) return;
    visit(user, document,
          &(struct draw_arrow){(int32_t)index, node->on_error, "on error", NULL, true, "%s", DRAW_ERROR, 0,
                               node->id_span});
}

void draw_each_arrow(const struct document *document, draw_arrow_fn *visit, void *user) {
    for (uint32_t i = 0; i < document->edge_count; i++)
        for (uint32_t f = 0; f < document->edges[i].from_count; f++)
            each_arrow_of_edge(document, i, document->edges[i].from[f], visit, user);
    for (uint32_t i = 0; i < document->node_count; i++) each_arrow_of_node(document, i, visit, user);
    for (uint32_t i = 0; i < document->link_count; i++) {
        const struct document_link *link = &document->links[i];
        if (link->to == DOCUMENT_NOWHERE) continue;
        visit(user, document,
              &(struct draw_arrow){(int32_t)link->from, link->to, "chosen", NULL, true, "%s by the node", DRAW_CHOSEN,
                                   0, document->nodes[link->from].id_span});
    }
}

char *draw_one_line(const char *label) {
    struct buffer line;
    buffer_init(&line, SIZE_MAX);
    for (const char *at = label; *at;) {
        size_t space = strspn(at, " \t\r\n"), words = strcspn(at + space, "\r\n");
        while (words && strchr(" \t", at[space + words - 1])) words--;
        if (words && line.length) buffer_char(&line, ' ');
        buffer_append(&line, at + space, words);
        at += space + words;
    }
    return buffer_detach(&line, NULL);
}

const struct document *draw_find_inside(const struct draw_inside *inside, uint32_t node, uint32_t index,
                                        struct draw_inside *inner) {
    return inside ? inside->find(inside, node, index, inner) : NULL;
}

/*
 * The number of nodes and arrows, which a short text can make large: an edge from many nodes to many nodes. If it is
 * more than `most`, the result may be less than all.
 */
static uint64_t draw_count_arrows(const struct document *document, const struct draw_inside *inside, uint32_t most) {
    const struct document *inner;
    struct draw_inside in_inner;
    uint64_t count = (uint64_t)document->node_count + document->link_count;
    for (uint32_t i = 0; i < document->edge_count; i++) {
        const struct document_edge *edge = &document->edges[i];
        bool has_empty = edge->kind == EDGE_MAP && edge->empty != DOCUMENT_NOWHERE;
        count += (uint64_t)edge->from_count * ((uint64_t)edge->to_count + edge->condition_count + has_empty);
    }
    for (uint32_t i = 0; inside && i < document->node_count && count <= most; i++)
        for (uint32_t k = 0; count <= most && (inner = draw_find_inside(inside, i, k, &in_inner)) != NULL; k++)
            count += draw_count_arrows(inner, &in_inner, most);
    return count;
}

int32_t draw_check_arrows(const struct document *document, const struct draw_inside *inside, uint32_t most,
                          struct error *error) {
    if (draw_count_arrows(document, inside, most) <= most) return TN_OK;
    return error_set(
        error, TN_LIMIT, "LIMIT",
        "the drawing of `%s` has more than %u nodes and arrows; divide the document into subgraphs, and draw each",
        value_chars(document->name, NULL), most);
}

/* ---- JSON ---- */

static void json_arrow(void *user, const struct document *document, const struct draw_arrow *arrow) {
    tn_value *edges = user;
    tn_value edge = value_set_take(value_object_reserve(4), "from", value_text(draw_end_name(document, arrow->from)));
    edge = value_set_take(edge, "to", value_text(draw_end_name(document, arrow->to)));
    if (*arrow->label)
        edge = value_set_take(edge, "label", arrow->text ? value_ref(arrow->text) : value_text(arrow->label));
    if (arrow->dashed) edge = value_set_take(edge, "dashed", value_bool(true));
    *edges = value_push_take(*edges, edge);
}

static tn_value json_document(const struct document *document, const struct draw_inside *inside) {
    tn_value nodes = value_array(), edges = value_array();
    for (uint32_t i = 0; i < document->node_count; i++) {
        tn_value node = value_set_take(value_object_reserve(3), "id", value_ref(document->nodes[i].id));
        node = value_set_take(node, "type", value_ref(document->nodes[i].type));
        const struct document *inner;
        struct draw_inside in_inner;
        tn_value graphs = value_array();
        for (uint32_t k = 0; (inner = draw_find_inside(inside, i, k, &in_inner)) != NULL; k++)
            graphs = value_push_take(graphs, json_document(inner, &in_inner));
        if (value_count(graphs))
            node = value_set_take(node, "graphs", graphs);
        else
            value_unref(graphs);
        nodes = value_push_take(nodes, node);
    }
    draw_each_arrow(document, json_arrow, &edges);
    tn_value drawn = value_set_take(value_object_reserve(3), "name", value_ref(document->name));
    drawn = value_set_take(drawn, "nodes", nodes);
    return value_set_take(drawn, "edges", edges);
}

tn_value draw_json(const struct document *document, const struct draw_inside *inside, struct error *error) {
    return draw_check_arrows(document, inside, DRAW_ARROWS_MAX, error) == TN_OK ? json_document(document, inside)
                                                                                : NULL;
}

static void draw_as_json(struct buffer *out, const struct document *document, const struct draw_inside *inside) {
    tn_value drawn = json_document(document, inside);
    json_write(out, drawn, JSON_COMPACT);
    buffer_char(out, '\n');
    value_unref(drawn);
}

/* ---- Formats ---- */

static const struct {
    const char *name;
    void (*draw)(struct buffer *out, const struct document *document, const struct draw_inside *inside);
} draw_formats[] = {
    [DRAW_TEXT] = {"text", draw_as_text}, [DRAW_MERMAID] = {"mermaid", draw_as_mermaid},
    [DRAW_DOT] = {"dot", draw_as_dot},    [DRAW_JSON] = {"json", draw_as_json},
    [DRAW_SVG] = {"svg", draw_as_svg},    [DRAW_HTML] = {"html", draw_as_html},
};

bool draw_format_find(const char *name, enum draw_format *out) {
    for (size_t i = 0; i < sizeof draw_formats / sizeof *draw_formats; i++) {
        if (strcmp(draw_formats[i].name, name) != 0) continue;
        *out = (enum draw_format)i;
        return true;
    }
    return false;
}

uint32_t draw_arrows_max(enum draw_format format) {
    return format == DRAW_SVG || format == DRAW_HTML ? DRAW_PICTURE_ARROWS_MAX : DRAW_ARROWS_MAX;
}

int32_t draw_document(struct buffer *out, const struct document *document, const struct draw_inside *inside,
                      enum draw_format format, struct error *error) {
    int32_t status = draw_check_arrows(document, inside, draw_arrows_max(format), error);
    if (status != TN_OK) return status;
    draw_formats[format].draw(out, document, inside);
    if (!out->overflow) return TN_OK;
    return error_set(error, TN_LIMIT, "LIMIT", "the drawing of `%s` is larger than %zu bytes",
                     value_chars(document->name, NULL), out->limit);
}
