/*
 * draw.h - drawings of a document: text for people, Mermaid, Graphviz dot, and JSON.
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

#define DRAW_FORMATS "mermaid|dot|json|text" /* the names that draw_format_find knows */

#define DRAW_ARROWS_MAX 1000000u /* of a document and the documents inside it */

enum draw_format { DRAW_TEXT, DRAW_MERMAID, DRAW_DOT, DRAW_JSON };

/*
 * The documents inside the nodes of a document, which its caller has built: subgraphs, and documents that node types
 * create. They are drawn inside each other without a limit on the depth: the caller limits it.
 */
struct draw_inside {
    /*
     * Returns the document with this index inside the node, or NULL after the last one, and sets `inner` to what is
     * inside that document. Borrowed while the drawing is made.
     */
    const struct document *(*find)(const struct draw_inside *self, uint32_t node, uint32_t index,
                                   struct draw_inside *inner);
    const void *user;
};

/* Sets `out` to the format with this name. Returns false, and leaves `out` unchanged, if the name is unknown. */
bool draw_format_find(const char *name, enum draw_format *out);
/*
 * Returns TN_LIMIT (code LIMIT) if the drawing would have more than `most` arrows, at most DRAW_ARROWS_MAX. It counts
 * them without drawing, for a caller that must not take long.
 */
int32_t draw_check_arrows(const struct document *document, const struct draw_inside *inside, uint32_t most,
                          struct error *error);
/*
 * Appends the drawing, which ends with a line end; JSON is compact. `inside` is NULL if only the document itself is
 * drawn. Returns TN_LIMIT (code LIMIT) if there are more than DRAW_ARROWS_MAX arrows, or if the drawing exceeds the
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
