/*
 * secrets_search.c - the algorithm of Wu and Manber: a window of the shortest form's length moves over the text. Its
 * last two bytes say how far it can move; if they can be the end of the start of a form, these forms are compared.
 */
#include "host/base/secrets/secrets_search.h"
#include "adl/value/memory.h"
#include "host/base/secrets/secrets_forms.h"
#include <string.h>

#define WINDOW_MAX 255u

struct secret_form {
    char *text;
    size_t length;
    const struct secret *secret;
    uint32_t next; /* 1 + the next form of the same bucket */
};

static uint32_t search_bucket(const char *bytes) {
    return ((uint32_t)(unsigned char)bytes[0] << 4 ^ (unsigned char)bytes[1]) % SEARCH_BUCKETS;
}

/* ---- Forms ---- */

void secret_search_begin(struct secret_search *search, size_t min) { *search = (struct secret_search){.min = min}; }

/* Adds a form unless this secret has it already. */
static void add_form(struct secret_search *search, const struct secret *secret, const char *text, size_t length) {
    for (size_t i = search->count; i > 0 && search->forms[i - 1].secret == secret; i--)
        if (search->forms[i - 1].length == length && memcmp(search->forms[i - 1].text, text, length) == 0) return;
    MEM_GROW(search->forms, search->count, search->capacity);
    search->forms[search->count++] = (struct secret_form){mem_text_n(text, length), length, secret, 0};
}

struct adding {
    struct secret_search *search;
    const struct secret *secret;
};

static void add_next_form(void *user, const char *text, size_t length) {
    const struct adding *adding = user;
    add_form(adding->search, adding->secret, text, length);
}

void secret_search_add_forms(struct secret_search *search, const struct secret *secret, const char *text,
                             size_t length) {
    struct adding adding = {search, secret};
    if (length >= search->min && length >= 2) secret_forms_each(text, length, add_next_form, &adding);
}

void secret_search_complete(struct secret_search *search) {
    search->window = WINDOW_MAX;
    for (size_t i = 0; i < search->count; i++) {
        size_t length = search->forms[i].length;
        if (length < search->window) search->window = length;
        if (length > search->longest) search->longest = length;
    }
    memset(search->shifts, (int)(search->window - 1), sizeof search->shifts);
    for (size_t i = search->count; i-- > 0;) { /* backwards, so that each list is in the order of the forms */
        struct secret_form *form = &search->forms[i];
        for (size_t at = 0; at + 1 < search->window; at++) {
            uint8_t *shift = &search->shifts[search_bucket(form->text + at)], left = (uint8_t)(search->window - 2 - at);
            if (left < *shift) *shift = left;
        }
        uint32_t *first = &search->first[search_bucket(form->text + search->window - 2)];
        uint32_t start = search_bucket(form->text);
        search->starts[start / 8] |= (uint8_t)(1u << start % 8);
        form->next = *first;
        *first = (uint32_t)i + 1;
    }
}

void secret_search_finish(struct secret_search *search) {
    for (size_t i = 0; i < search->count; i++) {
        explicit_bzero(search->forms[i].text, search->forms[i].length);
        mem_free(search->forms[i].text);
    }
    mem_free(search->forms);
    *search = (struct secret_search){.forms = NULL};
}

/* ---- Searching ---- */

static struct secret_match match_at(const struct secret_search *search, const char *text, size_t left) {
    struct secret_match best = {NULL, 0};
    for (uint32_t i = search->first[search_bucket(text + search->window - 2)]; i; i = search->forms[i - 1].next) {
        const struct secret_form *form = &search->forms[i - 1];
        if (form->length <= best.length || form->length > left || memcmp(text, form->text, form->length) != 0) continue;
        best = (struct secret_match){form->secret, form->length};
    }
    return best;
}

struct secret_match secret_search_next(const struct secret_search *search, const char *text, size_t length,
                                       size_t *at) {
    size_t window = search->window;
    if (!search->count) return (struct secret_match){NULL, 0};
    for (size_t i = *at; i + window <= length;) {
        uint8_t shift = search->shifts[search_bucket(text + i + window - 2)];
        if (shift) {
            i += shift;
            continue;
        }
        struct secret_match match = match_at(search, text + i, length - i);
        if (match.secret) {
            *at = i;
            return match;
        }
        i++;
    }
    return (struct secret_match){NULL, 0};
}

size_t secret_search_open_end(const struct secret_search *search, const char *text, size_t length) {
    size_t size = search->longest ? search->longest - 1 : 0;
    if (size > length) size = length;
    for (; size >= SEARCH_OPEN_MIN; size--) {
        const char *end = text + length - size;
        uint32_t bucket = search_bucket(end);
        if (!(search->starts[bucket / 8] >> bucket % 8 & 1)) continue;
        for (size_t i = 0; i < search->count; i++)
            if (search->forms[i].length > size && memcmp(end, search->forms[i].text, size) == 0) return size;
    }
    return 0;
}
