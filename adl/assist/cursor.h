/*
 * cursor.h - where an offset of a YAML or JSON text is: the path of keys and items that leads there, and what stands
 * there.
 *
 * While a person types, the text is rarely valid. Therefore a cursor is found in the raw text: in block style from the
 * indentation of the lines above it, in brackets from the tokens before it. Text behind the cursor is only used to find
 * the end of a word and other keys of the same mapping. The result is the same for a text that is valid.
 *
 *     struct cursor cursor;                       // "nodes:\n  - id: a\n    type: ll‸"
 *     cursor_find(source, offset, &cursor);       // VALUE, path nodes / 0 / type, inner "ll"
 *     struct span id;
 *     cursor_sibling(&cursor, 2, "id", &id);      // the offset of `a`
 *
 * A cursor borrows the source and owns nothing. Finding one costs at most one pass over the text.
 */
#ifndef TENON_ADL_ASSIST_CURSOR_H
#define TENON_ADL_ASSIST_CURSOR_H

#include "adl/source/source.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CURSOR_DEPTH_MAX  64u     /* steps of a path; a deeper place is CURSOR_NOTHING */
#define CURSOR_SCALAR_MAX 262144u /* bytes of a scalar in the text; the rest of a longer one is not looked at */

enum cursor_kind {
    CURSOR_NOTHING, /* a comment, an anchor, the header of a block scalar, or a place where nothing can be */
    CURSOR_KEY,     /* in a key, or where a key may start */
    CURSOR_VALUE,   /* in a scalar, or where a value may start */
    CURSOR_ALIAS,   /* in an alias that is a value; `inner` is its name, which may be empty */
};

enum cursor_quote {
    CURSOR_PLAIN,
    CURSOR_SINGLE,
    CURSOR_DOUBLE,
    CURSOR_BLOCK, /* by | or > */
};

/* One step of a path: a key of a mapping, or an item of a list. */
struct cursor_step {
    const char *key; /* as written, without quotes; NULL for an item. Not NUL-terminated */
    uint32_t length;
    uint32_t index;        /* of an item */
    struct span span;      /* the key with its quotes; the dash of an item; empty if the item has none */
    bool flow;             /* in brackets */
    uint32_t line, column; /* block style: the place of the key or dash; columns are bytes */
    uint32_t open;         /* in brackets: the offset after the bracket */
};

struct cursor {
    const struct source *source;
    uint32_t offset;
    enum cursor_kind kind;
    enum cursor_quote quote; /* of the key or scalar at the offset */
    bool json;               /* JSON, where everything is quoted */
    bool flow;               /* in brackets */
    bool fresh; /* VALUE: a mapping or list in block style may start here, because nothing is before it in the line */
    bool dash;  /* VALUE: a new item of a list, whose `- ` is not written yet */
    bool space; /* VALUE: directly after a colon or a dash, so a space is needed first */
    bool colon; /* KEY: a colon follows */
    uint32_t depth;    /* of steps; the last one is the key itself, or that of the value */
    struct span span;  /* what is replaced: the key or scalar with its quotes; empty where nothing is written */
    struct span inner; /* the same without quotes; for a block scalar its lines */
    struct cursor_step steps[CURSOR_DEPTH_MAX];
};

/* Fills `cursor`. `source` is borrowed while the cursor is used. An offset past the end means the end. */
void cursor_find(const struct source *source, uint32_t offset, struct cursor *cursor);

/* The number of the line of an offset, from 0. Faster than source_locate, which also counts columns. */
uint32_t cursor_line_of(const struct source *source, uint32_t offset);

/* True if step `at` is the key of that name. */
bool cursor_step_is(const struct cursor *cursor, uint32_t at, const char *key);
/* The key of another entry of the mapping in which step `at` is a key, and where its value starts. */
struct cursor_entry {
    struct span key; /* without quotes */
    uint32_t value;
};
/* Visits the other keys of that mapping, in no particular order, as far as they can be found. False stops. */
void cursor_each_sibling(const struct cursor *cursor, uint32_t at,
                         bool (*visit)(void *user, const struct cursor_entry *entry), void *user);
/* Finds one of them. On success *value is the offset of its value. */
bool cursor_sibling(const struct cursor *cursor, uint32_t at, const char *key, uint32_t *value);

/* Visits where the other items of the list start in which step `at` is an item. False stops. */
void cursor_each_item(const struct cursor *cursor, uint32_t at, bool (*visit)(void *user, uint32_t value), void *user);

/* A scalar without quotes and escapes. `at[i]` is the offset of its byte i in the source; at[length] that of its end.
 */
struct cursor_text {
    char *text; /* NUL-terminated */
    uint32_t *at;
    size_t length;
};
/* Decodes the scalar at the cursor. Free it with cursor_text_finish. */
void cursor_text(const struct cursor *cursor, struct cursor_text *out);
/* Decodes the plain or quoted scalar that starts at `value`, up to the end of its line; empty when nothing is there. */
void cursor_text_at(const struct source *source, uint32_t value, bool flow, struct cursor_text *out);
void cursor_text_finish(struct cursor_text *text); /* keeps the struct reusable */
/* The index of the byte that is at `offset` of the source, or of the first one behind it. */
size_t cursor_text_index(const struct cursor_text *text, uint32_t offset);

#endif
