/*
 * run_usage.c - what models used for a run, and its `budget`.
 *
 * The usage of each model call, and what a tool reports as `spent`, is added to its activation, its run, and the
 * activations and runs around that. A step that is resumed makes its calls again and the journal answers them, so each
 * object has two sums: the total, and a settled part that is never counted again. For a run the settled part is that of
 * the committed steps, for an activation that of earlier rounds. The settled part is saved; the rest is added again
 * when the calls are recalled. So a saved call has the usage of its nested run and of all calls below it, which are not
 * made again.
 *
 * The sums belong to the whole thread, the budget to one run of it. So usage_before keeps what came before the input.
 */
#include "adl/value/buffer.h"
#include "adl/value/memory.h"
#include "host/base/config/config.h"
#include "host/base/log.h"
#include "host/engine/engine.h"
#include "host/engine/graph/run_internal.h"
#include "host/engine/model/usage.h"
#include <inttypes.h>

static void usage_sum_add(struct usage **sum, const struct usage *more) {
    if (!*sum) *sum = mem_zalloc(sizeof **sum);
    usage_add(*sum, more);
}

static void usage_sum_copy(struct usage **to, const struct usage *from) {
    if (!from) return;
    if (!*to) *to = mem_zalloc(sizeof **to);
    **to = *from;
}

/* Adds to the run and to the activations and runs around it. */
static void add_usage_outwards(struct run *run, const struct usage *more) {
    for (; run; run = run->outer) {
        usage_sum_add(&run->usage, more);
        if (run->outer) usage_sum_add(&run->outer->activations[run->outer_activation].usage, more);
    }
}

static void subtract_usage_outwards(struct run *run, const struct usage *less) {
    for (; run; run = run->outer) {
        if (run->usage) usage_take_back(run->usage, less);
        if (run->outer && run->outer->activations[run->outer_activation].usage)
            usage_take_back(run->outer->activations[run->outer_activation].usage, less);
    }
}

/* What this run of the thread used. */
static struct usage usage_of_this_run(const struct run *run) {
    struct usage used = {0};
    if (run->usage) used = *run->usage;
    if (run->usage_before) usage_take_back(&used, run->usage_before);
    return used;
}

static bool budget_limit(const struct run *run, const char *key, double *limit) {
    tn_value budget = run->graph->document->budget, value = budget ? value_get(budget, key) : NULL;
    if (!value || !value_is_number(value)) return false;
    *limit = value_to_double(value);
    return true;
}

/* Warns after the first call: without prices, the budget has no effect. */
static void warn_unpriced(const struct run *run) {
    double limit;
    if (budget_limit(run, "cost", &limit) && usage_of_this_run(run).calls == 1)
        log_write(LOG_WARN, NULL, "`%s` has budget.cost, and the model that answered has no price in tenon.yaml",
                  value_chars(run->graph->document->name, NULL));
}

/* ---- Counting ---- */

static void note_call_usage(struct activation *activation, const char *path, const struct usage *used) {
    activation->call_usage =
        value_set_take(activation->call_usage ? activation->call_usage : value_object(), path, usage_to_value(used));
}

void activation_add_usage(struct call *call, const char *path, tn_value used) {
    struct activation *activation = call_owner(call);
    struct usage more = {0};
    tn_value model = value_get(used, "model"); /* of a tool; what a model has used has its cost already */
    usage_add_call(&more, used);
    if (!more.priced && value_is(model, TN_STRING))
        more.priced = usage_price(config_prices(activation->run->graph->engine->config), value_chars(model, NULL), used,
                                  &more.cost);
    usage_sum_add(&activation->usage, &more);
    add_usage_outwards(activation->run, &more);
    if (path) note_call_usage(activation, path, &more);
    for (const struct run *run = activation->run; run && !more.priced; run = run->outer) warn_unpriced(run);
}

void activation_note_nested_usage(struct activation *activation, const char *path, const struct run *nested) {
    if (nested->usage) note_call_usage(activation, path, nested->usage);
}

tn_value activation_call_usage(const struct activation *activation, const char *path) {
    struct usage sum = {0};
    bool any = false;
    for (size_t i = 0; i < value_count(activation->call_usage); i++) {
        struct usage more;
        if (!call_path_is_within(value_chars(value_key_at(activation->call_usage, i), NULL), path)) continue;
        usage_from_value(&more, value_value_at(activation->call_usage, i));
        usage_add(&sum, &more);
        any = true;
    }
    return any ? usage_to_value(&sum) : NULL;
}

void activation_add_recalled_usage(struct activation *activation, const char *path, tn_value used) {
    struct usage more;
    if (!used) return;
    usage_from_value(&more, used);
    usage_sum_add(&activation->usage, &more);
    add_usage_outwards(activation->run, &more);
    note_call_usage(activation, path, &more);
}

void activation_reset_usage(struct activation *activation) {
    if (!activation->usage) return;
    struct usage again = *activation->usage, kept = {0};
    if (activation->usage_settled) kept = *activation->usage_settled;
    usage_take_back(&again, &kept);
    subtract_usage_outwards(activation->run, &again);
    *activation->usage = kept;
}

