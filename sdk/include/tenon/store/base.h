/*
 * tenon/store/base.h - helpers for all parts of a store: texts, memory and failures.
 *
 * A failure is the error object of tenon/store.h. Functions that can fail return one, or NULL on success; the caller
 * owns it. They do not log it.
 *
 *     struct tn_arena arena = TN_ARENA;                          // freed as a whole when the request has ended
 *     char *copy = tn_arena_alloc(&arena, length);
 *     if (copy == NULL) return tn_store_failure_memory();
 *     if (length > TN_STORE_KEY_MAX) return tn_store_failure("LIMIT", "the key has %llu bytes; …", …);
 */
#ifndef TENON_STORE_BASE_H
#define TENON_STORE_BASE_H

#include <stdbool.h>
#include <tenon/easy.h>
#include <tenon/store.h>
#include <tenon/util/arena.h>
#include <tenon/util/build.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Borrowed bytes with a length. If they come from a value, a NUL follows them. */
struct tn_store_text {
    const char *data;
    uint64_t length;
};

/* Compares the bytes. Returns a negative number, 0 or a positive number. */
int tn_store_text_compare(struct tn_store_text a, struct tn_store_text b);
bool tn_store_text_is(struct tn_store_text text, const char *word);
/* Returns the text of a string value. data is NULL for any other value. */
struct tn_store_text tn_store_text_of(tn_value value);

/* ---- Memory: from the host; NULL if allocation fails ---- */

void *tn_store_alloc(uint64_t size); /* zeroed */
void tn_store_free(void *memory);

/* ---- Failures ---- */

/* Returns a failure, never NULL. A message of more than 400 bytes is cut between characters. Bytes that are not UTF-8
 * become `?`. */
tn_value tn_store_failure(const char *code, const char *format, ...) __attribute__((format(printf, 2, 3)));
tn_value tn_store_failure_memory(void);
/* Returns the failure with a member added to its `detail`. Takes `failure` and `value`. */
tn_value tn_store_failure_detail_take(tn_value failure, const char *key, tn_value value);
/* Returns the failure with `retryable: true`. Takes `failure`. */
tn_value tn_store_failure_retryable_take(tn_value failure);

/* Returns the word of the NULL-terminated list that is most similar to `wrong`. NULL if none is similar. */
const char *tn_store_nearest_word(struct tn_store_text wrong, const char *const *words);

/*
 * The start of a text, for a message: at most 60 bytes of whole characters, then `…` if the text is longer. Control
 * characters become `?`. Returns out->text.
 */
struct tn_store_excerpt {
    char text[72];
};
const char *tn_store_text_excerpt(struct tn_store_text text, struct tn_store_excerpt *out);

#ifdef __cplusplus
}
#endif
#endif
