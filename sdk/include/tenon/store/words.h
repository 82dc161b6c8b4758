/*
 * tenon/store/words.h - splits a text into words for full-text search, the same way in every store.
 *
 * A word is a run of letters and digits, in lower case (Latin, Greek, Cyrillic, Armenian and full-width letters are
 * folded). In scripts without spaces (Han, kana, Thai and similar scripts) each character is a word, so that any part
 * of a text can be found. Accents are significant.
 *
 *     struct tn_store_text words;                                             // "Größe 東京" becomes "größe 東 京"
 *     if (!tn_store_words_split(&arena, text, &words)) return tn_store_failure_memory();
 */
#ifndef TENON_STORE_WORDS_H
#define TENON_STORE_WORDS_H

#include <tenon/store/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Stores the words in *out, separated by one space. False if allocation fails. `text` is UTF-8. */
bool tn_store_words_split(struct tn_arena *arena, struct tn_store_text text, struct tn_store_text *out);
/* Moves the first word from `words` to *word. False if there are no words left. */
bool tn_store_words_next(struct tn_store_text *words, struct tn_store_text *word);

#ifdef __cplusplus
}
#endif
#endif
