/*
 * condition.c - evaluates conditions and map lists; errors name their place in the document.
 *
 * `state.x` reads the committed channel directly. The whole state becomes an object only if an expression uses `state`
 * itself, and it is freed after the evaluation.
 */
#include "host/engine/graph/condition.h"
#include "adl/expr/expr.h"
#include "adl/source/source.h"
#include "host/base/zone.h"
#include "host/engine/graph/run_internal.h"

struct edge_scope {
    struct run *run;
    tn_value state, context; /* owned; NULL until an expression uses them as a whole */
};

static tn_value edge_scope_variable(void *self, uint32_t variable) {
    struct edge_scope *scope = self;
    switch (variable) {
    case DOCUMENT_VARIABLE_STATE:
        if (!scope->state) scope->state = channels_object(&scope->run->channels, true);
        return scope->state;
    case DOCUMENT_VARIABLE_INPUT: return scope->run->input;
    case DOCUMENT_VARIABLE_RUN:
        if (!scope->context) scope->context = run_context(scope->run);
        return scope->context;
    default: return NULL;
    }
}

static tn_value edge_scope_field(void *self, uint32_t variable, uint32_t field) {
    const struct edge_scope *scope = self;
    return variable == DOCUMENT_VARIABLE_STATE && field < scope->run->channels.count
               ? scope->run->channels.values[field]
               : NULL;
}

static int64_t edge_scope_now(void *self) {
    return value_to_int(value_get(edge_scope_variable(self, DOCUMENT_VARIABLE_RUN), "now"));
}

static void edge_scope_finish(struct edge_scope *scope) {
    value_unref(scope->state);
    value_unref(scope->context);
}

/* Prefixes the message with the edge and its place. The span of the expression is relative to its own text. */
static void error_prefix_edge(struct error *error, const struct run *run, int32_t from, const char *text,
                              struct span span) {
    if (!error || !error->message) return;
    struct error inner = ERROR_INIT;
    error_move(&inner, error);
    const struct source *source = run->graph->document->source;
    struct source_place place = {0, 0, 0, 0};
    if (source) place = source_locate(source, span.start);
    error_set(error, TN_FAILED, inner.code, "%s:%u:%u: edge from `%s`, `%s`: %s", source ? source_name(source) : "?",
              place.line + 1, place.point + 1, graph_node_name(run->graph, from), text, inner.message);
    error->span = span;
    error_finish(&inner);
}

int32_t condition_holds(struct run *run, const struct document_condition *condition, int32_t from, bool *out,
                        struct error *error) {
    struct edge_scope scope = {run, NULL, NULL};
    const struct expr_env env = {.self = &scope,
                                 .variable = edge_scope_variable,
                                 .field = edge_scope_field,
                                 .zone = zone_find,
                                 .now = edge_scope_now};
    int32_t status = expr_eval_bool(condition->expression, &env, out, error);
    if (status != TN_OK)
        error_prefix_edge(error, run, from, value_chars(condition->text, NULL), condition->expression_span);
    edge_scope_finish(&scope);
    return status;
}

int32_t condition_items(struct run *run, const struct document_edge *edge, int32_t from, tn_value *out,
                        struct error *error) {
    struct edge_scope scope = {run, NULL, NULL};
    const struct expr_env env = {.self = &scope,
                                 .variable = edge_scope_variable,
                                 .field = edge_scope_field,
                                 .zone = zone_find,
                                 .now = edge_scope_now};
    tn_value items = NULL;
    int32_t status = expr_eval(edge->over, &env, &items, error);
    if (status == TN_OK && !value_is(items, TN_ARRAY)) {
        status = error_set(error, TN_TYPE, "EXPRESSION_ERROR", "found %s, a map edge needs a list",
                           value_kind_name(value_kind(items)));
        value_unref(items);
    }
    if (status == TN_OK)
        *out = items;
    else
        error_prefix_edge(error, run, from, value_chars(edge->over_text, NULL), edge->span);
    edge_scope_finish(&scope);
    return status;
}
