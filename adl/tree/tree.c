/*
 * tree.c - the public functions of the tree, its memory, and the checks before a reader starts.
 *
 * Both readers may rely on these checks: the text is at most limits.size bytes of UTF-8 and contains no forbidden
 * character. libyaml therefore never refuses the encoding, and its marks, which count characters, can be converted.
 */
#include "adl/tree/tree.h"
#include "adl/diagnostic/diagnostic.h"
#include "adl/source/source.h"
#include "adl/tree/tree_arena.h"
#include "adl/tree/tree_build.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- Memory ---- */

#define ARENA_FIRST   (16u << 10)
#define ARENA_LARGEST (1u << 20)

struct tree_block {
    struct tree_block *next;
    alignas(8) char memory[];
};

void *tree_alloc(struct tree *tree, size_t size) {
    struct tree_arena *arena = &tree->arena;
    size = (size + 7) & ~(size_t)7;
    if (!arena->at || size > (size_t)(arena->end - arena->at)) {
        size_t room = arena->next_size ? arena->next_size : ARENA_FIRST;
        arena->next_size = room < ARENA_LARGEST ? room * 2 : room;
        if (room < size) room = size;
        struct tree_block *block = mem_alloc(sizeof *block + room);
        block->next = arena->blocks;
        arena->blocks = block;
        arena->at = block->memory;
        arena->end = block->memory + room;
    }
    void *memory = arena->at;
    arena->at += size;
    return memory;
}

void tree_hold(struct tree *tree, tn_value value) {
    MEM_GROW(tree->held, tree->held_count, tree->held_capacity);
    tree->held[tree->held_count++] = value;
}

void tree_clear(struct tree *tree) {
    for (size_t i = 0; i < tree->held_count; i++) value_unref(tree->held[i]);
    tree->held_count = 0;
    tree->anchor_count = 0;
    for (struct tree_block *block = tree->arena.blocks, *next; block; block = next) {
        next = block->next;
        mem_free(block);
    }
    tree->arena = (struct tree_arena){0};
    tree->root = NULL;
}

void tree_free(struct tree *tree) {
    if (!tree) return;
    tree_clear(tree);
    mem_free(tree->held);
    mem_free(tree->anchors);
    source_unref(tree->source);
    mem_free(tree);
}

/* ---- What is checked first ---- */

/*
 * YAML's printable characters (5.1), except those that its versions treat differently: NEL, LS and PS end lines in 1.1
 * and not in 1.2, and a byte order mark is allowed only at the start. JSON allows everything except C0 controls.
 */
static bool is_allowed(uint32_t point, bool json) {
    if (point < 0x20) return point == '\t' || point == '\n' || point == '\r';
    if (json) return true;
    if (point >= 0x7f && point < 0xa0) return false;
    return point != 0x2028 && point != 0x2029 && point != 0xfeff && point != 0xfffe && point != 0xffff;
}

static void report_character(struct diagnostics *found, struct source *source, struct span span, uint32_t point) {
    struct diagnostic *it = diagnostics_add(found, ADL_E004, source, span,
                                            "found the character U+%04X, which is not allowed in a document", point);
    if (point == 0)
        diagnostic_suggest(it, "check that this is a text file: documents contain no NUL bytes");
    else if (point >= 0x10000)
        diagnostic_suggest(it, "write it as an escape in double quotes: \"\\U%08x\"", point);
    else
        diagnostic_suggest(it, "write it as an escape in double quotes, or remove it: \"\\u%04x\"", point);
}

/* Reports the first malformed or forbidden character. Sets *ascii if the whole text is ASCII. */
static bool check_text(struct source *source, bool json, struct diagnostics *found, bool *ascii) {
    const char *text = source_text(source);
    uint32_t length = (uint32_t)source_length(source);
    uint32_t i = source_line_span(source, 0).start; /* after a byte order mark */
    *ascii = i == 0;
    while (i < length) {
        unsigned char byte = (unsigned char)text[i];
        if (byte >= 0x20 && byte < 0x7f) {
            i++;
            continue;
        }
        uint32_t point;
        size_t size = utf8_decode(text + i, length - i, &point);
        if (size == 0) {
            diagnostics_add(
                found, ADL_E003, source, (struct span){i, i + 1},
                "found the byte 0x%02X, which is not valid UTF-8 here; expected UTF-8 text: convert the file", byte);
            return false;
        }
        if (!is_allowed(point, json)) {
            report_character(found, source, (struct span){i, i + (uint32_t)size}, point);
            return false;
        }
        if (size > 1) *ascii = false;
        i += (uint32_t)size;
    }
    return true;
}

static bool check_size(struct source *source, uint32_t limit, struct diagnostics *found) {
    if (source_length(source) <= limit) return true;
    diagnostics_add(found, ADL_E012, source, (struct span){0, 0},
                    "the document has %zu bytes; expected at most %u: move parts into separate files",
                    source_length(source), limit);
    return false;
}

