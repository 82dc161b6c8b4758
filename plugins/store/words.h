/*
 * words.h - splits a text into words for full-text search, the same way in every store.
 *
 * A word is a run of letters and digits, in lower case (Latin, Greek, Cyrillic, Armenian and full-width letters are
 * folded). In scripts without spaces (Han, kana, Thai and similar scripts) each character is a word, so that any part
 * of a text can be found. Accents are significant.
 *
 *     struct text words;                                             // "Größe 東京" becomes "größe 東 京"
 *     if (!words_split(&arena, text, &words)) return failure_memory();
 */
#ifndef TENON_PLUGINS_STORE_WORDS_H
#define TENON_PLUGINS_STORE_WORDS_H

#include "base.h"

/* Stores the words in *out, separated by one space. False if allocation fails. `text` is UTF-8. */
bool words_split(struct tn_arena *arena, struct text text, struct text *out);
/* Moves the first word from `words` to *word. False if there are no words left. */
bool words_next(struct text *words, struct text *word);

#endif
