/*
 * text.h - a text that grows: urls, messages, names.
 *
 * Past its limit, or without memory, nothing more is added, and that is remembered.
 *
 *     struct text url = {.limit = 8192};
 *     text_put(&url, "/pets/");
 *     text_percent(&url, id, length, "");
 *     tn_value made = text_finish(&url);      // NULL where it was too long, or there was no memory
 */
#ifndef TENON_PLUGINS_REST_TEXT_H
#define TENON_PLUGINS_REST_TEXT_H

#include <stdbool.h>
#include <tenon/easy.h>

struct text {
    char *data; /* NUL-terminated where anything is in it */
    uint64_t length, capacity, limit;
    bool failed;
};

void text_add(struct text *text, const char *bytes, uint64_t length);
void text_put(struct text *text, const char *chars);
/* Percent-encoded, but for letters, digits, "-._~" and the characters of `keep` (RFC 3986). */
void text_percent(struct text *text, const char *bytes, uint64_t length, const char *keep);
/* "Basic " and what HTTP's own authentication wants of both (RFC 7617); neither is kept. NULL without memory. */
tn_value text_basic(const char *user, const char *password);
/* A scalar as it stands in a url: a string itself, anything else as its JSON. */
void text_value(struct text *text, tn_value value, bool percent, const char *keep);
const char *text_chars(const struct text *text); /* "" where nothing is in it */
tn_value text_finish(struct text *text);         /* a string; gives the memory back */
void text_free(struct text *text);

#endif
