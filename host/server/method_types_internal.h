/*
 * method_types_internal.h - the model between schemas and languages.
 *
 * A model is {types: [{name, description, type}], methods: [{name, summary, scope, params, result, optional}],
 * events: [{name, summary, params}]}: `params` and `result` are names of types; `optional`: no parameter is required.
 *
 * A type is an object whose member `is` selects its form:
 *
 *     any  never  null  boolean  integer  number  string  bytes
 *     literal  values: [null, boolean, integer or string]
 *     ref      name
 *     list     of: type
 *     map      of: type                       an object with any names
 *     union    of: [type], around?: type      `around` accepts all values of the union, and is one object
 *     object   members: [{name, type, required, description?, default?}], open, declared, title?
 *
 * An object is `open` if it can have other members, and `declared` unless its schema only names required members. Its
 * `title` distinguishes it from the other types of a union. A member of the type `never` is absent. Any thread; values
 * are borrowed unless a function returns them.
 */
#ifndef TENON_HOST_SERVER_METHOD_TYPES_INTERNAL_H
#define TENON_HOST_SERVER_METHOD_TYPES_INTERNAL_H

#include "host/server/method_types.h"
#include <stdbool.h>

/*
 * The type of a schema: a new reference; NULL with INVALID on failure. `schemas` has the shared schemas, `place` names
 * the schema in messages.
 */
tn_value type_read(tn_value schema, tn_value schemas, const char *place, struct error *error);

bool type_is(tn_value type, const char *is);
const char *type_text(tn_value object, const char *key); /* "" if it is absent */
bool type_flag(tn_value object, const char *key);

void typescript_write(struct buffer *out, tn_value model);
void python_write(struct buffer *out, tn_value model);

/*
 * Appends text as lines of at most TYPES_WIDTH columns, if words allow: the first begins with `first`, the others with
 * `next`. Sequences of white space are one space.
 */
#define TYPES_WIDTH 100u
void types_wrap(struct buffer *out, const char *text, const char *first, const char *next);
/* Appends the text with each `from` replaced. */
void types_replace(struct buffer *out, const char *text, const char *from, const char *to);
/* The description of a schema or member, with its default: "" if it has neither. */
void types_note(struct buffer *out, tn_value described);
/* Letters, digits and `_`, not beginning with a digit. */
bool types_is_identifier(const char *name);

#endif
