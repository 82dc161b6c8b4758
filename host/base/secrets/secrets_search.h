/*
 * secrets_search.h - finds any of many texts in a text: the forms of all secrets at once.
 *
 * The time hardly depends on the number of secrets, because every result of a component is searched for all of them.
 *
 *     secret_search_begin(&search, 8);
 *     secret_search_add_forms(&search, secret, chars, length);     // for each secret
 *     secret_search_complete(&search);
 *     while ((match = secret_search_next(&search, text, length, &at)).secret) at += match.length;
 *     secret_search_finish(&search);                               // wipes the forms
 *
 * Thread: none; the caller's lock guards it.
 */
#ifndef TENON_HOST_BASE_SECRETS_SECRETS_SEARCH_H
#define TENON_HOST_BASE_SECRETS_SECRETS_SEARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct secret;
struct secret_form;

/* The bits of two consecutive bytes that select an entry of the tables. */
#define SEARCH_BUCKETS 4096u
/* Shorter ends of a text do not count as the start of a form. Bytes; at least 2. */
#define SEARCH_OPEN_MIN 2u

struct secret_search {
    struct secret_form *forms; /* in the order of secret_search_add_forms */
    size_t count, capacity;
    size_t min;                     /* shorter secrets are left out */
    size_t window;                  /* the length of the shortest form, at most 255 */
    size_t longest;                 /* the length of the longest form */
    uint8_t shifts[SEARCH_BUCKETS]; /* how far the window can move, by its last two bytes */
    uint32_t first[SEARCH_BUCKETS]; /* 1 + the first form whose window ends with these two bytes; 0: there is none */
    uint8_t starts[SEARCH_BUCKETS / 8]; /* one bit each: a form begins with these two bytes */
};

struct secret_match {
    const struct secret *secret; /* NULL: no match */
    size_t length;
};

void secret_search_begin(struct secret_search *search, size_t min);
/*
 * Adds the text in the forms in which it can occur (secrets_forms.h). `secret` identifies it in matches and is not used
 * otherwise.
 */
void secret_search_add_forms(struct secret_search *search, const struct secret *secret, const char *text,
                             size_t length);
void secret_search_complete(struct secret_search *search);
void secret_search_finish(struct secret_search *search); /* also for a search that is zero */

/*
 * Finds the next form at or after *at, sets *at to its start, and returns the longest form that starts there; of equal
 * ones, the one that was added first.
 */
struct secret_match secret_search_next(const struct secret_search *search, const char *text, size_t length, size_t *at);
/* The length of the longest end of `text`, of at least SEARCH_OPEN_MIN bytes, with which a longer form begins; or 0. */
size_t secret_search_open_end(const struct secret_search *search, const char *text, size_t length);

#endif
