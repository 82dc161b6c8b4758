/*
 * fill.h - descriptions with holes: {name} is one of the tool's arguments, {{ and }} are braces.
 *
 *     tn_value arguments = fill(template, input, &why);
 *
 * A text that is one hole alone becomes the argument itself, whatever it is. In other texts an argument that is no text
 * stands as its JSON, and one that is not given as nothing. Objects and arrays are filled inside; members whose value
 * is a lone hole without an argument are left out. {secret: NAME} stays as it is: only the description may say it, as
 * what comes from arguments is never looked at for holes.
 */
#ifndef TENON_PLUGINS_DEFINE_FILL_H
#define TENON_PLUGINS_DEFINE_FILL_H

#include "text.h"

#define FILL_BYTES_MAX (16u << 20)
#define FILL_NAME_MAX  256 /* bytes of an argument's name in a hole, with the NUL */

/* A new reference; NULL: it is too long, or there is no memory. */
tn_value fill(tn_value template, tn_value arguments);
/*
 * The same for what becomes a part of a request: an argument is put in as text, or as an array of texts, numbers and
 * truths, never as an object, which there might mean {secret: NAME}.
 */
tn_value fill_texts(tn_value template, tn_value arguments);
/* A text, with what is filled in percent-encoded: a url. */
tn_value fill_url(const char *template, tn_value arguments);
/* A text whatever it is made of; into `out`. */
void fill_text(struct text *out, const char *template, tn_value arguments, bool percent);
/*
 * What is wrong with the holes of a description, a static text; NULL: nothing. `input`: the schema of its arguments, or
 * NULL; `unknown` becomes the first hole that it says nothing of, or "": that one would be filled with nothing.
 */
const char *fill_check(tn_value description, tn_value input, char unknown[FILL_NAME_MAX]);

#endif
