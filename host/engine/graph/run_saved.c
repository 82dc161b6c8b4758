/*
 * run_saved.c - a run as one value, and back. Checkpoints and interrupted nested runs are stored in this form.
 *
 *     {version: 1, step, now?, state: {channel: value},
 *      plan: [id | {node, edge?, item?, source, input?}], joins?: [member], deferred?: [id],
 *      used?: USAGE, before?: {step, used?}, uses?: USES, unrepeatable?: true, after?: [id],
 *      in_step?: true, tasks?: {index: TASK}}
 *
 *     USAGE  what models used, as usage_to_value returns it: of the committed steps; in a TASK, of that activation
 *     USES   {tool: number}: how often tools with `max_calls` were used, in the same places
 *     unrepeatable  only in nested runs: a tool was used whose effects must not be repeated (run_tool_uses.c)
 *     TASK   {used?, uses?, unrepeatable?, done: {writes: [[channel, value]], output?}} | {failed: error}
 *            | {asked: {payload, schema?, continuation?}} | {waits: true, children}
 *            or how it is to be started: {approved? (passed_interrupt_before), agreed?, answer?, attempt?, round?,
 *            children?}
 *     children  the calls that the activation made: {PATH: {output} | {error} | {asked, by} | {input, by}}; `by` is the
 *            callee that asked (host/engine/tool/approval.h)
 *
 * Names are used where the document has names; edges and joins are stored by their position in it. Nothing depends on
 * the time or the machine: equal runs are saved as equal bytes.
 */
#include "adl/value/memory.h"
#include "host/engine/graph/run_internal.h"
#include "host/engine/model/usage.h"
#include <stdio.h>
#include <stdlib.h>

#define SAVED_VERSION 1

/* ---- Saving ---- */

static tn_value planned_node_id(const struct run *run, uint32_t node) {
    return value_ref(run->graph->document->nodes[node].id);
}

static tn_value save_plan_entry(const struct run *run, const struct plan_entry *planned) {
    if (!planned->input) return planned_node_id(run, planned->node);
    tn_value entry = value_set_take(value_object_reserve(5), "node", planned_node_id(run, planned->node));
    if (planned->map_edge != NO_INDEX) entry = value_set_take(entry, "edge", value_int(planned->map_edge));
    entry = value_set_take(entry, "item", value_int(planned->item));
    entry = value_set_take(entry, "source", value_int(planned->source));
    return value_set_take(entry, "input", value_ref(planned->input));
}

static tn_value save_plan(const struct run *run) {
    tn_value plan = value_array();
    for (uint32_t i = 0; run_in_step(run) && i < run->activation_count; i++)
        plan = value_push_take(plan, save_plan_entry(run, &run->activations[i].plan));
    for (uint32_t i = 0; i < run->triggered.count; i++)
        plan = value_push_take(plan, save_plan_entry(run, &run->triggered.items[i]));
    for (uint32_t i = 0; i < run->mapped.count; i++)
        plan = value_push_take(plan, save_plan_entry(run, &run->mapped.items[i]));
    return plan;
}

/* The outcome with channels by name instead of by number. */
static tn_value save_outcome(const struct activation *activation) {
    const struct document *document = activation->run->graph->document;
    tn_value outcome = activation_outcome(activation), writes = value_get(outcome, "writes"), named = value_array();
    for (size_t i = 0; i < value_count(writes); i++) {
        tn_value pair = value_at(writes, i);
        tn_value name = document->channels[value_to_int(value_at(pair, 0))].name;
        named = value_push_take(
            named, value_push_take(value_push_take(value_array(), value_ref(name)), value_ref(value_at(pair, 1))));
    }
    return value_set_take(outcome, "writes", named);
}

