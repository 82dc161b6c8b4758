/*
 * spend.c - what models have used up for a run, and whether it may go on: `budget`.
 *
 * A task counts what the models that it calls say; its run, and the runs around that, count the same. Two sums are
 * needed of each, because a step that is resumed calls again what it had called, and the journal answers: of a run what
 * it had used at the last step that was committed, of a task what it had in rounds that are over. These are saved;
 * the rest is counted anew as it is recalled.
 *
 * These are sums of the whole thread; its budget is that of one run, so what came before its input is kept beside them.
 */
#include "adl/value/buffer.h"
#include "adl/value/memory.h"
#include "host/engine/run_internal.h"
#include "host/log.h"
#include "host/model/usage.h"
#include <inttypes.h>

static void count(struct usage **sum, const struct usage *more) {
    if (!*sum) *sum = mem_zalloc(sizeof **sum);
    usage_add(*sum, more);
}

static void copy(struct usage **to, const struct usage *from) {
    if (!from) return;
    if (!*to) *to = mem_zalloc(sizeof **to);
    **to = *from;
}

/* The run, and the tasks and runs around it. */
static void count_outwards(struct run *run, const struct usage *more) {
    for (; run; run = run->outer) {
        count(&run->used, more);
        if (run->outer) count(&run->outer->tasks[run->outer_task].used, more);
    }
}

static void take_back_outwards(struct run *run, const struct usage *less) {
    for (; run; run = run->outer) {
        if (run->used) usage_take_back(run->used, less);
        if (run->outer && run->outer->tasks[run->outer_task].used)
            usage_take_back(run->outer->tasks[run->outer_task].used, less);
    }
}

/* What this run alone has used up. */
static struct usage of_this(const struct run *run) {
    struct usage used = {0};
    if (run->used) used = *run->used;
    if (run->before) usage_take_back(&used, run->before);
    return used;
}

static bool limit_of(const struct run *run, const char *key, double *limit) {
    tn_value budget = run->graph->document->budget, value = budget ? value_get(budget, key) : NULL;
    if (!value || !value_is_number(value)) return false;
    *limit = value_to_double(value);
    return true;
}

/* Said of the first call: a budget that nothing can use up is none. */
static void say_unpriced(const struct run *run) {
    double limit;
    if (limit_of(run, "cost", &limit) && of_this(run).calls == 1)
        log_write(LOG_WARN, NULL, "`%s` has budget.cost, and the model that answered has no price in tenon.yaml",
                  value_chars(run->graph->document->name, NULL));
}

/* ---- Counting ---- */

void task_spent(struct call *call, tn_value output) {
    struct task *task = call_owner(call);
    struct usage more = {0};
    usage_add_call(&more, value_get(output, "usage"));
    count(&task->used, &more);
    count_outwards(task->run, &more);
    for (const struct run *run = task->run; run && !more.priced; run = run->outer) say_unpriced(run);
}

void task_spent_inside(struct task *task, const char *path, const struct run *inside) {
    if (!inside->used) return;
    task->inside = value_set_take(task->inside ? task->inside : value_object(), path, usage_to_value(inside->used));
}

tn_value task_take_inside(struct task *task, const char *path) {
    tn_value used = task->inside ? value_ref(value_get(task->inside, path)) : NULL;
    if (used) task->inside = value_remove_take(task->inside, value_text(path));
    return used;
}

void task_recall_used(struct task *task, tn_value used) {
    struct usage more;
    if (!used) return;
    usage_from_value(&more, used);
    count(&task->used, &more);
    count_outwards(task->run, &more);
}

void task_recount_used(struct task *task) {
    if (!task->used) return;
    struct usage again = *task->used, kept = {0};
    if (task->kept) kept = *task->kept;
    usage_take_back(&again, &kept);
    take_back_outwards(task->run, &again);
    *task->used = kept;
}

void task_settle(struct task *task) { copy(&task->kept, task->used); }

void run_settle(struct run *run) { copy(&run->settled, run->used); }

/* ---- Saving ---- */

