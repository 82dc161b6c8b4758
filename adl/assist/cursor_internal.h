/*
 * cursor_internal.h - parts of cursor.h that its files share: lines of block style, and tokens in brackets.
 */
#ifndef TENON_ADL_ASSIST_CURSOR_INTERNAL_H
#define TENON_ADL_ASSIST_CURSOR_INTERNAL_H

#include "adl/assist/cursor.h"

#define OPENERS_MAX 8u /* dashes and keys at the start of one line; further ones are not looked at */

/* A dash or a key at the start of a line: what comes after it is deeper. */
struct opener {
    bool dash;
    uint32_t column;
    struct span span;   /* the dash, or the key with its quotes */
    uint32_t value;     /* the offset behind the dash or colon, and behind spaces and an anchor */
    struct span anchor; /* of the value, with its `&`; empty when the value has no anchor */
};

struct line {
    uint32_t start, end; /* without the line end */
    uint32_t content;    /* the first byte that is not a space; `end` for a blank line */
    bool tab;            /* a tab is in the indentation, which YAML does not allow: the column says nothing */
    uint32_t count;
    struct opener openers[OPENERS_MAX];
};

/* Only start, end and content. */
void line_measure(const struct source *source, uint32_t number, struct line *line);
void line_read(const struct source *source, uint32_t number, struct line *line);
/* True if the line starts with more than `column` spaces. */
bool line_is_deeper(const struct source *source, uint32_t number, uint32_t column);
/* True for an empty line, a comment, a directive or the mark of a document. */
bool line_is_empty(const struct source *source, const struct line *line);
/* The end of a plain scalar that starts at `from`: before a comment or spaces at the end. *comment is the
 * start of the comment; `end` when the line has no comment. */
uint32_t line_plain_end(const struct source *source, uint32_t from, uint32_t end, uint32_t *comment);
/* The offset of the closing quote of the string that opens at `from`; `end` when the string is not closed before it. */
uint32_t quote_end(const char *text, uint32_t from, uint32_t end);
/* The end of the name of an anchor or alias, whose `&` or `*` is at `at`. */
uint32_t anchor_end(const char *text, uint32_t at, uint32_t end);
/* The cursor is in the alias at `at`, which ends before `end`; false if it is not. */
bool cursor_set_alias(struct cursor *cursor, uint32_t at, uint32_t end);
bool cursor_push(struct cursor *cursor, struct cursor_step step);

/*
 * Reads brackets that open at `from`. If the offset of the cursor is inside of them, fills the cursor, appends steps
 * and returns true. If they end before the offset, returns false.
 */
bool flow_find(struct cursor *cursor, uint32_t from);
/* Visits the keys of the mapping whose bracket is before `open`. */
void flow_each_key(const struct source *source, bool json, uint32_t open,
                   bool (*visit)(void *user, const struct cursor_entry *entry), void *user);
/* Visits where the items of the list start whose bracket is before `open`. */
void flow_each_item(const struct source *source, bool json, uint32_t open, bool (*visit)(void *user, uint32_t value),
                    void *user);

#endif
