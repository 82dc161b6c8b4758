/*
 * words.h - the words of a text, as full-text search knows them: the same in every store.
 *
 * A word is a run of letters and digits, in small letters (Latin, Greek, Cyrillic, Armenian and full-width ones are
 * folded). In scripts that are written without spaces (Han, kana, Thai and their neighbours) each character is a word
 * by itself, so that any part of a text is found. Accents count.
 *
 *     struct text words;                                          // "Größe 東京" gives "größe 東 京"
 *     if (!words_of(&arena, text, &words)) return failure_memory();
 */
#ifndef TENON_PLUGINS_STORE_WORDS_H
#define TENON_PLUGINS_STORE_WORDS_H

#include "base.h"

/* The words, one space between any two; false where there is no memory. `text` is UTF-8. */
bool words_of(struct arena *arena, struct text text, struct text *out);
/* Takes the first word off `words`; false where there is none. */
bool words_next(struct text *words, struct text *word);

#endif
