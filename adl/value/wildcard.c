/* wildcard.c - matching with one backtrack position: only the last `*` can ever match more. */
#include "adl/value/wildcard.h"
#include <string.h>

bool wildcard_matches(const char *pattern, const char *name) {
    return wildcard_matches_n(pattern, strlen(pattern), name);
}

bool wildcard_matches_n(const char *pattern, size_t pattern_length, const char *name) {
    const char *end = pattern + pattern_length, *star = NULL, *from = NULL;
    while (*name) {
        if (pattern < end && *pattern == '*') {
            star = ++pattern;
            from = name;
        } else if (pattern < end && *pattern == *name) {
            pattern++;
            name++;
        } else if (star) {
            pattern = star;
            name = ++from;
        } else {
            return false;
        }
    }
    while (pattern < end && *pattern == '*') pattern++;
    return pattern == end;
}

static bool is_tool_char(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
           c == '.' || c == '*';
}

bool wildcard_matches_tool(const char *pattern, const char *name) {
    return wildcard_matches_tool_n(pattern, strlen(pattern), name);
}

bool wildcard_matches_tool_n(const char *pattern, size_t pattern_length, const char *name) {
    char plain[WILDCARD_TOOL_MAX];
    size_t length = 0;
    if (wildcard_matches_n(pattern, pattern_length, name)) return true;
    if (pattern_length > sizeof plain) return false;
    for (size_t i = 0; i < pattern_length; i++) {
        if (is_tool_char(pattern[i]))
            plain[length++] = pattern[i];
        else if (i == 0 || is_tool_char(pattern[i - 1]))
            plain[length++] = '_';
    }
    return length > 0 && wildcard_matches_n(plain, length, name);
}
