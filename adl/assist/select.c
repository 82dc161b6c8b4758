/*
 * select.c - the parts of the text around an offset: gathered from the outside in, and returned from the inside out.
 */
#include "adl/assist/outline.h"
#include "adl/assist/walk.h"
#include "adl/document/place.h"
#include "adl/tree/tree.h"
#include <string.h>

struct selection {
    struct span items[ASSIST_SELECTIONS_MAX]; /* outermost first */
    size_t count;
    uint32_t offset;
};

static bool selection_contains(struct span span, uint32_t offset) { return span.start <= offset && offset <= span.end; }

/* Adds a smaller part around the offset. If there are too many, the inner ones replace each other, but the first. */
static void selection_add(struct selection *selection, struct span span) {
    if (span.start >= span.end || !selection_contains(span, selection->offset)) return;
    if (selection->count) {
        struct span last = selection->items[selection->count - 1];
        bool smaller =
            span.start >= last.start && span.end <= last.end && span.end - span.start < last.end - last.start;
        if (!smaller) return;
    }
    if (selection->count == ASSIST_SELECTIONS_MAX) {
        memmove(selection->items + 1, selection->items + 2, (ASSIST_SELECTIONS_MAX - 2) * sizeof *selection->items);
        selection->count--;
    }
    selection->items[selection->count++] = span;
}

/* ---- Inside of a scalar ---- */

static bool select_in_word(char letter) {
    return letter == '_' || (unsigned char)letter >= 0x80 || (letter >= '0' && letter <= '9') ||
           (letter >= 'A' && letter <= 'Z') || (letter >= 'a' && letter <= 'z');
}

static bool in_path(char letter) { return select_in_word(letter) || letter == '.'; }

static struct span extend(const char *text, struct span within, uint32_t offset, bool (*in)(char)) {
    struct span span = {offset, offset};
    while (span.start > within.start && in(text[span.start - 1])) span.start--;
    while (span.end < within.end && in(text[span.end])) span.end++;
    return span;
}

#define HOLE_SEARCHED 4096u /* bytes on both sides of the offset in which the braces of a hole are searched */

/* The braces around the offset: of a hole in a template, or of a map in an expression. */
static struct span hole_around(const char *text, struct span within, uint32_t offset) {
    uint32_t start = offset, end = offset;
    while (start > within.start && offset - start < HOLE_SEARCHED && text[start - 1] != '{') {
        if (text[start - 1] == '}') return (struct span){0, 0};
        start--;
    }
    while (end < within.end && end - offset < HOLE_SEARCHED && text[end] != '}') {
        if (text[end] == '{') return (struct span){0, 0};
        end++;
    }
    bool found = start > within.start && text[start - 1] == '{' && end < within.end && text[end] == '}';
    return found ? (struct span){start - 1, end + 1} : (struct span){0, 0};
}

static void select_in_scalar(struct selection *selection, const struct source *source, struct span span, bool block) {
    const char *text = source_text(source);
    struct span inside = place_in_quotes(source, span);
    if (block) { /* without the line of `|` or `>` */
        while (inside.start < inside.end && text[inside.start] != '\n') inside.start++;
        if (inside.start < inside.end) inside.start++;
    }
    selection_add(selection, span);
    selection_add(selection, inside);
    if (!selection_contains(inside, selection->offset)) return;
    uint32_t line = source_line_at(source, selection->offset);
    if (block) selection_add(selection, source_line_span(source, line));
    struct span hole = hole_around(text, inside, selection->offset);
    if (hole.start < hole.end) {
        selection_add(selection, hole);
        selection_add(selection, (struct span){hole.start + 1, hole.end - 1});
    }
    selection_add(selection, extend(text, inside, selection->offset, in_path));
    selection_add(selection, extend(text, inside, selection->offset, select_in_word));
}

/* ---- From the root ---- */

static const struct tree_item *item_around(const struct tree_node *node, uint32_t offset) {
    for (uint32_t i = 0; i < node->count; i++)
        if (selection_contains(walk_item_span(node, &node->items[i]), offset)) return &node->items[i];
    return NULL;
}

size_t assist_selection(const struct assist *assist, uint32_t offset, struct span out[ASSIST_SELECTIONS_MAX]) {
    const struct source *source = assist->source;
    uint32_t length = (uint32_t)source_length(source);
    struct selection selection = {.offset = offset > length ? length : offset};
    const struct tree_node *node = tree_root(assist->tree);
    selection_add(&selection, (struct span){0, length});
    selection_add(&selection, node->span);
    while (node->kind == TN_ARRAY || node->kind == TN_OBJECT) {
        const struct tree_item *item = item_around(node, selection.offset);
        selection_add(&selection, node->span);
        if (!item) break;
        selection_add(&selection, walk_item_span(node, item));
        if (item->key && selection_contains(item->key_span, selection.offset)) {
            select_in_scalar(&selection, source, item->key_span, false);
            break;
        }
        if (!walk_is_inside(node, item) || !selection_contains(item->node->span, selection.offset)) break;
        node = item->node;
        selection_add(&selection, node->span);
        if (node->kind != TN_ARRAY && node->kind != TN_OBJECT)
            select_in_scalar(&selection, source, node->span, node->style == TREE_BLOCK);
    }
    for (size_t i = 0; i < selection.count; i++) out[i] = selection.items[selection.count - 1 - i];
    return selection.count;
}
