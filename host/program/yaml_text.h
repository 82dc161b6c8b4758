/*
 * yaml_text.h - writes a value as YAML, for the examples of the reference.
 *
 *     yaml_text(&out, config, 4);      // lines that begin with four spaces
 *
 * Objects and lists that fit into a line are written in it, as `{a: 1}`. Reading the text results in an equal value.
 */
#ifndef TENON_HOST_PROGRAM_YAML_TEXT_H
#define TENON_HOST_PROGRAM_YAML_TEXT_H

#include "adl/value/buffer.h"
#include "adl/value/value.h"

/* Appends the members of an object, or the items of a list, one or more lines each; `{}` and `[]` if there are none. */
void yaml_text(struct buffer *out, tn_value value, unsigned indent);

#endif
