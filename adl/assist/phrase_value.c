/*
 * phrase_value.c - what the names in an expression stand for: channels, the input, items, and their members.
 */
#include "adl/assist/phrase.h"
#include "adl/schema/schema.h"
#include "adl/value/memory.h"
#include "adl/value/pointer.h"
#include <string.h>

static const struct phrase_run_member run_members[] = {
    {"run_id", "string", "The id of the run."},
    {"thread_id", "string or null", "The thread, if the run is saved."},
    {"runner_id", "string or null", "The runner that executes the run."},
    {"step", "int", "The number of the super-step, from 0."},
    {"now", "int", "The time when the step began, in milliseconds since 1970."},
    {"path", "list", "The nodes around this document, if another one runs it."},
    {"tags", "list", "The tags of the run."},
    {"metadata", "map", "The metadata of the run."},
    {"configurable", "map", "Settings that the caller of the run passes."},
};

const struct phrase_run_member *phrase_run_member(size_t index) {
    return index < sizeof run_members / sizeof *run_members ? &run_members[index] : NULL;
}

/* ---- Roots ---- */

static bool holds_list(const struct document_channel *channel) {
    return channel->type == CHANNEL_APPEND || channel->reducer == REDUCER_UNION || channel->reducer == REDUCER_MESSAGES;
}

static bool phrase_name_is(const char *text, size_t length, const char *word) {
    return strlen(word) == length && memcmp(text, word, length) == 0;
}

static void add_step(struct phrase_value *value, struct phrase_step step) {
    if (value->step_count == PHRASE_STEPS_MAX)
        value->schema = NULL;
    else
        value->steps[value->step_count++] = step;
}

static bool set_channel(struct phrase_value *value, const char *name, size_t length) {
    value->channel = known_channel(value->assist, name, length);
    value->root = value->channel ? ROOT_CHANNEL : ROOT_UNKNOWN;
    if (value->channel && !holds_list(value->channel)) value->schema = value->channel->schema;
    return value->channel != NULL;
}

/* One member, or item, of the value. */
static bool enter(struct phrase_value *value, struct phrase_step step) {
    bool item = !step.name;
    if (value->root == ROOT_STATE) return !item && set_channel(value, step.name, step.length);
    if (value->root == ROOT_RUN) {
        value->root = ROOT_UNKNOWN;
        return true;
    }
    if (value->root == ROOT_CHANNEL && holds_list(value->channel)) {
        if (!item) return false;
        value->root = ROOT_ITEM;
        value->schema = value->channel->schema; /* it describes one item */
        if (!value->schema && value->channel->reducer == REDUCER_MESSAGES)
            value->schema = assist_message_schema(value->assist);
        return true;
    }
    value->kinds = 0;
    add_step(value, step);
    return true;
}

/* The node that the cursor is in; -1 if it has no id. */
static int32_t node_of_cursor(const struct meaning *meaning) {
    const struct cursor *cursor = &meaning->cursor;
    if (!cursor_step_is(cursor, 0, "nodes") || cursor->depth < 3) return -1;
    struct cursor_text id;
    meaning_sibling_text(cursor, 2, "id", &id);
    int32_t node = document_find_node(assist_names_from(meaning->assist)->document, id.text, id.length);
    cursor_text_finish(&id);
    return node;
}

/* The next map edge from *index on that leads to the node; NULL past the last. */
static const struct document_edge *next_map_edge(const struct document *document, int32_t node, uint32_t *index) {
    while (*index < document->edge_count) {
        const struct document_edge *edge = &document->edges[(*index)++];
        for (uint32_t i = 0; edge->kind == EDGE_MAP && i < edge->to_count; i++)
            if (edge->to[i] == node) return edge;
    }
    return NULL;
}

/* The name of the items of a map edge; "" when it has no `as`. */
static const char *item_name(const struct document *document, const struct document_edge *edge) {
    uint32_t local = edge->as_field - document->channel_count;
    return edge->as_field != UINT32_MAX && local < document->local_count ? value_chars(document->locals[local], NULL)
                                                                         : "";
}

