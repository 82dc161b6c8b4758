/*
 * draw_markup.c - a document as Mermaid and as Graphviz dot: languages that other programs lay out and draw.
 *
 * The names of nodes are unique in a drawing: those of an inner document have the path to it as a prefix.
 */
#include "adl/document/document.h"
#include "adl/draw/draw_internal.h"
#include "adl/value/memory.h"
#include <string.h>

struct markup {
    struct buffer *out;
    const char *path; /* the prefix of the names of this document's nodes */
};

/* Appends a label, with the characters that would end it replaced. */
static void put_escaped(struct buffer *out, const char *text, const char *unsafe, const char *const *safe) {
    for (; *text; text++) {
        const char *at = strchr(unsafe, *text);
        if (at)
            buffer_text(out, safe[at - unsafe]);
        else
            buffer_char(out, *text);
    }
}

/* ---- Mermaid ---- */

static void mermaid_name(struct buffer *out, const char *name) {
    static const char *const safe[] = {"#quot;", "#lt;", "#gt;"};
    buffer_text(out, "[\"");
    put_escaped(out, name, "\"<>", safe);
    buffer_text(out, "\"]");
}

static void mermaid_end(const struct markup *markup, const struct document *document, int32_t end) {
    buffer_text(markup->out, markup->path);
    if (end == DOCUMENT_START) {
        buffer_text(markup->out, "START([START])");
    } else if (end == DOCUMENT_END) {
        buffer_text(markup->out, "END_([END])");
    } else {
        buffer_format(markup->out, "n%d", end);
        mermaid_name(markup->out, draw_end_name(document, end));
    }
}

static void mermaid_arrow(void *user, const struct document *document, const struct draw_arrow *arrow) {
    static const char *const safe[] = {"#quot;", "#124;", "#lt;", "#gt;"};
    const struct markup *markup = user;
    if (markup->out->overflow) return;
    buffer_text(markup->out, "    ");
    mermaid_end(markup, document, arrow->from);
    buffer_text(markup->out, arrow->dashed ? " -.->" : " -->");
    if (*arrow->label) {
        char *label = draw_one_line(arrow->label);
        buffer_text(markup->out, "|\"");
        put_escaped(markup->out, label, "\"|<>", safe);
        buffer_text(markup->out, "\"|");
        mem_free(label);
    }
    buffer_char(markup->out, ' ');
    mermaid_end(markup, document, arrow->to);
    buffer_char(markup->out, '\n');
}

static void mermaid_document(struct buffer *out, const struct document *document, const struct draw_inside *inside,
                             const char *path) {
    const struct document *inner;
    struct draw_inside in_inner;
    draw_each_arrow(document, mermaid_arrow, &(struct markup){out, path});
    for (uint32_t i = 0; inside && i < document->node_count; i++) {
        for (uint32_t k = 0; (inner = draw_find_inside(inside, i, k, &in_inner)) != NULL; k++) {
            tn_value prefix = value_format("%sn%u_%u_", path, (unsigned)i, (unsigned)k);
            buffer_format(out, "    subgraph %s", value_chars(prefix, NULL));
            mermaid_name(out, draw_end_name(document, (int32_t)i));
            buffer_char(out, '\n');
            mermaid_document(out, inner, &in_inner, value_chars(prefix, NULL));
            buffer_text(out, "    end\n");
            value_unref(prefix);
        }
    }
}

void draw_as_mermaid(struct buffer *out, const struct document *document, const struct draw_inside *inside) {
    buffer_text(out, "graph TD\n");
    mermaid_document(out, document, inside, "");
}

/* ---- dot ---- */

static void dot_text(struct buffer *out, const char *text) {
    static const char *const safe[] = {"\\\"", "\\\\", "\\n"};
    buffer_char(out, '"');
    put_escaped(out, text, "\"\\\n", safe);
    buffer_char(out, '"');
}

/* Appends a name of dot: that of a node with the path to its document as a prefix. */
static void dot_name(struct buffer *out, const char *path, const char *name) {
    tn_value whole = value_format("%s%s", path, name);
    dot_text(out, value_chars(whole, NULL));
    value_unref(whole);
}

static void dot_arrow(void *user, const struct document *document, const struct draw_arrow *arrow) {
    const struct markup *markup = user;
    if (markup->out->overflow) return;
    buffer_text(markup->out, "    ");
    dot_name(markup->out, markup->path, draw_end_name(document, arrow->from));
    buffer_text(markup->out, " -> ");
    dot_name(markup->out, markup->path, draw_end_name(document, arrow->to));
    if (*arrow->label || arrow->dashed) {
        buffer_text(markup->out, " [");
        if (*arrow->label) {
            buffer_text(markup->out, "label=");
            char *label = draw_one_line(arrow->label);
            dot_text(markup->out, label);
            mem_free(label);
        }
        if (arrow->dashed) buffer_text(markup->out, *arrow->label ? ", style=dashed" : "style=dashed");
        buffer_char(markup->out, ']');
    }
    buffer_text(markup->out, ";\n");
}

static void dot_document(struct buffer *out, const struct document *document, const struct draw_inside *inside,
                         const char *path) {
    const struct document *inner;
    struct draw_inside in_inner;
    buffer_text(out, "    ");
    dot_name(out, path, "START");
    buffer_text(out, " [shape=circle];\n    ");
    dot_name(out, path, "END");
    buffer_text(out, " [shape=doublecircle];\n");
    draw_each_arrow(document, dot_arrow, &(struct markup){out, path});
    for (uint32_t i = 0; inside && i < document->node_count; i++) {
        for (uint32_t k = 0; (inner = draw_find_inside(inside, i, k, &in_inner)) != NULL; k++) {
            tn_value prefix = value_format("%s%s/", path, draw_end_name(document, (int32_t)i));
            buffer_text(out, "    subgraph ");
            dot_name(out, "cluster ", value_chars(prefix, NULL));
            buffer_text(out, " {\n    label=");
            dot_text(out, value_chars(prefix, NULL));
            buffer_text(out, ";\n");
            dot_document(out, inner, &in_inner, value_chars(prefix, NULL));
            buffer_text(out, "    }\n");
            value_unref(prefix);
        }
    }
}

void draw_as_dot(struct buffer *out, const struct document *document, const struct draw_inside *inside) {
    buffer_text(out, "digraph ");
    dot_text(out, value_chars(document->name, NULL));
    buffer_text(out, " {\n    node [shape=box, style=rounded];\n");
    dot_document(out, document, inside, "");
    buffer_text(out, "}\n");
}
