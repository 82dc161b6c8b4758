/*
 * hint.h - the commonest mistakes in expressions, recognised from the text. None of the functions is exact: they choose
 * the words of a report about an expression that is wrong in any case.
 */
#ifndef TENON_ADL_DOCUMENT_HINT_H
#define TENON_ADL_DOCUMENT_HINT_H

#include <stdbool.h>
#include <stddef.h>

enum hint_text {
    HINT_TEXT_NOT,   /* an expression */
    HINT_TEXT_WORD,  /* one word, which `known` does not know: a text without quotes, or an unknown name */
    HINT_TEXT_WORDS, /* a text of several words without quotes */
};

enum hint_text hint_text_form(const char *text, size_t length,
                              bool (*known)(void *self, const char *name, size_t length), void *self);
/* The expression inside `${{ x }}`, `{{ x }}`, `${x}` or `{name}`, and its length; NULL if it has no such braces. */
const char *hint_inside_braces(const char *text, size_t *length);
/* A name between `{{` and `}}`, which is a literal text in a template. All zero before the first one. */
struct hint_braces {
    size_t start, end; /* with the braces */
    size_t from, to;   /* the name: letters, digits, `_` and `.` */
};
/* Moves to the next one; false after the last. */
bool hint_next_braces(const char *text, size_t length, struct hint_braces *braces);
/* The parts of `then if condition else otherwise`, each with its start and end. */
struct hint_conditional {
    size_t then[2], condition[2], otherwise[2];
};
/* True if the text has this form of Python. */
bool hint_conditional(const char *text, size_t length, struct hint_conditional *out);
/* True for words that mean `default` in a condition: `else`, `otherwise`, `*`. */
bool hint_is_default(const char *text, size_t length);
/* The quote in which the text can be written without escapes: `"` or `'`; 0 if there is none. */
char hint_quote(const char *text, size_t length);

#endif
