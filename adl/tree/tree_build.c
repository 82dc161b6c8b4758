/*
 * tree_build.c - the builder used by both readers: frames, limits, duplicate keys, anchors.
 *
 * Items of open collections are on one stack; closing a collection copies its part into the arena. Aliases share the
 * anchored node; their expansion is only counted (each anchor stores its number of nodes and its height), so that a
 * "billion laughs" document costs as much as its text. Nothing here uses hashing, so no choice of keys makes it slow.
 */
#include "adl/tree/tree_build.h"
#include "adl/tree/tree_arena.h"
#include "adl/value/memory.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define LINEAR_KEYS 16u /* up to this count, duplicates are found by comparing all pairs */

static struct builder_frame *top(const struct builder *builder) {
    return builder->depth > 0 ? &builder->frames[builder->depth - 1] : NULL;
}

static const char *key_chars(tn_value key, size_t *length) { return value_chars(key, length); }

/* ---- Limits ---- */

static void stop(struct builder *builder) {
    builder->stopped = true;
    builder->tree->whole = false;
}

/* Counts `more` nodes and reports the limit once. */
static bool count_nodes(struct builder *builder, uint32_t more, struct span span) {
    if (builder->stopped) return false;
    if (more <= builder->limits.nodes - builder->total) {
        builder->total += more;
        return true;
    }
    diagnostics_add(builder->found, ADL_E014, builder->source, span,
                    "the document has more than %u values here, with aliases expanded; the rest is not read",
                    builder->limits.nodes);
    stop(builder);
    return false;
}

static void report_depth(struct builder *builder, struct span span) {
    builder->tree->whole = false;
    diagnostics_add(builder->found, ADL_E011, builder->source, span,
                    "lists and mappings are nested deeper than %u here; expected a flatter document",
                    builder->limits.depth);
}

bool builder_length_allowed(struct builder *builder, size_t length, struct span span) {
    if (length <= builder->limits.scalar) return true;
    diagnostics_add(builder->found, ADL_E013, builder->source, span,
                    "this text has %zu bytes; expected at most %u: move it into a separate file", length,
                    builder->limits.scalar);
    return false;
}

/* ---- Adding ---- */

static void add_item(struct builder *builder, struct tree_item item) {
    struct builder_frame *frame = top(builder);
    if (builder->stack_count - frame->base == builder->limits.items) {
        diagnostics_add(builder->found, ADL_E014, builder->source, item.node->span,
                        "this %s has more than %u items; the rest is not read",
                        frame->kind == TN_ARRAY ? "list" : "mapping", builder->limits.items);
        frame->incomplete = true;
        stop(builder);
        return;
    }
    MEM_GROW(builder->stack, builder->stack_count, builder->stack_capacity);
    MEM_GROW(builder->totals, builder->stack_count, builder->totals_capacity);
    builder->totals[builder->stack_count] = builder->total;
    builder->stack[builder->stack_count++] = item;
}

static void add_node(struct builder *builder, const struct tree_node *node, uint32_t height) {
    struct builder_frame *frame = top(builder);
    if (!frame) {
        builder->tree->root = node;
        return;
    }
    if (height > frame->height) frame->height = height;
    if (frame->kind == TN_ARRAY) {
        add_item(builder, (struct tree_item){NULL, {0, 0}, node});
    } else if (frame->drop) {
        frame->drop = false;
    } else {
        assert(frame->key);
        add_item(builder, (struct tree_item){frame->key, frame->key_span, node});
        frame->key = NULL;
    }
}

void builder_item(struct builder *builder, struct tree_item item, uint32_t nodes) {
    if (count_nodes(builder, nodes, item.node->span)) add_item(builder, item);
}

static struct tree_node *new_node(struct builder *builder, int kind, enum tree_style style, struct span span) {
    struct tree_node *node = tree_alloc(builder->tree, sizeof *node);
    *node = (struct tree_node){.kind = (uint8_t)kind, .style = (uint8_t)style, .span = span, .value = NULL};
    return node;
}

