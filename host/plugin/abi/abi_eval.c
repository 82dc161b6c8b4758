/*
 * abi_eval.c - tenon.eval: evaluates expressions, templates and schemas that a component has bound, for one of its
 * tasks.
 *
 * Names were resolved in create: a channel is a field by index and is read in place. The variables `state` (as a whole)
 * and `run` are built only when an expression reads them, and released afterwards.
 */
#include "adl/expr/expr.h"
#include "adl/schema/schema.h"
#include "adl/template/template.h"
#include "adl/value/memory.h"
#include "host/base/zone.h"
#include "host/plugin/abi/abi.h"
#include "host/plugin/abi/abi_builder.h"
#include "host/plugin/abi/abi_name.h"
#include "host/plugin/abi/abi_view.h"
#include "host/plugin/call/instance_internal.h"
#include "host/plugin/call/slot.h"
#include <string.h>

struct evaluation {
    struct view view;
    tn_value item;       /* borrowed, or NULL */
    tn_value variables;  /* borrowed, or NULL */
    tn_value state, run; /* built on first use; owned */
};

static bool evaluation_init(struct evaluation *evaluation, tn_task task) {
    *evaluation = (struct evaluation){0};
    return view_open(&evaluation->view, task);
}

static void evaluation_finish(struct evaluation *evaluation) {
    value_unref(evaluation->state);
    value_unref(evaluation->run);
}

static tn_value evaluation_state(struct evaluation *evaluation) {
    const struct bindings *bindings = &evaluation->view.instance->bindings;
    if (evaluation->state) return evaluation->state;
    tn_value state = value_object_reserve(bindings->read_count);
    for (uint32_t i = 0; i < bindings->read_count; i++) {
        tn_value value = view_read(&evaluation->view, i);
        if (value && *bindings->read_names[i]) state = value_set_take(state, bindings->read_names[i], value_ref(value));
    }
    return evaluation->state = state;
}

static tn_value evaluation_variable(void *self, uint32_t index) {
    struct evaluation *evaluation = self;
    switch (index) {
    case BINDING_STATE: return evaluation_state(evaluation);
    case BINDING_INPUT: return view_input(&evaluation->view);
    case BINDING_ITEM:
        /* The component's item, or else the item that a map edge passed to the task. */
        if (evaluation->item) return evaluation->item;
        return value_is(view_input(&evaluation->view), TN_NULL) ? NULL : view_input(&evaluation->view);
    case BINDING_CONFIG: return evaluation->view.instance->config;
    case BINDING_RUN:
        if (!evaluation->run) evaluation->run = view_run(&evaluation->view);
        return evaluation->run;
    default: return NULL;
    }
}

/* The time of the step, which is a part of the run's context. */
static int64_t evaluation_now(void *self) {
    tn_value now = value_get(evaluation_variable(self, BINDING_RUN), "now");
    return value_is(now, TN_INT) ? value_to_int(now) : 0;
}

static tn_value evaluation_name(void *self, const char *text, size_t length) {
    const struct evaluation *evaluation = self;
    return value_is(evaluation->variables, TN_OBJECT) ? value_get_n(evaluation->variables, text, length) : NULL;
}

static tn_value evaluation_field(void *self, uint32_t index, uint32_t field_index) {
    struct evaluation *evaluation = self;
    if (index != BINDING_STATE) return NULL;
    if (value_is(evaluation->variables, TN_OBJECT)) {
        /* A variable passed to render hides a channel of the same name. */
        const struct bindings *bindings = &evaluation->view.instance->bindings;
        for (uint32_t i = 0; i < bindings->read_count; i++) {
            if (bindings->reads[i] != field_index) continue;
            tn_value value = value_get(evaluation->variables, bindings->read_names[i]);
            if (value) return value;
        }
    }
    return view_field(&evaluation->view, field_index);
}

