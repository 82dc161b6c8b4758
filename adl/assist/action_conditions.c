/*
 * action_conditions.c - the reverse of action_router.c: a node `router` becomes conditions of the edges that lead to
 * it.
 *
 * A description that action_router.c wrote is a condition, or several, and becomes them again. Another description is
 * not an expression: it stays as a comment behind `false`, which a person replaces.
 */
#include "adl/assist/action_internal.h"
#include "adl/document/document.h"
#include "adl/expr/expr.h"
#include "adl/tree/tree.h"
#include <string.h>

/* The conversion of one router. */
struct conversion {
    const struct assist_names *names;
    const struct document *document;
    const struct document_node *router;
    int32_t index;          /* of the router */
    tn_value conditions;    /* an array of the written conditions, which each edge to the router gets */
    const char *otherwise;  /* the target of `default`; NULL if the config has none */
    const char *unreadable; /* the first target whose description is not an expression; NULL if all are */
    struct assist_edits *edits;
};

/* ---- Descriptions ---- */

static int32_t condition_field(void *self, const char *name, size_t length) {
    return document_find_field(self, name, length);
}

/* True if the text is an expression that can be true or false, with names that the document has. */
static bool is_condition(const struct conversion *conversion, const char *text, size_t length) {
    const struct expr_fields fields = {.self = (void *)(uintptr_t)conversion->document, .index = condition_field};
    const struct expr_variable variables[] = {{.name = "state", .fields = &fields}, {.name = "input"}, {.name = "run"}};
    const struct expr_scope scope = {.variables = variables, .variable_count = 3};
    struct expr *compiled = NULL;
    struct error error = ERROR_INIT;
    if (expr_compile(text, length, &scope, NULL, &compiled, &error) != TN_OK) {
        error_finish(&error);
        return false;
    }
    bool condition = (expr_kinds(compiled) & EXPR_KIND(TN_BOOL)) != 0;
    expr_unref(compiled);
    return condition;
}

/* The length of the text up to the next "; " that is not in quotes. */
static size_t condition_length(const char *text) {
    char quote = '\0';
    size_t at = 0;
    for (; text[at]; at++) {
        if (quote && text[at] == '\\' && text[at + 1])
            at++;
        else if (quote)
            quote = text[at] == quote ? '\0' : quote;
        else if (text[at] == '"' || text[at] == '\'')
            quote = text[at];
        else if (text[at] == ';' && text[at + 1] == ' ')
            break;
    }
    return at;
}

/* True if the description is `if CONDITION; CONDITION`; *first is then the first condition. */
static bool has_conditions(const struct conversion *conversion, const char *description, const char **first) {
    if (strncmp(description, "if ", 3) != 0) return false;
    *first = description + 3;
    for (const char *at = *first;; at += 2) {
        size_t length = condition_length(at);
        if (!is_condition(conversion, at, length)) return false;
        at += length;
        if (!*at) return true;
    }
}

/* ---- Conditions ---- */

static void add_condition(struct conversion *conversion, const char *text, size_t length, const char *target) {
    const struct source *source = conversion->names->sources[0];
    struct buffer expression, to, out;
    buffer_init(&expression, SIZE_MAX);
    buffer_init(&to, SIZE_MAX);
    buffer_init(&out, SIZE_MAX);
    assist_scalar(&expression, text, length, tree_name_is_json(source_name(source)) ? '"' : 0);
    action_scalar(&to, source, target);
    const struct action_field fields[] = {{"expression", buffer_cstr(&expression)}, {"to", buffer_cstr(&to)}};
    action_write(&out, source, false, 0, fields, 2);
    conversion->conditions = value_push_take(conversion->conditions, value_string(out.data, out.length));
    buffer_finish(&expression);
    buffer_finish(&to);
    buffer_finish(&out);
}

/* `false // DESCRIPTION`, on one line. */
static void add_unreadable(struct conversion *conversion, const char *description, const char *target) {
    struct buffer text;
    buffer_init(&text, SIZE_MAX);
    buffer_text(&text, "false // ");
    for (const char *at = description; *at; at++) buffer_char(&text, (unsigned char)*at < ' ' ? ' ' : *at);
    add_condition(conversion, text.data, text.length, target);
    buffer_finish(&text);
}

