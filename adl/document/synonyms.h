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
/* What to write instead of a word that the key does not have: a word, or a suggestion in *help. NULL if not known. */
const char *word_synonym(enum key key, const char *text, size_t length, const char **help);

#endif
