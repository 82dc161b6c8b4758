/*
 * meaning.c - follows the path of a cursor through the rows of keys.def, and from there into schemas.
 */
#include "adl/assist/meaning.h"
#include "adl/assist/known.h"
#include "adl/diagnostic/diagnostic.h"
#include "adl/schema/schema.h"
#include "adl/tree/tree.h"
#include "adl/value/pointer.h"
#include <stdio.h>
#include <string.h>

void meaning_sibling_text(const struct cursor *cursor, uint32_t at, const char *key, struct cursor_text *out) {
    uint32_t value = (uint32_t)source_length(cursor->source);
    bool found = cursor_sibling(cursor, at, key, &value);
    cursor_text_at(cursor->source, found ? value : (uint32_t)source_length(cursor->source), cursor->steps[at].flow,
                   out);
}

/* ---- The config as a value ---- */

/* The node of the tree that step `last` leads to; NULL when it is broken. Items are found by their spans: broken ones
 * may be missing.
 */
static const struct tree_node *tree_follow(const struct meaning *meaning, uint32_t last) {
    const struct cursor *cursor = &meaning->cursor;
    const struct tree_node *node = tree_root(meaning->assist->tree);
    for (uint32_t i = 0; node && i <= last; i++) {
        const struct cursor_step *step = &cursor->steps[i];
        if (step->key) {
            node = tree_find_n(node, step->key, step->length) ? tree_find_n(node, step->key, step->length)->node : NULL;
            continue;
        }
        const struct tree_node *found = NULL;
        for (uint32_t j = 0; node->kind == TN_ARRAY && j < node->count; j++) {
            struct span span = node->items[j].node->span;
            if (span.start <= cursor->offset && cursor->offset <= span.end) found = node->items[j].node;
        }
        node = found;
    }
    return node;
}

/* Reads a part of the text as a mapping; NULL when it is something else, or has a mistake. */
static tn_value value_of_text(const struct meaning *meaning, const struct buffer *text) {
    struct source *source =
        source_new(meaning->cursor.json ? "part.json" : "part.yaml", buffer_cstr(text), text->length);
    struct diagnostics *ignored = diagnostics_new();
    struct tree *tree = tree_read(source, NULL, ignored);
    bool whole = tree_is_whole(tree) && tree_root(tree)->kind == TN_OBJECT;
    tn_value value = whole ? tree_to_value(tree_root(tree)) : NULL;
    tree_free(tree);
    diagnostics_free(ignored);
    source_unref(source);
    return value;
}

/* The lines of the config in block style, without that of the cursor. */
static tn_value value_of_lines(const struct meaning *meaning, const struct cursor_step *step) {
    const struct source *source = meaning->assist->source;
    const char *text = source_text(source);
    uint32_t here = cursor_line_of(source, meaning->cursor.offset);
    struct buffer part;
    buffer_init(&part, MEANING_CONFIG_MAX);
    for (uint32_t i = step->line + 1; i < source_lines(source); i++) {
        struct span line = source_line_span(source, i);
        uint32_t content = line.start;
        while (content < line.end && text[content] == ' ') content++;
        if (content < line.end && content - line.start <= step->column && i != here) break;
        if (i != here) buffer_append(&part, text + line.start, line.end - line.start);
        buffer_char(&part, '\n');
    }
    tn_value value = part.overflow ? NULL : value_of_text(meaning, &part);
    buffer_finish(&part);
    return value;
}

/* The config in brackets up to the entry of the cursor, with brackets that close it. */
static tn_value value_of_flow(const struct meaning *meaning) {
    const struct cursor *cursor = &meaning->cursor;
    const char *text = source_text(cursor->source);
    uint32_t first = meaning->config_step + 1, last = cursor->depth - 1;
    if (first > last || !cursor->steps[first].flow) return NULL;
    uint32_t start = cursor->steps[first].open - 1, end = cursor->span.start;
    if (cursor->steps[last].key) end = cursor->steps[last].span.start;
    if (end < start || end - start > MEANING_CONFIG_MAX) return NULL;
    while (end > start && (text[end - 1] == ' ' || text[end - 1] == ',' || text[end - 1] == '\n')) end--;
    struct buffer part;
    buffer_init(&part, SIZE_MAX);
    buffer_append(&part, text + start, end - start);
    for (uint32_t i = last + 1; i-- > first;) {
        if (i < last && cursor->steps[i].key && text[end - 1] == ':') buffer_text(&part, " null");
        buffer_char(&part, cursor->steps[i].key ? '}' : ']');
    }
    tn_value value = value_of_text(meaning, &part);
    buffer_finish(&part);
    return value;
}