static void add_target(struct conversion *conversion, const char *target, const char *description) {
    const char *at;
    bool otherwise = conversion->otherwise && strcmp(conversion->otherwise, target) == 0;
    if (!has_conditions(conversion, description, &at)) {
        if (otherwise) return; /* the condition `default` leads there */
        if (!conversion->unreadable) conversion->unreadable = target;
        add_unreadable(conversion, description, target);
        return;
    }
    for (;; at += 2) {
        size_t length = condition_length(at);
        add_condition(conversion, at, length, target);
        at += length;
        if (!*at) return;
    }
}

static void add_conditions(struct conversion *conversion, tn_value targets) {
    for (size_t i = 0; i < value_count(targets); i++) {
        tn_value description = value_value_at(targets, i);
        if (value_is(description, TN_STRING))
            add_target(conversion, value_chars(value_key_at(targets, i), NULL), value_chars(description, NULL));
    }
    if (conversion->otherwise) add_condition(conversion, "default", strlen("default"), conversion->otherwise);
}

/* Writes the conditions as items at `column`, or in brackets. */
static void write_conditions(const struct conversion *conversion, struct buffer *out, bool block, uint32_t column) {
    const char *end = assist_line_end(conversion->names->sources[0]);
    if (!block) buffer_char(out, '[');
    for (size_t i = 0; i < value_count(conversion->conditions); i++) {
        if (block)
            buffer_format(out, "%s%*s- ", end, (int)column, "");
        else if (i)
            buffer_text(out, ", ");
        buffer_text(out, value_chars(value_at(conversion->conditions, i), NULL));
    }
    if (!block) buffer_char(out, ']');
}

/* ---- The edges and the node ---- */

/* Writes `from: NODE, type: conditional, conditions: …` over an edge that leads to the router. */
static void replace_entry(struct conversion *conversion, uint32_t index) {
    struct source *source = conversion->names->sources[0];
    const struct document_edge *entry = &conversion->document->edges[index];
    const struct tree_node *list = tree_get(tree_root(conversion->names->assist->tree), "edges");
    const struct tree_node *edge = list->items[index].node;
    bool block = edge->style != TREE_FLOW;
    uint32_t column = assist_column(source, edge->span.start);
    struct buffer from, type, conditions, out;
    buffer_init(&from, SIZE_MAX);
    buffer_init(&type, SIZE_MAX);
    buffer_init(&conditions, SIZE_MAX);
    buffer_init(&out, SIZE_MAX);
    action_scalar(&from, source,
                  entry->from[0] == DOCUMENT_START ? "START"
                                                   : value_chars(conversion->document->nodes[entry->from[0]].id, NULL));
    action_scalar(&type, source, "conditional");
    write_conditions(conversion, &conditions, block, column + 2);
    const struct action_field fields[] = {
        {"from", buffer_cstr(&from)}, {"type", buffer_cstr(&type)}, {"conditions", buffer_cstr(&conditions)}};
    action_write(&out, source, block, column, fields, 3);
    assist_edit_add(conversion->edits, source, edge->span, buffer_cstr(&out), out.length);
    buffer_finish(&from);
    buffer_finish(&type);
    buffer_finish(&conditions);
    buffer_finish(&out);
}

static bool leads_to_router(const struct conversion *conversion, const struct document_edge *edge) {
    bool leads = edge->empty == conversion->index;
    for (uint32_t i = 0; i < edge->to_count; i++) leads |= edge->to[i] == conversion->index;
    for (uint32_t i = 0; i < edge->condition_count; i++) leads |= edge->conditions[i].to == conversion->index;
    return leads;
}

