/*
 * action_router.c - a conditional edge becomes a node `router`: a model chooses among the targets, whose descriptions
 * are the conditions.
 */
#include "adl/assist/action_internal.h"
#include "adl/document/document.h"
#include "adl/expr/expr.h"
#include "adl/tree/tree.h"
#include "adl/value/memory.h"
#include <string.h>

#define ROUTER_TARGETS_MAX 100u /* targets that a router can have */

/* The parts of a router, in the order of the conditions. */
struct router_parts {
    tn_value targets;      /* an object: id of the target to its description; owned */
    const char *otherwise; /* the target of the condition `default`; NULL when no condition is `default` */
};

static const char *router_end_name(const struct document *document, int32_t end) {
    return end == DOCUMENT_END ? "END" : value_chars(document->nodes[end].id, NULL);
}

/* Returns the index of the conditional edge at an offset, or -1. */
static int32_t conditional_edge_at(const struct document *document, uint32_t offset) {
    for (uint32_t i = 0; i < document->edge_count; i++) {
        const struct document_edge *edge = &document->edges[i];
        bool at = edge->span.start <= offset && offset <= edge->span.end;
        if (at && edge->kind == EDGE_CONDITIONAL && edge->condition_count) return (int32_t)i;
    }
    return -1;
}

static void add_target(struct router_parts *parts, const char *target, const char *condition) {
    tn_value before = value_get(parts->targets, target);
    tn_value text =
        before ? value_format("%s; %s", value_chars(before, NULL), condition) : value_format("if %s", condition);
    parts->targets = value_set_take(parts->targets, target, text);
}

static bool read_parts(struct router_parts *parts, const struct document *document, const struct document_edge *edge) {
    *parts = (struct router_parts){.targets = value_object()};
    for (uint32_t i = 0; i < edge->condition_count; i++) {
        const struct document_condition *condition = &edge->conditions[i];
        if (condition->to == DOCUMENT_NOWHERE || condition->to == DOCUMENT_START) return false;
        const char *target = router_end_name(document, condition->to);
        if (value_text_is(condition->text, "default")) {
            parts->otherwise = target;
            break; /* the conditions after it are never tried */
        }
        add_target(parts, target, value_chars(condition->text, NULL));
    }
    if (parts->otherwise && !value_get(parts->targets, parts->otherwise))
        parts->targets = value_set_take(parts->targets, parts->otherwise, value_text("otherwise"));
    return true;
}

static void write_targets_of(struct buffer *out, const struct source *source, tn_value targets) {
    buffer_char(out, '{');
    for (size_t i = 0; i < value_count(targets); i++) {
        if (i) buffer_text(out, ", ");
        action_scalar(out, source, value_chars(value_key_at(targets, i), NULL));
        buffer_text(out, ": ");
        size_t length;
        const char *text = value_chars(value_value_at(targets, i), &length);
        assist_scalar(out, text, length, '"');
    }
    buffer_char(out, '}');
}

#define PROMPT_CHANNELS_MAX 32u /* channels in the prompt of a router */

/* Writes "score: {score}" for each channel that the conditions read, so that the model sees what they see. */
static void write_prompt(struct buffer *out, const struct document *document, const struct document_edge *edge) {
    uint32_t seen[PROMPT_CHANNELS_MAX], count = 0;
    for (uint32_t i = 0; i < edge->condition_count; i++) {
        const struct expr *expression = edge->conditions[i].expression;
        for (size_t k = 0; expression && k < expr_use_count(expression); k++) {
            const struct expr_use *use = expr_use_at(expression, k);
            bool known = use->variable != DOCUMENT_VARIABLE_STATE || use->field >= document->channel_count;
            for (uint32_t s = 0; s < count && !known; s++) known = seen[s] == use->field;
            if (known || count == PROMPT_CHANNELS_MAX) continue;
            seen[count++] = use->field;
            size_t length;
            const char *name = value_chars(document->channels[use->field].name, &length);
            const char *quote = assist_is_identifier(name, length) ? "" : "`";
            buffer_format(out, "%s%s: {state.%s%s%s}", count > 1 ? "\n" : "", name, quote, name, quote);
        }
    }
}

static bool has_default_model(const struct assist_names *names) {
    const struct catalog *catalog = names->assist->world->catalog;
    return document_find_model(names->assist->document, "default") ||
           (catalog->role_bound && catalog->role_bound(catalog->role_self, "default", strlen("default")));
}

/* The config in flow style. */
static void write_router_config(struct buffer *out, const struct assist_names *names, const struct document_edge *edge,
                                const struct router_parts *parts) {
    const struct source *source = names->sources[0];
    const struct document *document = names->assist->document;
    struct buffer targets, otherwise, model, prompt, prompt_text;
    struct action_field fields[ACTION_FIELDS_MAX];
    size_t count = 0;
    bool bound = has_default_model(names);
    buffer_init(&targets, SIZE_MAX);
    buffer_init(&otherwise, SIZE_MAX);
    buffer_init(&model, SIZE_MAX);
    buffer_init(&prompt, SIZE_MAX);
    buffer_init(&prompt_text, SIZE_MAX);
    if (!bound && document->model_count) {
        action_scalar(&model, source, value_chars(document->models[0].role, NULL));
        fields[count++] = (struct action_field){"model", buffer_cstr(&model)};
    }
    write_prompt(&prompt, document, edge);
    assist_scalar(&prompt_text, buffer_cstr(&prompt), prompt.length, prompt.length ? '"' : 0);
    if (prompt.length) fields[count++] = (struct action_field){"prompt", buffer_cstr(&prompt_text)};
    write_targets_of(&targets, source, parts->targets);
    fields[count++] = (struct action_field){"targets", buffer_cstr(&targets)};
    if (parts->otherwise) {
        action_scalar(&otherwise, source, parts->otherwise);
        fields[count++] = (struct action_field){"default", buffer_cstr(&otherwise)};
    }
    action_write(out, source, false, 0, fields, count);
    buffer_finish(&targets);
    buffer_finish(&otherwise);
    buffer_finish(&model);
    buffer_finish(&prompt);
    buffer_finish(&prompt_text);
}

