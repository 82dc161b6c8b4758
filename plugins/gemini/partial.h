/*
 * partial.h - assembles the arguments of a function call that is streamed in pieces, each with a path.
 *
 * Vertex streams arguments as {jsonPath: "$.recipe.steps[1]", stringValue | numberValue | boolValue | nullValue,
 * willContinue?}. A text with willContinue continues with the next piece for the same path. Pieces usually come in the
 * order of the JSON text that the model writes, but this is not required. Depth, number and size of the values are
 * limited, because the service chooses them.
 *
 *     struct partial *partial = partial_new();               // NULL: allocation failed
 *     if (!partial_add_piece(partial, piece, &reason)) …     // a static text
 *     tn_value text = partial_take_text(partial);            // the JSON text since the last call; NULL: no new text
 *     tn_value arguments = partial_build_value(partial);     // {} if there were no pieces
 *     partial_free(partial);
 */
#ifndef TENON_PLUGINS_GEMINI_PARTIAL_H
#define TENON_PLUGINS_GEMINI_PARTIAL_H

#include <stdbool.h>
#include <tenon/easy.h>
#include <tenon/util/build.h>

#define PARTIAL_DEPTH_MAX 64       /* steps of a path */
#define PARTIAL_NODES_MAX 10000    /* values in the arguments of one call */
#define PARTIAL_PATH_MAX  4096     /* bytes of a path */
#define PARTIAL_TEXT_MAX  67108864 /* bytes of all its texts */

struct partial;

struct partial *partial_new(void);
void partial_free(struct partial *partial); /* NULL does nothing */

/* Adds one piece. If it is malformed, returns false with a static reason, and changes nothing. */
bool partial_add_piece(struct partial *partial, tn_value piece, const char **reason);

/* Returns the JSON text that was added since the last call, a new reference. NULL if nothing was added. */
tn_value partial_take_text(struct partial *partial);
/* True if the pieces did not come in the order of the text. The text returned so far is then not a prefix of the
 * arguments, and no more text is returned. */
bool partial_text_is_invalid(const struct partial *partial);
/* Ends the arguments: writes the rest of the text. `members` (may be NULL) has additional members of the arguments. */
void partial_end(struct partial *partial, tn_value members);
/* Returns the arguments, an object, a new reference. NULL if allocation fails. */
tn_value partial_build_value(const struct partial *partial);

#endif