void activation_settle_usage(struct activation *activation) {
    usage_sum_copy(&activation->usage_settled, activation->usage);
}

void run_settle_usage(struct run *run) { usage_sum_copy(&run->usage_settled, run->usage); }

/* ---- Saving ---- */

tn_value activation_saved_usage(const struct activation *activation) {
    const struct usage *kept = activation->state == ACTIVATION_DONE ? activation->usage : activation->usage_settled;
    return kept ? usage_to_value(kept) : NULL;
}

void activation_restore_usage(struct activation *activation, tn_value used) {
    struct usage kept;
    if (!used) return;
    usage_from_value(&kept, used);
    usage_sum_copy(&activation->usage, &kept);
    usage_sum_copy(&activation->usage_settled, &kept);
    add_usage_outwards(activation->run, &kept);
}

void run_restore_usage(struct run *run, tn_value used) {
    struct usage settled;
    if (!used) return;
    usage_from_value(&settled, used);
    add_usage_outwards(run, &settled);
    usage_sum_copy(&run->usage_settled, &settled);
}

void run_set_usage(struct run *run, tn_value used) {
    struct usage sum;
    usage_from_value(&sum, used);
    usage_sum_copy(&run->usage, &sum);
    usage_sum_copy(&run->usage_settled, &sum);
}

tn_value run_usage(const struct run *run) { return run->usage ? usage_to_value(run->usage) : NULL; }

/* ---- The budget ---- */

void run_start_budget(struct run *run) {
    usage_sum_copy(&run->usage_before, run->usage);
    run->step_before = run->step;
}

tn_value run_save_usage_before(const struct run *run) {
    if (!run->usage_before && !run->step_before) return NULL;
    tn_value before = value_set_take(value_object_reserve(2), "step", value_int(run->step_before));
    return run->usage_before ? value_set_take(before, "used", usage_to_value(run->usage_before)) : before;
}

void run_restore_usage_before(struct run *run, tn_value before) {
    tn_value step = value_get(before, "step"), used = value_get(before, "used");
    struct usage usage;
    if (value_is(step, TN_INT)) run->step_before = (uint32_t)value_to_int(step);
    if (!used) return;
    usage_from_value(&usage, used);
    usage_sum_copy(&run->usage_before, &usage);
}

#define BUDGET_HINT "; what was committed is kept; raise %s and resume the run"

static int32_t check_model_budget(const struct run *run, struct error *error) {
    const char *name = value_chars(run->graph->document->name, NULL);
    struct usage used = usage_of_this_run(run);
    double limit;
    if (budget_limit(run, "tokens", &limit) && used.calls && (double)usage_tokens(&used) >= limit)
        return error_set(error, TN_LIMIT, "BUDGET_EXCEEDED",
                         "this run of `%s` has used %" PRId64 " tokens in %" PRId64
                         " call%s of models, and its budget is %.0f" BUDGET_HINT,
                         name, usage_tokens(&used), used.calls, used.calls == 1 ? "" : "s", limit, "budget.tokens");
    if (budget_limit(run, "cost", &limit) && used.calls && used.cost >= limit)
        return error_set(error, TN_LIMIT, "BUDGET_EXCEEDED",
                         "this run of `%s` has spent %.4g in %" PRId64
                         " call%s of models, and its budget is %.4g" BUDGET_HINT,
                         name, used.cost, used.calls, used.calls == 1 ? "" : "s", limit, "budget.cost");
    return TN_OK;
}

int32_t activation_check_budget(struct call *call, struct error *error) {
    const struct run *run = ((struct activation *)call_owner(call))->run;
    int32_t status = TN_OK;
    for (; run && status == TN_OK; run = run->outer)
        if (run->usage) status = check_model_budget(run, error);
    return status;
}

int32_t run_check_step_budget(struct run *run, struct error *error) {
    double limit;
    uint32_t taken = run->step - run->step_before;
    if (!budget_limit(run, "steps", &limit) || taken < limit) return TN_OK;
    return error_set(error, TN_LIMIT, "BUDGET_EXCEEDED",
                     "the run has taken %u super-step%s, and its budget is %.0f" BUDGET_HINT, taken,
                     taken == 1 ? "" : "s", limit, "budget.steps");
}

void run_warn_over_budget(struct run *run) {
    struct usage used = usage_of_this_run(run);
    double limit;
    bool tokens = budget_limit(run, "tokens", &limit) && (double)usage_tokens(&used) > limit;
    bool cost = !tokens && budget_limit(run, "cost", &limit) && used.cost > limit;
    if (!tokens && !cost) return;
    struct buffer text;
    buffer_init(&text, SIZE_MAX);
    if (tokens)
        buffer_format(&text, "its last call of a model took the run to %" PRId64 " tokens, over its budget of %.0f",
                      usage_tokens(&used), limit);
    else
        buffer_format(&text, "its last call of a model took the run to a cost of %.4g, over its budget of %.4g",
                      used.cost, limit);
    emit_warning(run, "over_budget", DOCUMENT_NOWHERE, buffer_cstr(&text));
    buffer_finish(&text);
}
