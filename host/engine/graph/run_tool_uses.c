/*
 * run_tool_uses.c - how often a run used tools with `max_calls`, and whether it used a tool that must not be used again
 * automatically.
 *
 * Like the usage of models (run_usage.c), each count has a total and a settled part. For a run the settled part is that
 * of the committed steps, for an activation that of earlier rounds. The settled part is saved.
 *
 * A retry of an activation repeats what it used in its current round, and starts its nested runs again. So the use of
 * an unrepeatable tool counts for the activation in that round only, and for all activations around it. It is saved
 * with the calls, activations and checkpoints of nested runs; the outermost run is never retried.
 */
#include "adl/value/memory.h"
#include "host/engine/graph/run_internal.h"

static void tool_uses_add(tn_value *uses, const char *name, int64_t more) {
    tn_value known = *uses ? value_get(*uses, name) : NULL;
    int64_t sum = known && value_is(known, TN_INT) ? value_to_int(known) : 0;
    *uses = value_set_take(*uses ? *uses : value_object(), name, value_int(sum + more));
}

static void add_tool_uses_outwards(struct run *run, tn_value uses, int sign) {
    for (; run; run = run->outer)
        for (size_t i = 0; i < value_count(uses); i++) {
            tn_value number = value_value_at(uses, i);
            if (!value_is(number, TN_INT) || value_to_int(number) < 0 || value_to_int(number) > UINT32_MAX) continue;
            tool_uses_add(&run->tool_uses, value_chars(value_key_at(uses, i), NULL), sign * value_to_int(number));
        }
}

static void tool_uses_set(tn_value *to, tn_value from) {
    value_ref(from);
    value_unref(*to);
    *to = from;
}

void run_set_unrepeatable(struct run *run) {
    for (; run; run = run->outer) {
        run->unrepeatable = true;
        if (run->outer) run->outer->activations[run->outer_activation].unrepeatable = true;
    }
}

void activation_set_unrepeatable(struct activation *activation, const char *path) {
    activation->unrepeatable_calls = value_set_take(
        activation->unrepeatable_calls ? activation->unrepeatable_calls : value_object(), path, value_bool(true));
    activation->unrepeatable = true;
    run_set_unrepeatable(activation->run);
}

bool activation_call_is_unrepeatable(const struct activation *activation, const char *path) {
    for (size_t i = 0; i < value_count(activation->unrepeatable_calls); i++)
        if (call_path_is_within(value_chars(value_key_at(activation->unrepeatable_calls, i), NULL), path)) return true;
    return false;
}

void activation_settle_unrepeatable(struct activation *activation) {
    activation->unrepeatable_before |= activation->unrepeatable;
    activation->unrepeatable = false;
}

bool activation_saved_unrepeatable(const struct activation *activation) {
    return activation->run->outer && (activation->unrepeatable || activation->unrepeatable_before);
}

void activation_restore_unrepeatable(struct activation *activation) {
    activation->unrepeatable_before = true;
    run_set_unrepeatable(activation->run);
}

bool run_saved_unrepeatable(const struct run *run) { return run->outer && run->unrepeatable; }

void activation_count_tool_use(struct call *call, const char *path, struct callable *callee, tn_value input) {
    struct activation *activation = call_owner(call);
    struct callable_use use = {NULL, false};
    callee->ops->use(callee, input, &use);
    if (use.unrepeatable) activation_set_unrepeatable(activation, path);
    if (!use.count_name) return;
    tool_uses_add(&activation->tool_uses, use.count_name, 1);
    for (struct run *run = activation->run; run; run = run->outer) tool_uses_add(&run->tool_uses, use.count_name, 1);
}

int64_t activation_tool_use_count(struct call *call, const char *count_name) {
    const struct run *run = run_outermost(((struct activation *)call_owner(call))->run);
    tn_value number = run->tool_uses ? value_get(run->tool_uses, count_name) : NULL;
    return number ? value_to_int(number) : 0;
}

void activation_settle_tool_uses(struct activation *activation) {
    tool_uses_set(&activation->tool_uses_settled, activation->tool_uses);
}

void activation_clear_tool_uses(struct activation *activation) {
    tool_uses_set(&activation->tool_uses, NULL);
    tool_uses_set(&activation->tool_uses_settled, NULL);
}

void run_settle_tool_uses(struct run *run) { tool_uses_set(&run->tool_uses_settled, run->tool_uses); }

void activation_reset_tool_uses(struct activation *activation) {
    add_tool_uses_outwards(activation->run, activation->tool_uses, -1);
    add_tool_uses_outwards(activation->run, activation->tool_uses_settled, 1);
    tool_uses_set(&activation->tool_uses, activation->tool_uses_settled);
}

tn_value activation_saved_tool_uses(const struct activation *activation) {
    return activation->state == ACTIVATION_DONE ? activation->tool_uses : activation->tool_uses_settled;
}

void activation_restore_tool_uses(struct activation *activation, tn_value uses) {
    if (!uses || !value_is(uses, TN_OBJECT) || !value_count(uses)) return;
    tool_uses_set(&activation->tool_uses, uses);
    tool_uses_set(&activation->tool_uses_settled, uses);
    add_tool_uses_outwards(activation->run, uses, 1);
}

void run_restore_tool_uses(struct run *run, tn_value uses) {
    if (!uses || !value_is(uses, TN_OBJECT) || !value_count(uses)) return;
    add_tool_uses_outwards(run, uses, 1);
    if (run->tool_uses) tool_uses_set(&run->tool_uses_settled, uses);
}

void run_clear_tool_uses(struct run *run) {
    tool_uses_set(&run->tool_uses, NULL);
    tool_uses_set(&run->tool_uses_settled, NULL);
}
