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
#include <stdbool.h>
#include <stddef.h>

/*
 * `text` is the scalar's value (tree_text), `part` a range of its bytes. Returns the span of the whole scalar if the
 * part cannot be located.
 */
struct span place_in_scalar(const struct source *source, const struct tree_node *scalar, const char *text,
                            size_t length, struct span part);
/*
 * The same for many parts of one scalar. Parts in text order cost one pass over the scalar. The fields are private,
 * but `failed`: the last part was not located.
 *
 *     struct place_cursor cursor;
 *     place_cursor_init(&cursor, source, scalar, text, length);
 *     struct span first = place_cursor_find(&cursor, part), second = place_cursor_find(&cursor, later_part);
 */
struct place_cursor {
    const char *base, *start, *end; /* the source; where the text starts and ends in it */
    const char *text;
    size_t length;
    struct span whole;
    char quote;         /* '"', '\'' or 0 */
    bool same, failed;  /* the source has the text unchanged; see above */
    const char *source; /* where the byte `at` of the text is */
    size_t at;
};
void place_cursor_init(struct place_cursor *cursor, const struct source *source, const struct tree_node *scalar,
                       const char *text, size_t length);
struct span place_cursor_find(struct place_cursor *cursor, struct span part);
/* The span of a scalar or a key without its quotes, so that a replacement keeps them. */
struct span place_in_quotes(const struct source *source, struct span span);

#endif
