/*
 * inlay.c - hints for roles, channels, durations and patterns of tools.
 */
#include "adl/assist/inlay.h"
#include "adl/assist/known.h"
#include "adl/assist/shape.h"
#include "adl/assist/visit.h"
#include "adl/value/buffer.h"
#include "adl/value/memory.h"
#include "adl/value/wildcard.h"
#include <stdlib.h>
#include <string.h>

struct hinter {
    const struct assist *assist;
    struct assist_hints *hints;
};

static void add_hint(struct hinter *hinter, enum hint_kind kind, uint32_t at, const char *text) {
    struct assist_hints *hints = hinter->hints;
    if (hints->count == INLAY_HINTS_MAX) return;
    MEM_GROW(hints->items, hints->count, hints->capacity);
    hints->items[hints->count++] = (struct assist_hint){kind, at, mem_text(text)};
}

static void hint_role(struct hinter *hinter, const char *name, size_t length, uint32_t at) {
    struct known_role role;
    struct buffer text;
    if (!known_role(hinter->assist, name, length, &role)) return;
    const char *model = role.model && *role.model ? role.model : NULL;
    if (!model && role.bound && value_is(role.bound->binding, TN_STRING))
        model = value_chars(role.bound->binding, NULL);
    if (!model) return;
    buffer_init(&text, 400);
    buffer_format(&text, "= %s", model);
    add_hint(hinter, HINT_MODEL, at, buffer_cstr(&text));
    buffer_finish(&text);
}

/* The type of the whole value of a channel, if its schema or its kind says it. */
static void hint_channel(struct hinter *hinter, const char *name, size_t length, uint32_t at) {
    const struct document_channel *channel = known_channel(hinter->assist, name, length);
    if (!channel || channel->type_unread) return;
    bool list = channel->type == CHANNEL_APPEND || channel->reducer == REDUCER_UNION;
    struct buffer text;
    struct shape shape;
    buffer_init(&text, 100);
    shape_init(&shape);
    if (channel->schema_value) shape_add(&shape, channel->schema_value);
    bool known = shape.kinds || value_count(shape.values) > 0;
    buffer_text(&text, list ? ": list of " : ": ");
    if (channel->reducer == REDUCER_MESSAGES)
        buffer_text(&text, "messages");
    else if (known)
        shape_write_type(&shape, &text);
    else
        buffer_text(&text, "any");
    if (known || channel->reducer == REDUCER_MESSAGES)
        add_hint(hinter, HINT_CHANNEL_TYPE, at, buffer_cstr(&text));
    else if (list)
        add_hint(hinter, HINT_CHANNEL_TYPE, at, ": list");
    shape_finish(&shape);
    buffer_finish(&text);
}

struct tool_count {
    const char *pattern;
    size_t length;
    uint32_t count;
};

static bool count_tool(void *user, const struct component_info *component) {
    struct tool_count *tools = user;
    tools->count += wildcard_matches_tool_n(tools->pattern, tools->length, component->id);
    return true;
}

static void hint_pattern(struct hinter *hinter, const char *pattern, size_t length, uint32_t at) {
    const struct catalog *catalog = hinter->assist->world->catalog;
    if (!catalog || !memchr(pattern, '*', length)) return;
    struct tool_count tools = {pattern, length, 0};
    struct buffer text;
    catalog->each(catalog->self, "tool", count_tool, &tools);
    buffer_init(&text, 40);
    buffer_format(&text, "%u tool%s", tools.count, tools.count == 1 ? "" : "s");
    add_hint(hinter, HINT_TOOLS, at, buffer_cstr(&text));
    buffer_finish(&text);
}

static void hint_value(void *user, const struct document_key *key, const struct tree_node *node) {
    struct hinter *hinter = user;
    size_t length;
    const char *text = tree_text(hinter->assist->tree, node, &length);
    bool number = node->kind == TN_INT || node->kind == TN_DOUBLE;
    if (key->forms & KEY_DURATION && number) add_hint(hinter, HINT_UNIT, node->span.end, "s");
    if ((key->key == KEY_TOOLS || key->key == KEY_TOOL_NAME) && text && node->kind == TN_STRING)
        hint_pattern(hinter, text, length, node->span.end);
}

static void hint_annotated(void *user, const char *annotation, const struct tree_node *node, struct span span) {
    struct hinter *hinter = user;
    size_t length = 0;
    const char *text = node ? tree_text(hinter->assist->tree, node, &length) : NULL;
    if (!text) return;
    if (strcmp(annotation, "model") == 0) hint_role(hinter, text, length, span.end);
    if (strcmp(annotation, "channel-read") == 0 || strcmp(annotation, "channel-write") == 0)
        hint_channel(hinter, text, length, span.end);
    if (strcmp(annotation, "tool") == 0) hint_pattern(hinter, text, length, span.end);
}

static int compare_hints(const void *a, const void *b) {
    const struct assist_hint *x = a, *y = b;
    return x->at != y->at ? (x->at > y->at) - (x->at < y->at) : (int)x->kind - (int)y->kind;
}

/* A string may have several annotations: one hint of a kind is enough. */
static void remove_twins(struct assist_hints *hints) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < hints->count; i++) {
        bool twin = kept > 0 && compare_hints(&hints->items[kept - 1], &hints->items[i]) == 0;
        if (twin)
            mem_free(hints->items[i].text);
        else
            hints->items[kept++] = hints->items[i];
    }
    hints->count = kept;
}

struct assist_hints *assist_hints(const struct assist *assist, struct span range) {
    static const char *const annotations[] = {"model", "channel-read", "channel-write", "tool", NULL};
    const struct assist_visitor visitor = {
        .range = range, .annotations = annotations, .value = hint_value, .annotated = hint_annotated};
    struct hinter hinter = {assist, mem_zalloc(sizeof *hinter.hints)};
    assist_visit(assist, &visitor, &hinter);
    if (hinter.hints->count > 1)
        qsort(hinter.hints->items, hinter.hints->count, sizeof *hinter.hints->items, compare_hints);
    remove_twins(hinter.hints);
    return hinter.hints;
}

void assist_hints_free(struct assist_hints *hints) {
    if (!hints) return;
    for (uint32_t i = 0; i < hints->count; i++) mem_free(hints->items[i].text);
    mem_free(hints->items);
    mem_free(hints);
}
