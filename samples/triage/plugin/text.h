/*
 * text.h - growing texts and UTF-8, shared by the nodes of this plugin.
 *
 *     struct text text = {0};
 *     text_add(&text, "héllo", 6);
 *     use(text.at, text.length);
 *     text_free(&text);
 *
 * If a text cannot grow, `failed` is set and later additions are ignored, so one check at the end is enough.
 */
#ifndef TRIAGE_TEXT_H
#define TRIAGE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TEXT_MAX ((size_t)64 << 20) /* bytes of any one text */

struct text {
    char *at; /* NUL-terminated; NULL while empty */
    size_t length, capacity;
    bool failed; /* out of memory, or longer than TEXT_MAX */
};

void text_add(struct text *text, const char *bytes, size_t length);
void text_add_string(struct text *text, const char *string);
void text_add_byte(struct text *text, char byte);
void text_add_code_point(struct text *text, uint32_t code_point);
void text_pad(struct text *text, size_t count, char byte);
const char *text_string(const struct text *text); /* never NULL */
void text_free(struct text *text);

/* Replaces every byte that is not part of valid UTF-8 by U+FFFD. */
void text_repair(struct text *text);

/* Decodes the code point at `at` from at most `length` bytes; U+FFFD if malformed. *size is its length, at least 1. */
uint32_t utf8_at(const char *at, size_t length, size_t *size);
/* Returns the number of terminal columns of a code point: 0, 1 or 2. */
int utf8_columns(uint32_t code_point);
/* Returns the lower case of a code point of ASCII, Latin-1, Greek and Cyrillic. */
uint32_t utf8_lower(uint32_t code_point);
/* Appends `from` in lower case. */
void text_add_lower(struct text *text, const char *from, size_t length);

/* ASCII only, independent of the locale. */
static inline bool is_digit(char c) { return c >= '0' && c <= '9'; }
static inline bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
static inline bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

#endif
