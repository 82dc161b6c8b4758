/*
 * saved.c - a run as one value, and back: what a checkpoint, and a graph that waits inside another, are made of.
 *
 *     {version: 1, step, now?, state: {channel: value}, plan: [id | {node, edge?, item?, source, input?}],
 *      joins?: [member], deferred?: [id], used?: USAGE, before?: {step, used?}, uses?: USES, after?: true, in_step?:
 * true, tasks?: {index: TASK}} USAGE what models have used up, as usage_to_value has it: of the steps before, and in a
 * TASK of its own USES {tool: number}: how often tools were used that may be so often, counted likewise TASK  {used?,
 * uses?, done: {writes:
 * [[channel, value]], output?}} | {failed: error} | {asked: {payload, schema?, continuation?}} | {waits: true,
 * children}, or how it is to be started: {approved?, answer?, attempt?, round?, children?}
 *
 * Names, not indices, where the document has names; edges and joins by their place in it. Nothing here depends on when
 * or where the run was: equal runs give equal bytes.
 */
#include "adl/value/memory.h"
#include "host/engine/run_internal.h"
#include "host/model/usage.h"
#include <stdio.h>
#include <stdlib.h>

#define SAVED_VERSION 1

/* ---- Out ---- */

static tn_value node_id(const struct run *run, uint32_t node) {
    return value_ref(run->graph->document->nodes[node].id);
}

static tn_value plan_entry(const struct run *run, const struct planned *planned) {
    if (!planned->input) return node_id(run, planned->node);
    tn_value entry = value_set_take(value_object_reserve(5), "node", node_id(run, planned->node));
    if (planned->edge != NO_INDEX) entry = value_set_take(entry, "edge", value_int(planned->edge));
    entry = value_set_take(entry, "item", value_int(planned->item));
    entry = value_set_take(entry, "source", value_int(planned->source));
    return value_set_take(entry, "input", value_ref(planned->input));
}

static tn_value saved_plan(const struct run *run) {
    tn_value plan = value_array();
    for (uint32_t i = 0; run_in_step(run) && i < run->task_count; i++)
        plan = value_push_take(plan, plan_entry(run, &run->tasks[i].plan));
    for (uint32_t i = 0; i < run->triggered.count; i++)
        plan = value_push_take(plan, plan_entry(run, &run->triggered.items[i]));
    for (uint32_t i = 0; i < run->mapped.count; i++)
        plan = value_push_take(plan, plan_entry(run, &run->mapped.items[i]));
    return plan;
}

/* Writes by channel's name, whatever made the outcome. */
static tn_value named_outcome(const struct task *task) {
    const struct document *document = task->run->graph->document;
    tn_value outcome = task_outcome(task), writes = value_get(outcome, "writes"), named = value_array();
    for (size_t i = 0; i < value_count(writes); i++) {
        tn_value pair = value_at(writes, i);
        tn_value name = document->channels[value_to_int(value_at(pair, 0))].name;
        named = value_push_take(
            named, value_push_take(value_push_take(value_array(), value_ref(name)), value_ref(value_at(pair, 1))));
    }
    return value_set_take(outcome, "writes", named);
}

tn_value task_save(const struct task *task) {
    tn_value entry = value_object();
    if (task->state == TASK_DONE) {
        entry = value_set_take(entry, "done", named_outcome(task));
    } else if (task->state == TASK_FAILED &&
               task->run->graph->document->nodes[task->plan.node].on_error != DOCUMENT_NOWHERE) {
        entry = value_set_take(entry, "failed", error_to_value(&task->error));
    } else if (task->state == TASK_INTERRUPTED) {
        tn_value asked = task_asked(task);
        entry =
            asked ? value_set_take(entry, "asked", value_ref(asked)) : value_set_take(entry, "waits", value_bool(true));
    }
    tn_value used = task_kept(task);
    if (used) entry = value_set_take(entry, "used", used);
    tn_value uses = task_kept_uses(task);
    if (uses) entry = value_set_take(entry, "uses", value_ref(uses));
    if (task->state == TASK_DONE) return entry; /* nothing of it is started again */
    if (task->resumed && task->state != TASK_INTERRUPTED)
        entry = value_set_take(entry, "answer", value_ref(task->answer));
    if (task->approved) entry = value_set_take(entry, "approved", value_bool(true));
    if (task->attempt > 1) entry = value_set_take(entry, "attempt", value_int(task->attempt));
    if (task->round) entry = value_set_take(entry, "round", value_int(task->round));
    return value_count(task->children) ? value_set_take(entry, "children", value_ref(task->children)) : entry;
}

