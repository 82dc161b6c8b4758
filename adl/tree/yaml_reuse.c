/*
 * yaml_reuse.c - reads a new version of a YAML text from the tree of an earlier version: only the items that the change
 * touches are parsed, all others are copied with their offsets moved.
 *
 * While a person types, the change is inside one item of a list like `nodes`, or in one section. YAML is read from left
 * to right, and before each item of a list or mapping by indentation the parser is in the same state. So the lines of
 * the changed items may be parsed by themselves if
 *   - their collection (the *owner*) is the document's own mapping, or a list that is a value of it, in indented form,
 *     and each item starts a line;
 *   - the change is behind the start of the first item that it touches and before the start of a line that is known:
 * the next item, the next key of the document, or the end;
 *   - those lines are complete by themselves: without marks of documents or directives; if they are correct, without
 *     anything that is reported and without anchors; and if they have a syntax error, it is found inside of them.
 * In every other case the whole text is read. After a syntax error, yaml_recover.c reads the text again in parts, and
 * takes the items that did not change from here. The result is always the same as without the earlier version, which
 * tests/unit/tree_reuse_test.c compares.
 */
#include "adl/tree/yaml_reuse.h"
#include "adl/source/source.h"
#include "adl/tree/tree_arena.h"
#include "adl/tree/tree_build.h"
#include "adl/tree/yaml_block.h"
#include "adl/tree/yaml_read.h"
#include "adl/value/memory.h"
#include <string.h>

#define SHARED_KEYS 256u /* size of a cache of keys that the copy holds already; a power of two */

struct yaml_reuse {
    struct builder *builder;
    const struct tree *before;
    const char *old_text, *text;
    struct span old_change, change; /* what differs */
    struct span old_lines, lines;   /* the whole lines of the items that are read again */
    const struct tree_node *owner;  /* the earlier collection of these items: the root, or a value of it … */
    uint32_t member;                /* … with this index in the root; unused for the root */
    uint32_t column;                /* of the owner's items */
    uint32_t first, end;            /* the items that are read again: [first, end) */
    uint32_t nodes;                 /* nodes of the item that is copied */
    tn_value keys[SHARED_KEYS];
};

/* ---- The change ---- */

static void find_change(struct yaml_reuse *reuse) {
    uint32_t old_length = (uint32_t)source_length(reuse->before->source);
    uint32_t length = (uint32_t)source_length(reuse->builder->source);
    uint32_t shorter = old_length < length ? old_length : length, start = 0, same = 0;
    while (start < shorter && reuse->old_text[start] == reuse->text[start]) start++;
    while (same < shorter - start && reuse->old_text[old_length - 1 - same] == reuse->text[length - 1 - same]) same++;
    reuse->old_change = (struct span){start, old_length - same};
    reuse->change = (struct span){start, length - same};
}

/* ---- The items that it touches ---- */

static uint32_t reuse_line_start(const char *text, uint32_t at) {
    while (at > 0 && text[at - 1] != '\n' && text[at - 1] != '\r') at--;
    return at;
}

/* The column of `at` if only spaces are before it in its line; else UINT32_MAX. */
static uint32_t column_of(const char *text, uint32_t at) {
    uint32_t start = reuse_line_start(text, at);
    for (uint32_t i = start; i < at; i++)
        if (text[i] != ' ') return UINT32_MAX;
    return at - start;
}

/* The first place of an item that the tree knows: its key, or the value of an item of a list. */
static uint32_t item_start(const struct tree_item *item) {
    return item->key ? item->key_span.start : item->node->span.start;
}

/* Sets *start to the `-` or the key of an item. False if it is not the first text of its line, in that column. */
static bool find_start(const struct yaml_reuse *reuse, const struct tree_item *item, uint32_t column, uint32_t *start) {
    *start = item_start(item);
    if (item->key) return column_of(reuse->old_text, *start) == column;
    *start = reuse_line_start(reuse->old_text, *start) + column;
    return column_of(reuse->old_text, *start) == column && reuse->old_text[*start] == '-' &&
           reuse->old_text[*start + 1] == ' ';
}

