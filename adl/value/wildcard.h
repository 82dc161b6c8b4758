/*
 * wildcard.h - patterns of names: `*` matches any run of characters, every other character matches itself.
 *
 *     wildcard_matches("files.*", "files.read")      // true
 */
#ifndef TENON_ADL_WILDCARD_H
#define TENON_ADL_WILDCARD_H

#include <stdbool.h>
#include <stddef.h>

/* The cost is at most the product of both lengths. */
bool wildcard_matches(const char *pattern, const char *name);
bool wildcard_matches_n(const char *pattern, size_t pattern_length, const char *name);

#define WILDCARD_TOOL_MAX 512 /* bytes of a pattern that is also matched as the original of a tool's name */
/*
 * The same for the name of a tool. A name that comes from elsewhere, such as the operationId `repos/get` of an OpenAPI
 * description, has `_` for characters that a tool's name cannot have. So in the pattern a run of such characters also
 * matches `_`: `github.repos/get` matches `github.repos_get`.
 */
bool wildcard_matches_tool(const char *pattern, const char *name);
bool wildcard_matches_tool_n(const char *pattern, size_t pattern_length, const char *name);

#endif
