/*
 * template.c - renders templates. template_compile.c creates them.
 *
 * A rendering follows the steps of the template. With loops, it puts its own layer between the expressions and their
 * environment, which supplies the variables of loops, and bounds the steps and the cost of all expressions together.
 */
#include "adl/template/template.h"
#include "adl/template/template_internal.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include <assert.h>
#include <stdio.h>
#include <string.h>

#define SHOWN_MAX 160u

struct span template_span(struct span span, uint32_t offset) {
    return (struct span){span.start + offset, span.end + offset};
}

int template_shown_length(const char *text) {
    size_t length = strnlen(text, SHOWN_MAX);
    while (length > 0 && ((unsigned char)text[length] & 0xc0) == 0x80) length--;
    return (int)length;
}

/* ---- One rendering ---- */

struct loop {
    const struct template_step *step;
    tn_value items; /* a list or map; owned */
    size_t at;
};

struct rendering {
    const struct template *template;
    const struct expr_env *outer;
    struct expr_env env; /* for the expressions */
    struct expr_cost cost;
    uint64_t steps, operations;
    tn_value variables[2 * TEMPLATE_BLOCKS_MAX]; /* of loops; borrowed from their items */
    struct loop loops[TEMPLATE_BLOCKS_MAX];
    uint32_t loop_count;
    struct buffer *out;
    struct error *error;
};

static tn_value rendering_variable(void *self, uint32_t variable) {
    const struct rendering *rendering = self;
    const struct expr_env *outer = rendering->outer;
    if (variable >= rendering->template->base) return rendering->variables[variable - rendering->template->base];
    return outer->variable ? outer->variable(outer->self, variable) : NULL;
}

static tn_value rendering_field(void *self, uint32_t variable, uint32_t field) {
    const struct expr_env *outer = ((const struct rendering *)self)->outer;
    return outer->field(outer->self, variable, field);
}

static tn_value rendering_name(void *self, const char *name, size_t length) {
    const struct expr_env *outer = ((const struct rendering *)self)->outer;
    return outer->name(outer->self, name, length);
}

static const char *rendering_name_at(void *self, uint32_t index) {
    const struct expr_env *outer = ((const struct rendering *)self)->outer;
    return outer->name_at(outer->self, index);
}

static bool rendering_zone(void *self, const char *name, size_t length, int64_t utc, int32_t *offset) {
    const struct expr_env *outer = ((const struct rendering *)self)->outer;
    return outer->zone(outer->self, name, length, utc, offset);
}

static int64_t rendering_now(void *self) {
    const struct expr_env *outer = ((const struct rendering *)self)->outer;
    return outer->now(outer->self);
}

static void rendering_init(struct rendering *rendering, const struct template *template, const struct expr_env *env,
                           struct buffer *out, struct error *error) {
    static const struct expr_env nothing = {0};
    const struct expr_env *outer = env ? env : &nothing;
    rendering->template = template;
    rendering->outer = outer;
    rendering->out = out;
    rendering->error = error;
    rendering->steps = rendering->operations = 0;
    rendering->loop_count = 0;
    rendering->env = *outer;
    if (!template->loops) return;
    rendering->env = (struct expr_env){.self = rendering,
                                       .variable = rendering_variable,
                                       .field = outer->field ? rendering_field : NULL,
                                       .name = outer->name ? rendering_name : NULL,
                                       .name_at = outer->name_at ? rendering_name_at : NULL,
                                       .zone = outer->zone ? rendering_zone : NULL,
                                       .now = outer->now ? rendering_now : NULL,
                                       .cost = &rendering->cost};
}

static int32_t rendering_count_step(struct rendering *rendering) {
    if (!rendering->template->loops || ++rendering->steps <= TEMPLATE_STEPS) return TN_OK;
    return error_set(rendering->error, TN_LIMIT, "LIMIT", "the template takes more than %u steps", TEMPLATE_STEPS);
}

