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
