/*
 * pattern.h - regular expressions of ECMA-262 (Unicode mode), run by PCRE2 with fixed limits.
 *
 * The expression is rewritten: constructs with another meaning in PCRE2 (`\s`, `.`, `\v`, `\uXXXX`, `\p{Letter}`, `[`
 * in a class) are spelled out, and constructs that only PCRE2 has (`(?P<…`, `(*…`, `\A`, possessive quantifiers) are
 * refused by name. A schema therefore cannot reach PCRE2's own options. A compiled pattern is immutable and shared
 * between threads.
 *
 *     struct pattern *pattern;
 *     if (!pattern_new("^[a-z]+$", 8, &pattern, message, sizeof message)) return report(message);
 *     void *scratch = NULL;                                    // grows once, then serves every match
 *     int found = pattern_match(pattern, text, length, &scratch);      // 1, 0, or TN_LIMIT
 *     pattern_scratch_free(scratch); pattern_free(pattern);
 */
#ifndef TENON_ADL_SCHEMA_PATTERN_H
#define TENON_ADL_SCHEMA_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

struct pattern;
struct quick_budget;

/*
 * Returns false, with a sentence in `message`, if the text is not an ECMA-262 expression, is too long, or is not
 * supported by PCRE2.
 */
bool pattern_new(const char *text, size_t length, struct pattern **out, char *message, size_t message_size);
/* Makes matching faster if the pattern, whose text is given again, and the budget allow it. */
void pattern_quicken(struct pattern *pattern, const char *text, size_t length, struct quick_budget *budget);
void pattern_free(struct pattern *pattern); /* NULL is allowed */
/* Returns 1 if the pattern matches anywhere, 0 if not, TN_LIMIT beyond a limit of schema.h. `text` must be UTF-8. */
int pattern_match(const struct pattern *pattern, const char *text, size_t length, void **scratch);
void pattern_scratch_free(void *scratch);

#endif