/* The whole text as a value. If a part cannot be read, the line of the cursor may be the reason, so it is left out. */
static tn_value read_form(const struct meaning *meaning) {
    const struct source *source = meaning->assist->source;
    const struct tree *tree = meaning->assist->tree;
    tn_value value = NULL;
    if (!tree_is_whole(tree) && source_length(source) <= MEANING_CONFIG_MAX) {
        struct span line = source_line_span(source, cursor_line_of(source, meaning->cursor.offset));
        struct buffer part;
        buffer_init(&part, SIZE_MAX);
        buffer_append(&part, source_text(source), line.start);
        buffer_append(&part, source_text(source) + line.end, source_length(source) - line.end);
        value = value_of_flow(meaning);
        if (!value) value = value_of_text(meaning, &part);
        buffer_finish(&part);
    }
    if (!value && tree_root(tree)->kind == TN_OBJECT) value = tree_to_value(tree_root(tree));
    return value ? value : value_object();
}

static tn_value read_config(const struct meaning *meaning) {
    if (meaning->config_step == UINT32_MAX) return read_form(meaning);
    const struct tree_node *node = tree_follow(meaning, meaning->config_step);
    if (node && node->kind == TN_OBJECT && !node->incomplete) return tree_to_value(node);
    const struct cursor_step *step = &meaning->cursor.steps[meaning->config_step];
    tn_value value = value_of_flow(meaning);
    if (!value && !step->flow) value = value_of_lines(meaning, step);
    return value ? value : value_object();
}

/* ---- The path ---- */

static const struct document_key *row_of_step(enum keys_mapping mapping, const struct cursor_step *step) {
    const struct document_mapping *rows = document_mapping(mapping);
    for (uint32_t i = 0; step->key && i < rows->key_count; i++)
        if (strlen(rows->keys[i].name) == step->length && memcmp(rows->keys[i].name, step->key, step->length) == 0)
            return &rows->keys[i];
    return NULL;
}

/* Sets the component of the config from a sibling of step `at`: the type of a node, or the provider of a model. */
static void meaning_set_component(struct meaning *meaning, uint32_t at, const char *kind, const char *key) {
    struct cursor_text text;
    meaning_sibling_text(&meaning->cursor, at, key, &text);
    meaning->component = known_component(meaning->assist, kind, text.text, text.length);
    cursor_text_finish(&text);
}

static void enter_config(struct meaning *meaning, uint32_t config_step, uint32_t first) {
    const struct cursor *cursor = &meaning->cursor;
    meaning->kind = MEANING_CONFIG;
    meaning->config_step = config_step;
    uint32_t end = cursor->depth - (cursor->kind == CURSOR_KEY);
    for (uint32_t i = first; i < end; i++) {
        char index[16];
        int length = snprintf(index, sizeof index, "%u", (unsigned)cursor->steps[i].index);
        if (cursor->steps[i].key)
            pointer_append_key(&meaning->pointer, cursor->steps[i].key, cursor->steps[i].length);
        else
            pointer_append_key(&meaning->pointer, index, (size_t)length);
    }
}

/* The entry at step `at` of a mapping that keys.def describes. Returns the step to continue with, or UINT32_MAX. */
static uint32_t enter_row(struct meaning *meaning, uint32_t at) {
    const struct cursor *cursor = &meaning->cursor;
    const struct document_key *row = meaning->key;
    bool names = row->forms & KEY_NAMES;
    uint32_t next = at + 1;
    meaning->kind = MEANING_VALUE;
    if (row->key == KEY_NODE_CONFIG) {
        meaning_set_component(meaning, at, "node", "type");
        enter_config(meaning, at, next);
        return UINT32_MAX;
    }
    if (next == cursor->depth) {
        if (row->forms & KEY_SCHEMA) meaning->kind = MEANING_SCHEMA;
        meaning->config_step = at;
        return UINT32_MAX;
    }
    if (row->forms & (KEY_SCHEMA | KEY_ANY)) {
        meaning->kind = row->forms & KEY_SCHEMA ? MEANING_SCHEMA : MEANING_NOTHING;
        meaning->config_step = at;
        return UINT32_MAX;
    }
    if (names) {
        bool key = next + 1 == cursor->depth && cursor->kind == CURSOR_KEY;
        meaning->kind = !cursor->steps[next].key ? MEANING_NOTHING : key ? MEANING_ROLE : MEANING_VALUE;
        if (meaning->kind != MEANING_VALUE) return UINT32_MAX;
        meaning->item = true;
        if (++next == cursor->depth) return UINT32_MAX;
    }
    if (!cursor->steps[next].key) {
        meaning->item = true;
        meaning->kind = row->forms & KEY_LIST ? MEANING_VALUE : MEANING_NOTHING;
        if (++next == cursor->depth || meaning->kind == MEANING_NOTHING) return UINT32_MAX;
    }
    meaning->kind = row->of == KEYS_NONE ? MEANING_NOTHING : MEANING_KEYS;
    meaning->mapping = row->of;
    return meaning->kind == MEANING_NOTHING ? UINT32_MAX : next;
}