tn_value run_position(const struct run *run) {
    const struct document *document = run->graph->document;
    tn_value position = value_object_reserve(8), joins = value_array(), deferred = value_array();
    position = value_set_take(position, "step", value_int(run->step - run_in_step(run)));
    position = value_set_take(position, "plan", saved_plan(run));
    for (uint32_t i = 0; i < run->graph->member_count; i++)
        if (run->arrived[i]) joins = value_push_take(joins, value_int(i));
    for (uint32_t i = 0; i < document->node_count; i++)
        if (run->deferred[i]) deferred = value_push_take(deferred, node_id(run, i));
    if (value_count(joins)) position = value_set_take(position, "joins", joins);
    if (value_count(deferred)) position = value_set_take(position, "deferred", deferred);
    if (run->settled) position = value_set_take(position, "used", usage_to_value(run->settled));
    tn_value before = run_before(run);
    if (before) position = value_set_take(position, "before", before);
    if (run->settled_uses) position = value_set_take(position, "uses", value_ref(run->settled_uses));
    return run->interrupt_after ? value_set_take(position, "after", value_bool(true)) : position;
}

tn_value run_save(struct run *run) {
    tn_value saved = run_position(run), tasks = value_object();
    saved = value_set_take(saved, "version", value_int(SAVED_VERSION));
    saved = value_set_take(saved, "step", value_int(run->step));
    saved = value_set_take(saved, "state", state_object(&run->state, true));
    if (!run_in_step(run)) return saved;
    for (uint32_t i = 0; i < run->task_count; i++) {
        char index[16];
        tn_value entry = task_save(&run->tasks[i]);
        snprintf(index, sizeof index, "%u", i);
        if (value_count(entry)) tasks = value_set_take(tasks, index, entry);
    }
    saved = value_set_take(saved, "in_step", value_bool(true));
    return value_count(tasks) ? value_set_take(saved, "tasks", tasks) : saved;
}

/* ---- In ---- */

static int32_t misfit(struct error *error, const char *what, tn_value name) {
    return error_set(error, TN_INVALID, "INVALID_STATE",
                     "what was saved does not fit this document: %s `%s` is not in it; it was another document, or a "
                     "later version of this one",
                     what, value_is(name, TN_STRING) ? value_chars(name, NULL) : "?");
}

static int64_t number(tn_value object, const char *key, int64_t otherwise) {
    int64_t found;
    tn_value value = value_get(object, key);
    return value && value_is_number(value) && value_as_int(value, &found) ? found : otherwise;
}

static bool is_true(tn_value object, const char *key) {
    tn_value value = value_get(object, key);
    return value && value_is(value, TN_BOOL) && value_to_bool(value);
}

static int32_t restore_node(const struct run *run, tn_value id, uint32_t *out, struct error *error) {
    size_t length;
    if (!value_is(id, TN_STRING)) return misfit(error, "the node", id);
    const char *name = value_chars(id, &length);
    int32_t node = graph_find_target(run->graph, name, length);
    if (node < 0) return misfit(error, "the node", id);
    *out = (uint32_t)node;
    return TN_OK;
}

static int32_t restore_plan(struct run *run, tn_value plan, struct error *error) {
    const struct document *document = run->graph->document;
    for (size_t i = 0; value_is(plan, TN_ARRAY) && i < value_count(plan); i++) {
        tn_value entry = value_at(plan, i), input = value_get(entry, "input");
        bool mapped = value_is(entry, TN_OBJECT);
        struct planned planned = {0, NO_INDEX, 0, 0, NO_INDEX, NULL};
        int32_t status = restore_node(run, mapped ? value_get(entry, "node") : entry, &planned.node, error);
        if (status != TN_OK) return status;
        if (!mapped) {
            plan_push_triggered(run, planned.node);
            continue;
        }
        int64_t edge = number(entry, "edge", -1);
        if (edge >= (int64_t)document->edge_count) return misfit(error, "an edge of", value_get(entry, "node"));
        if (edge >= 0) {
            planned.edge = (uint32_t)edge;
            planned.as_field = document->edges[edge].as_field;
        }
        planned.item = (uint32_t)number(entry, "item", 0);
        planned.source = (uint32_t)number(entry, "source", 0);
        planned.input = input ? value_ref(input) : value_null();
        plan_push_mapped_take(run, planned);
    }
    return TN_OK;
}

static int32_t misshapen(struct error *error, const char *what, const char *expected, tn_value found) {
    return error_set(error, TN_INVALID, "INVALID_STATE", "what was saved is broken: found %s as %s, expected %s",
                     found ? value_kind_name(value_kind(found)) : "nothing", what, expected);
}

