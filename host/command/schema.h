/*
 * schema.h - a JSON Schema for people: a line for each member, with what is inside of it below.
 *
 * For whoever writes what the schema is of: names, what each may be, what must be there, what holds where nothing is
 * said. References are followed; one that leads into itself is told once.
 *
 *     command_schema_form(&text, schema, schema);          // "array of string, default []"
 *     command_schema_members("config", schema);            // its lines, the first of them labelled
 *     command_schema_members(NULL, schema);                // without a column for labels
 */
#ifndef TENON_HOST_COMMAND_SCHEMA_H
#define TENON_HOST_COMMAND_SCHEMA_H

#include "adl/value/buffer.h"
#include "adl/value/value.h"

#define SCHEMA_SHOWN_DEPTH 10u   /* levels; what is deeper is told to be there */
#define SCHEMA_SHOWN_LINES 1000u /* of one schema; then where the rest is */
#define SCHEMA_SHOWN_HOPS  16u   /* references that lead to references */

/* Appends what `schema` takes, in short. `root`: what its references are into. Either may be of any kind, or NULL. */
void command_schema_form(struct buffer *out, tn_value root, tn_value schema);
/* Prints the members of a schema, and what is in them, on standard output; nothing of one that has none, or NULL. */
void command_schema_members(const char *label, tn_value schema);

#endif
