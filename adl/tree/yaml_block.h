/*
 * yaml_block.h - a list or mapping by indentation, divided into the lines of its items; private to adl/tree.
 *
 * The indentation shows where items start, also if something in an item is wrong. Nothing here knows quotes or brackets
 * that span lines: YAML wants their lines to be indented more than the item's first line. Only a closing bracket at the
 * start of a line is allowed anywhere.
 *
 *     uint32_t at = block.lines.start;
 *     struct yaml_piece piece;
 *     while (yaml_next_piece(text, &block, &at, &piece)) read_item(piece.lines);
 *
 * Texts are NUL-terminated. No function allocates or fails. Dividing a block is linear in its length.
 */
#ifndef TENON_ADL_YAML_BLOCK_H
#define TENON_ADL_YAML_BLOCK_H

#include "adl/value/error.h"
#include <stdbool.h>
#include <stdint.h>

struct yaml_block {
    int kind; /* TN_ARRAY or TN_OBJECT */
    uint32_t column;
    struct span lines; /* whole lines */
    uint32_t start;    /* its first text */
    uint32_t level;    /* the number of blocks around it */
};

/* The lines of an item, or of text between items. */
struct yaml_piece {
    struct span lines;
    uint32_t text;         /* its first text */
    bool stray;            /* it does not start like an item of the block */
    bool holed;            /* lines that belong to no item are between its lines */
    uint32_t inner;        /* the text after `-`, or the first text below the line of a key; 0 if unknown */
    uint32_t inner_column; /* its column */
};

struct yaml_row {
    uint32_t start, text, end, next; /* `text`: the first character that is not a space */
};

/* Finds the piece that starts at or after *at, and moves *at behind it; false at the end of the block. */
bool yaml_next_piece(const char *text, const struct yaml_block *block, uint32_t *at, struct yaml_piece *piece);

/* The line that starts at `start`. */
struct yaml_row yaml_row_at(const char *text, uint32_t start, uint32_t limit);
/* The first line at or after `at`, which starts a line, with text that can start an item; false at the end. */
bool yaml_next_row(const char *text, uint32_t at, uint32_t limit, struct yaml_row *row);
/* True if a `- ` or a `key: ` is anywhere in the line. */
bool yaml_has_item_form(const char *text, const struct yaml_row *row);

/* True if a blank or an end is at `at`. */
bool yaml_ends_word(const char *text, uint32_t at);
uint32_t yaml_skip_spaces(const char *text, uint32_t at);
/* True if the `-` of an item is at `at`. */
bool yaml_is_dash(const char *text, uint32_t at);
/* Returns the position after `name:` or `"name":` at `at`; 0 when no key is there. *key excludes quotes. */
uint32_t yaml_key_at(const char *text, uint32_t at, struct span *key);
/* True if an item of a collection of that kind starts at `at`. */
bool yaml_starts_item(const char *text, int kind, uint32_t at);

#endif
