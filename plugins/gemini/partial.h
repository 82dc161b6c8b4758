/*
 * partial.h - a function call's arguments that come piece by piece, each with the place where it belongs.
 *
 * Vertex streams arguments as {jsonPath: "$.recipe.steps[1]", stringValue | numberValue | boolValue | nullValue,
 * willContinue?}. Text whose piece says willContinue goes on with the next piece for the same place. Places come in the
 * order of the text that the model writes, but nothing here relies on it. What is put together is bounded: the paths
 * are the service's.
 *
 *     struct partial *partial = partial_new();                    // NULL: no memory
 *     if (!partial_put(partial, piece, &why)) …                   // a static reason
 *     tn_value text = partial_take(partial);                      // JSON text that it has added; NULL: none
 *     tn_value arguments = partial_value(partial);                // {} where nothing came
 *     partial_free(partial);
 */
#ifndef TENON_PLUGINS_GEMINI_PARTIAL_H
#define TENON_PLUGINS_GEMINI_PARTIAL_H

#include <stdbool.h>
#include <tenon/easy.h>

#define PARTIAL_DEPTH_MAX 64       /* steps of a path */
#define PARTIAL_NODES_MAX 10000    /* values in the arguments of one call */
#define PARTIAL_PATH_MAX  4096     /* bytes of a path */
#define PARTIAL_TEXT_MAX  67108864 /* bytes of all its texts */

struct partial;

struct partial *partial_new(void);
void partial_free(struct partial *partial); /* NULL does nothing */

/* Takes one piece in. False: it cannot be, for a static reason, and what is there stays. */
bool partial_put(struct partial *partial, tn_value piece, const char **why);

/* What the pieces have added to the JSON text of the arguments since it was last taken, a new reference; NULL: nothing.
 */
tn_value partial_take(struct partial *partial);
/* They do not come in the order of such a text: what was taken is no beginning of it, and nothing more can be. */
bool partial_lost(const struct partial *partial);
/* No piece comes any more; `told` (may be NULL) has members that belong to it as well. The rest can be taken. */
void partial_end(struct partial *partial, tn_value told);
/* The whole, a new reference: an object. NULL without memory. */
tn_value partial_value(const struct partial *partial);

#endif