static void settle_anchor(struct builder *builder, const char *name, uint32_t serial, const struct tree_node *node,
                          uint32_t total, uint32_t height);

void builder_scalar(struct builder *builder, tn_value value, enum tree_style style, struct span span) {
    const char *anchor = builder->pending_anchor;
    builder->pending_anchor = NULL;
    if (builder->skip > 0 || !count_nodes(builder, 1, span)) {
        value_unref(value);
        return;
    }
    tree_hold(builder->tree, value);
    struct tree_node *node = new_node(builder, value_kind(value), style, span);
    node->value = value;
    settle_anchor(builder, anchor, builder->pending_serial, node, 1, 0);
    add_node(builder, node, 0);
}

void builder_broken(struct builder *builder, struct span span) {
    const char *anchor = builder->pending_anchor;
    builder->pending_anchor = NULL;
    builder->tree->whole = false;
    if (builder->skip > 0 || !count_nodes(builder, 1, span)) return;
    struct tree_node *node = new_node(builder, TREE_BROKEN, TREE_PLAIN, span);
    node->value = VALUE_IMMEDIATE_NULL;
    settle_anchor(builder, anchor, builder->pending_serial, node, 1, 0);
    add_node(builder, node, 0);
}

/* ---- Keys ---- */

bool builder_wants_key(const struct builder *builder) {
    const struct builder_frame *frame = top(builder);
    return builder->skip == 0 && frame && frame->kind == TN_OBJECT && !frame->key && !frame->drop;
}

/*
 * The same key may occur thousands of times ("id", "type"): its occurrences share one value. A collision only costs one
 * more value.
 */
static tn_value shared_key(struct builder *builder, const char *text, size_t length) {
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < length && i < 32; i++) hash = (hash ^ (unsigned char)text[i]) * 16777619u;
    tn_value *slot = &builder->keys[(hash ^ (uint32_t)length) & (BUILDER_KEYS - 1)];
    size_t known;
    if (*slot) {
        const char *chars = key_chars(*slot, &known);
        if (known == length && memcmp(chars, text, length) == 0) return *slot;
    }
    *slot = value_string(text, length);
    assert(*slot); /* the whole text was checked to be UTF-8 */
    tree_hold(builder->tree, *slot);
    return *slot;
}

void builder_key(struct builder *builder, const char *text, size_t length, struct span span) {
    if (builder->skip > 0 || builder->stopped) return;
    assert(builder_wants_key(builder));
    if (!builder_length_allowed(builder, length, span)) {
        builder_bad_key(builder);
        return;
    }
    struct builder_frame *frame = top(builder);
    frame->key = shared_key(builder, text, length);
    frame->key_span = span;
}

void builder_bad_key(struct builder *builder) {
    if (builder->skip > 0) return;
    struct builder_frame *frame = top(builder);
    frame->drop = true;
    frame->incomplete = true;
}

struct key_ref {
    const struct tree_item *item;
    uint32_t index;
};

static int compare_keys(const struct tree_item *a, const struct tree_item *b) {
    if (a->key == b->key) return 0;
    size_t a_length, b_length;
    const char *a_chars = key_chars(a->key, &a_length), *b_chars = key_chars(b->key, &b_length);
    if (a_length != b_length) return a_length < b_length ? -1 : 1;
    return memcmp(a_chars, b_chars, a_length);
}

static int compare_refs(const void *left, const void *right) {
    const struct key_ref *a = left, *b = right;
    int order = compare_keys(a->item, b->item);
    if (order != 0) return order;
    return a->index < b->index ? -1 : a->index > b->index;
}

static void report_duplicate(struct builder *builder, const struct tree_item *first, struct tree_item *item) {
    size_t length;
    const char *key = key_chars(item->key, &length);
    struct diagnostic *it = diagnostics_add(
        builder->found, ADL_E008, builder->source, item->key_span,
        "found the key `%.*s` twice in one mapping; expected each key once: remove or rename one", (int)length, key);
    diagnostic_relate(it, builder->source, first->key_span, "the first `%.*s` is here", (int)length, key);
    item->node = NULL; /* the first one is used */
}

