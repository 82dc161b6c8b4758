/*
 * fill.h - templates: {name} is an argument of the tool, {{ and }} are braces.
 *
 *     tn_value arguments = fill_template(template, input);
 *
 * A string that consists of one placeholder becomes the argument itself, of any kind. In other strings, an argument
 * that is not a string is inserted as JSON, and a missing argument as nothing. Objects and arrays are filled
 * recursively; members whose value is one placeholder with a missing argument are left out. {secret: NAME} is not
 * changed. Only a description can contain it, because arguments are not expanded again.
 */
#ifndef TENON_PLUGINS_DEFINE_FILL_H
#define TENON_PLUGINS_DEFINE_FILL_H

#include "encode.h"

#define FILL_BYTES_MAX (16u << 20)
#define FILL_NAME_MAX  256 /* bytes of an argument's name in a placeholder, with the NUL */

/* Returns a new reference, or NULL if the result is too long or memory runs out. */
tn_value fill_template(tn_value template, tn_value arguments);
/*
 * The same for parts of a request: an argument is inserted as a string or as an array of scalars, never as an object,
 * because an object could be {secret: NAME}.
 */
tn_value fill_request_template(tn_value template, tn_value arguments);
/* Fills a URL: inserted arguments are percent-encoded. */
tn_value fill_url(const char *template, tn_value arguments);
/* Appends the filled template to `out`. An argument of any kind is inserted as text. */
void fill_append_text(struct tn_text_buffer *out, const char *template, tn_value arguments, bool percent);
/*
 * Returns what is wrong with the placeholders of a description (a static string), or NULL. `input` is the schema of the
 * arguments or NULL. `unknown` becomes the first placeholder that the schema does not list, or "".
 */
const char *fill_check_placeholders(tn_value description, tn_value input, char unknown[FILL_NAME_MAX]);

#endif