static int32_t rendering_count_cost(struct rendering *rendering) {
    if (!rendering->template->loops) return TN_OK;
    if (rendering->outer->cost) *rendering->outer->cost = rendering->cost;
    rendering->operations += rendering->cost.operations;
    if (rendering->operations <= TEMPLATE_OPERATIONS) return TN_OK;
    return error_set(rendering->error, TN_LIMIT, "LIMIT", "the template needs more than %u operations in all",
                     TEMPLATE_OPERATIONS);
}

/* ---- Holes ---- */

static int32_t hole_fail_take(const struct template_hole *hole, int32_t status, const char *code, struct error *found,
                              struct error *error) {
    if (error) {
        const char *text = expr_text(hole->expr);
        error_set(error, status, code, "`{%.*s}`: %s", template_shown_length(text), text, found->message);
        error->span = template_span(found->span, hole->start);
    }
    error_finish(found);
    return status;
}

static int32_t hole_fail(const struct template_hole *hole, const char *code, const char *message, struct error *error) {
    if (!error) return TN_FAILED;
    const char *text = expr_text(hole->expr);
    error_set(error, TN_FAILED, code, "`{%.*s}`: %s", template_shown_length(text), text, message);
    error->span = hole->span;
    return TN_FAILED;
}

/* *out is a new reference. Null fails if it means that no value was given. */
static int32_t hole_evaluate(struct rendering *rendering, const struct template_hole *hole, tn_value *out) {
    bool missing;
    struct error found = ERROR_INIT, *error = rendering->error;
    int32_t status = expr_eval_missing(hole->expr, &rendering->env, out, &missing, error ? &found : NULL);
    if (status != TN_OK) return hole_fail_take(hole, status, missing ? "MISSING_VARIABLE" : found.code, &found, error);
    status = rendering_count_cost(rendering);
    if (status == TN_OK && value_is(*out, TN_NULL) && expr_needs_value(hole->expr))
        status = hole_fail(hole, "MISSING_VARIABLE", "no value was given, and it has no default", error);
    if (status != TN_OK) value_unref(*out);
    return status;
}

static int32_t hole_print(struct rendering *rendering, const struct template_hole *hole) {
    tn_value value = NULL;
    size_t length;
    int32_t status = hole_evaluate(rendering, hole, &value);
    if (status != TN_OK) return status;
    if (value_is(value, TN_STRING)) {
        const char *chars = value_chars(value, &length);
        buffer_append(rendering->out, chars, length);
    } else {
        json_write(rendering->out, value, JSON_COMPACT);
    }
    value_unref(value);
    return TN_OK;
}

static int32_t hole_test(struct rendering *rendering, const struct template_hole *hole, bool *out) {
    struct error found = ERROR_INIT, *error = rendering->error;
    int32_t status = expr_eval_bool(hole->expr, &rendering->env, out, error ? &found : NULL);
    if (status != TN_OK) return hole_fail_take(hole, status, found.code, &found, error);
    return rendering_count_cost(rendering);
}

/* ---- Loops ---- */

/* Sets the variables for the next item. Returns false, and ends the loop, if there is none. */
static bool loop_next(struct rendering *rendering) {
    assert(rendering->loop_count > 0);
    struct loop *loop = &rendering->loops[rendering->loop_count - 1];
    if (loop->at == value_count(loop->items)) {
        value_unref(loop->items);
        rendering->loop_count--;
        return false;
    }
    bool map = value_is(loop->items, TN_OBJECT);
    tn_value key = map ? value_key_at(loop->items, loop->at) : value_int((int64_t)loop->at);
    tn_value item = map ? value_value_at(loop->items, loop->at) : value_at(loop->items, loop->at);
    tn_value *variables = &rendering->variables[loop->step->slot];
    variables[0] = loop->step->slots == 2 || map ? key : item;
    if (loop->step->slots == 2) variables[1] = item;
    loop->at++;
    return true;
}

