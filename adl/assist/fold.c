/*
 * fold.c - folding ranges: collections and block scalars of several lines, and lines of comments.
 */
#include "adl/assist/outline.h"
#include "adl/assist/walk.h"
#include "adl/tree/tree.h"
#include "adl/value/memory.h"
#include <stdlib.h>
#include <string.h>

/* Lines of scalars of several lines, in which `#` starts no comment. */
struct scalar_lines {
    uint32_t first, last;
};

struct fold_writer {
    const struct source *source;
    struct assist_folds *folds;
    struct scalar_lines *scalars;
    size_t scalar_count, scalar_capacity;
};

static uint32_t line_of(const struct fold_writer *writer, uint32_t offset) {
    return source_line_at(writer->source, offset);
}

/* The line of the last byte that is not blank. */
static uint32_t last_line_of(const struct fold_writer *writer, struct span span) {
    const char *text = source_text(writer->source);
    while (span.end > span.start && strchr(" \t\r\n", text[span.end - 1])) span.end--;
    return line_of(writer, span.end);
}

static void fold_add(struct fold_writer *writer, uint32_t first, uint32_t last, bool comment) {
    struct assist_folds *folds = writer->folds;
    if (last <= first) return;
    MEM_GROW(folds->items, folds->count, folds->capacity);
    folds->items[folds->count++] = (struct assist_fold){first, last, comment};
}

static bool fold_visit(void *self, const struct walk_step *step) {
    struct fold_writer *writer = self;
    const struct tree_node *node = step->node;
    bool collection = node->kind == TN_ARRAY || node->kind == TN_OBJECT;
    uint32_t last = last_line_of(writer, node->span), first = line_of(writer, node->span.start);
    if (!collection && last > first) {
        MEM_GROW(writer->scalars, writer->scalar_count, writer->scalar_capacity);
        writer->scalars[writer->scalar_count++] = (struct scalar_lines){first + 1, last};
    }
    if (!step->item) return true;
    if (step->item->key) first = line_of(writer, step->item->key_span.start);
    fold_add(writer, first, last, false);
    return last > first;
}

/* ---- Comments ---- */

static bool is_comment_line(const struct source *source, uint32_t line) {
    size_t length;
    const char *text = source_line(source, line, &length);
    for (size_t i = 0; i < length; i++)
        if (text[i] != ' ' && text[i] != '\t') return text[i] == '#';
    return false;
}

static void fold_comments(struct fold_writer *writer) {
    uint32_t lines = source_lines(writer->source);
    size_t scalar = 0;
    for (uint32_t line = 0; line < lines; line++) {
        while (scalar < writer->scalar_count && writer->scalars[scalar].last < line) scalar++;
        if (scalar < writer->scalar_count && writer->scalars[scalar].first <= line) {
            line = writer->scalars[scalar].last;
            continue;
        }
        uint32_t end = line;
        while (end < lines && is_comment_line(writer->source, end)) end++;
        if (end == line) continue;
        fold_add(writer, line, end - 1, true);
        line = end - 1;
    }
}

/* ---- The whole ---- */

static int compare_folds(const void *a, const void *b) {
    const struct assist_fold *left = a, *right = b;
    if (left->first_line != right->first_line) return left->first_line < right->first_line ? -1 : 1;
    return left->last_line > right->last_line ? -1 : left->last_line < right->last_line;
}

struct assist_folds *assist_folds(const struct assist *assist) {
    struct assist_folds *folds = mem_zalloc(sizeof *folds);
    struct fold_writer writer = {.source = assist->source, .folds = folds};
    assist_walk(assist->tree, fold_visit, &writer);
    if (!tree_name_is_json(source_name(assist->source))) fold_comments(&writer);
    if (folds->count) qsort(folds->items, folds->count, sizeof *folds->items, compare_folds);
    size_t kept = 0; /* of those that start in one line, the largest */
    for (size_t i = 0; i < folds->count; i++)
        if (!kept || folds->items[kept - 1].first_line != folds->items[i].first_line)
            folds->items[kept++] = folds->items[i];
    folds->count = kept;
    mem_free(writer.scalars);
    return folds;
}

void assist_folds_free(struct assist_folds *folds) {
    if (!folds) return;
    mem_free(folds->items);
    mem_free(folds);
}
