/*
 * command_schema.h - prints a JSON Schema for people: one line per member, with nested members below it.
 *
 * Each line has the member's name, the values it accepts, whether it is required, and its default. References are
 * followed; a recursive reference is printed once.
 *
 *     command_schema_form(&text, schema, schema);          // "array of string, default []"
 *     command_schema_members("config", schema);            // its lines, the first one with a label
 *     command_schema_members(NULL, schema);                // without a label column
 */
#ifndef TENON_HOST_PROGRAM_COMMAND_SCHEMA_H
#define TENON_HOST_PROGRAM_COMMAND_SCHEMA_H

#include "adl/value/buffer.h"
#include "adl/value/value.h"

#define SCHEMA_SHOWN_DEPTH 10u   /* levels; deeper ones are printed as "…" */
#define SCHEMA_SHOWN_LINES 1000u /* lines of one schema */
#define SCHEMA_SHOWN_HOPS  16u   /* references to references */

/*
 * Appends the values that `schema` accepts, in short form. Its references point into `root`. Both can be NULL or a
 * value of any kind.
 */
void command_schema_form(struct buffer *out, tn_value root, tn_value schema);
/* Prints the members of a schema on standard output. Prints nothing if there are none, or if `schema` is NULL. */
void command_schema_members(const char *label, tn_value schema);
/* The same as a Markdown list. */
void command_schema_markdown(tn_value schema);

#endif
