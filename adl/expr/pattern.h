/*
 * pattern.h - the regular expressions of matches(): PCRE2, with its limits always set.
 *
 * A pattern is searched anywhere in the text; `$` is the end of the text only. What is compiled is immutable and shared
 * between threads; what a search needs is kept in a regex_scratch, made when first used.
 */
#ifndef TENON_ADL_EXPR_PATTERN_H
#define TENON_ADL_EXPR_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

struct regex;
struct regex_scratch; /* of one thread at a time */

#define REGEX_MESSAGE 160

/* NULL where it is no pattern or is too long: `message` then says why. */
struct regex *regex_new(const char *text, size_t length, char message[REGEX_MESSAGE]);
void regex_free(struct regex *regex); /* NULL is allowed */
/* 1 or 0; -1 beyond a limit. *scratch is made where it is NULL. `text` is UTF-8. */
int regex_search(const struct regex *regex, const char *text, size_t length, struct regex_scratch **scratch);
void regex_scratch_free(struct regex_scratch *scratch); /* NULL is allowed */

#endif
