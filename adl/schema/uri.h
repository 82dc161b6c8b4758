/*
 * uri.h - the little of RFC 3986 that references between schemas need.
 *
 * A reference is resolved against a base by section 5.2, `..` segments included; a base without a path hierarchy
 * (urn:…) only takes references that are absolute or a fragment. No normalising beyond that: URIs are names here.
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

/* The target URI, fragment included; mem_free it. `base` may be "" (then relative references stay so). */
char *uri_resolve(const char *base, const char *reference);
/* Ends `uri` before its '#'; returns what followed, inside the same memory; "" where there is no fragment. */
char *uri_split(char *uri);
/* Replaces %XX in place; false where one is malformed or makes a NUL. */
bool uri_decode(char *text);

#endif