static int32_t eval_evaluate(tn_task task, uint32_t expression, tn_value item, tn_value *out, tn_value *why) {
    struct evaluation evaluation;
    struct error error = ERROR_INIT;
    if (!out) return TN_INVALID;
    if (!evaluation_init(&evaluation, task)) return TN_STALE;
    const struct bindings *bindings = &evaluation.view.instance->bindings;
    if (expression >= bindings->expr_count) return TN_NOT_FOUND;
    evaluation.item = item;
    const struct expr_env env = {.self = &evaluation,
                                 .variable = evaluation_variable,
                                 .field = evaluation_field,
                                 .zone = zone_find,
                                 .now = evaluation_now};
    int32_t status = expr_eval(bindings->exprs[expression].expr, &env, out, &error);
    evaluation_finish(&evaluation);
    return status == TN_OK ? TN_OK : abi_give_error(&error, why);
}

static int32_t eval_render(tn_task task, uint32_t text, tn_value variables, tn_value *out, tn_value *why) {
    struct evaluation evaluation;
    struct error error = ERROR_INIT;
    struct buffer buffer;
    if (!out || (variables && !value_is(variables, TN_OBJECT))) return TN_INVALID;
    if (!evaluation_init(&evaluation, task)) return TN_STALE;
    const struct bindings *bindings = &evaluation.view.instance->bindings;
    if (text >= bindings->template_count) return TN_NOT_FOUND;
    evaluation.variables = variables;
    evaluation.item =
        value_is(variables, TN_OBJECT) ? value_get(variables, "item") : NULL; /* `item` is also a variable */
    const struct expr_env env = {.self = &evaluation,
                                 .variable = evaluation_variable,
                                 .field = evaluation_field,
                                 .name = evaluation_name,
                                 .zone = zone_find,
                                 .now = evaluation_now};
    buffer_init(&buffer, TEMPLATE_OUTPUT);
    int32_t status = template_render(bindings->templates[text].template, &env, &buffer, &error);
    evaluation_finish(&evaluation);
    if (status == TN_OK) *out = value_text_n(buffer_cstr(&buffer), buffer.length);
    buffer_finish(&buffer);
    return status == TN_OK ? TN_OK : abi_give_error(&error, why);
}

static tn_value eval_violations(const struct schema_errors *errors) {
    tn_value list = value_array_reserve(errors->count);
    for (size_t i = 0; i < errors->count; i++) {
        const struct schema_error *item = &errors->items[i];
        tn_value one = value_set_take(value_object_reserve(3), "pointer", value_text(item->pointer));
        one = value_set_take(one, "keyword", value_text(item->keyword));
        list = value_push_take(list, value_set_take(one, "message", value_text(item->message)));
    }
    return value_set_take(value_object_reserve(1), "violations", list);
}

static int32_t eval_validate(tn_task task, uint32_t schema, tn_value instance, tn_value *why) {
    struct evaluation evaluation;
    if (!instance) return TN_INVALID;
    if (!evaluation_init(&evaluation, task)) return TN_STALE;
    const struct bindings *bindings = &evaluation.view.instance->bindings;
    if (schema >= bindings->schema_count) return TN_NOT_FOUND;
    struct schema_errors errors = SCHEMA_ERRORS_INIT;
    if (schema_validate(bindings->schemas[schema].schema, instance, &errors) == TN_OK) {
        schema_errors_finish(&errors);
        return TN_OK;
    }
    struct error error = ERROR_INIT;
    const char *pointer = errors.count ? errors.items[0].pointer : "";
    error_set(&error, TN_FAILED, "INVALID_OUTPUT", "%s%s%s%s", *pointer ? pointer : "the value", ": ",
              errors.count ? errors.items[0].message : "it does not match its schema",
              errors.count > 1 ? " (and more, see detail)" : "");
    error_set_detail_take(&error, eval_violations(&errors));
    schema_errors_finish(&errors);
    return abi_give_error(&error, why);
}

/* ---- Binding ---- */

static int32_t eval_bind_expression(tn_binder *binder, const char *text, uint64_t length, uint32_t *index) {
    return abi_bind_name(binder_expression, binder, text, length, index);
}

static int32_t eval_bind_template(tn_binder *binder, const char *text, uint64_t length, uint32_t *index) {
    return abi_bind_name(binder_template, binder, text, length, index);
}

const tn_eval_1 interface_eval = {.size = sizeof(tn_eval_1),
                                  .bind_expression = eval_bind_expression,
                                  .bind_template = eval_bind_template,
                                  .bind_schema = binder_schema,
                                  .evaluate = eval_evaluate,
                                  .render = eval_render,
                                  .validate = eval_validate};