/* Reports duplicates, removes all but the first of each, and returns the number of items that are left. */
static size_t remove_duplicates(struct builder *builder, struct tree_item *items, size_t count) {
    size_t duplicates = 0;
    if (count <= LINEAR_KEYS) {
        for (size_t i = 1; i < count; i++)
            for (size_t j = 0; j < i; j++)
                if (items[j].node && compare_keys(&items[j], &items[i]) == 0) {
                    report_duplicate(builder, &items[j], &items[i]);
                    duplicates++;
                    break;
                }
    } else {
        struct key_ref *refs = mem_array(NULL, count, sizeof *refs);
        for (size_t i = 0; i < count; i++) refs[i] = (struct key_ref){&items[i], (uint32_t)i};
        qsort(refs, count, sizeof *refs, compare_refs);
        size_t first = 0;
        for (size_t i = 1; i < count; i++) {
            if (compare_keys(refs[first].item, refs[i].item) != 0) {
                first = i;
                continue;
            }
            report_duplicate(builder, refs[first].item, &items[refs[i].index]);
            duplicates++;
        }
        mem_free(refs);
    }
    if (duplicates == 0) return count;
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (items[i].node) items[kept++] = items[i];
    return kept;
}

/* ---- Collections ---- */

void builder_skip(struct builder *builder) { builder->skip = 1; }

void builder_open(struct builder *builder, int kind, enum tree_style style, uint32_t start) {
    if (builder->skip > 0) {
        builder->skip++;
        return;
    }
    if (builder->depth == builder->limits.depth) {
        struct span span = {start, start + 1};
        report_depth(builder, span);
        builder_broken(builder, span);
        builder_skip(builder);
        return;
    }
    struct builder_frame *frame = &builder->frames[builder->depth++];
    *frame = (struct builder_frame){
        .base = builder->stack_count,
        .start = start,
        .total_before = builder->total,
        .anchor = builder->pending_anchor,
        .anchor_serial = builder->pending_serial,
        .kind = (uint8_t)kind,
        .style = (uint8_t)style,
    };
    builder->pending_anchor = NULL;
}

/* True if the range contains one of the gaps. */
static bool has_gap(const struct builder *builder, struct span span) {
    size_t low = 0, high = builder->gap_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (builder->gaps[middle] < span.start)
            low = middle + 1;
        else
            high = middle;
    }
    return low < builder->gap_count && builder->gaps[low] < span.end;
}

void builder_close(struct builder *builder, uint32_t end) {
    if (builder->skip > 0) {
        builder->skip--;
        return;
    }
    struct builder_frame *frame = top(builder);
    size_t count = builder->stack_count - frame->base;
    struct tree_item *items = count > 0 ? builder->stack + frame->base : NULL;
    if (frame->kind == TN_OBJECT) count = remove_duplicates(builder, items, count);
    struct span span = {frame->start, end};
    count_nodes(builder, 1, span);
    struct tree_node *node = new_node(builder, frame->kind, frame->style, span);
    struct tree_item *kept = tree_alloc(builder->tree, count * sizeof *kept);
    if (items) memcpy(kept, items, count * sizeof *kept);
    node->items = kept;
    node->count = (uint32_t)count;
    node->incomplete = frame->incomplete || builder->stopped || (builder->gap_count > 0 && has_gap(builder, span));
    if (node->incomplete) builder->tree->whole = false;
    builder->stack_count = frame->base;
    builder->depth--;
    settle_anchor(builder, frame->anchor, frame->anchor_serial, node, builder->total - frame->total_before,
                  frame->height + 1);
    add_node(builder, node, frame->height + 1);
}

/* ---- Recovery ---- */