/* Writes by the numbers of this graph's channels. */
static int32_t restore_outcome(struct task *task, tn_value outcome, struct error *error) {
    tn_value writes = value_get(outcome, "writes"), numbered = value_array();
    if (!value_is(outcome, TN_OBJECT)) return misshapen(error, "a task's outcome", "an object", outcome);
    if (!value_is(writes, TN_ARRAY)) return misshapen(error, "a task's writes", "an array", writes);
    for (size_t i = 0; i < value_count(writes); i++) {
        tn_value pair = value_at(writes, i);
        if (!value_is(pair, TN_ARRAY) || value_count(pair) != 2) {
            value_unref(numbered);
            return misshapen(error, "a task's write", "an array of a channel and a value", pair);
        }
        tn_value name = value_at(pair, 0), value = value_at(pair, 1);
        size_t length;
        const char *text = value_is(name, TN_STRING) ? value_chars(name, &length) : NULL;
        int32_t channel = text ? document_find_channel(task->run->graph->document, text, length) : -1;
        if (channel < 0) {
            value_unref(numbered);
            return misfit(error, "the channel", name);
        }
        numbered = value_push_take(
            numbered, value_push_take(value_push_take(value_array(), value_int(channel)), value_ref(value)));
    }
    task->cached = value_set_take(value_ref(outcome), "writes", numbered);
    task->state = TASK_DONE;
    return TN_OK;
}

/* [{id, node, …}] */
static bool are_interrupts(tn_value interrupts) {
    if (!value_is(interrupts, TN_ARRAY)) return false;
    for (size_t i = 0; i < value_count(interrupts); i++) {
        tn_value entry = value_at(interrupts, i), id = value_get(entry, "id"), node = value_get(entry, "node");
        bool after = value_text_is(value_get(entry, "when"), "after"); /* is of no task */
        if (!after && (!value_is(id, TN_STRING) || !value_is(node, TN_STRING))) return false;
        if (after && (id || value_get(entry, "payload"))) return false;
    }
    return true;
}

/* What is known of calls: objects, and of graphs inside what they wait for and what they were. */
static int32_t check_children(tn_value children, struct error *error) {
    if (children && !value_is(children, TN_OBJECT)) return misshapen(error, "a task's calls", "an object", children);
    for (size_t i = 0; i < value_count(children); i++) {
        tn_value entry = value_value_at(children, i), asked = value_get(entry, "asked");
        tn_value interrupts = value_get(asked, "interrupts");
        if (!value_is(entry, TN_OBJECT)) return misshapen(error, "a task's call", "an object", entry);
        if (asked && !value_is(asked, TN_OBJECT)) return misshapen(error, "an interrupt", "an object", asked);
        if (interrupts && (!are_interrupts(interrupts) || !value_is(value_get(asked, "saved"), TN_OBJECT)))
            return misshapen(error, "what a graph waits for", "an array of interrupts, and how it was saved",
                             interrupts);
    }
    return TN_OK;
}

int32_t task_restore(struct task *task, tn_value entry, struct error *error) {
    tn_value done = value_get(entry, "done"), failed = value_get(entry, "failed"), asked = value_get(entry, "asked");
    tn_value children = value_get(entry, "children");
    task_restore_used(task, value_get(entry, "used"));
    task_restore_uses(task, value_get(entry, "uses"));
    if (done) return restore_outcome(task, done, error);
    if (asked && !value_is(asked, TN_OBJECT)) return misshapen(error, "an interrupt", "an object", asked);
    int32_t status = check_children(children, error);
    if (status != TN_OK) return status;
    task->approved = is_true(entry, "approved");
    task->attempt = (uint32_t)number(entry, "attempt", 1);
    task->round = (uint32_t)number(entry, "round", 0);
    if (children) {
        value_unref(task->children);
        task->children = value_ref(children);
    }
    tn_value answer = value_get(entry, "answer");
    if (answer) {
        task->answer = value_ref(answer);
        task->resumed = true;
    }
    if (failed) {
        error_from_value(&task->error, failed);
        task->state = TASK_FAILED;
    } else if (asked || is_true(entry, "waits")) {
        task->asked = asked ? value_ref(asked) : NULL;
        task->waits = !asked;
        task->state = TASK_INTERRUPTED;
        task->run->interrupted++;
    }
    return TN_OK;
}

