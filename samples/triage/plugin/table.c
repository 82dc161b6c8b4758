/*
 * table.c - `text.table`: formats a list of objects as a table for a terminal.
 *
 * A column is as wide as its widest cell, up to a limit; longer cells end with an ellipsis. The width is counted in
 * terminal columns, so that Japanese text is aligned. Rows can be sorted by a number, highest first; the sort is
 * stable.
 */
#include "text.h"
#include <stdlib.h>
#include <tenon/easy.h>

#define COLUMNS_MAX 32

/* Appends the text of a cell in one line; control characters become blanks. */
static void cell(struct text *out, tn_value value, size_t bound, size_t *columns) {
    uint64_t length;
    tn_value json = tn.value->kind(value) == TN_STRING ? NULL : tn_to_json(value);
    const char *text = tn_chars(json != NULL ? json : value, &length);
    size_t size, used = 0, kept = 0, end = 0;
    *columns = 0;
    if (text == NULL) return; /* absent */
    bool cut = false;
    for (uint64_t i = 0; i < length; i += size) { /* measure what fits, with and without an ellipsis */
        used += (size_t)utf8_columns(utf8_at(text + i, length - i, &size));
        cut = used > bound;
        if (cut) break;
        if (used < bound) {
            end = i + size;
            kept = used;
        }
    }
    if (!cut) {
        end = length;
        kept = used;
    }
    for (uint64_t i = 0; i < end; i++) text_add_byte(out, (unsigned char)text[i] < ' ' ? ' ' : text[i]);
    if (cut) text_add_string(out, "…");
    *columns = kept + cut;
    tn_release(json);
}

struct row {
    tn_value value;
    double order;
    uint64_t index;
};

static int compare_rows(const void *a, const void *b) {
    const struct row *left = a, *right = b;
    if (left->order != right->order) return left->order > right->order ? -1 : 1;
    return left->index < right->index ? -1 : 1;
}

static void draw(struct text *out, const struct row *rows, uint64_t count, tn_value keys, size_t bound) {
    uint64_t columns = tn.value->count(keys);
    size_t widths[COLUMNS_MAX] = {0}, width;
    for (int pass = 0; pass < 2; pass++) { /* measure, then write */
        for (uint64_t r = 0; r < count + 1; r++) {
            for (uint64_t c = 0; c < columns; c++) {
                tn_value key = tn.value->at(keys, c);
                tn_value value = r == 0 ? key : tn_get(rows[r - 1].value, tn_chars(key, NULL));
                struct text text = {0};
                cell(&text, value, bound, &width);
                if (pass == 0) {
                    if (width > widths[c]) widths[c] = width;
                } else {
                    int32_t kind = tn.value->kind(value);
                    bool right = kind == TN_INT || kind == TN_DOUBLE;
                    bool last = c + 1 == columns;
                    if (right) text_pad(out, widths[c] - width, ' ');
                    text_add(out, text_string(&text), text.length);
                    if (!right && !last) text_pad(out, widths[c] - width, ' ');
                    text_add_string(out, last ? "\n" : "  ");
                }
                text_free(&text);
            }
            for (uint64_t c = 0; pass == 1 && r == 0 && c < columns; c++) {
                text_pad(out, widths[c], '-');
                text_add_string(out, c + 1 == columns ? "\n" : "  ");
            }
        }
    }
}

TN_NODE(table, "text.table", "Draws a list of objects as a table.", TN_PURE,
        (READ, input_key, "the channel with the list"),
        (VALUE, columns, "the members to show, in order: a list of their names, at most 32"),
        (TEXT_OPT, order_by, "a member with a number: rows are ordered by it, highest first"),
        (INT_OR, width, 40, "the widest a column may be"), (WRITE, output_key, "gets the table, a text")) {
    uint64_t keys = tn.value->count(config->columns);
    if (keys == 0 || keys > COLUMNS_MAX || config->width < 1)
        return tn_fail(task, "INVALID_CONFIG", "`columns` must name 1 to 32 members, and `width` be positive");
    tn_value list = tn_read(task, config->input_key);
    uint64_t count = tn.value->count(list);
    struct row *rows = calloc(count + 1, sizeof(*rows));
    if (rows == NULL) {
        tn_release(list);
        return TN_NO_MEMORY;
    }
    for (uint64_t i = 0; i < count; i++) {
        rows[i].value = tn.value->at(list, i);
        rows[i].index = i;
        rows[i].order = config->order_by != NULL ? tn_get_num(rows[i].value, config->order_by, 0) : 0;
    }
    qsort(rows, count, sizeof(*rows), compare_rows);
    struct text out = {0};
    draw(&out, rows, count, config->columns, (size_t)config->width);
    free(rows);
    tn_release(list);
    int32_t status = out.failed ? TN_NO_MEMORY : tn_write_text(task, config->output_key, text_string(&out));
    text_free(&out);
    return tn_done_written(task, status);
}
