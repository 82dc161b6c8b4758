/*
 * uri.h - the part of RFC 3986 that references between schemas need.
 *
 * A reference is resolved against a base by section 5.2, including `..` segments. A base without a path hierarchy
 * (urn:…) accepts only absolute references and fragments. URIs are not normalised further: they are only names here.
 *
 *     char *uri = uri_resolve("http://a/b/c.json", "../d.json#/$defs/x");   // http://a/d.json#/$defs/x
 *     char *fragment = uri_split(uri);                                      // uri: http://a/d.json; "/$defs/x"
 *     uri_decode(fragment);
 *     mem_free(uri);
 */
#ifndef TENON_ADL_SCHEMA_URI_H
#define TENON_ADL_SCHEMA_URI_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Returns the target URI with its fragment; free it with mem_free. `base` may be "" (relative references then stay
 * relative).
 */
char *uri_resolve(const char *base, const char *reference);
/* Ends `uri` before its '#' and returns the fragment, inside the same memory; "" without a fragment. */
char *uri_split(char *uri);
/* Replaces %XX in place; returns false if an escape is malformed or yields NUL. */
bool uri_decode(char *text);

#endif
