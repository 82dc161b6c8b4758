/*
 * describe.h - Markdown about the things that a document names, for hover and for the documentation of items.
 *
 *     struct buffer out;
 *     buffer_init(&out, DESCRIBE_MAX);
 *     describe_channel(assist, "score", 5, &out);      // false: there is no such channel, and nothing was written
 *     buffer_finish(&out);
 *
 * Each function returns false and writes nothing if it does not know the thing.
 */
#ifndef TENON_ADL_ASSIST_DESCRIBE_H
#define TENON_ADL_ASSIST_DESCRIBE_H

#include "adl/assist/assist.h"
#include "adl/assist/shape.h"
#include "adl/document/keys.h"
#include "adl/value/buffer.h"

#define DESCRIBE_MAX        16384u /* bytes of a text; more is cut */
#define DESCRIBE_ROWS_MAX   40u    /* rows of a table */
#define DESCRIBE_NAMES_MAX  10u    /* names of a list */
#define DESCRIBE_SCHEMA_MAX 600u   /* bytes of a schema */

struct document;
struct expr_function;

bool describe_key(const struct document_key *key, struct buffer *out);
/* A member of a config: `name` with what the schemas say. */
bool describe_shape(const char *name, size_t length, const struct shape *shape, struct buffer *out);
bool describe_node_type(const struct assist *assist, const char *id, size_t length, struct buffer *out);
/* Also the nodes that write and read it. */
bool describe_channel(const struct assist *assist, const char *name, size_t length, struct buffer *out);
/* A channel of a document that a node runs. */
bool describe_inner_channel(const struct document *inner, const char *name, size_t length, struct buffer *out);
bool describe_node(const struct assist *assist, const char *id, size_t length, struct buffer *out); /* and START, END */
/* The value of the alias at an offset, or the places of the aliases of an anchor; *span is what was described. */
bool describe_anchor(const struct assist *assist, uint32_t offset, struct span *span, struct buffer *out);
bool describe_role(const struct assist *assist, const char *name, size_t length, struct buffer *out);
/* `provider` or `provider:model`. */
bool describe_model(const struct assist *assist, const char *text, size_t length, struct buffer *out);
bool describe_tool(const struct assist *assist, const char *text, size_t length, struct buffer *out); /* or a pattern */
bool describe_reducer(const struct assist *assist, const char *name, size_t length, struct buffer *out);
bool describe_plugin(const struct assist *assist, const char *text, size_t length, struct buffer *out);
bool describe_function(const struct expr_function *function, struct buffer *out);
bool describe_duration(const char *text, size_t length, struct buffer *out);

/* Markdown as plain text: without marks of code, strong text and tables. Free it with mem_free. */
char *describe_plain(const char *markdown);

#endif
