/*
 * draw_internal.h - the arrows of a drawing, and what the forms of drawings share; private to adl/draw.
 *
 *     static void count_arrow(void *user, const struct document *document, const struct draw_arrow *arrow) {
 *         ++*(size_t *)user;
 *     }
 *     draw_each_arrow(document, count_arrow, &count);
 */
#ifndef TENON_ADL_DRAW_INTERNAL_H
#define TENON_ADL_DRAW_INTERNAL_H

#include "adl/draw/draw.h"

enum draw_kind {
    DRAW_PLAIN,     /* of an edge from one node; always taken */
    DRAW_JOIN,      /* of an edge from several nodes */
    DRAW_CONDITION, /* the label is the condition */
    DRAW_OTHERWISE, /* the condition `default` */
    DRAW_MAP,       /* the label is the list; the target runs for each item */
    DRAW_EMPTY,     /* of a map edge whose list is empty */
    DRAW_ERROR,
    DRAW_CHOSEN /* the config of the node names it */
};

/* One arrow of the drawing; `label` is borrowed from the document, or static. */
struct draw_arrow {
    int32_t from, to;  /* nodes, DOCUMENT_START or DOCUMENT_END */
    const char *label; /* "" if it has no label */
    tn_value text;     /* the label as a value of the document, borrowed; NULL for other labels */
    bool dashed;       /* conditional, map, on_error, chosen by the node */
    const char *says;  /* the label as words: "when %s", "for each of %s" */
    enum draw_kind kind;
    uint32_t edge;    /* of the document; 0 for on_error and links */
    struct span span; /* of the edge, the condition, or the id of the node */
};

typedef void draw_arrow_fn(void *user, const struct document *document, const struct draw_arrow *arrow);

/* Visits the arrows in the order of the document: those of edges, then `on_error`, then links. */
void draw_each_arrow(const struct document *document, draw_arrow_fn *visit, void *user);
/* The id of the node, "START" or "END". Borrowed from the document, or static. */
const char *draw_end_name(const struct document *document, int32_t end);
/* A label as one line, because an expression can have several; free it with mem_free. */
char *draw_one_line(const char *label);
/* Calls `find` of `inside`; returns NULL if `inside` is NULL. */
const struct document *draw_find_inside(const struct draw_inside *inside, uint32_t node, uint32_t index,
                                        struct draw_inside *inner);

/* The forms. They append nothing after the limit of `out`. */
void draw_as_text(struct buffer *out, const struct document *document, const struct draw_inside *inside);
void draw_as_mermaid(struct buffer *out, const struct document *document, const struct draw_inside *inside);
void draw_as_dot(struct buffer *out, const struct document *document, const struct draw_inside *inside);
void draw_as_svg(struct buffer *out, const struct document *document, const struct draw_inside *inside);
void draw_as_html(struct buffer *out, const struct document *document, const struct draw_inside *inside);
/* adl/draw/picture.css, which is compiled in: the dark form of an svg picture. */
extern const char draw_picture_css_text[];
extern const unsigned draw_picture_css_length;
extern const unsigned char draw_picture_css_sha256[32];
/* Appends a text for XML and HTML, also in an attribute. What XML does not allow becomes U+FFFD. */
void draw_xml_text(struct buffer *out, const char *text);

#endif