tn_value task_kept(const struct task *task) {
    const struct usage *kept = task->state == TASK_DONE ? task->used : task->kept;
    return kept ? usage_to_value(kept) : NULL;
}

void task_restore_used(struct task *task, tn_value used) {
    struct usage kept;
    if (!used) return;
    usage_from_value(&kept, used);
    copy(&task->used, &kept);
    copy(&task->kept, &kept);
    count_outwards(task->run, &kept);
}

void run_restore_used(struct run *run, tn_value used) {
    struct usage settled;
    if (!used) return;
    usage_from_value(&settled, used);
    count_outwards(run, &settled);
    copy(&run->settled, &settled);
}

void run_set_used(struct run *run, tn_value used) {
    struct usage given;
    usage_from_value(&given, used);
    copy(&run->used, &given);
    copy(&run->settled, &given);
}

tn_value run_used(const struct run *run) { return run->used ? usage_to_value(run->used) : NULL; }

/* ---- The budget ---- */

/* What a thread, or a conversation, goes on with is counted on; its budget is that of one run, as tools' max_calls is.
 */
void run_begin_spending(struct run *run) {
    copy(&run->before, run->used);
    run->step_before = run->step;
}

tn_value run_before(const struct run *run) {
    if (!run->before && !run->step_before) return NULL;
    tn_value before = value_set_take(value_object_reserve(2), "step", value_int(run->step_before));
    return run->before ? value_set_take(before, "used", usage_to_value(run->before)) : before;
}

void run_restore_before(struct run *run, tn_value before) {
    tn_value step = value_get(before, "step"), used = value_get(before, "used");
    struct usage usage;
    if (value_is(step, TN_INT)) run->step_before = (uint32_t)value_to_int(step);
    if (!used) return;
    usage_from_value(&usage, used);
    copy(&run->before, &usage);
}

#define HOW_ON "; what was committed is kept: raise %s, and go on with what it was at"

static int32_t check(const struct run *run, struct error *error) {
    const char *name = value_chars(run->graph->document->name, NULL);
    struct usage used = of_this(run);
    double limit;
    if (limit_of(run, "tokens", &limit) && used.calls && (double)usage_tokens(&used) >= limit)
        return error_set(error, TN_LIMIT, "BUDGET_EXCEEDED",
                         "this run of `%s` has used %" PRId64 " tokens in %" PRId64
                         " call%s of models, and its budget is %.0f" HOW_ON,
                         name, usage_tokens(&used), used.calls, used.calls == 1 ? "" : "s", limit, "budget.tokens");
    if (limit_of(run, "cost", &limit) && used.calls && used.cost >= limit)
        return error_set(error, TN_LIMIT, "BUDGET_EXCEEDED",
                         "this run of `%s` has spent %.4g in %" PRId64
                         " call%s of models, and its budget is %.4g" HOW_ON,
                         name, used.cost, used.calls, used.calls == 1 ? "" : "s", limit, "budget.cost");
    return TN_OK;
}

int32_t task_may_spend(struct call *call, struct error *error) {
    const struct run *run = ((struct task *)call_owner(call))->run;
    int32_t status = TN_OK;
    for (; run && status == TN_OK; run = run->outer)
        if (run->used) status = check(run, error);
    return status;
}

int32_t run_check_steps(struct run *run, struct error *error) {
    double limit;
    uint32_t taken = run->step - run->step_before;
    if (!limit_of(run, "steps", &limit) || taken < limit) return TN_OK;
    return error_set(error, TN_LIMIT, "BUDGET_EXCEEDED",
                     "the run has taken %u super-step%s, and its budget is %.0f" HOW_ON, taken, taken == 1 ? "" : "s",
                     limit, "budget.steps");
}

void run_warn_overspent(struct run *run) {
    struct usage used = of_this(run);
    double limit;
    bool tokens = limit_of(run, "tokens", &limit) && (double)usage_tokens(&used) > limit;
    bool cost = !tokens && limit_of(run, "cost", &limit) && used.cost > limit;
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