static void replace_entries_of_router(struct conversion *conversion) {
    const struct document *document = conversion->document;
    uint32_t entries = 0;
    for (uint32_t i = 0; i < document->edge_count; i++) {
        const struct document_edge *edge = &document->edges[i];
        if (!leads_to_router(conversion, edge)) continue;
        bool simple = edge->kind == EDGE_STATIC && edge->to_count == 1 && edge->from_count == 1 &&
                      edge->from[0] != DOCUMENT_NOWHERE;
        if (simple)
            replace_entry(conversion, i);
        else
            assist_edits_refuse(conversion->edits,
                                "line %u leads to `%s` by conditions, by a map, from several nodes, or with others",
                                source_line_at(conversion->names->sources[0], edge->span.start) + 1,
                                value_chars(conversion->router->id, NULL));
        entries++;
    }
    if (!entries)
        assist_edits_refuse(conversion->edits, "no edge leads to `%s`", value_chars(conversion->router->id, NULL));
}

/* What a router does in addition to choosing, and conditions cannot do. */
static const char *other_effect(const struct document_node *router) {
    if (value_get(router->config, "output_key")) return "writes the name of the target to a channel";
    if (router->interrupt_before || router->interrupt_after) return "stops the run";
    if (router->on_error != DOCUMENT_NOWHERE) return "has `on_error`";
    if (router->defer) return "waits until no other node is left to run";
    return NULL;
}

static void convert_router(struct conversion *conversion) {
    struct source *source = conversion->names->sources[0];
    const struct tree_node *nodes = tree_get(tree_root(conversion->names->assist->tree), "nodes");
    const char *id = value_chars(conversion->router->id, NULL), *effect = other_effect(conversion->router);
    if (!tree_is_whole(conversion->names->assist->tree)) {
        assist_edits_refuse(conversion->edits,
                            "the document has a syntax error: correct it first, so that no edge to "
                            "`%s` is missed",
                            id);
        return;
    }
    if (effect) {
        assist_edits_refuse(conversion->edits, "`%s` %s, which conditions cannot do", id, effect);
        return;
    }
    replace_entries_of_router(conversion);
    if (!assist_edit_remove_item(conversion->edits, source, nodes, (uint32_t)conversion->index))
        assist_edits_refuse(conversion->edits, "`%s` is an alias, or before one", id);
}

/* ---- The call ---- */

static int32_t router_at(const struct assist_names *names, uint32_t offset) {
    const struct document *document = names->assist->document;
    for (uint32_t i = 0; i < document->node_count; i++) {
        const struct document_node *node = &document->nodes[i];
        if (offset < node->span.start || offset > node->span.end) continue;
        bool router = node->id && node->component && strcmp(node->component->id, "router") == 0;
        tn_value targets = router ? value_get(node->config, "targets") : NULL;
        if (targets && value_is(targets, TN_OBJECT) && value_count(targets)) return (int32_t)i;
    }
    return -1;
}

bool assist_has_router(const struct assist_names *names, uint32_t offset) { return router_at(names, offset) >= 0; }

/* *note is the target whose description is not an expression, or NULL. */
static struct assist_edits *draft_conditions(const struct assist_names *names, uint32_t offset, const char **note) {
    int32_t index = router_at(names, offset);
    if (index < 0) return NULL;
    const struct document *document = names->assist->document;
    const struct document_node *router = &document->nodes[index];
    tn_value otherwise = value_get(router->config, "default");
    struct conversion conversion = {.names = names,
                                    .document = document,
                                    .router = router,
                                    .index = index,
                                    .conditions = value_array(),
                                    .otherwise = value_is(otherwise, TN_STRING) ? value_chars(otherwise, NULL) : NULL,
                                    .edits = assist_edits_new()};
    add_conditions(&conversion, value_get(router->config, "targets"));
    convert_router(&conversion);
    value_unref(conversion.conditions);
    *note = conversion.unreadable;
    return conversion.edits;
}

struct assist_edits *action_draft_conditions(const struct assist_names *names, uint32_t offset) {
    const char *note = NULL;
    return draft_conditions(names, offset, &note);
}

struct assist_edits *assist_to_conditions(const struct assist_names *names, uint32_t offset) {
    const char *unreadable = NULL;
    struct assist_edits *edits = draft_conditions(names, offset, &unreadable);
    if (!edits) return NULL;
    action_verify(names, edits);
    if (unreadable && !edits->refusal)
        assist_edits_set_note(edits,
                              "the description of `%s` is not an expression: write a condition in the place of `false`",
                              unreadable);
    return edits;
}
