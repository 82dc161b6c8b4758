/*
 * wildcard.h - patterns of names: `*` matches any run of characters, every other character matches itself.
 *
 *     wildcard_matches("files.*", "files.read")      // true
 */
#ifndef TENON_ADL_WILDCARD_H
#define TENON_ADL_WILDCARD_H

#include <stdbool.h>
#include <stddef.h>
#include <tenon/util/tool_pattern.h>

/* The cost is at most the product of both lengths. */
bool wildcard_matches(const char *pattern, const char *name);
bool wildcard_matches_n(const char *pattern, size_t pattern_length, const char *name);

/* The same for the id of a tool, which also matches by its original name (tenon/util/tool_pattern.h). */
bool wildcard_matches_tool(const char *pattern, const char *name);
bool wildcard_matches_tool_n(const char *pattern, size_t pattern_length, const char *name);
/* True if the text names this tool, and is no pattern. */
bool wildcard_is_tool(const char *text, const char *name);

#endif
