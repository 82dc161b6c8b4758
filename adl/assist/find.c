/*
 * find.c - finds the symbols of a workspace by some letters of their names.
 *
 * A letter at the start of the name or of a word counts more than one after a letter that matches, too, and that more
 * than any other. Of names with the same score, the shorter one is nearer, then the earlier one.
 */
#include "adl/assist/outline.h"
#include <string.h>

enum { SCORE_START = 12, SCORE_NEXT = 8, SCORE_ANY = 1, SCORE_EXACT = 100 };

static char lower(char letter) { return letter >= 'A' && letter <= 'Z' ? (char)(letter + 32) : letter; }

static bool starts_word(const char *text, size_t at) {
    if (at == 0) return true;
    char before = text[at - 1];
    bool upper = text[at] >= 'A' && text[at] <= 'Z' && before >= 'a' && before <= 'z';
    return upper || strchr("_-. :/", before) != NULL;
}

/* The score of a name; 0 if it does not contain the letters. Linear: each letter takes the first place that fits. */
static int32_t score_of(const struct assist_name *name, const char *query, size_t length) {
    int32_t score = 1;
    size_t at = 0, last = SIZE_MAX - 1;
    for (size_t i = 0; i < length; i++) {
        while (at < name->length && lower(name->text[at]) != lower(query[i])) at++;
        if (at == name->length) return 0;
        score += starts_word(name->text, at) ? SCORE_START : at == last + 1 ? SCORE_NEXT : SCORE_ANY;
        last = at++;
    }
    return length == name->length ? score + SCORE_EXACT : score;
}

static bool is_nearer(const struct assist_found *a, const struct assist_found *b) {
    return a->score > b->score || (a->score == b->score && a->name->length < b->name->length);
}

/* Keeps the list sorted. An equal one stays behind those before it. */
static size_t found_insert(struct assist_found *list, size_t count, const struct assist_found *found) {
    if (count == ASSIST_SYMBOLS_MAX && !is_nearer(found, &list[count - 1])) return count;
    size_t at = count < ASSIST_SYMBOLS_MAX ? count : count - 1;
    while (at > 0 && is_nearer(found, &list[at - 1])) {
        list[at] = list[at - 1];
        at--;
    }
    list[at] = *found;
    return count < ASSIST_SYMBOLS_MAX ? count + 1 : count;
}

size_t assist_find_symbols(const struct assist_workspace *workspace, const char *query, size_t length,
                           struct assist_found out[ASSIST_SYMBOLS_MAX]) {
    size_t count = 0;
    for (size_t i = 0; i < workspace->count; i++) {
        const struct assist_names *names = workspace->names[i];
        for (size_t k = 0; k < names->own_count; k++) {
            const struct assist_name *name = &names->items[k];
            if (!(name->access & USE_DEFINES) || name->kind == USE_ANCHOR) continue;
            const struct assist_found found = {names, name, score_of(name, query, length)};
            if (found.score > 0) count = found_insert(out, count, &found);
        }
    }
    return count;
}
