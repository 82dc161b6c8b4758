/*
 * format_internal.h - the two formats behind format_source; private to adl/format.
 */
#ifndef TENON_ADL_FORMAT_INTERNAL_H
#define TENON_ADL_FORMAT_INTERNAL_H

#include "adl/tree/tree.h"
#include "adl/value/buffer.h"

/*
 * Writes the tree's source in canonical form to `out`, and the texts of its comments to `comments`, both initialised
 * and empty. Returns false if the source does not match the tree. The tree must be whole and without errors.
 */
bool format_yaml(const struct tree *tree, struct buffer *out, struct buffer *comments);
bool format_json(const struct tree *tree, struct buffer *out);

#endif