/* In `models: {ROLE: {models: […], …}}` the mapping of the role has other keys than a model. */
static void enter_role(struct meaning *meaning, uint32_t at) {
    struct cursor_text provider;
    const struct document_key *row = row_of_step(KEYS_MODEL_ROLE, &meaning->cursor.steps[at]);
    if (meaning->key || meaning->mapping != KEYS_MODEL || at == 0 || !row) return;
    meaning_sibling_text(&meaning->cursor, at, "provider", &provider);
    if (provider.length == 0) {
        meaning->mapping = KEYS_MODEL_ROLE;
        meaning->key = row;
    }
    cursor_text_finish(&provider);
}

static void find_path(struct meaning *meaning) {
    const struct cursor *cursor = &meaning->cursor;
    meaning->kind = MEANING_KEYS;
    meaning->mapping = KEYS_ROOT;
    for (uint32_t at = 0; at < cursor->depth;) {
        bool last = at + 1 == cursor->depth;
        meaning->key = row_of_step(meaning->mapping, &cursor->steps[at]);
        meaning->item = false;
        enter_role(meaning, at);
        if (last && cursor->kind == CURSOR_KEY) {
            if (meaning->mapping != KEYS_MODEL || at == 0) return;
            meaning_set_component(meaning, at, "model", "provider");
            meaning->option = true;
            meaning->config_step = at - 1;
            return;
        }
        if (!meaning->key && meaning->mapping == KEYS_MODEL && at > 0) {
            meaning_set_component(meaning, at, "model", "provider");
            meaning->option = true;
            enter_config(meaning, at - 1, at);
            return;
        }
        meaning->kind = MEANING_NOTHING;
        if (!meaning->key) return;
        at = enter_row(meaning, at);
        if (at == UINT32_MAX) return;
    }
}

/* ---- Schemas ---- */

/* The steps of a config that lead into a string with x-tenon `schema` are those of a JSON Schema. */
static void enter_inner_schema(struct meaning *meaning) {
    struct buffer whole = meaning->pointer;
    uint32_t depth = meaning->cursor.depth;
    bool key = meaning->cursor.kind == CURSOR_KEY;
    buffer_init(&meaning->pointer, SIZE_MAX);
    for (uint32_t i = meaning->config_step + 1; i < depth - key && meaning->kind == MEANING_CONFIG; i++) {
        pointer_append_key(&meaning->pointer, meaning->cursor.steps[i].key, meaning->cursor.steps[i].length);
        if (meaning_has_annotation(meaning, false, "schema")) {
            meaning->kind = MEANING_SCHEMA;
            meaning->config_step = i;
        }
        if (i + 1 < depth && !meaning->cursor.steps[i + 1].key) break;
    }
    buffer_finish(&meaning->pointer);
    meaning->pointer = whole;
}

void meaning_each_schema(const struct meaning *meaning, bool inner, void (*visit)(void *user, tn_value schema),
                         void *user) {
    if (!meaning->component || !meaning->instance) return;
    struct buffer pointer;
    buffer_init(&pointer, SIZE_MAX);
    buffer_text(&pointer, buffer_cstr(&meaning->pointer));
    const struct cursor_step *last = &meaning->cursor.steps[meaning->cursor.depth - 1];
    if (inner && meaning->cursor.kind == CURSOR_KEY) pointer_append_key(&pointer, last->key, last->length);
    schema_at(meaning->component->config, meaning->instance, buffer_cstr(&pointer), visit, user);
    buffer_finish(&pointer);
}

struct annotation_search {
    const char *annotation;
    bool on_key, found;
    tn_value variables;
};

static void search_annotation(void *user, tn_value schema) {
    struct annotation_search *search = user;
    tn_value holder = search->on_key ? value_get(schema, "propertyNames") : schema;
    if (!value_text_is(value_get(holder, "x-tenon"), search->annotation)) return;
    search->found = true;
    search->variables = value_get(holder, "x-tenon-variables");
}

bool meaning_has_annotation(const struct meaning *meaning, bool on_key, const char *annotation) {
    struct annotation_search search = {annotation, on_key, false, NULL};
    meaning_each_schema(meaning, false, search_annotation, &search);
    return search.found;
}

