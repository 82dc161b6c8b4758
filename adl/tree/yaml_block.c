/* yaml_block.c - where the items of a list or mapping start, by their indentation. */
#include "adl/tree/yaml_block.h"
#include "adl/value/value.h"
#include <string.h>

/* ---- Lines ---- */

struct yaml_row yaml_row_at(const char *text, uint32_t start, uint32_t limit) {
    struct yaml_row row = {start, start, start, start};
    while (row.text < limit && text[row.text] == ' ') row.text++;
    row.end = row.text;
    while (row.end < limit && text[row.end] != '\n' && text[row.end] != '\r') row.end++;
    row.next = row.end;
    if (row.next < limit && text[row.next] == '\r') row.next++;
    if (row.next < limit && text[row.next] == '\n' && (row.next == row.end || text[row.next - 1] == '\r')) row.next++;
    return row;
}

uint32_t yaml_skip_spaces(const char *text, uint32_t at) {
    while (text[at] == ' ' || text[at] == '\t') at++;
    return at;
}

bool yaml_ends_word(const char *text, uint32_t at) {
    char c = text[at];
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\0';
}

bool yaml_is_dash(const char *text, uint32_t at) { return text[at] == '-' && yaml_ends_word(text, at + 1); }

/* True for `}`, `],` and the like, and for `}, {`, which only are in values in brackets. */
static bool block_is_closing(const char *text) {
    if (!*text || !strchr("]})", *text)) return false;
    while (*text && strchr("]}), \t", *text)) text++;
    return !*text || strchr("\n\r#{[", *text);
}

/* Lines that never start an item: blank, comments, marks of documents, closing brackets, indented by a tab. */
static bool block_is_passive(const char *text, const struct yaml_row *row) {
    const char *at = text + row->text;
    if (row->text == row->end || strchr("#\t,", *at) || block_is_closing(at)) return true;
    bool mark = row->text == row->start && (strncmp(at, "---", 3) == 0 || strncmp(at, "...", 3) == 0);
    return mark && yaml_ends_word(text, row->text + 3);
}

uint32_t yaml_key_at(const char *text, uint32_t at, struct span *key) {
    char quote = text[at] == '"' || text[at] == '\'' ? text[at] : '\0';
    uint32_t start = quote ? at + 1 : at, end = start, after;
    if (quote) {
        while (text[end] && text[end] != quote && !strchr("\\\n\r", text[end])) end++;
        if (text[end] != quote) return 0;
        after = end + 1;
    } else {
        if (!text[at] || strchr("{}[],&*#!|>'\"%@`:?", text[at]) || yaml_is_dash(text, at)) return 0;
        while (text[end] && !strchr("\n\r", text[end]) && !(text[end] == ':' && yaml_ends_word(text, end + 1))) {
            if (text[end] == '#' && (text[end - 1] == ' ' || text[end - 1] == '\t')) return 0;
            end++;
        }
        after = end;
        while (end > start && (text[end - 1] == ' ' || text[end - 1] == '\t')) end--;
    }
    while (text[after] == ' ' || text[after] == '\t') after++;
    *key = (struct span){start, end};
    return text[after] == ':' && yaml_ends_word(text, after + 1) ? after + 1 : 0;
}

bool yaml_starts_item(const char *text, int kind, uint32_t at) {
    struct span key;
    return kind == TN_ARRAY ? yaml_is_dash(text, at) : yaml_key_at(text, at, &key) > 0;
}

bool yaml_next_row(const char *text, uint32_t at, uint32_t limit, struct yaml_row *row) {
    for (; at < limit; at = row->next) {
        *row = yaml_row_at(text, at, limit);
        if (!block_is_passive(text, row)) return true;
    }
    return false;
}

/* ---- Pieces ---- */

