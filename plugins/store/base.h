/*
 * base.h - what every part of a store leans on: the host's interfaces, memory for one request, texts, failures.
 *
 * A failure is the error object of tenon/store.h, made where it is found and handed upwards: functions that can fail
 * return one, or NULL where all went well, and the caller owns it. Nothing is logged on the way.
 *
 *     struct arena arena = ARENA_INIT;                          // freed as a whole when the request has ended
 *     char *copy = arena_alloc(&arena, length);
 *     if (copy == NULL) return failure_memory();
 *     if (length > TN_STORE_KEY_MAX) return failure("LIMIT", "the key has %llu bytes; …", …);
 */
#ifndef TENON_PLUGINS_STORE_BASE_H
#define TENON_PLUGINS_STORE_BASE_H

#include <stdbool.h>
#include <tenon/easy.h>
#include <tenon/store.h>

/* Bytes with a length, borrowed; followed by a NUL where they came from a value. */
struct text {
    const char *data;
    uint64_t length;
};

/* By bytes: negative, 0 or positive. */
int text_compare(struct text a, struct text b);
bool text_is(struct text text, const char *word);
/* A string's; data is NULL of anything else. */
struct text text_of(tn_value value);

/* ---- Memory: all of it is the host's, and NULL where there is none ---- */

void *store_alloc(uint64_t size); /* zeroed */
void store_free(void *memory);

struct arena {
    struct arena_block *blocks;
};
#define ARENA_INIT                                                                                                     \
    { 0 }
void *arena_alloc(struct arena *arena, uint64_t size); /* zeroed, aligned for anything */
void arena_finish(struct arena *arena);

/* ---- Failures ---- */

/* What is longer than 400 bytes is cut, at a character. */
tn_value failure(const char *code, const char *format, ...) __attribute__((format(printf, 2, 3)));
tn_value failure_memory(void);
/* The same failure, taken, with a member more in its detail; `value` is taken as well. */
tn_value failure_detail_take(tn_value failure, const char *key, tn_value value);
tn_value failure_retryable_take(tn_value failure);

/* The word of the list (ended by NULL) that `wrong` is most likely meant to be; NULL where none is near. */
const char *nearest_word(struct text wrong, const char *const *words);

/* A text for a message: its first 60 bytes at most, whole characters, in a buffer of the caller's. */
struct shown {
    char text[72];
};
const char *show(struct text text, struct shown *out);

#endif
