/* wildcard.c - the patterns of the SDK, so that plugins and the host match alike. */
#include "adl/value/wildcard.h"
#include <string.h>

bool wildcard_matches(const char *pattern, const char *name) {
    return tn_pattern_matches(pattern, strlen(pattern), name);
}

bool wildcard_matches_n(const char *pattern, size_t pattern_length, const char *name) {
    return tn_pattern_matches(pattern, pattern_length, name);
}

bool wildcard_matches_tool(const char *pattern, const char *name) {
    return tn_tool_pattern_matches(pattern, strlen(pattern), name);
}

bool wildcard_matches_tool_n(const char *pattern, size_t pattern_length, const char *name) {
    return tn_tool_pattern_matches(pattern, pattern_length, name);
}

bool wildcard_is_tool(const char *text, const char *name) {
    return !strchr(text, '*') && wildcard_matches_tool(text, name);
}