void builder_incomplete(struct builder *builder) {
    builder->tree->whole = false;
    if (builder->skip == 0 && builder->depth > 0) top(builder)->incomplete = true;
}

struct builder_mark builder_mark(const struct builder *builder) {
    return (struct builder_mark){builder->depth, builder->total, builder->stack_count,
                                 diagnostics_count(builder->found)};
}

/* True if the anchor is that of a collection that is still open. */
static bool is_of_open_frame(const struct builder *builder, const struct builder_anchor *anchor) {
    for (uint32_t i = 0; i < builder->depth; i++)
        if (builder->frames[i].anchor && builder->frames[i].anchor_serial == anchor->serial) return true;
    return false;
}

static void forget_anchors(struct builder *builder, struct span lost) {
    for (uint32_t i = 0; i < builder->anchor_count; i++) {
        struct builder_anchor *anchor = &builder->anchors[i];
        if (anchor->open && !is_of_open_frame(builder, anchor)) anchor->open = false;
        if (anchor->node && anchor->node->span.end > lost.start && anchor->node->span.start < lost.end)
            anchor->node = NULL;
    }
}

struct lost_part {
    const struct source *source;
    struct span span;
    size_t older, seen; /* diagnostics that were there before are kept */
};

static bool is_in_lost_part(void *user, const struct diagnostic *it) {
    struct lost_part *lost = user;
    return lost->seen++ >= lost->older && it->source == lost->source && it->code != ADL_E017 &&
           it->span.start >= lost->span.start && it->span.start < lost->span.end;
}

/* Parts are read in the order of the text, so what was read since a mark is at the end of the list. */
static void forget_places(struct tree *tree, struct span lost) {
    while (tree->anchor_count > 0 && tree->anchors[tree->anchor_count - 1].span.start >= lost.start)
        tree->anchor_count--;
}

void builder_rewind(struct builder *builder, const struct builder_mark *mark, struct span lost) {
    builder->skip = 0;
    builder->pending_anchor = NULL;
    builder->depth = mark->depth;
    builder->total = mark->total;
    builder->stack_count = mark->stack_count;
    if (mark->depth == 0) builder->tree->root = NULL;
    if (mark->depth > 0) {
        top(builder)->key = NULL;
        top(builder)->drop = false;
    }
    forget_anchors(builder, lost);
    forget_places(builder->tree, lost);
    size_t older = mark->diagnostics > builder->older ? mark->diagnostics : builder->older;
    struct lost_part part = {builder->source, lost, older, 0};
    if (diagnostics_count(builder->found) > older) diagnostics_remove(builder->found, is_in_lost_part, &part);
}

void builder_drop(struct builder *builder, uint32_t depth, uint32_t from) {
    while (builder->depth > depth + 1 && top(builder)->start >= from) {
        builder->stack_count = top(builder)->base;
        builder->total = top(builder)->total_before;
        builder->depth--;
    }
    struct builder_frame *frame = top(builder);
    bool dropped = false;
    while (builder->depth > depth && builder->stack_count > frame->base) {
        struct tree_item last = builder->stack[builder->stack_count - 1];
        if (last.node->span.end <= from) break;
        builder->stack_count--;
        builder->total =
            builder->stack_count > frame->base ? builder->totals[builder->stack_count - 1] : frame->total_before;
        frame->key = last.key;
        frame->key_span = last.key_span;
        dropped = true;
    }
    if (dropped && frame->kind == TN_ARRAY) builder_broken(builder, (struct span){from, from});
}

void builder_cut(struct builder *builder, uint32_t depth, uint32_t end) {
    builder->skip = 0;
    builder->pending_anchor = NULL;
    while (builder->depth > depth) {
        struct builder_frame *frame = top(builder);
        if (frame->key) builder_broken(builder, (struct span){end, end});
        frame->drop = false;
        frame->incomplete = true;
        builder_close(builder, end);
    }
}

/* ---- Anchors ---- */