static int32_t restore_tasks(struct run *run, tn_value tasks, struct error *error) {
    for (size_t i = 0; value_is(tasks, TN_OBJECT) && i < value_count(tasks); i++) {
        tn_value key = value_key_at(tasks, i);
        unsigned long index = strtoul(value_chars(key, NULL), NULL, 10);
        char digits[24];
        snprintf(digits, sizeof digits, "%lu", index);
        if (index >= run->task_count || !value_text_is(key, digits)) return misfit(error, "the task", key);
        int32_t status = task_restore(&run->tasks[index], value_value_at(tasks, i), error);
        if (status != TN_OK) return status;
    }
    return TN_OK;
}

/* What merging relies on; a schema is not looked at: it may have changed since. */
static bool holds(const struct document_channel *channel, tn_value value) {
    if (channel->implicit || channel->type == CHANNEL_APPEND) return value_is(value, TN_ARRAY);
    if (channel->type != CHANNEL_REDUCE) return true;
    switch (channel->reducer) {
    case REDUCER_UNION:
    case REDUCER_MESSAGES: return value_is(value, TN_ARRAY);
    case REDUCER_MERGE: return value_is(value, TN_OBJECT);
    case REDUCER_SUM: return value_is_number(value);
    default: return true;
    }
}

static int32_t restore_state(struct run *run, tn_value state, struct error *error) {
    const struct document *document = run->graph->document;
    for (size_t i = 0; value_is(state, TN_OBJECT) && i < value_count(state); i++) {
        size_t length;
        tn_value key = value_key_at(state, i);
        const char *name = value_chars(key, &length);
        int32_t channel = document_find_channel(document, name, length);
        if (channel < 0) return misfit(error, "the channel", key);
        tn_value value = value_value_at(state, i);
        if (!holds(&document->channels[channel], value))
            return error_set(
                error, TN_INVALID, "INVALID_STATE",
                "what was saved does not fit this document: the channel `%s` holds %s, which its type cannot", name,
                value_kind_name(value_kind(value)));
        value_unref(run->state.values[channel]);
        run->state.values[channel] = value_ref(value);
    }
    return TN_OK;
}

static void restore_marks(struct run *run, tn_value joins) {
    for (size_t i = 0; value_is(joins, TN_ARRAY) && i < value_count(joins); i++) {
        int64_t member;
        if (value_as_int(value_at(joins, i), &member) && member >= 0 && member < run->graph->member_count)
            run->arrived[member] = 1;
    }
}

static int32_t restore_deferred(struct run *run, tn_value deferred, struct error *error) {
    for (size_t i = 0; value_is(deferred, TN_ARRAY) && i < value_count(deferred); i++) {
        uint32_t node = 0;
        int32_t status = restore_node(run, value_at(deferred, i), &node, error);
        if (status != TN_OK) return status;
        run->deferred_count += !run->deferred[node];
        run->deferred[node] = true;
    }
    return TN_OK;
}

/* As it stood: waiting, or between two steps. */
static enum run_status standing(const struct run *run) {
    if (run->interrupt_after || run->interrupted) return RUN_INTERRUPTED;
    for (uint32_t i = 0; run->planning_done && i < run->task_count; i++)
        if (run->tasks[i].state == TASK_WAITING && !run->tasks[i].approved &&
            run->graph->document->nodes[run->tasks[i].plan.node].interrupt_before)
            return RUN_INTERRUPTED;
    return RUN_STOPPED;
}

int32_t run_restore(struct run *run, tn_value saved, struct error *error) {
    int64_t version = number(saved, "version", 0), step = number(saved, "step", -1);
    if (version != SAVED_VERSION || step < 0 || step >= NO_INDEX)
        return error_set(error, TN_INVALID, "INVALID_STATE",
                         "what was saved has the version %lld, expected %d: a %s of Tenon has made it",
                         (long long)version, SAVED_VERSION, version > SAVED_VERSION ? "newer release" : "broken copy");
    run->step = (uint32_t)step;
    int32_t status = restore_state(run, value_get(saved, "state"), error);
    if (status == TN_OK) status = restore_deferred(run, value_get(saved, "deferred"), error);
    if (status == TN_OK) status = restore_plan(run, value_get(saved, "plan"), error);
    if (status != TN_OK) return status;
    restore_marks(run, value_get(saved, "joins"));
    run->interrupt_after = is_true(saved, "after");
    run_restore_used(run, value_get(saved, "used"));
    run_restore_before(run, value_get(saved, "before"));
    run_restore_uses(run, value_get(saved, "uses"));
    run->planned_ms = number(saved, "now", 0);
    run->nested_seq = (uint32_t)number(saved, "checkpoints", 0);
    if (is_true(saved, "in_step")) {
        run_lay_out(run);
        status = restore_tasks(run, value_get(saved, "tasks"), error);
        if (status != TN_OK) return status;
    }
    run->status = standing(run);
    return TN_OK;
}
