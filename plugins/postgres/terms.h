/*
 * terms.h - the words of a text as terms of the index on `texts`.
 *
 * A term is a word, or for a long word its SHA-256 after a byte that no word starts with, because an entry of an index
 * has a limited size.
 */
#ifndef TENON_PLUGINS_POSTGRES_TERMS_H
#define TENON_PLUGINS_POSTGRES_TERMS_H

#include "sql.h"

#define TERM_MAX 64

/* Returns the term's length. */
uint64_t terms_of_word(struct tn_store_text word, char out[TERM_MAX]);
/* The distinct terms of words (in the form of words.h), how often each occurs, and the number of all words. */
tn_value terms_count(struct tn_arena *arena, struct tn_store_text words, struct array *terms, struct array *counts,
                     int64_t *total);

#endif