tn_value activation_save(const struct activation *activation) {
    tn_value entry = value_object();
    if (activation->refused) return entry;
    if (activation->state == ACTIVATION_DONE) {
        entry = value_set_take(entry, "done", save_outcome(activation));
    } else if (activation->state == ACTIVATION_FAILED && activation_failure_is_handled(activation)) {
        entry = value_set_take(entry, "failed", error_to_value(&activation->error));
    } else if (activation->state == ACTIVATION_INTERRUPTED) {
        tn_value asked = activation_interrupt_value(activation);
        entry =
            asked ? value_set_take(entry, "asked", value_ref(asked)) : value_set_take(entry, "waits", value_bool(true));
    }
    tn_value used = activation_saved_usage(activation);
    if (used) entry = value_set_take(entry, "used", used);
    tn_value uses = activation_saved_tool_uses(activation);
    if (uses) entry = value_set_take(entry, "uses", value_ref(uses));
    if (activation_saved_unrepeatable(activation)) entry = value_set_take(entry, "unrepeatable", value_bool(true));
    if (activation->state == ACTIVATION_DONE) return entry; /* it is not started again */
    if (activation->resumed && activation->state != ACTIVATION_INTERRUPTED)
        entry = value_set_take(entry, "answer", value_ref(activation->answer));
    if (activation->passed_interrupt_before) entry = value_set_take(entry, "approved", value_bool(true));
    if (activation->agreed) entry = value_set_take(entry, "agreed", value_bool(true));
    if (activation->attempt > 1) entry = value_set_take(entry, "attempt", value_int(activation->attempt));
    if (activation->round) entry = value_set_take(entry, "round", value_int(activation->round));
    return value_count(activation->child_calls) ? value_set_take(entry, "children", value_ref(activation->child_calls))
                                                : entry;
}

tn_value run_position(const struct run *run) {
    const struct document *document = run->graph->document;
    tn_value position = value_object_reserve(8), joins = value_array(), deferred = value_array();
    position = value_set_take(position, "step", value_int(run->step - run_in_step(run)));
    position = value_set_take(position, "plan", save_plan(run));
    for (uint32_t i = 0; i < run->graph->member_count; i++)
        if (run->join_arrived[i]) joins = value_push_take(joins, value_int(i));
    for (uint32_t i = 0; i < document->node_count; i++)
        if (run->deferred[i]) deferred = value_push_take(deferred, planned_node_id(run, i));
    if (value_count(joins)) position = value_set_take(position, "joins", joins);
    if (value_count(deferred)) position = value_set_take(position, "deferred", deferred);
    if (run->usage_settled) position = value_set_take(position, "used", usage_to_value(run->usage_settled));
    tn_value before = run_save_usage_before(run);
    if (before) position = value_set_take(position, "before", before);
    if (run->tool_uses_settled) position = value_set_take(position, "uses", value_ref(run->tool_uses_settled));
    if (run_saved_unrepeatable(run)) position = value_set_take(position, "unrepeatable", value_bool(true));
    return run->interrupt_after ? value_set_take(position, "after", value_ref(run->interrupt_after)) : position;
}

tn_value run_save(struct run *run) {
    tn_value saved = run_position(run), activations = value_object();
    saved = value_set_take(saved, "version", value_int(SAVED_VERSION));
    saved = value_set_take(saved, "step", value_int(run->step));
    saved = value_set_take(saved, "state", channels_object(&run->channels, true));
    if (!run_in_step(run)) return saved;
    for (uint32_t i = 0; i < run->activation_count; i++) {
        char index[16];
        tn_value entry = activation_save(&run->activations[i]);
        snprintf(index, sizeof index, "%u", i);
        if (value_count(entry)) activations = value_set_take(activations, index, entry);
    }
    saved = value_set_take(saved, "in_step", value_bool(true));
    return value_count(activations) ? value_set_take(saved, "tasks", activations) : saved;
}

/* ---- Restoring ---- */

static int32_t error_unknown_name(struct error *error, const char *what, tn_value name) {
    return error_set(error, TN_INVALID, "INVALID_STATE",
                     "the saved run does not fit this document, which does not have %s `%s`; it belongs to another "
                     "document, or to another version of this one",
                     what, value_is(name, TN_STRING) ? value_chars(name, NULL) : "?");
}

static int64_t saved_number(tn_value object, const char *key, int64_t fallback) {
    int64_t integer;
    tn_value value = value_get(object, key);
    return value && value_is_number(value) && value_as_int(value, &integer) ? integer : fallback;
}

