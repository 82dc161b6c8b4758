/*
 * uses.c - how often a run has used tools that it may use so often (`max_calls`), and what must not be used again.
 *
 * Counted as spend.c counts what models use up, and for the same reason: calls of a step that is resumed are made
 * again, and the journal answers. So there are two sums of each: of a run all, and those of the steps that are
 * committed; of a task all, and those of the rounds that are over. The second is saved.
 */
#include "adl/value/memory.h"
#include "host/engine/run_internal.h"

static void count(tn_value *uses, const char *name, int64_t more) {
    tn_value known = *uses ? value_get(*uses, name) : NULL;
    int64_t sum = known && value_is(known, TN_INT) ? value_to_int(known) : 0;
    *uses = value_set_take(*uses ? *uses : value_object(), name, value_int(sum + more));
}

static void count_outwards(struct run *run, tn_value uses, int sign) {
    for (; run; run = run->outer)
        for (size_t i = 0; i < value_count(uses); i++) {
            tn_value number = value_value_at(uses, i);
            if (!value_is(number, TN_INT) || value_to_int(number) < 0 || value_to_int(number) > UINT32_MAX) continue;
            count(&run->uses, value_chars(value_key_at(uses, i), NULL), sign * value_to_int(number));
        }
}

static void set(tn_value *to, tn_value from) {
    value_ref(from);
    value_unref(*to);
    *to = from;
}

void task_uses(struct call *call, struct callable *callee, tn_value input) {
    struct task *task = call_owner(call);
    struct callable_use use = {NULL, false};
    callee->ops->use(callee, input, &use);
    task->unrepeatable |= use.unrepeatable;
    if (!use.counted) return;
    count(&task->uses, use.counted, 1);
    for (struct run *run = task->run; run; run = run->outer) count(&run->uses, use.counted, 1);
}

int64_t task_used(struct call *call, const char *counted) {
    const struct run *run = run_outermost(((struct task *)call_owner(call))->run);
    tn_value number = run->uses ? value_get(run->uses, counted) : NULL;
    return number ? value_to_int(number) : 0;
}

void task_settle_uses(struct task *task) { set(&task->kept_uses, task->uses); }

void task_forget_uses(struct task *task) {
    set(&task->uses, NULL);
    set(&task->kept_uses, NULL);
}

void run_settle_uses(struct run *run) { set(&run->settled_uses, run->uses); }

void task_recount_uses(struct task *task) {
    count_outwards(task->run, task->uses, -1);
    count_outwards(task->run, task->kept_uses, 1);
    set(&task->uses, task->kept_uses);
}

tn_value task_kept_uses(const struct task *task) { return task->state == TASK_DONE ? task->uses : task->kept_uses; }

void task_restore_uses(struct task *task, tn_value uses) {
    if (!uses || !value_is(uses, TN_OBJECT) || !value_count(uses)) return;
    set(&task->uses, uses);
    set(&task->kept_uses, uses);
    count_outwards(task->run, uses, 1);
}

void run_restore_uses(struct run *run, tn_value uses) {
    if (!uses || !value_is(uses, TN_OBJECT) || !value_count(uses)) return;
    count_outwards(run, uses, 1);
    if (run->uses) set(&run->settled_uses, uses);
}

void run_forget_uses(struct run *run) {
    set(&run->uses, NULL);
    set(&run->settled_uses, NULL);
}