/* The number of items that start before the offset. */
static uint32_t count_above(const struct tree_node *owner, uint32_t offset) {
    uint32_t low = 0, high = owner->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (item_start(&owner->items[middle]) < offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The index of the last item that starts before the change; false if there is no such item. */
static bool find_last_above(const struct yaml_reuse *reuse, const struct tree_node *owner, uint32_t *index) {
    uint32_t count = count_above(owner, reuse->old_change.start);
    *index = count - 1;
    return count > 0;
}

/* Where the text below the owner starts: the line of the document's next key, or the end of the text. */
static bool find_end_of_owner(const struct yaml_reuse *reuse, uint32_t *end) {
    const struct tree_node *root = reuse->before->root;
    uint32_t start, column = column_of(reuse->old_text, root->span.start);
    *end = (uint32_t)source_length(reuse->before->source);
    if (reuse->owner == root || reuse->member + 1 == root->count) return true;
    if (!find_start(reuse, &root->items[reuse->member + 1], column, &start)) return false;
    *end = start - column;
    return true;
}

/*
 * True if no line of the range ends the owner: in an earlier column, or in its column without being an item. Marks of
 * documents and directives end everything.
 */
static bool lines_stay_inside(const struct yaml_reuse *reuse) {
    struct yaml_row row;
    for (uint32_t at = reuse->lines.start; at < reuse->lines.end; at = row.next) {
        row = yaml_row_at(reuse->text, at, reuse->lines.end);
        const char *text = reuse->text + row.text;
        uint32_t column = row.text - row.start;
        if (column == 0 && (*text == '%' || strncmp(text, "---", 3) == 0 || strncmp(text, "...", 3) == 0)) return false;
        if (row.text == row.end || *text == '#' || column > reuse->column) continue;
        if (column < reuse->column || (reuse->owner->kind == TN_ARRAY && !yaml_is_dash(reuse->text, row.text)))
            return false;
    }
    return true;
}

/* Finds the items of `owner` that the change touches, and their lines. */
static bool find_items(struct yaml_reuse *reuse, const struct tree_node *owner) {
    uint32_t start, end;
    reuse->owner = owner;
    reuse->column = column_of(reuse->old_text, owner->span.start);
    if (reuse->column == UINT32_MAX || !find_last_above(reuse, owner, &reuse->first) ||
        !find_start(reuse, &owner->items[reuse->first], reuse->column, &start) || !find_end_of_owner(reuse, &end))
        return false;
    uint32_t unchanged = owner->kind == TN_ARRAY ? 2 : 1; /* `- `, or the first character of the key */
    if (start + unchanged > reuse->old_change.start) return false;
    reuse->old_lines.start = start - reuse->column;
    for (reuse->end = reuse->first + 1; reuse->end < owner->count; reuse->end++) {
        if (!find_start(reuse, &owner->items[reuse->end], reuse->column, &start)) return false;
        if (start - reuse->column >= reuse->old_change.end) {
            end = start - reuse->column;
            break;
        }
    }
    reuse->old_lines.end = end;
    if (end < reuse->old_change.end) return false;
    reuse->lines = (struct span){reuse->old_lines.start, end - reuse->old_change.end + reuse->change.end};
    char last = reuse->text[reuse->lines.end - 1];
    bool whole_lines = last == '\n' || last == '\r' || reuse->lines.end == source_length(reuse->builder->source);
    return whole_lines && lines_stay_inside(reuse);
}

/* Finds the smallest collection for which this is possible: a list in the document, or the document itself. */
static bool find_owner(struct yaml_reuse *reuse) {
    const struct tree_node *root = reuse->before->root;
    if (root->kind != TN_OBJECT || root->style != TREE_BLOCK || !find_last_above(reuse, root, &reuse->member))
        return false;
    const struct tree_node *list = root->items[reuse->member].node;
    bool possible = list->kind == TN_ARRAY && list->style == TREE_BLOCK;
    return (possible && find_items(reuse, list)) || find_items(reuse, root);
}

/* ---- Copying ---- */

static uint32_t moved(const struct yaml_reuse *reuse, uint32_t offset) {
    return offset < reuse->old_lines.end ? offset : offset - reuse->old_lines.end + reuse->lines.end;
}

static tn_value copy_key(struct yaml_reuse *reuse, tn_value key) {
    if (!key) return NULL;
    tn_value *slot = &reuse->keys[((uintptr_t)key >> 4) & (SHARED_KEYS - 1)];
    if (*slot != key) tree_hold(reuse->builder->tree, value_ref(key));
    return *slot = key;
}

static struct tree_node *copy_head(struct yaml_reuse *reuse, const struct tree_node *node) {
    struct tree_node *copy = tree_alloc(reuse->builder->tree, sizeof *copy);
    *copy = *node;
    copy->span = (struct span){moved(reuse, node->span.start), moved(reuse, node->span.end)};
    reuse->nodes++;
    return copy;
}

static const struct tree_node *copy_node(struct yaml_reuse *reuse, const struct tree_node *node);

static void copy_items(struct yaml_reuse *reuse, const struct tree_item *from, uint32_t count, struct tree_item *to) {
    for (uint32_t i = 0; i < count; i++)
        to[i] = (struct tree_item){
            copy_key(reuse, from[i].key),
            {moved(reuse, from[i].key_span.start), moved(reuse, from[i].key_span.end)},
            copy_node(reuse, from[i].node),
        };
}

/* Recursive up to limits.depth. */
static const struct tree_node *copy_node(struct yaml_reuse *reuse, const struct tree_node *node) {
    struct tree_node *copy = copy_head(reuse, node);
    if (node->kind != TN_ARRAY && node->kind != TN_OBJECT) {
        tree_hold(reuse->builder->tree, value_ref(node->value));
        return copy;
    }
    struct tree_item *items = tree_alloc(reuse->builder->tree, node->count * sizeof *items);
    copy_items(reuse, node->items, node->count, items);
    copy->items = items;
    return copy;
}

/* Adds copies of items to the innermost open collection. */
static void add_copies(struct yaml_reuse *reuse, const struct tree_node *from, uint32_t first, uint32_t end) {
    for (uint32_t i = first; i < end; i++) {
        struct tree_item copy;
        reuse->nodes = 0;
        copy_items(reuse, &from->items[i], 1, &copy);
        builder_item(reuse->builder, copy, reuse->nodes);
    }
}

/* ---- Reading ---- */

/* Opens the owner, and the document around it, with the items above the changed ones. */
static void open_owner(struct yaml_reuse *reuse) {
    struct builder *builder = reuse->builder;
    const struct tree_node *root = reuse->before->root;
    builder_open(builder, TN_OBJECT, TREE_BLOCK, root->span.start);
    if (reuse->owner != root) {
        const struct tree_item *member = &root->items[reuse->member];
        size_t length;
        const char *key = value_chars(member->key, &length);
        add_copies(reuse, root, 0, reuse->member);
        builder_key(builder, key, length, member->key_span);
        builder_open(builder, TN_ARRAY, TREE_BLOCK, reuse->owner->span.start);
    }
    add_copies(reuse, reuse->owner, 0, reuse->first);
}

/* Adds the items below the changed ones, and closes the document. */
static void close_owner(struct yaml_reuse *reuse, uint32_t last_end) {
    const struct tree_node *root = reuse->before->root, *owner = reuse->owner;
    add_copies(reuse, owner, reuse->end, owner->count);
    if (reuse->end < owner->count) last_end = moved(reuse, owner->span.end);
    builder_close(reuse->builder, last_end);
    if (owner == root) return;
    add_copies(reuse, root, reuse->member + 1, root->count);
    if (reuse->member + 1 < root->count) last_end = moved(reuse, root->span.end);
    builder_close(reuse->builder, last_end);
}

/* True if the lines, which are correct, have no effect on what is below them. */
static bool is_complete(const struct yaml_reuse *reuse, uint32_t depth, size_t items, uint32_t last_end) {
    const struct builder *builder = reuse->builder;
    bool at_end = reuse->lines.end == source_length(builder->source);
    return builder->depth == depth && builder->skip == 0 && builder->serial == 0 && builder->tree->whole &&
           diagnostics_count(builder->found) == builder->older && builder->stack_count > items &&
           (at_end || last_end < reuse->lines.end);
}

/*
 * True if the whole text has the same problem at the same place. A problem that is found at the end of the lines may be
 * another one with the text below; but a key without a colon is found at the next text, wherever that is. libyaml has
 * other words for a list in the column of its key.
 */
static bool is_inside(const struct yaml_reuse *reuse, struct yaml_problem *problem) {
    uint32_t root_column = column_of(reuse->old_text, reuse->before->root->span.start);
    if (reuse->owner->kind == TN_ARRAY && reuse->column == root_column) return false;
    if (problem->at < reuse->lines.end || reuse->lines.end == source_length(reuse->builder->source)) return true;
    if (strcmp(problem->problem, "could not find expected ':'") != 0) return false; /* libyaml's words */
    problem->at += reuse->end < reuse->owner->count ? reuse->column : root_column;
    return true;
}

/* Makes the builder as it was before. */
static void start_again(struct yaml_reuse *reuse) {
    struct builder *builder = reuse->builder;
    builder_rewind(builder, &(struct builder_mark){0}, (struct span){0, UINT32_MAX});
    builder->stopped = false;
    builder->tree->whole = true;
    memset(builder->keys, 0, sizeof builder->keys);
    memset(reuse->keys, 0, sizeof reuse->keys);
    tree_clear(builder->tree);
}

bool yaml_reuse_read(struct yaml_reuse *reuse, enum yaml_result *result, struct yaml_problem *problem) {
    struct builder *builder = reuse->builder;
    uint32_t last_end;
    open_owner(reuse);
    uint32_t depth = builder->depth;
    size_t items = builder->stack_count;
    *result = yaml_read_range(builder, reuse->text, reuse->lines, reuse->owner->kind, &last_end, problem);
    bool started = builder->depth > depth || builder->stack_count > items;
    if (*result == YAML_FAILED && started && is_inside(reuse, problem)) return true;
    if (*result == YAML_READ && is_complete(reuse, depth, items, last_end)) {
        close_owner(reuse, last_end);
        if (!builder->stopped) return true;
    }
    start_again(reuse);
    return false;
}

/* ---- Items of a text with an error ---- */

/* The earlier offset of an offset outside of the lines that are read again. */
static uint32_t moved_back(const struct yaml_reuse *reuse, uint32_t offset) {
    return offset < reuse->lines.end ? offset : offset - reuse->lines.end + reuse->old_lines.end;
}

/* The index of the item with exactly these lines, or the number of items. */
static uint32_t item_with_lines(const struct yaml_reuse *reuse, const struct tree_node *owner, uint32_t column,
                                uint32_t end_of_owner, struct span lines) {
    uint32_t index = count_above(owner, lines.start), start, end = end_of_owner;
    if (index == owner->count || !find_start(reuse, &owner->items[index], column, &start)) return owner->count;
    if (index + 1 < owner->count) {
        if (!find_start(reuse, &owner->items[index + 1], column, &end)) return owner->count;
        end -= column;
    }
    return start - column == lines.start && end == lines.end ? index : owner->count;
}

bool yaml_reuse_item(struct yaml_reuse *reuse, const struct yaml_block *block, struct span lines) {
    const struct tree_node *root = reuse->before->root, *from = root;
    uint32_t end = (uint32_t)source_length(reuse->before->source);
    if (lines.start < reuse->lines.end && lines.end > reuse->lines.start) return false;
    if (reuse->builder->depth == 2) {
        from = reuse->owner;
        if (from == root || !find_end_of_owner(reuse, &end)) return false;
    } else if (reuse->builder->depth != 1) {
        return false;
    }
    if (from->kind != block->kind || column_of(reuse->old_text, from->span.start) != block->column) return false;
    struct span old = {moved_back(reuse, lines.start), moved_back(reuse, lines.end)};
    uint32_t index = item_with_lines(reuse, from, block->column, end, old);
    if (index == from->count || from->items[index].node->span.end >= old.end) return false;
    if (reuse->before->nodes > reuse->builder->limits.nodes - reuse->builder->total) return false;
    add_copies(reuse, from, index, index + 1);
    return true;
}

/* ---- Life ---- */

struct yaml_reuse *yaml_reuse_new(struct builder *builder, const struct tree *before) {
    if (!before->reusable) return NULL;
    struct yaml_reuse *reuse = mem_zalloc(sizeof *reuse);
    reuse->builder = builder;
    reuse->before = before;
    reuse->old_text = source_text(before->source);
    reuse->text = source_text(builder->source);
    find_change(reuse);
    if (find_owner(reuse)) return reuse;
    mem_free(reuse);
    return NULL;
}

void yaml_reuse_free(struct yaml_reuse *reuse) { mem_free(reuse); }
