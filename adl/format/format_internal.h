/*
 * format_internal.h - the two formats behind format_source; private to adl/format.
 */
#ifndef TENON_ADL_FORMAT_INTERNAL_H
#define TENON_ADL_FORMAT_INTERNAL_H

#include "adl/text/tree.h"
#include "adl/value/buffer.h"

/*
 * Writes the tree's source in canonical form to `out`, and its comments' texts to `comments`, both initialised and
 * empty. False where the source is not what the tree says. The tree must be whole and without errors.
 */
bool format_yaml(const struct tree *tree, struct buffer *out, struct buffer *comments);
bool format_json(const struct tree *tree, struct buffer *out);

#endif
