/*
 * nearest.c - bounded edit distance with three rows of the table.
 *
 * Costs are in half edits, so that a difference in letter case costs less than any other mistake. The comparison ends
 * when the smallest entry of a row reaches the distance to beat, which keeps different names cheap.
 */
#include "adl/value/nearest.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define EDIT           2u /* one insertion, deletion, replacement or swap */
#define EDITS_MAX      4u /* a name with more mistakes is a different name */
#define LETTERS_A_EDIT 3u /* a name of n bytes may have (n + 1) / 3 edits */

static unsigned nearest_fold(char character) {
    unsigned byte = (unsigned char)character;
    if (byte >= 'A' && byte <= 'Z') return byte + ('a' - 'A');
    return byte == '-' ? '_' : byte;
}

static unsigned replace_cost(char a, char b) {
    if (a == b) return 0;
    return nearest_fold(a) == nearest_fold(b) ? 1 : EDIT;
}

static unsigned least(unsigned a, unsigned b) { return a < b ? a : b; }

/*
 * Returns the distance, or any number >= stop if it is not below `stop`. Both lengths are at most NEAREST_LENGTH_MAX.
 */
static unsigned nearest_distance(const char *a, size_t a_length, const char *b, size_t b_length, unsigned stop) {
    uint8_t rows[3][NEAREST_LENGTH_MAX + 1]; /* fits: at most 2 * 64 half edits */
    uint8_t *before = rows[0], *above = rows[1], *row = rows[2];
    for (size_t j = 0; j <= b_length; j++) above[j] = (uint8_t)(j * EDIT);
    for (size_t i = 1; i <= a_length; i++) {
        unsigned smallest = row[0] = (uint8_t)(i * EDIT);
        for (size_t j = 1; j <= b_length; j++) {
            unsigned cost = above[j - 1] + replace_cost(a[i - 1], b[j - 1]);
            cost = least(cost, least(above[j], row[j - 1]) + EDIT);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                cost = least(cost, before[j - 2] + EDIT);
            row[j] = (uint8_t)cost;
            smallest = least(smallest, cost);
        }
        if (smallest >= stop + EDIT) return smallest; /* a swap can still use the row before */
        uint8_t *spare = before;
        before = above, above = row, row = spare;
    }
    return above[b_length];
}

static bool differs_only_in_case(const char *a, const char *b, size_t length) {
    for (size_t i = 0; i < length; i++)
        if (nearest_fold(a[i]) != nearest_fold(b[i])) return false;
    return true;
}

void nearest_init(struct nearest *nearest, const char *wanted, size_t length) {
    size_t edits = (length + 1) / LETTERS_A_EDIT;
    if (edits > EDITS_MAX) edits = EDITS_MAX;
    /* A name that differs only in letter case is near, however short it is. */
    *nearest = (struct nearest){wanted, length, NULL, 0, edits ? edits * EDIT + 1 : EDIT};
}

void nearest_add_candidate(struct nearest *nearest, const char *candidate, size_t length) {
    size_t wanted = nearest->wanted_length;
    if (wanted == 0 || length == 0 || wanted > NEAREST_LENGTH_MAX || length > NEAREST_LENGTH_MAX) return;
    size_t gap = wanted > length ? wanted - length : length - wanted;
    if (gap == 0 && nearest->distance > 1 && differs_only_in_case(nearest->wanted, candidate, length)) {
        nearest->best = candidate;
        nearest->best_length = length;
        nearest->distance = 1;
        return;
    }
    if (gap * EDIT >= nearest->distance) return;
    unsigned found = nearest_distance(nearest->wanted, wanted, candidate, length, (unsigned)nearest->distance);
    if (found >= nearest->distance) return;
    nearest->best = candidate;
    nearest->best_length = length;
    nearest->distance = found;
}

const char *nearest_result(const struct nearest *nearest) { return nearest->best; }

struct nearest_hint nearest_hint(const struct nearest *nearest) {
    struct nearest_hint hint = {""};
    if (nearest->best)
        (void)snprintf(hint.text, sizeof hint.text, "; did you mean `%.*s`?", (int)nearest->best_length, nearest->best);
    return hint;
}

struct nearest_hint nearest_hint_of(const char *name) {
    return nearest_hint(&(struct nearest){.best = name, .best_length = name ? strlen(name) : 0});
}
