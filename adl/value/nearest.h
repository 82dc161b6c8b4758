/*
 * nearest.h - "did you mean …?": of the names offered, the one that a mistyped name most likely meant.
 *
 * Distance is Damerau-Levenshtein (insert, delete, replace, swap neighbours), where letter case and `-` for `_` count
 * half. A name is near where about a third of it at most differs; the first of equally near ones wins. Names longer
 * than NEAREST_LENGTH_MAX bytes are never near. No allocation; candidates must outlive the struct.
 *
 *     struct nearest near;
 *     nearest_init(&near, "input_kye", 9);
 *     for (size_t i = 0; i < count; i++) nearest_offer(&near, names[i], strlen(names[i]));
 *     const char *meant = nearest_result(&near);          // "input_key", or NULL
 *     if (meant) buffer_format(out, "; did you mean `%.*s`?", (int)near.best_length, meant);
 */
#ifndef TENON_ADL_NEAREST_H
#define TENON_ADL_NEAREST_H

#include <stddef.h>

#define NEAREST_LENGTH_MAX 64 /* bytes; longer names are not compared */

struct nearest {
    const char *wanted;
    size_t wanted_length;
    const char *best; /* borrowed from nearest_offer; NULL while nothing is near */
    size_t best_length;
    size_t distance; /* of best, in half edits; before that, one more than what still counts as near */
};

/* `wanted` is borrowed for as long as names are offered. */
void nearest_init(struct nearest *nearest, const char *wanted, size_t length);
void nearest_offer(struct nearest *nearest, const char *candidate, size_t length);
/* The best candidate, exactly as it was offered (NUL-terminated if that was); NULL where nothing is near. */
const char *nearest_result(const struct nearest *nearest);

#endif