static bool saved_flag(tn_value object, const char *key) {
    tn_value value = value_get(object, key);
    return value && value_is(value, TN_BOOL) && value_to_bool(value);
}

static int32_t restore_node(const struct run *run, tn_value id, uint32_t *out, struct error *error) {
    size_t length;
    if (!value_is(id, TN_STRING)) return error_unknown_name(error, "the node", id);
    const char *name = value_chars(id, &length);
    int32_t node = graph_find_target(run->graph, name, length);
    if (node < 0) return error_unknown_name(error, "the node", id);
    *out = (uint32_t)node;
    return TN_OK;
}

static int32_t restore_plan(struct run *run, tn_value plan, struct error *error) {
    const struct document *document = run->graph->document;
    for (size_t i = 0; value_is(plan, TN_ARRAY) && i < value_count(plan); i++) {
        tn_value entry = value_at(plan, i), input = value_get(entry, "input");
        bool mapped = value_is(entry, TN_OBJECT);
        struct plan_entry planned = {0, NO_INDEX, 0, 0, NO_INDEX, NULL};
        int32_t status = restore_node(run, mapped ? value_get(entry, "node") : entry, &planned.node, error);
        if (status != TN_OK) return status;
        if (!mapped) {
            plan_push_triggered(run, planned.node);
            continue;
        }
        int64_t edge = saved_number(entry, "edge", -1);
        if (edge >= (int64_t)document->edge_count)
            return error_unknown_name(error, "an edge of", value_get(entry, "node"));
        if (edge >= 0) {
            planned.map_edge = (uint32_t)edge;
            planned.as_field = document->edges[edge].as_field;
        }
        planned.item = (uint32_t)saved_number(entry, "item", 0);
        planned.source = (uint32_t)saved_number(entry, "source", 0);
        planned.input = input ? value_ref(input) : value_null();
        plan_push_mapped_take(run, planned);
    }
    return TN_OK;
}

static int32_t error_malformed(struct error *error, const char *what, const char *expected, tn_value found) {
    return error_set(error, TN_INVALID, "INVALID_STATE", "the saved run is malformed: found %s as %s, expected %s",
                     found ? value_kind_name(value_kind(found)) : "nothing", what, expected);
}

/* The outcome with the channel numbers of this graph. */
static int32_t restore_outcome(struct activation *activation, tn_value outcome, struct error *error) {
    tn_value writes = value_get(outcome, "writes"), numbered = value_array();
    if (!value_is(outcome, TN_OBJECT)) return error_malformed(error, "a task's outcome", "an object", outcome);
    if (!value_is(writes, TN_ARRAY)) return error_malformed(error, "a task's writes", "an array", writes);
    for (size_t i = 0; i < value_count(writes); i++) {
        tn_value pair = value_at(writes, i);
        if (!value_is(pair, TN_ARRAY) || value_count(pair) != 2) {
            value_unref(numbered);
            return error_malformed(error, "a task's write", "an array of a channel and a value", pair);
        }
        tn_value name = value_at(pair, 0), value = value_at(pair, 1);
        size_t length;
        const char *text = value_is(name, TN_STRING) ? value_chars(name, &length) : NULL;
        int32_t channel = text ? document_find_channel(activation->run->graph->document, text, length) : -1;
        if (channel < 0) {
            value_unref(numbered);
            return error_unknown_name(error, "the channel", name);
        }
        numbered = value_push_take(
            numbered, value_push_take(value_push_take(value_array(), value_int(channel)), value_ref(value)));
    }
    activation->known_outcome = value_set_take(value_ref(outcome), "writes", numbered);
    activation->state = ACTIVATION_DONE;
    return TN_OK;
}

/* [{id, node, …}] */
static bool saved_interrupts_are_valid(tn_value interrupts) {
    if (!value_is(interrupts, TN_ARRAY)) return false;
    for (size_t i = 0; i < value_count(interrupts); i++) {
        tn_value entry = value_at(interrupts, i), id = value_get(entry, "id"), node = value_get(entry, "node");
        if (!value_is(id, TN_STRING) || !value_is(node, TN_STRING)) return false;
    }
    return true;
}