static int32_t loop_begin(struct rendering *rendering, const struct template_step *step, bool *turn) {
    const struct template_hole *hole = &rendering->template->holes[step->a];
    tn_value items = NULL;
    int32_t status = hole_evaluate(rendering, hole, &items);
    if (status != TN_OK) return status;
    if (!value_is(items, TN_ARRAY) && !value_is(items, TN_OBJECT)) {
        char message[80];
        snprintf(message, sizeof message, "`for` needs a list or a map, found %s", expr_kind_name(value_kind(items)));
        value_unref(items);
        return hole_fail(hole, "EXPRESSION_ERROR", message, rendering->error);
    }
    rendering->loops[rendering->loop_count++] = (struct loop){step, items, 0};
    *turn = loop_next(rendering);
    return TN_OK;
}

/* ---- Rendering ---- */

static int32_t fail_output_limit(const struct rendering *rendering, struct span span) {
    struct error *error = rendering->error;
    int32_t status = error_set(error, TN_LIMIT, "LIMIT", "the rendered text is longer than the limit of %zu bytes",
                               rendering->out->limit);
    if (error) error->span = span;
    return status;
}

/* Does one step; *at is the next one. */
static int32_t step_do(struct rendering *rendering, const struct template_step *step, uint32_t *at) {
    const struct template *template = rendering->template;
    bool uses_hole = step->kind == STEP_HOLE || step->kind == STEP_IF || step->kind == STEP_FOR;
    const struct template_hole *hole = uses_hole ? &template->holes[step->a] : NULL;
    int32_t status = TN_OK;
    bool go = true;
    switch ((enum step_kind)step->kind) {
    case STEP_TEXT:
        buffer_append(rendering->out, template->literal.data + step->a, step->b - step->a);
        if (rendering->out->overflow) status = fail_output_limit(rendering, (struct span){0, 0});
        break;
    case STEP_HOLE:
        status = hole_print(rendering, hole);
        if (status == TN_OK && rendering->out->overflow) status = fail_output_limit(rendering, hole->span);
        break;
    case STEP_IF:
        status = hole_test(rendering, hole, &go);
        if (!go) *at = step->b;
        break;
    case STEP_JUMP: *at = step->b; break;
    case STEP_FOR:
        status = loop_begin(rendering, step, &go);
        if (!go) *at = step->b;
        break;
    case STEP_NEXT:
        if (loop_next(rendering)) *at = step->b + 1;
        break;
    }
    return status;
}

int32_t template_render(const struct template *template, const struct expr_env *env, struct buffer *out,
                        struct error *error) {
    struct rendering rendering;
    int32_t status = TN_OK;
    rendering_init(&rendering, template, env, out, error);
    for (uint32_t at = 0; status == TN_OK && at < template->step_count;) {
        const struct template_step *step = &template->steps[at++];
        status = rendering_count_step(&rendering);
        if (status == TN_OK) status = step_do(&rendering, step, &at);
    }
    while (rendering.loop_count > 0) value_unref(rendering.loops[--rendering.loop_count].items);
    return status;
}

/* ---- What is known of it ---- */

/* Only the reference count of a template changes; the cast allows const for all other users. */
static struct template *template_mutable(const struct template *template) {
    return (struct template *)(uintptr_t) template;
}

struct template *template_ref(const struct template *template) {
    if (template) atomic_fetch_add_explicit(&template_mutable(template)->references, 1, memory_order_relaxed);
    return template_mutable(template);
}

void template_unref(const struct template *shared) {
    struct template *template = template_mutable(shared);
    if (!template || atomic_fetch_sub_explicit(&template->references, 1, memory_order_acq_rel) != 1) return;
    for (uint32_t i = 0; i < template->hole_count; i++) expr_unref(template->holes[i].expr);
    buffer_finish(&template->literal);
    mem_free(template->holes);
    mem_free(template->steps);
    mem_free(template);
}

bool template_constant(const struct template *template) { return template->hole_count == 0; }

size_t template_hole_count(const struct template *template) { return template->hole_count; }

const struct template_hole *template_hole_at(const struct template *template, size_t index) {
    return &template->holes[index];
}
