/*
 * pattern.h - the regular expressions of matches() and regex.…(): PCRE2 with fixed limits.
 *
 * A pattern matches anywhere in the text; `$` matches only the end of the text. A compiled pattern is immutable and
 * shared between threads; the memory of a search is in a regex_scratch, which the first search creates.
 */
#ifndef TENON_ADL_EXPR_PATTERN_H
#define TENON_ADL_EXPR_PATTERN_H

#include "adl/expr/expr.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct regex;
struct regex_scratch; /* used by one thread at a time */

#define REGEX_MESSAGE       160
#define REGEX_GROUPS_MAX    EXPR_PATTERN_GROUPS
#define REGEX_PATTERN_ITEMS 6400u /* the cost of compiling a pattern, in items */

/* Returns NULL if the pattern is invalid or too long; `message` then contains the reason. */
struct regex *regex_new(const char *text, size_t length, char message[REGEX_MESSAGE]);
/* The same, but the groups of a match can be read. A pattern with more than REGEX_GROUPS_MAX - 1 groups is refused. */
struct regex *regex_new_with_groups(const char *text, size_t length, char message[REGEX_MESSAGE]);
void regex_free(struct regex *regex); /* NULL is allowed */
/* Returns 1 or 0, or -1 beyond a limit. Creates *scratch if it is NULL. `text` must be UTF-8. */
int regex_search(const struct regex *regex, const char *text, size_t length, struct regex_scratch **scratch);
/* A match: the positions of its groups, SIZE_MAX for one that took no part; group 0 is the whole match. */
struct regex_groups {
    uint32_t count;
    size_t starts[REGEX_GROUPS_MAX], ends[REGEX_GROUPS_MAX];
};

/* Like regex_search, from the position `from` on; fills `out` if it returns 1. For a regex with groups. */
int regex_find(const struct regex *regex, const char *text, size_t length, size_t from, struct regex_scratch **scratch,
               struct regex_groups *out);
uint32_t regex_group_count(const struct regex *regex);                   /* without the whole match */
const char *regex_group_name(const struct regex *regex, uint32_t group); /* NULL if it has none */
void regex_scratch_free(struct regex_scratch *scratch);                  /* NULL is allowed */

#endif