static bool block_is_same_key(const char *text, uint32_t a, uint32_t b) {
    struct span a_key, b_key;
    if (!yaml_key_at(text, a, &a_key) || !yaml_key_at(text, b, &b_key)) return false;
    uint32_t length = a_key.end - a_key.start;
    return length == b_key.end - b_key.start && memcmp(text + a_key.start, text + b_key.start, length) == 0;
}

/* True if two items of lists start with the same key, as items of one list do. */
static bool block_looks_alike(const char *text, uint32_t a, uint32_t b) {
    return yaml_is_dash(text, a) && yaml_is_dash(text, b) &&
           block_is_same_key(text, yaml_skip_spaces(text, a + 1), yaml_skip_spaces(text, b + 1));
}

/* True if the text right of the column of a list starts an item whose `-` is missing or in another column. */
static bool block_starts_other_item(const char *text, const struct yaml_piece *piece, const struct yaml_row *row) {
    return row->text - row->start < piece->inner_column &&
           (yaml_is_dash(text, row->text) || strchr("{[", text[row->text]) ||
            block_is_same_key(text, piece->inner, row->text));
}

bool yaml_has_item_form(const char *text, const struct yaml_row *row) {
    for (uint32_t at = row->text; at < row->end; at++)
        if ((text[at] == ':' || text[at] == '-') && yaml_ends_word(text, at + 1)) return true;
    return false;
}

/*
 * True if a line without a key is alone between the lines of the piece: the text below it continues what is above it.
 * Otherwise the line is a key that lacks its colon, and the text below it is its value.
 */
static bool block_is_hole(const char *text, const struct yaml_block *block, const struct yaml_piece *piece,
                          const struct yaml_row *row) {
    struct yaml_row below;
    if (piece->inner_column <= block->column || yaml_has_item_form(text, row) ||
        !yaml_next_row(text, row->next, block->lines.end, &below))
        return false;
    uint32_t column = below.text - below.start;
    if (column == piece->inner_column)
        return block->kind == TN_ARRAY || block_looks_alike(text, piece->inner, below.text);
    return column > piece->inner_column;
}

/* True if the line continues the piece. */
static bool block_row_continues(const char *text, const struct yaml_block *block, struct yaml_piece *piece,
                                const struct yaml_row *row) {
    if (block_is_passive(text, row)) return true;
    uint32_t column = row->text - row->start;
    if (column > block->column) {
        if (piece->inner_column == 0) {
            piece->inner = row->text;
            piece->inner_column = column;
        }
        return piece->stray || block->kind != TN_ARRAY || !block_starts_other_item(text, piece, row);
    }
    bool item = column == block->column && yaml_starts_item(text, block->kind, row->text);
    if (piece->stray || item) return !item;
    if (column == block->column && block->kind == TN_OBJECT && yaml_is_dash(text, row->text)) return true;
    if (!block_is_hole(text, block, piece, row)) return false;
    piece->holed = true;
    return true;
}

bool yaml_next_piece(const char *text, const struct yaml_block *block, uint32_t *at, struct yaml_piece *piece) {
    struct yaml_row row;
    if (!yaml_next_row(text, *at, block->lines.end, &row)) return false;
    uint32_t column = row.text - row.start;
    *piece = (struct yaml_piece){.lines = {row.start, row.next}, .text = row.text};
    piece->stray = column < block->column || (column > block->column && block->kind == TN_ARRAY) ||
                   (column == block->column && !yaml_starts_item(text, block->kind, row.text));
    if (block->kind == TN_ARRAY && !piece->stray) {
        uint32_t inner = yaml_skip_spaces(text, row.text + 1);
        if (inner < row.end) {
            piece->inner = inner;
            piece->inner_column = inner - row.start;
        }
    }
    for (*at = row.next; *at < block->lines.end; *at = row.next) {
        row = yaml_row_at(text, *at, block->lines.end);
        if (!block_row_continues(text, block, piece, &row)) break;
        piece->lines.end = row.next;
    }
    return true;
}
