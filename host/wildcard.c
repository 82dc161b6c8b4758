/*
 * wildcard.c - matching, with one place to go back to: only the last `*` ever has to take in more.
 */
#include "host/wildcard.h"
#include <stddef.h>

bool wildcard_matches(const char *pattern, const char *name) {
    const char *star = NULL, *from = NULL;
    while (*name) {
        if (*pattern == '*') {
            star = ++pattern;
            from = name;
        } else if (*pattern == *name) {
            pattern++;
            name++;
        } else if (star) {
            pattern = star;
            name = ++from;
        } else {
            return false;
        }
    }
    while (*pattern == '*') pattern++;
    return !*pattern;
}
