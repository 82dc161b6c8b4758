/*
 * draw.h - drawings of a document: pictures (SVG, HTML), text for people, Mermaid, Graphviz dot, and JSON.
 *
 * A drawing has the nodes of the document and every way from one to another: edges, `on_error`, and the successors that
 * a config names. The text form lists the nodes by their depth from START, each with its successors. It needs no layout
 * engine and works with a screen reader.
 *
 *     struct buffer out;
 *     enum draw_format format;
 *     struct error error = ERROR_INIT;
 *     if (!draw_format_find("mermaid", &format)) return expected(DRAW_FORMATS);
 *     buffer_init(&out, 64u << 20);
 *     if (draw_document(&out, document, NULL, format, &error) != TN_OK) return report(&error);
 *     write(buffer_cstr(&out), out.length);
 *     buffer_finish(&out);
 *
 * The svg form is a picture with a layout of our own (adl/draw/layered.h), for documents and for editors. It is one XML
 * element without scripts, is light or dark as the viewer prefers, and can be put into HTML as it is. The html form is
 * a page with this picture, which a person can move, enlarge and search; it needs no network. In both:
 *
 *     <g class="node" id="node-IDENTIFIER" data-node="ID" data-type="TYPE" data-line="LINE">   LINE counts from 1
 *     <g class="edge KIND" data-from="ID" data-to="ID" data-line="LINE">   KIND: plain, join, condition, otherwise,
 *                                                                          map, empty, error, chosen
 *     <g class="inside" data-inside="ID">   a document inside the node ID
 *
 * An edge to or from the bar of a join has one of its ends only. The line of an edge is that of its condition, if it
 * has one, or of its node (error, chosen). What is inside nodes has no data-line, because it is in another text.
 * Identifiers of nodes inside others have the path to them as a prefix. In an identifier, bytes that are not letters,
 * digits, '-' or
 * '_' are `:hh`.
 *
 * The document must have been read without errors. Names and labels are the document's own: a caller that writes a
 * drawing to a terminal replaces control characters (adl/value/terminal.h). Nothing is kept, so any thread may draw,
 * if `find` of its draw_inside may be called there.
 */
#ifndef TENON_ADL_DRAW_H
#define TENON_ADL_DRAW_H

#include "adl/value/buffer.h"
#include "adl/value/error.h"
#include "adl/value/value.h"
#include <stdbool.h>
#include <stdint.h>

struct document;

#define DRAW_FORMATS "svg|html|mermaid|dot|json|text" /* the names that draw_format_find knows */

/* Of a document and the documents inside it. Nodes count as arrows, too. */
#define DRAW_ARROWS_MAX         1000000u
#define DRAW_PICTURE_ARROWS_MAX 100000u /* of svg and html, which have a layout */

enum draw_format { DRAW_TEXT, DRAW_MERMAID, DRAW_DOT, DRAW_JSON, DRAW_SVG, DRAW_HTML };

/*
 * The documents inside the nodes of a document, which its caller has built: subgraphs, and documents that node types
 * create. They are drawn inside each other without a limit on the depth: the caller limits it.
 */
struct draw_inside {
    /*
     * Returns the document with this index inside the node, NULL after the last one, and sets `inner` to what is
     * inside that document. Borrowed while the drawing is made.
     */
    const struct document *(*find)(const struct draw_inside *self, uint32_t node, uint32_t index,
                                   struct draw_inside *inner);
    const void *user;
};

/* Sets `out` to the format with this name. Returns false, and leaves `out` unchanged, if the name is unknown. */
bool draw_format_find(const char *name, enum draw_format *out);
/* DRAW_ARROWS_MAX, or less for a format with a layout. */
uint32_t draw_arrows_max(enum draw_format format);
/*
 * Returns TN_LIMIT (code LIMIT) if the drawing would have more than `most` arrows, at most DRAW_ARROWS_MAX. It counts
 * them without drawing, for a caller that must not take long.
 */
int32_t draw_check_arrows(const struct document *document, const struct draw_inside *inside, uint32_t most,
                          struct error *error);
/*
 * Appends the drawing, which ends with a line end; JSON is compact. `inside` is NULL if only the document itself is
 * drawn. Returns TN_LIMIT (code LIMIT) if there are more arrows than draw_arrows_max, or if the drawing exceeds the
 * limit of `out`, which then has its beginning.
 */
int32_t draw_document(struct buffer *out, const struct document *document, const struct draw_inside *inside,
                      enum draw_format format, struct error *error);
/*
 * {name, nodes: [{id, type, graphs?}], edges: [{from, to, label?, dashed?}]}, a new reference. `graphs` are the
 * drawings of the documents inside the node. An edge is dashed if it is not always taken. Returns NULL with `error` set
 * (LIMIT) if there are more than DRAW_ARROWS_MAX arrows.
 */
tn_value draw_json(const struct document *document, const struct draw_inside *inside, struct error *error);

#endif