/* Checks {path: entry}. The entry of a nested run has its interrupts and the saved run. */
static int32_t check_children(tn_value children, struct error *error) {
    if (children && !value_is(children, TN_OBJECT))
        return error_malformed(error, "a task's calls", "an object", children);
    for (size_t i = 0; i < value_count(children); i++) {
        tn_value entry = value_value_at(children, i), asked = value_get(entry, "asked");
        tn_value interrupts = value_get(asked, "interrupts");
        if (!value_is(entry, TN_OBJECT)) return error_malformed(error, "a task's call", "an object", entry);
        if (asked && !value_is(asked, TN_OBJECT)) return error_malformed(error, "an interrupt", "an object", asked);
        if (interrupts && (!saved_interrupts_are_valid(interrupts) || !value_is(value_get(asked, "saved"), TN_OBJECT)))
            return error_malformed(error, "what a graph waits for", "an array of interrupts, and how it was saved",
                                   interrupts);
    }
    return TN_OK;
}

int32_t activation_restore(struct activation *activation, tn_value entry, struct error *error) {
    tn_value done = value_get(entry, "done"), failed = value_get(entry, "failed"), asked = value_get(entry, "asked");
    tn_value children = value_get(entry, "children");
    activation_restore_usage(activation, value_get(entry, "used"));
    activation_restore_tool_uses(activation, value_get(entry, "uses"));
    if (saved_flag(entry, "unrepeatable")) activation_restore_unrepeatable(activation);
    if (done) return restore_outcome(activation, done, error);
    if (asked && !value_is(asked, TN_OBJECT)) return error_malformed(error, "an interrupt", "an object", asked);
    int32_t status = check_children(children, error);
    if (status != TN_OK) return status;
    activation->passed_interrupt_before = saved_flag(entry, "approved");
    activation->agreed = saved_flag(entry, "agreed");
    activation->attempt = (uint32_t)saved_number(entry, "attempt", 1);
    activation->round = (uint32_t)saved_number(entry, "round", 0);
    if (children) {
        value_unref(activation->child_calls);
        activation->child_calls = value_ref(children);
    }
    tn_value answer = value_get(entry, "answer");
    if (answer) {
        activation->answer = value_ref(answer);
        activation->resumed = true;
    }
    if (failed) {
        error_from_value(&activation->error, failed);
        activation->state = ACTIVATION_FAILED;
    } else if (asked || saved_flag(entry, "waits")) {
        activation->restored_interrupt = asked ? value_ref(asked) : NULL;
        activation->waits_for_child_call = !asked;
        activation->state = ACTIVATION_INTERRUPTED;
        activation->run->interrupted++;
    }
    return TN_OK;
}

static int32_t restore_activations(struct run *run, tn_value activations, struct error *error) {
    for (size_t i = 0; value_is(activations, TN_OBJECT) && i < value_count(activations); i++) {
        tn_value key = value_key_at(activations, i);
        unsigned long index = strtoul(value_chars(key, NULL), NULL, 10);
        char digits[24];
        snprintf(digits, sizeof digits, "%lu", index);
        if (index >= run->activation_count || !value_text_is(key, digits))
            return error_unknown_name(error, "the task", key);
        int32_t status = activation_restore(&run->activations[index], value_value_at(activations, i), error);
        if (status != TN_OK) return status;
    }
    return TN_OK;
}

/* Checks the kinds that merging relies on. The schema is not checked, because it may have changed since. */
static bool kind_fits_channel(const struct document_channel *channel, tn_value value) {
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
        if (channel < 0) return error_unknown_name(error, "the channel", key);
        tn_value value = value_value_at(state, i);
        if (!kind_fits_channel(&document->channels[channel], value))
            return error_set(
                error, TN_INVALID, "INVALID_STATE",
                "the saved run does not fit this document: the channel `%s` cannot have the saved value, %s", name,
                value_kind_name(value_kind(value)));
        value_unref(run->channels.values[channel]);
        run->channels.values[channel] = value_ref(value);
    }
    return TN_OK;
}

