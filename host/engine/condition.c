/*
 * condition.c - conditions and map lists, with errors that say where in the document they stand.
 *
 * `state.x` is read from the committed channel in place; an object is built only where an expression uses `state`
 * whole, and it is let go when the evaluation has ended.
 */
#include "host/engine/condition.h"
#include "adl/expr/expr.h"
#include "adl/text/source.h"
#include "host/engine/run_internal.h"
#include "host/zone.h"

struct scope {
    struct run *run;
    tn_value state, context; /* built when used whole; owned */
};

static tn_value scope_variable(void *self, uint32_t variable) {
    struct scope *scope = self;
    switch (variable) {
    case DOCUMENT_VARIABLE_STATE:
        if (!scope->state) scope->state = state_object(&scope->run->state, true);
        return scope->state;
    case DOCUMENT_VARIABLE_INPUT: return scope->run->input;
    case DOCUMENT_VARIABLE_RUN:
        if (!scope->context) scope->context = run_context(scope->run);
        return scope->context;
    default: return NULL;
    }
}

static tn_value scope_field(void *self, uint32_t variable, uint32_t field) {
    const struct scope *scope = self;
    return variable == DOCUMENT_VARIABLE_STATE && field < scope->run->state.count ? scope->run->state.values[field]
                                                                                  : NULL;
}

static void scope_finish(struct scope *scope) {
    value_unref(scope->state);
    value_unref(scope->context);
}

/* Says which edge, and where: the expression's own span is within its text. */
static void locate(struct error *error, const struct run *run, int32_t from, const char *text, struct span span) {
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
    struct scope scope = {run, NULL, NULL};
    const struct expr_env env = {.self = &scope, .variable = scope_variable, .field = scope_field, .zone = zone_find};
    int32_t status = expr_eval_bool(condition->expression, &env, out, error);
    if (status != TN_OK) locate(error, run, from, value_chars(condition->text, NULL), condition->expression_span);
    scope_finish(&scope);
    return status;
}

int32_t condition_items(struct run *run, const struct document_edge *edge, int32_t from, tn_value *out,
                        struct error *error) {
    struct scope scope = {run, NULL, NULL};
    const struct expr_env env = {.self = &scope, .variable = scope_variable, .field = scope_field, .zone = zone_find};
    tn_value items = NULL;
    int32_t status = expr_eval(edge->over, &env, &items, error);
    if (status == TN_OK && !value_is(items, TN_ARRAY)) {
        status = error_set(error, TN_TYPE, "EXPRESSION_ERROR", "found %s, a map edge goes over a list",
                           value_kind_name(value_kind(items)));
        value_unref(items);
    }
    if (status == TN_OK)
        *out = items;
    else
        locate(error, run, from, value_chars(edge->over_text, NULL), edge->span);
    scope_finish(&scope);
    return status;
}