/* ---- Reading ---- */

bool tree_name_is_json(const char *name) {
    size_t length = strlen(name);
    return length >= 5 && strcasecmp(name + length - 5, ".json") == 0;
}

static struct tree_limits effective_limits(const struct tree_limits *limits) {
    struct tree_limits result = limits ? *limits : (struct tree_limits){0};
    if (result.size == 0) result.size = TREE_SIZE_MAX;
    if (result.depth == 0) result.depth = TREE_DEPTH_MAX;
    if (result.depth > TREE_DEPTH_CEILING) result.depth = TREE_DEPTH_CEILING;
    if (result.scalar == 0) result.scalar = TREE_SCALAR_MAX;
    if (result.items == 0) result.items = TREE_ITEMS_MAX;
    if (result.nodes == 0) result.nodes = TREE_NODES_MAX;
    return result;
}

/* Closes the collections that a reader abandoned. */
static void close_rest(struct builder *builder, uint32_t end) {
    builder->skip = 0;
    while (builder->depth > 0) {
        builder->frames[builder->depth - 1].incomplete = true;
        builder->frames[builder->depth - 1].key = NULL;
        builder->frames[builder->depth - 1].drop = false;
        if (builder->depth > 1 && builder->frames[builder->depth - 2].kind == TN_OBJECT &&
            !builder->frames[builder->depth - 2].key)
            builder->frames[builder->depth - 2].drop = true;
        builder_close(builder, end);
    }
}

static void read_into(struct tree *tree, const struct tree *before, const struct tree_limits *limits,
                      struct diagnostics *found) {
    bool json = tree_name_is_json(source_name(tree->source));
    struct builder *builder = mem_zalloc(sizeof *builder);
    builder->tree = tree;
    builder->source = tree->source;
    builder->found = found;
    builder->older = diagnostics_count(found);
    builder->limits = effective_limits(limits);
    if (check_size(tree->source, builder->limits.size, found) &&
        check_text(tree->source, json, found, &builder->ascii)) {
        builder->frames = mem_array(NULL, builder->limits.depth, sizeof *builder->frames);
        if (json)
            tree_read_json(builder);
        else
            tree_read_yaml(builder, before);
        close_rest(builder, (uint32_t)source_length(tree->source));
    }
    tree->nodes = builder->total;
    tree->reusable = !json && tree->whole && builder->serial == 0 && diagnostics_count(found) == builder->older;
    for (uint32_t i = 0; i < builder->anchor_count; i++) mem_free(builder->anchors[i].name);
    mem_free(builder->anchors);
    mem_free(builder->gaps);
    mem_free(builder->frames);
    mem_free(builder->stack);
    mem_free(builder->totals);
    mem_free(builder);
}

static int compare_anchors(const void *left, const void *right) {
    const struct tree_anchor *a = left, *b = right;
    return a->span.start < b->span.start ? -1 : a->span.start > b->span.start;
}

/* After a syntax error, parts of the text are read twice, and not in their order. */
static void sort_anchors(struct tree *tree) {
    size_t kept = 0;
    if (tree->anchor_count > 1) qsort(tree->anchors, tree->anchor_count, sizeof *tree->anchors, compare_anchors);
    for (size_t i = 0; i < tree->anchor_count; i++)
        if (kept == 0 || tree->anchors[kept - 1].span.start != tree->anchors[i].span.start)
            tree->anchors[kept++] = tree->anchors[i];
    tree->anchor_count = kept;
}

const struct tree_anchor *tree_anchors(const struct tree *tree, size_t *count) {
    *count = tree->anchor_count;
    return tree->anchors;
}

struct tree *tree_read_next(struct source *source, const struct tree *before, const struct tree_limits *limits,
                            struct diagnostics *found) {
    struct tree *tree = mem_zalloc(sizeof *tree);
    tree->source = source_ref(source);
    tree->whole = true;
    read_into(tree, before, limits, found);
    sort_anchors(tree);
    if (!tree->root) {
        struct tree_node *broken = tree_alloc(tree, sizeof *broken);
        *broken = (struct tree_node){
            .kind = TREE_BROKEN, .span = {0, (uint32_t)source_length(source)}, .value = VALUE_IMMEDIATE_NULL};
        tree->root = broken;
        tree->whole = false;
    }
    return tree;
}

struct tree *tree_read(struct source *source, const struct tree_limits *limits, struct diagnostics *found) {
    return tree_read_next(source, NULL, limits, found);
}

/* ---- Looking ---- */

const struct tree_node *tree_root(const struct tree *tree) { return tree->root; }
struct source *tree_source(const struct tree *tree) {
    return tree->source;
}
bool tree_is_whole(const struct tree *tree) { return tree->whole; }

