/*
 * structured.h - JSON in what a model has written: the whole of it, in a fence, or somewhere in prose.
 *
 *     uint64_t taken;
 *     tn_value value = structured_find(text, length, &taken);      // NULL: there is none
 */
#ifndef TENON_PLUGINS_AGENTS_STRUCTURED_H
#define TENON_PLUGINS_AGENTS_STRUCTURED_H

#include "agents.h"

/*
 * The text as JSON, spaces around it aside; else what the first fence (```) that holds JSON holds; else the first
 * object or array in it that is JSON. A new reference; NULL where there is none of these.
 */
tn_value structured_find(const char *text, uint64_t length);

/*
 * The JSON object or array that begins at `text`: a new reference, and how many bytes it takes. NULL where what begins
 * there is none. Strings are respected, so that a brace in one ends nothing.
 */
tn_value structured_at(const char *text, uint64_t length, uint64_t *taken);

/* A fence: where its words (`json`) and its body are. False where no other begins from `at` on; `*at` is behind it. */
struct fence {
    const char *word;
    uint64_t word_length;
    const char *body;
    uint64_t body_length;
    uint64_t begins, ends; /* offsets of the whole, in the text */
};
bool structured_fence(const char *text, uint64_t length, uint64_t *at, struct fence *out);

#endif
