/*
 * pattern.h - regular expressions of ECMA-262 (Unicode mode), run by PCRE2 with limits always set.
 *
 * The expression is rewritten: what means something else to PCRE2 (`\s`, `.`, `\v`, `\uXXXX`, `\p{Letter}`, `[` in a
 * class) is spelled out, what only PCRE2 knows (`(?P<…`, `(*…`, `\A`, possessive quantifiers) is refused by name. Then
 * nothing in a schema can reach PCRE2's own options. A compiled pattern is immutable and shared between threads.
 *
 *     struct pattern *pattern;
 *     if (!pattern_new("^[a-z]+$", 8, &pattern, message, sizeof message)) return complain(message);
 *     void *scratch = NULL;                                    // grows once, then serves every match
 *     int found = pattern_match(pattern, text, length, &scratch);      // 1, 0, or TN_LIMIT
 *     pattern_scratch_free(scratch); pattern_free(pattern);
 */
#ifndef TENON_ADL_SCHEMA_PATTERN_H
#define TENON_ADL_SCHEMA_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

struct pattern;

/* False, with a sentence in `message`, where it is no ECMA-262 expression, is too long, or PCRE2 cannot run it. */
bool pattern_new(const char *text, size_t length, struct pattern **out, char *message, size_t message_size);
void pattern_free(struct pattern *pattern); /* NULL is allowed */
/* 1 where it matches anywhere, 0 where not, TN_LIMIT beyond a bound of schema.h. `text` is UTF-8. */
int pattern_match(const struct pattern *pattern, const char *text, size_t length, void **scratch);
void pattern_scratch_free(void *scratch);

#endif
