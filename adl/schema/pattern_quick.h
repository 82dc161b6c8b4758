/*
 * pattern_quick.h - patterns as tables: one step for each byte of the text, whatever the pattern; private to pattern.c.
 *
 *     struct quick_budget budget = QUICK_BUDGET_INIT;
 *     struct quick *quick = quick_new("^[a-z]+$", 8, &budget);      // NULL if the pattern needs PCRE2
 *     if (quick && quick_matches(quick, text, length)) …
 *     quick_free(quick);
 *
 * A pattern without lookaround, backreferences, word boundaries and Unicode properties is a regular language. If its
 * automaton is small, it is compiled to a table. Everything else stays with PCRE2, which must have accepted the pattern
 * before: this parser relies on its syntax. Both have the same result, except that a table reaches no limit.
 */
#ifndef TENON_ADL_SCHEMA_PATTERN_QUICK_H
#define TENON_ADL_SCHEMA_PATTERN_QUICK_H

#include <stdbool.h>
#include <stddef.h>

/* What the patterns of one schema may use together; further ones stay with PCRE2. */
#define QUICK_WORK_MAX  4000000u /* steps of making the tables */
#define QUICK_BYTES_MAX 1000000u /* of all tables */

struct quick;

struct quick_budget {
    size_t work, bytes; /* what is left */
};

#define QUICK_BUDGET_INIT                                                                                              \
    { QUICK_WORK_MAX, QUICK_BYTES_MAX }

struct quick *quick_new(const char *text, size_t length, struct quick_budget *budget);
void quick_free(struct quick *quick); /* NULL is allowed */
bool quick_matches(const struct quick *quick, const char *text,
                   size_t length); /* `text` must be UTF-8; anywhere in it */

#endif
