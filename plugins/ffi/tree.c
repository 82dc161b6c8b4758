/*
 * tree.c - builds nodes from libyaml's events, with limits on text, depth and number of nodes.
 *
 * Plain scalars are interpreted by the core schema of YAML 1.2 (true, not yes; 0o17, not 017).
 */
#include "tree.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <tenon/easy.h>
#include <yaml.h>

struct tree_parser {
    yaml_parser_t parser;
    struct tn_arena *arena;
    const char *why;
    uint32_t nodes;
};

static struct node *yaml_reject(struct tree_parser *reader, yaml_mark_t mark, const char *why) {
    if (reader->why == NULL)
        reader->why = tn_arena_format(reader->arena, "%zu:%zu: %s", mark.line + 1, mark.column + 1, why);
    return NULL;
}

static bool yaml_next_event(struct tree_parser *reader, yaml_event_t *event) {
    if (yaml_parser_parse(&reader->parser, event)) return true;
    const char *problem = reader->parser.problem != NULL ? reader->parser.problem : "not YAML";
    (void)yaml_reject(reader, reader->parser.problem_mark, problem);
    return false;
}

static struct node *read_node(struct tree_parser *reader, const yaml_event_t *event, uint32_t depth);

static struct node *node_add_item(struct tree_parser *reader, struct node *node, uint32_t used, struct node *item) {
    if ((used & (used - 1)) == 0) { /* full at every power of two: double the capacity */
        struct node **items = tn_arena_alloc(reader->arena, (used != 0 ? (size_t)used * 2 : 1) * sizeof *items);
        if (items == NULL) return NULL;
        if (used != 0) memcpy(items, node->items, used * sizeof *items);
        node->items = items;
    }
    return node->items[used] = item;
}

static bool mapping_has_key(const struct node *node, uint32_t used, const struct node *key) {
    for (uint32_t i = 0; i + 1 < used; i += 2)
        if (node->items[i]->length == key->length && memcmp(node->items[i]->text, key->text, key->length) == 0)
            return true;
    return false;
}

static struct node *read_items(struct tree_parser *reader, struct node *node, yaml_event_type_t stop, uint32_t depth) {
    yaml_event_t event;
    bool mapping = node->kind == NODE_MAPPING;
    for (uint32_t used = 0;; used++) {
        if (!yaml_next_event(reader, &event)) return NULL;
        if (event.type == stop) {
            yaml_event_delete(&event);
            node->count = mapping ? used / 2 : used;
            return node;
        }
        yaml_mark_t mark = event.start_mark;
        struct node *item = read_node(reader, &event, depth + 1);
        yaml_event_delete(&event);
        if (item == NULL) return NULL;
        if (mapping && used % 2 == 0 && item->kind != NODE_SCALAR)
            return yaml_reject(reader, mark, "a key must be a text");
        if (mapping && used % 2 == 0 && mapping_has_key(node, used, item))
            return yaml_reject(reader, mark, tn_arena_format(reader->arena, "duplicate key `%s`", item->text));
        if (node_add_item(reader, node, used, item) == NULL) return yaml_reject(reader, mark, "out of memory");
    }
}

static struct node *read_node(struct tree_parser *reader, const yaml_event_t *event, uint32_t depth) {
    yaml_mark_t mark = event->start_mark;
    if (event->type == YAML_ALIAS_EVENT) return yaml_reject(reader, mark, "aliases are not used in descriptions");
    if (depth > TREE_DEPTH_MAX) return yaml_reject(reader, mark, "the nesting is too deep");
    if (reader->nodes++ >= TREE_NODES_MAX) return yaml_reject(reader, mark, "too many entries");
    struct node *node = tn_arena_alloc(reader->arena, sizeof *node);
    if (node == NULL) return yaml_reject(reader, mark, "out of memory");
    node->line = (uint32_t)mark.line + 1;
    node->column = (uint32_t)mark.column + 1;
    if (event->type == YAML_SCALAR_EVENT) {
        node->plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
        node->length = event->data.scalar.length;
        node->text = tn_arena_copy(reader->arena, (const char *)event->data.scalar.value, node->length);
        return node->text != NULL ? node : yaml_reject(reader, mark, "out of memory");
    }
    node->kind = event->type == YAML_SEQUENCE_START_EVENT ? NODE_LIST : NODE_MAPPING;
    return read_items(reader, node, node->kind == NODE_LIST ? YAML_SEQUENCE_END_EVENT : YAML_MAPPING_END_EVENT, depth);
}