void phrase_each_item_name(const struct meaning *meaning, void (*visit)(void *user, const char *name), void *user) {
    const struct document *document = assist_names_from(meaning->assist)->document;
    const struct document_edge *edge;
    int32_t node = node_of_cursor(meaning);
    for (uint32_t i = 0; node >= 0 && (edge = next_map_edge(document, node, &i));)
        if (*item_name(document, edge)) visit(user, item_name(document, edge));
}

/* An item of `state.NAME`; other lists are not known. */
static bool enter_item_of(const char *over, struct phrase_value *value) {
    if (strncmp(over, "state.", 6) != 0) return false;
    for (const char *at = over + 6; *at; at++)
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_", *at)) return false;
    return set_channel(value, over + 6, strlen(over + 6)) && enter(value, (struct phrase_step){NULL, 0});
}

/* The item of a map edge that leads to the node of the cursor; with a name, of one whose items have it. */
static bool enter_map_item(const struct phrase *phrase, const char *name, size_t length, struct phrase_value *value) {
    const struct document *document = assist_names_from(value->assist)->document;
    const struct document_edge *edge;
    int32_t node = node_of_cursor(phrase->meaning);
    for (uint32_t i = 0; node >= 0 && (edge = next_map_edge(document, node, &i));) {
        bool fits = edge->over_text && (!name || phrase_name_is(name, length, item_name(document, edge)));
        if (fits) return enter_item_of(value_chars(edge->over_text, NULL), value);
    }
    return false;
}

static bool set_root(const struct phrase *phrase, const char *name, size_t length, struct phrase_value *value) {
    const struct meaning *meaning = phrase->meaning;
    bool config = meaning->language == LANGUAGE_CONFIG || meaning->language == LANGUAGE_TEMPLATE;
    if (phrase_name_is(name, length, "state")) value->root = ROOT_STATE;
    if (phrase_name_is(name, length, "run")) value->root = ROOT_RUN;
    if (phrase_name_is(name, length, "input")) {
        value->root = ROOT_INPUT;
        value->schema = assist_names_from(value->assist)->document->input;
    }
    if (config && phrase_name_is(name, length, "config") && meaning->component) {
        value->root = ROOT_CONFIG;
        value->schema = meaning->component->config;
    }
    if (value->root != ROOT_UNKNOWN) return true;
    if (config && phrase_name_is(name, length, "item")) return enter_map_item(phrase, NULL, 0, value);
    if (meaning->language != LANGUAGE_TEMPLATE) return false;
    return set_channel(value, name, length) || enter_map_item(phrase, name, length, value);
}

/* ---- Chains ---- */

static bool resolve_operand(const struct phrase *phrase, uint32_t token, uint32_t depth, struct phrase_value *value);

/* Follows `.name` and `[0]` of the text of a list. False for other operators, whose result is not known. */
static bool enter_path(const char *text, uint32_t length, struct phrase_value *value) {
    for (uint32_t at = 0, size; at < length; at += size) {
        const char *part = text + at + 1;
        struct phrase_step step = {NULL, 0};
        size = text[at] == '.' ? 1 : 0;
        if (text[at] == '.')
            while (at + size < length && !strchr(".[( ", text[at + size])) size++;
        else if (text[at] == '[' && memchr(part, ']', length - at - 1))
            size = (uint32_t)((const char *)memchr(part, ']', length - at - 1) - text) + 1 - at;
        if (size < 2 || (text[at] == '[' && (*part < '0' || *part > '9'))) return false;
        if (text[at] == '.') step = (struct phrase_step){part, size - 1};
        if (!enter(value, step)) return false;
    }
    return true;
}