static void restore_marks(struct run *run, tn_value joins) {
    for (size_t i = 0; value_is(joins, TN_ARRAY) && i < value_count(joins); i++) {
        int64_t member;
        if (value_as_int(value_at(joins, i), &member) && member >= 0 && member < run->graph->member_count)
            run->join_arrived[member] = 1;
    }
    for (uint32_t i = 0; i < run->graph->join_count; i++) {
        const struct graph_join *join = &run->graph->joins[i];
        run->join_count[i] = 0;
        for (uint32_t m = 0; m < join->count; m++) run->join_count[i] += run->join_arrived[join->first + m];
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

static bool restore_interrupt_after(struct run *run, tn_value nodes) {
    if (!nodes) return true;
    if (!value_is(nodes, TN_ARRAY) || !value_count(nodes)) return false;
    for (size_t i = 0; i < value_count(nodes); i++)
        if (!value_is(value_at(nodes, i), TN_STRING)) return false;
    run_set_interrupt_after_take(run, value_ref(nodes));
    return true;
}

/* The status of a restored run. */
static enum run_status restored_status(const struct run *run) {
    if (run->interrupt_after || run->interrupted) return RUN_INTERRUPTED;
    for (uint32_t i = 0; i < run->activation_count; i++)
        if (run->activations[i].state == ACTIVATION_WAITING && !run->activations[i].passed_interrupt_before &&
            run_stops_before(run, run->activations[i].plan.node))
            return RUN_INTERRUPTED;
    return RUN_STOPPED;
}

int32_t run_restore(struct run *run, tn_value saved, struct error *error) {
    int64_t version = saved_number(saved, "version", 0), step = saved_number(saved, "step", -1);
    if (version != SAVED_VERSION || step < 0 || step >= NO_INDEX)
        return error_set(error, TN_INVALID, "INVALID_STATE",
                         "the saved run has the version %lld, expected %d; it was made by a %s of Tenon",
                         (long long)version, SAVED_VERSION, version > SAVED_VERSION ? "newer release" : "broken copy");
    run->step = (uint32_t)step;
    int32_t status = restore_state(run, value_get(saved, "state"), error);
    if (status == TN_OK) status = restore_deferred(run, value_get(saved, "deferred"), error);
    if (status == TN_OK) status = restore_plan(run, value_get(saved, "plan"), error);
    if (status != TN_OK) return status;
    restore_marks(run, value_get(saved, "joins"));
    if (!restore_interrupt_after(run, value_get(saved, "after")))
        return error_set(error, TN_INVALID, "INVALID_STATE", "`after` of the saved run is not a list of nodes");
    run_restore_usage(run, value_get(saved, "used"));
    run_restore_usage_before(run, value_get(saved, "before"));
    run_restore_tool_uses(run, value_get(saved, "uses"));
    if (saved_flag(saved, "unrepeatable")) run_set_unrepeatable(run);
    run->planned_ms = saved_number(saved, "now", 0);
    run->nested_checkpoint = (uint32_t)saved_number(saved, "checkpoints", 0);
    if (saved_flag(saved, "in_step")) {
        if (!run_has_plan(run))
            return error_set(error, TN_INVALID, "INVALID_STATE",
                             "the saved run is in a super-step and has no `plan`, which lists the nodes of the step");
        run_create_activations(run);
        run->applied_step = run->step - 1;
        status = restore_activations(run, value_get(saved, "tasks"), error);
        if (status != TN_OK) return status;
    }
    run->status = restored_status(run);
    return TN_OK;
}

int32_t run_rewind(struct run *run, tn_value saved, struct error *error) {
    run_discard_plan(run);
    channels_reset(&run->channels);
    int32_t status = restore_state(run, value_get(saved, "state"), error);
    if (status == TN_OK) status = restore_deferred(run, value_get(saved, "deferred"), error);
    if (status == TN_OK) status = restore_plan(run, value_get(saved, "plan"), error);
    restore_marks(run, value_get(saved, "joins"));
    return status;
}