static struct node *read_document(struct tree_parser *reader) {
    struct node *root = NULL;
    yaml_event_type_t type;
    yaml_event_t event;
    do {
        if (!yaml_next_event(reader, &event)) return NULL;
        type = event.type;
        bool content = type == YAML_SCALAR_EVENT || type == YAML_SEQUENCE_START_EVENT ||
                       type == YAML_MAPPING_START_EVENT || type == YAML_ALIAS_EVENT;
        if (content && root != NULL)
            (void)yaml_reject(reader, event.start_mark, "found a second document; a file must contain only one");
        else if (content)
            root = read_node(reader, &event, 1);
        yaml_event_delete(&event);
    } while (reader->why == NULL && type != YAML_STREAM_END_EVENT);
    if (root == NULL) (void)yaml_reject(reader, (yaml_mark_t){0}, "empty");
    return reader->why == NULL ? root : NULL;
}

const struct node *tree_read(struct tn_arena *arena, const char *text, size_t length, const char **why) {
    struct tree_parser reader = {.arena = arena};
    if (length > TREE_TEXT_MAX) {
        *why = tn_arena_format(arena, "1:1: found %zu bytes, the limit is %u", length, TREE_TEXT_MAX);
        return NULL;
    }
    if (!yaml_parser_initialize(&reader.parser)) {
        *why = "1:1: out of memory";
        return NULL;
    }
    yaml_parser_set_input_string(&reader.parser, (const unsigned char *)text, length);
    const struct node *root = read_document(&reader);
    yaml_parser_delete(&reader.parser);
    if (root == NULL) *why = reader.why != NULL ? reader.why : "1:1: out of memory";
    return root;
}

/* ---- Reading nodes ---- */

const struct node *node_get(const struct node *mapping, const char *key) {
    if (mapping == NULL || mapping->kind != NODE_MAPPING) return NULL;
    for (uint32_t i = 0; i < mapping->count; i++)
        if (strcmp(mapping->items[2 * i]->text, key) == 0) return mapping->items[2 * i + 1];
    return NULL;
}

static bool scalar_is_one_of(const struct node *node, const char *const *texts) {
    if (node == NULL || node->kind != NODE_SCALAR || !node->plain) return false;
    for (; *texts != NULL; texts++)
        if (strcmp(node->text, *texts) == 0) return true;
    return false;
}

bool node_is_null(const struct node *node) {
    static const char *const nulls[] = {"", "~", "null", "Null", "NULL", NULL};
    return scalar_is_one_of(node, nulls);
}

bool node_is_text(const struct node *node, const char *text) {
    return node != NULL && node->kind == NODE_SCALAR && strcmp(node->text, text) == 0;
}

const char *node_string(const struct node *node) {
    if (node == NULL || node->kind != NODE_SCALAR || node_is_null(node)) return NULL;
    return strlen(node->text) == node->length ? node->text : NULL;
}

bool node_integer(const struct node *node, int64_t *out) {
    if (node == NULL || node->kind != NODE_SCALAR || !node->plain || node->length == 0) return false;
    const char *text = node->text;
    char *end;
    bool negative = *text == '-';
    if (*text == '-' || *text == '+') text++;
    int base = text[0] == '0' && text[1] == 'x' ? 16 : text[0] == '0' && text[1] == 'o' ? 8 : 10;
    if (base != 10) text += 2;
    if (!((*text >= '0' && *text <= '9') || (base == 16 && *text >= 'A' && *text <= 'f'))) return false;
    errno = 0;
    unsigned long long number = strtoull(text, &end, base);
    if (*end != 0 || errno != 0) return false;
    if (number > (unsigned long long)INT64_MAX + negative) return false;
    *out = negative ? (int64_t)(0 - number) : (int64_t)number;
    return true;
}

/* Accepts finite numbers, including integers. */
static bool node_number(const struct node *node, double *out) {
    int64_t integer;
    char *end;
    if (node_integer(node, &integer)) {
        *out = (double)integer;
        return true;
    }
    if (node == NULL || node->kind != NODE_SCALAR || !node->plain || node->length == 0) return false;
    if (strspn(node->text, "+-.0123456789eE") != node->length) return false; /* no hex floats, no names */
    double number = strtod(node->text, &end);
    if (*end != 0 || !isfinite(number)) return false;
    *out = number;
    return true;
}

bool node_boolean(const struct node *node, bool *out) {
    static const char *const yes[] = {"true", "True", "TRUE", NULL}, *const no[] = {"false", "False", "FALSE", NULL};
    if (scalar_is_one_of(node, yes))
        *out = true;
    else if (scalar_is_one_of(node, no))
        *out = false;
    else
        return false;
    return true;
}

tn_value node_value(const struct node *node) {
    int64_t integer;
    double number;
    bool truth;
    if (node == NULL || node->kind != NODE_SCALAR) return NULL;
    if (node_is_null(node)) return tn_null();
    if (node_boolean(node, &truth)) return tn_bool(truth);
    if (node_integer(node, &integer)) return tn_int(integer);
    if (node_number(node, &number)) return tn_num(number);
    return tn_text_n(node->text, node->length);
}