/* The index of `name` in the sorted anchors, or where to insert it. */
static uint32_t anchor_place(const struct builder *builder, const char *name, bool *there) {
    uint32_t low = 0, high = builder->anchor_count;
    *there = false;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        int order = strcmp(builder->anchors[middle].name, name);
        if (order == 0) *there = true;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void keep_place(struct builder *builder, struct span span, bool alias, const struct tree_node *node) {
    struct tree *tree = builder->tree;
    MEM_GROW(tree->anchors, tree->anchor_count, tree->anchor_capacity);
    tree->anchors[tree->anchor_count++] = (struct tree_anchor){span, alias, node};
}

void builder_anchor(struct builder *builder, const char *name, struct span span) {
    if (builder->skip > 0 || builder->stopped) return;
    keep_place(builder, span, false, NULL);
    bool there;
    uint32_t place = anchor_place(builder, name, &there);
    if (!there) {
        if (builder->anchor_count == TREE_ANCHORS_MAX) {
            diagnostics_add(builder->found, ADL_E014, builder->source, span,
                            "the document has more than %u anchors; the rest is not read", TREE_ANCHORS_MAX);
            stop(builder);
            return;
        }
        MEM_GROW(builder->anchors, builder->anchor_count, builder->anchor_capacity);
        struct builder_anchor *at = builder->anchors + place;
        memmove(at + 1, at, (builder->anchor_count - place) * sizeof *at);
        builder->anchor_count++;
        at->name = mem_text(name);
    }
    struct builder_anchor *anchor = &builder->anchors[place];
    anchor->node = NULL;
    anchor->open = true;
    anchor->serial = builder->pending_serial = ++builder->serial;
    builder->pending_anchor = anchor->name;
}

/* Stores the anchor's node, unless the same name was defined again inside the node. */
static void settle_anchor(struct builder *builder, const char *name, uint32_t serial, const struct tree_node *node,
                          uint32_t total, uint32_t height) {
    if (!name) return;
    bool there;
    struct builder_anchor *anchor = &builder->anchors[anchor_place(builder, name, &there)];
    if (!there || anchor->serial != serial) return;
    anchor->node = node;
    anchor->total = total;
    anchor->height = height;
    anchor->open = false;
}

/* Returns the finished anchor, or NULL after reporting that it does not exist. */
static const struct builder_anchor *find_anchor(struct builder *builder, const char *name, struct span span) {
    bool there;
    uint32_t place = anchor_place(builder, name, &there);
    const struct builder_anchor *anchor = there ? &builder->anchors[place] : NULL;
    if (anchor && anchor->node) return anchor;
    if (anchor && anchor->open)
        diagnostics_add(builder->found, ADL_E009, builder->source, span,
                        "found the alias `*%s` inside the value that it stands for; expected a value without cycles",
                        name);
    else if (!builder->lost_sections)
        diagnostics_add(builder->found, ADL_E009, builder->source, span,
                        "found the alias `*%s`, but no anchor `&%s` before it; expected one, or quotes around the text",
                        name, name);
    return NULL;
}

void builder_alias(struct builder *builder, const char *name, struct span span) {
    if (builder->skip > 0 || builder->stopped) return;
    const struct builder_anchor *anchor = find_anchor(builder, name, span);
    keep_place(builder, span, true, anchor ? anchor->node : NULL);
    if (!anchor) {
        builder_broken(builder, span);
    } else if (builder->depth + anchor->height > builder->limits.depth) {
        report_depth(builder, span);
        builder_broken(builder, span);
    } else if (count_nodes(builder, anchor->total, span)) {
        add_node(builder, anchor->node, anchor->height);
    }
}

const char *builder_alias_key(struct builder *builder, const char *name, struct span span, size_t *length) {
    bool there;
    uint32_t place = anchor_place(builder, name, &there);
    const struct tree_node *node = there ? builder->anchors[place].node : NULL;
    const char *text = node ? tree_text(builder->tree, node, length) : NULL;
    if (text && !builder->stopped) keep_place(builder, span, true, node);
    return text;
}