static bool add_router(struct assist_edits *edits, const struct assist_names *names, const struct document_edge *edge,
                       const struct router_parts *parts, const char *id) {
    struct buffer id_text, type, config;
    buffer_init(&id_text, SIZE_MAX);
    buffer_init(&type, SIZE_MAX);
    buffer_init(&config, SIZE_MAX);
    action_scalar(&id_text, names->sources[0], id);
    action_scalar(&type, names->sources[0], "router");
    write_router_config(&config, names, edge, parts);
    const struct action_field fields[] = {
        {"id", buffer_cstr(&id_text)}, {"type", buffer_cstr(&type)}, {"config", buffer_cstr(&config)}};
    bool added = action_append(edits, names->assist, "nodes", fields, 3);
    buffer_finish(&id_text);
    buffer_finish(&type);
    buffer_finish(&config);
    return added;
}

/* Writes `from: NODE, to: ROUTER` over the edge. */
static void replace_edge(struct assist_edits *edits, const struct assist_names *names, uint32_t index, const char *from,
                         const char *id) {
    struct source *source = names->sources[0];
    const struct tree_node *list = tree_get(tree_root(names->assist->tree), "edges");
    const struct tree_node *edge = list->items[index].node;
    struct buffer from_text, to_text, out;
    buffer_init(&from_text, SIZE_MAX);
    buffer_init(&to_text, SIZE_MAX);
    buffer_init(&out, SIZE_MAX);
    action_scalar(&from_text, source, from);
    action_scalar(&to_text, source, id);
    const struct action_field fields[] = {{"from", buffer_cstr(&from_text)}, {"to", buffer_cstr(&to_text)}};
    action_write(&out, source, edge->style != TREE_FLOW, assist_column(source, edge->span.start), fields, 2);
    assist_edit_add(edits, source, edge->span, buffer_cstr(&out), out.length);
    buffer_finish(&from_text);
    buffer_finish(&to_text);
    buffer_finish(&out);
}

/* START has no node after which the router could run: it takes the place of the first node. */
static void write_router(struct assist_edits *edits, const struct assist_names *names, uint32_t index,
                         const struct router_parts *parts) {
    const struct document_edge *edge = &names->assist->document->edges[index];
    const struct document *document = names->assist->document;
    const char *from = edge->from[0] == DOCUMENT_START ? "START" : value_chars(document->nodes[edge->from[0]].id, NULL);
    tn_value base = value_format("%s_router", edge->from[0] == DOCUMENT_START ? "first" : from);
    char *id = action_unique_id(names->assist, value_chars(base, NULL));
    size_t targets = value_count(parts->targets);
    if (targets < 2 || targets > ROUTER_TARGETS_MAX)
        assist_edits_refuse(edits, "a router has 2 to %u targets; the conditions lead to %zu", ROUTER_TARGETS_MAX,
                            targets);
    else if (!document->model_count && !has_default_model(names))
        assist_edits_refuse(edits, "a router asks a model: bind a role in `models` first");
    else if (!add_router(edits, names, edge, parts, id))
        assist_edits_refuse(edits, "`nodes` cannot be extended");
    else
        replace_edge(edits, names, index, from, id);
    mem_free(id);
    value_unref(base);
}

bool assist_has_conditions(const struct assist_names *names, uint32_t offset) {
    const struct document *document = names->assist->document;
    const struct catalog *catalog = names->assist->world->catalog;
    int32_t index = conditional_edge_at(document, offset);
    if (index < 0 || !catalog || !catalog->find(catalog->self, "node", "router", strlen("router"))) return false;
    return document->edges[index].from_count == 1 && document->edges[index].from[0] != DOCUMENT_NOWHERE;
}

struct assist_edits *action_draft_router(const struct assist_names *names, uint32_t offset) {
    const struct document *document = names->assist->document;
    if (!assist_has_conditions(names, offset)) return NULL;
    int32_t index = conditional_edge_at(document, offset);
    const struct document_edge *edge = &document->edges[index];
    struct assist_edits *edits = assist_edits_new();
    struct router_parts parts;
    if (read_parts(&parts, document, edge))
        write_router(edits, names, (uint32_t)index, &parts);
    else
        assist_edits_refuse(edits, "a condition leads to a node that does not exist");
    value_unref(parts.targets);
    return edits;
}

struct assist_edits *assist_to_router(const struct assist_names *names, uint32_t offset) {
    struct assist_edits *edits = action_draft_router(names, offset);
    return edits ? action_verify(names, edits) : NULL;
}
