/*
 * disjoint.h - whether no value can be valid for two JSON Schemas: what one stage returns, and what the next accepts.
 *
 *     struct buffer why;
 *     buffer_init(&why, 500);
 *     if (schema_disjoint(output, input, &why)) report("…: %s", buffer_cstr(&why));
 *     buffer_finish(&why);
 *
 * The answer is true only if it is certain. Schemas are compared by type, required and forbidden members, items,
 * constants, alternatives and references within the document; everything else counts as compatible. A schema with $id
 * or $defs inside another one is the root of the references in it. Any thread.
 */
#ifndef TENON_ADL_SCHEMA_DISJOINT_H
#define TENON_ADL_SCHEMA_DISJOINT_H

#include "adl/value/buffer.h"
#include "adl/value/value.h"
#include <stdbool.h>

#define SCHEMA_DISJOINT_DEPTH_MAX 32u    /* nested subschemas and references that are compared */
#define SCHEMA_DISJOINT_WORK_MAX  20000u /* pairs of subschemas that are compared */

/*
 * `made` describes values that exist, `taken` those that are accepted; NULL means any. If no value fits both, returns
 * true and appends the reason: "found a string, expected an object", "`messages` is required and never there". The
 * reason may be cut by the limit of the buffer.
 */
bool schema_disjoint(tn_value made, tn_value taken, struct buffer *why);

#endif