const struct component_info *meaning_tool(const struct meaning *meaning) {
    tn_value tool = value_get(meaning->instance, "tool");
    if (!value_is(tool, TN_STRING) || !meaning_has_annotation(meaning, false, "arguments")) return NULL;
    size_t length;
    const char *name = value_chars(tool, &length);
    return known_component(meaning->assist, "tool", name, length);
}

/* ---- Channels of an inner document ---- */

/* The document that the node runs in this version of the text, or else in the last good one if it names the same. */
static const struct document *inner_document(const struct meaning *meaning) {
    const struct document *now = meaning->assist->document;
    const struct document *good = meaning->assist->good ? meaning->assist->good->document : NULL;
    tn_value name = value_get(meaning->instance, "document");
    uint32_t node = UINT32_MAX; /* the last one that starts before the cursor: an absent value ends before it */
    for (uint32_t i = 0; i < now->node_count; i++)
        if (now->nodes[i].span.start <= meaning->cursor.offset) node = i;
    const struct document *inner = node != UINT32_MAX ? document_subgraph(now, node) : NULL;
    tn_value named = node != UINT32_MAX ? value_get(now->nodes[node].config, "document") : NULL;
    if (inner && name && named && value_equal(name, named)) return inner;
    for (uint32_t i = 0; good && name && i < good->node_count; i++) {
        tn_value other = value_get(good->nodes[i].config, "document");
        if (other && value_equal(name, other) && document_subgraph(good, i)) return document_subgraph(good, i);
    }
    return NULL;
}

const struct document *meaning_inner_document(const struct meaning *meaning) {
    static const char *const ports[] = {"input", "output"};
    const struct cursor *cursor = &meaning->cursor;
    uint32_t port = meaning->config_step + 1;
    bool key = cursor->kind == CURSOR_KEY, known = false;
    if (meaning->kind != MEANING_CONFIG || meaning->option || !meaning->component || !meaning->instance ||
        cursor->depth != port + 2 || !cursor->steps[port + 1].key)
        return NULL;
    char pointer[16];
    for (size_t i = 0; i < sizeof ports / sizeof *ports && !known; i++) {
        known = cursor_step_is(cursor, port, ports[i]);
        snprintf(pointer, sizeof pointer, "/%s", ports[i]);
    }
    if (!known) return NULL;
    struct annotation_search read = {"channel-read", true, false, NULL}, write = {"channel-write", true, false, NULL};
    schema_at(meaning->component->config, meaning->instance, pointer, search_annotation, &read);
    schema_at(meaning->component->config, meaning->instance, pointer, search_annotation, &write);
    bool keys_outer = read.found || write.found;
    return key != keys_outer ? inner_document(meaning) : NULL;
}

static void find_language(struct meaning *meaning) {
    if (meaning->cursor.kind != CURSOR_VALUE) return;
    if (meaning->kind == MEANING_VALUE && meaning->key->key == KEY_CONDITION_EXPRESSION)
        meaning->language = LANGUAGE_CONDITION;
    if (meaning->kind == MEANING_VALUE && meaning->key->key == KEY_EDGE_OVER) meaning->language = LANGUAGE_EDGE;
    if (meaning->kind != MEANING_CONFIG) return;
    struct annotation_search search = {"expression", false, false, NULL};
    meaning_each_schema(meaning, false, search_annotation, &search);
    if (search.found) meaning->language = LANGUAGE_CONFIG;
    if (!search.found) {
        search.annotation = "template";
        meaning_each_schema(meaning, false, search_annotation, &search);
        if (search.found) meaning->language = LANGUAGE_TEMPLATE;
    }
    meaning->variables = search.variables;
}

void meaning_find(const struct assist *assist, uint32_t offset, struct meaning *meaning) {
    *meaning = (struct meaning){.assist = assist};
    buffer_init(&meaning->pointer, SIZE_MAX);
    if (source_length(assist->source) > TREE_SIZE_MAX) return;
    cursor_find(assist->source, offset, &meaning->cursor);
    if (meaning->cursor.kind == CURSOR_NOTHING) return;
    if (meaning->cursor.depth == 0) return;
    if (assist->world->form) {
        meaning->component = assist->world->form;
        enter_config(meaning, UINT32_MAX, 0);
    } else {
        find_path(meaning);
    }
    if (meaning->component) meaning->instance = read_config(meaning);
    if (meaning->kind == MEANING_CONFIG && meaning->component) enter_inner_schema(meaning);
    find_language(meaning);
}

void meaning_finish(struct meaning *meaning) {
    value_unref(meaning->instance);
    buffer_finish(&meaning->pointer);
    meaning->instance = NULL;
}
