/*
 * pattern.h - the regular expressions of matches(): PCRE2 with fixed limits.
 *
 * A pattern matches anywhere in the text; `$` matches only the end of the text. A compiled pattern is immutable and
 * shared between threads; the memory of a search is in a regex_scratch, which the first search creates.
 */
#ifndef TENON_ADL_EXPR_PATTERN_H
#define TENON_ADL_EXPR_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

struct regex;
struct regex_scratch; /* used by one thread at a time */

#define REGEX_MESSAGE 160

/* Returns NULL if the pattern is invalid or too long; `message` then contains the reason. */
struct regex *regex_new(const char *text, size_t length, char message[REGEX_MESSAGE]);
void regex_free(struct regex *regex); /* NULL is allowed */
/* Returns 1 or 0, or -1 beyond a limit. Creates *scratch if it is NULL. `text` must be UTF-8. */
int regex_search(const struct regex *regex, const char *text, size_t length, struct regex_scratch **scratch);
void regex_scratch_free(struct regex_scratch *scratch); /* NULL is allowed */

#endif
