/*
 * terms.c - see terms.h.
 */
#include "terms.h"
#include <stdlib.h>
#include <tenon/store/words.h>
#include <tenon/util/sha256.h>

uint64_t terms_of_word(struct tn_store_text word, char out[TERM_MAX]) {
    if (word.length <= TERM_MAX) {
        memcpy(out, word.data, word.length);
        return word.length;
    }
    struct tn_sha256 hash;
    unsigned char digest[TN_SHA256_BYTES];
    tn_sha256_init(&hash);
    tn_sha256_update(&hash, word.data, word.length);
    tn_sha256_finish(&hash, digest);
    out[0] = 1;
    memcpy(out + 1, digest, sizeof digest);
    return 1 + sizeof digest;
}

static int word_compare(const void *a, const void *b) {
    return tn_store_text_compare(*(const struct tn_store_text *)a, *(const struct tn_store_text *)b);
}

tn_value terms_count(struct tn_arena *arena, struct tn_store_text words, struct array *terms, struct array *counts,
                     int64_t *total) {
    struct tn_store_text rest = words, word;
    uint64_t count = 0, filled = 0;
    while (tn_store_words_next(&rest, &word)) count++;
    struct tn_store_text *list = tn_arena_alloc(arena, (count + 1) * sizeof *list);
    array_init(terms, arena, SQL_BYTEA);
    array_init(counts, arena, SQL_INT4);
    if (list == NULL) return tn_store_failure_memory();
    while (tn_store_words_next(&words, &word)) list[filled++] = word;
    qsort(list, filled, sizeof *list, word_compare);
    for (uint64_t i = 0; i < filled;) {
        char term[TERM_MAX];
        uint64_t same = 1;
        while (i + same < filled && tn_store_text_compare(list[i], list[i + same]) == 0) same++;
        array_add_bytes(terms, (struct tn_store_text){term, terms_of_word(list[i], term)});
        array_add_int(counts, (int64_t)same);
        i += same;
    }
    *total = (int64_t)filled;
    return NULL;
}
