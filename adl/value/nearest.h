/*
 * nearest.h - "did you mean …?": finds the candidate that a mistyped name most likely meant.
 *
 * The distance is Damerau-Levenshtein (insert, delete, replace, swap neighbours). A difference in letter case, and `-`
 * instead of `_`, count half. A name is near if at most about a third of it differs; of equally near names the first
 * one wins. Names longer than NEAREST_LENGTH_MAX bytes are never near. Nothing is allocated. Candidates must outlive
 * the struct.
 *
 *     struct nearest near;
 *     nearest_init(&near, "input_kye", 9);
 *     for (size_t i = 0; i < count; i++) nearest_add_candidate(&near, names[i], strlen(names[i]));
 *     // "unknown key `input_kye`; did you mean `input_key`?"
 *     error_set(error, TN_INVALID, "INVALID_INPUT", "unknown key `input_kye`%s", nearest_hint(&near).text);
 *
 * A struct nearest belongs to one thread.
 */
#ifndef TENON_ADL_NEAREST_H
#define TENON_ADL_NEAREST_H

#include <stddef.h>

#define NEAREST_LENGTH_MAX 64 /* bytes; longer names are not compared */

struct nearest {
    const char *wanted;
    size_t wanted_length;
    const char *best; /* borrowed from nearest_add_candidate; NULL while no candidate is near */
    size_t best_length;
    size_t distance; /* distance of `best` in half edits; if `best` is NULL, 1 more than the near limit */
};

/* The end of a message: "; did you mean `NAME`?", or "" without a suggestion. */
struct nearest_hint {
    char text[NEAREST_LENGTH_MAX + 24];
};

/* `wanted` is borrowed while candidates are offered. */
void nearest_init(struct nearest *nearest, const char *wanted, size_t length);
void nearest_add_candidate(struct nearest *nearest, const char *candidate, size_t length);
/* Returns the best candidate exactly as it was offered (NUL-terminated if that was), or NULL if none is near. */
const char *nearest_result(const struct nearest *nearest);
/* `nearest_hint(&near).text` is valid until the end of the expression that contains it. */
struct nearest_hint nearest_hint(const struct nearest *nearest);
/* The hint for a name that is known already. If `name` is NULL, the hint is "". */
struct nearest_hint nearest_hint_of(const char *name);

#endif