/* Local `index` is a variable of a loop of a template: its list is a name, or members and items of one. */
static bool resolve_loop(const struct phrase *phrase, uint32_t index, struct phrase_value *value) {
    const struct phrase_local *local = &phrase->locals[index];
    const char *text = phrase->text.text + local->list.start;
    uint32_t length = local->list.end - local->list.start, name = 0;
    while (name < length && !strchr(".[( ", text[name])) name++;
    bool found = false, outer = false;
    for (uint32_t i = index; i-- > 0 && !outer;) {
        const struct span span = phrase->locals[i].name;
        outer = span.end - span.start == name && memcmp(phrase->text.text + span.start, text, name) == 0;
        if (outer && !phrase->locals[i].index && phrase->locals[i].list_end == UINT32_MAX)
            found = resolve_loop(phrase, i, value);
    }
    if (!outer) found = set_root(phrase, text, name, value);
    return found && enter_path(text + name, length - name, value) && enter(value, (struct phrase_step){NULL, 0});
}

static bool resolve_name(const struct phrase *phrase, uint32_t token, uint32_t depth, struct phrase_value *value) {
    struct span span = phrase->tokens[token].span;
    const char *name = phrase->text.text + span.start;
    size_t length = span.end - span.start;
    for (uint32_t i = phrase->local_count; i-- > 0;) {
        const struct phrase_local *local = &phrase->locals[i];
        if (local->name.end - local->name.start != length ||
            memcmp(phrase->text.text + local->name.start, name, length) != 0)
            continue;
        if (local->index) return false;
        if (local->list_end == UINT32_MAX) return resolve_loop(phrase, i, value);
        return resolve_operand(phrase, local->list_end, depth + 1, value) &&
               enter(value, (struct phrase_step){NULL, 0});
    }
    return set_root(phrase, name, length, value);
}

static bool resolve_call(const struct phrase *phrase, uint32_t open, uint32_t depth, struct phrase_value *value) {
    const struct expr_function *row = open > 0 ? phrase_function(phrase, open - 1) : NULL;
    if (!row) return false;
    static const char *const same[] = {"filter", "sortBy", "sort", "distinct", "slice", "reverse"};
    bool receiver = row->receiver && open >= 3;
    for (size_t i = 0; receiver && i < sizeof same / sizeof *same; i++)
        if (strcmp(row->name, same[i]) == 0 && resolve_operand(phrase, open - 3, depth + 1, value)) return true;
    bool one = strcmp(row->name, "first") == 0 || strcmp(row->name, "last") == 0;
    if (receiver && one)
        return resolve_operand(phrase, open - 3, depth + 1, value) && enter(value, (struct phrase_step){NULL, 0});
    const struct assist *assist = value->assist;
    *value = (struct phrase_value){.assist = assist, .kinds = row->result};
    return true;
}

static bool resolve_operand(const struct phrase *phrase, uint32_t token, uint32_t depth, struct phrase_value *value) {
    if (token >= phrase->count || depth > PHRASE_RESOLVE_MAX) return false;
    const struct phrase_token *it = &phrase->tokens[token];
    bool dot = token >= 2 && phrase_char(phrase, token - 1) == '.';
    if (dot && it->kind != EXPR_TOKEN_PUNCTUATION) {
        struct span name = phrase_name(phrase, token);
        const struct phrase_step step = {phrase->text.text + name.start, name.end - name.start};
        if (!resolve_operand(phrase, token - 2, depth + 1, value)) return false;
        bool other = value->root == ROOT_STATE && !known_channel(value->assist, step.name, step.length);
        return other ? enter_map_item(phrase, step.name, step.length, value) : enter(value, step);
    }
    if (it->kind == EXPR_TOKEN_VARIABLE) return resolve_name(phrase, token, depth, value);
    if (it->kind == EXPR_TOKEN_STRING) value->kinds = EXPR_KIND(TN_STRING);
    if (it->kind == EXPR_TOKEN_STRING) return true;
    if (it->kind != EXPR_TOKEN_PUNCTUATION) return false;
    uint32_t open = phrase_opening(phrase, token);
    if (open == UINT32_MAX) return false;
    if (phrase_char(phrase, token) == ')') return resolve_call(phrase, open, depth, value);
    if (phrase_char(phrase, token) != ']' || open == 0) return false;
    if (!resolve_operand(phrase, open - 1, depth + 1, value)) return false;
    const struct phrase_token *key = &phrase->tokens[open + 1];
    bool name = token == open + 2 && key->kind == EXPR_TOKEN_STRING && key->span.end - key->span.start >= 2;
    struct phrase_step step = {NULL, 0};
    if (name) step = (struct phrase_step){phrase->text.text + key->span.start + 1, key->span.end - key->span.start - 2};
    return enter(value, step);
}

