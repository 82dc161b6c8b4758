/*
 * place.h - the source position of a part of a scalar's text: handles quotes, escapes, indentation and folded lines.
 *
 *     // expression: "state.a ==\n  \"x\""   the text is `state.a == "x"`; its bytes [11, 14) are `\"x\"` in the source
 *     struct span span = place_in_scalar(source, node, text, length, (struct span){11, 14});
 */
#ifndef TENON_ADL_DOCUMENT_PLACE_H
#define TENON_ADL_DOCUMENT_PLACE_H

#include "adl/tree/tree.h"
#include "adl/value/error.h"
#include <stddef.h>

/*
 * `text` is the scalar's value (tree_text), `part` a range of its bytes. Returns the span of the whole scalar if the
 * part cannot be located.
 */
struct span place_in_scalar(const struct source *source, const struct tree_node *scalar, const char *text,
                            size_t length, struct span part);
/* The span of a scalar or a key without its quotes, so that a replacement keeps them. */
struct span place_in_quotes(const struct source *source, struct span span);

#endif