const struct tree_item *tree_find_n(const struct tree_node *node, const char *key, size_t length) {
    if (!node || node->kind != TN_OBJECT) return NULL;
    for (uint32_t i = 0; i < node->count; i++) {
        size_t known;
        const char *chars = value_chars(node->items[i].key, &known);
        if (known == length && memcmp(chars, key, length) == 0) return &node->items[i];
    }
    return NULL;
}

const struct tree_item *tree_find(const struct tree_node *node, const char *key) {
    return tree_find_n(node, key, strlen(key));
}

const struct tree_node *tree_get(const struct tree_node *node, const char *key) {
    const struct tree_item *item = tree_find(node, key);
    return item ? item->node : NULL;
}

const char *tree_text(const struct tree *tree, const struct tree_node *node, size_t *length) {
    if (!node) return NULL;
    if (node->kind == TN_STRING) return value_chars(node->value, length);
    bool plain = node->kind == TN_BOOL || node->kind == TN_INT || node->kind == TN_DOUBLE;
    if (!plain || node->style != TREE_PLAIN) return NULL;
    if (length) *length = node->span.end - node->span.start;
    return source_text(tree->source) + node->span.start;
}

tn_value tree_to_string(const struct tree *tree, const struct tree_node *node) {
    if (node && node->kind == TN_STRING) return value_ref(node->value);
    size_t length;
    const char *text = tree_text(tree, node, &length);
    return text ? value_string(text, length) : NULL;
}

tn_value tree_to_value(const struct tree_node *node) {
    if (node->kind == TREE_BROKEN) return value_null();
    if (node->kind != TN_ARRAY && node->kind != TN_OBJECT) return value_ref(node->value);
    bool list = node->kind == TN_ARRAY;
    tn_value value = list ? value_array_reserve(node->count) : value_object_reserve(node->count);
    for (uint32_t i = 0; i < node->count; i++) {
        const struct tree_item *item = &node->items[i];
        if (item->node->kind == TREE_BROKEN) continue;
        tn_value inner = tree_to_value(item->node);
        value = list ? value_push_take(value, inner) : value_set_key_take(value, value_ref(item->key), inner);
    }
    return value;
}

/* ---- Pointers ---- */

/* Compares the pointer's token [at, end) with a key: ~1 is `/`, ~0 is `~`. */
static bool tree_token_equals(const char *at, const char *end, tn_value key) {
    size_t length, i = 0;
    const char *chars = value_chars(key, &length);
    while (at < end) {
        char c = *at++;
        if (c == '~' && at < end) c = *at++ == '1' ? '/' : '~';
        if (i == length || chars[i++] != c) return false;
    }
    return i == length;
}

/* Decimal, without sign or leading zero. */
static bool tree_token_to_index(const char *at, const char *end, uint32_t *index) {
    uint64_t number = 0;
    if (at == end || end - at > 9 || (*at == '0' && end - at > 1)) return false;
    for (; at < end; at++) {
        if (*at < '0' || *at > '9') return false;
        number = number * 10 + (uint64_t)(*at - '0');
    }
    *index = (uint32_t)number;
    return true;
}

/* Searches the keys of a mapping from item `first` to the end, and then from the beginning. */
static const struct tree_item *step(const struct tree_node *node, uint32_t first, const char *at, const char *end) {
    uint32_t index;
    if (node->kind == TN_ARRAY)
        return tree_token_to_index(at, end, &index) && index < node->count ? &node->items[index] : NULL;
    if (node->kind != TN_OBJECT) return NULL;
    for (uint32_t i = first; i < node->count; i++)
        if (tree_token_equals(at, end, node->items[i].key)) return &node->items[i];
    for (uint32_t i = 0; i < first && i < node->count; i++)
        if (tree_token_equals(at, end, node->items[i].key)) return &node->items[i];
    return NULL;
}

const struct tree_node *tree_at_pointer(const struct tree_node *node, const char *pointer,
                                        const struct tree_item **item) {
    const struct tree_item *held = NULL;
    while (*pointer == '/') {
        const char *end = pointer + 1 + strcspn(pointer + 1, "/");
        const struct tree_item *next = step(node, 0, pointer + 1, end);
        if (!next) break;
        held = next;
        node = next->node;
        pointer = end;
    }
    if (item) *item = held;
    return node;
}

const struct tree_node *tree_finder_at(struct tree_finder *finder, const char *pointer, const struct tree_item **item) {
    const struct tree_node *node = finder->root;
    const struct tree_item *held = NULL;
    for (uint32_t level = 0; node && *pointer == '/'; level++) {
        const char *end = pointer + 1 + strcspn(pointer + 1, "/");
        bool known = level < TREE_FINDER_LEVELS && finder->levels[level].node == node;
        held = step(node, known ? finder->levels[level].next : 0, pointer + 1, end);
        if (held && level < TREE_FINDER_LEVELS) {
            finder->levels[level].node = node;
            finder->levels[level].next = (uint32_t)(held - node->items);
        }
        node = held ? held->node : NULL;
        pointer = end;
    }
    if (item) *item = node ? held : NULL;
    return node;
}
