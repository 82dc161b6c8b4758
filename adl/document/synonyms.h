/*
 * synonyms.h - words that other languages and tools use for the keys and words of documents, for "did you mean".
 */
#ifndef TENON_ADL_DOCUMENT_SYNONYMS_H
#define TENON_ADL_DOCUMENT_SYNONYMS_H

#include "adl/document/keys.h"
#include <stdbool.h>
#include <stddef.h>

/* True if the text is another word for the key. */
bool key_has_synonym(enum key key, const char *text, size_t length);
/* What to write instead of a key that the mapping does not have; NULL if not known. */
const char *key_advised(enum keys_mapping in, const char *text, size_t length);
/* What to write for a key that needs another one, which the mapping does not have; NULL if nothing is missing. */
const char *key_companion_help(enum key key, const struct keys *slots);
/* An example of the mapping as an item of a list; NULL if it is not one. */
const char *mapping_example(enum keys_mapping in);
/* What to write instead of a word that the key does not have: a word, or a suggestion in *help. NULL if not known. */
const char *word_synonym(enum key key, const char *text, size_t length, const char **help);

#endif
