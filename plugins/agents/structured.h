/*
 * structured.h - finds JSON in a model's text: the whole text, the content of a fence, or a value inside prose.
 *
 *     tn_value value = structured_find(text, length);      // NULL: not found
 */
#ifndef TENON_PLUGINS_AGENTS_STRUCTURED_H
#define TENON_PLUGINS_AGENTS_STRUCTURED_H

#include "agents.h"

/*
 * Returns the first of these that is valid JSON, parsed: the whole text without surrounding spaces; the content of a
 * fence (```); an object or array inside the text. A new reference. NULL if no JSON is found.
 */
tn_value structured_find(const char *text, uint64_t length);

/*
 * Parses the object or array at the start of `text`. Returns a new reference, or NULL if it is not JSON. If the text
 * starts with { or [, *taken becomes the length up to the closing bracket, also if that is not JSON; 0 if the brackets
 * are not balanced. Brackets inside strings are ignored.
 */
tn_value structured_parse_at(const char *text, uint64_t length, uint64_t *taken);

/* Finds the next fence at or after `*at`: its info string (`json`) and its body. Sets `*at` to its end. Returns false
 * if no fence follows. */
struct fence {
    const char *word;
    uint64_t word_length;
    const char *body;
    uint64_t body_length;
    uint64_t begin_offset, end_offset; /* offsets of the whole fence in the text */
};
bool structured_next_fence(const char *text, uint64_t length, uint64_t *at, struct fence *out);

#endif