bool phrase_resolve(const struct phrase *phrase, uint32_t token, struct phrase_value *value) {
    *value = (struct phrase_value){.assist = phrase->meaning->assist};
    return resolve_operand(phrase, token, 0, value);
}

/* ---- Members ---- */

/* The smallest value that has the steps, and the pointer to its end. */
static tn_value value_for_steps(const struct phrase_value *value, struct buffer *pointer) {
    tn_value made = value_null();
    for (uint32_t i = value->step_count; i-- > 0;) {
        const struct phrase_step *step = &value->steps[i];
        tn_value key = step->name ? value_string_lossy(step->name, step->length) : NULL;
        made = key ? value_set_key_take(value_object(), key, made) : value_push_take(value_array(), made);
    }
    for (uint32_t i = 0; i < value->step_count; i++) {
        const struct phrase_step *step = &value->steps[i];
        pointer_append_key(pointer, step->name ? step->name : "0", step->name ? step->length : 1);
    }
    return made;
}

struct members {
    const struct phrase_value *value;
    tn_value instance, seen;
    struct buffer pointer;
    phrase_member_fn visit;
    void *user;
};

static void visit_properties(void *user, tn_value schema) {
    struct members *members = user;
    tn_value properties = value_get(schema, "properties");
    for (size_t i = 0; value_is(properties, TN_OBJECT) && i < value_count(properties); i++) {
        tn_value key = value_key_at(properties, i);
        if (value_get_key(members->seen, key)) continue;
        members->seen = value_set_key_take(members->seen, value_ref(key), value_bool(true));
        size_t length, before = members->pointer.length;
        const char *name = value_chars(key, &length);
        struct shape shape;
        shape_init(&shape);
        pointer_append_key(&members->pointer, name, length);
        schema_at(members->value->schema, members->instance, buffer_cstr(&members->pointer), shape_add, &shape);
        members->visit(members->user, name, length, &shape);
        members->pointer.length = before;
        if (members->pointer.data) members->pointer.data[before] = '\0';
        shape_finish(&shape);
    }
}

void phrase_each_member(const struct phrase_value *value, phrase_member_fn visit, void *user) {
    if (!value->schema) return;
    struct members members = {.value = value, .seen = value_object(), .visit = visit, .user = user};
    buffer_init(&members.pointer, SIZE_MAX);
    members.instance = value_for_steps(value, &members.pointer);
    char *pointer = buffer_detach(&members.pointer, NULL);
    buffer_init(&members.pointer, SIZE_MAX);
    buffer_text(&members.pointer, pointer ? pointer : "");
    schema_at(value->schema, members.instance, pointer ? pointer : "", visit_properties, &members);
    mem_free(pointer);
    buffer_finish(&members.pointer);
    value_unref(members.instance);
    value_unref(members.seen);
}

void phrase_shape(const struct phrase_value *value, struct shape *shape) {
    if (!value->schema) return;
    struct buffer pointer;
    buffer_init(&pointer, SIZE_MAX);
    tn_value instance = value_for_steps(value, &pointer);
    schema_at(value->schema, instance, buffer_cstr(&pointer), shape_add, shape);
    value_unref(instance);
    buffer_finish(&pointer);
}
