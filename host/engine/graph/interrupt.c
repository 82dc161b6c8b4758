/*
 * interrupt.c - what an interrupted run waits for, the nodes that are open, and run_resume.
 *
 * A run that is interrupted before or in a step keeps the activations of that step. Those that have ended keep their
 * outcome; those that asked are started again with {continuation, answer}. If a call that an activation made has asked
 * (a tool, a graph), the activation restarts from the beginning: its other calls return their recorded outcomes, and
 * that call gets the answer.
 *
 * The id of an interrupt is derived from the hash of its activation, so it is the same in every process and after every
 * resume. A pause (`interrupt: before`, `after`) has an id, too: an answer to it has no effect but to resume the run.
 * It differs from the id of the question that the node asks itself, so an answer to one is never an answer to the
 * other.
 */
#include "adl/schema/schema.h"
#include "adl/value/json.h"
#include "host/data/thread/thread_interrupts.h"
#include "host/engine/graph/durable.h"
#include "host/engine/graph/run_internal.h"
#include "host/plugin/call/instance.h"
#include "host/plugin/registry/plugin.h"
#include "host/plugin/registry/registry.h"
#include <inttypes.h>
#include <stdio.h>

/* The run was interrupted before it started the node. run_resume starts it; an answer is not necessary. */
static bool activation_waits_before_start(const struct activation *activation) {
    const struct run *run = activation->run;
    return activation->state == ACTIVATION_WAITING && !activation->passed_interrupt_before &&
           run_stops_before(run, activation->plan.node);
}

static tn_value interrupt_id(uint64_t hash) { return value_format("%016" PRIx64, hash); }

static tn_value interrupt_entry(const struct run *run, tn_value node, uint64_t id) {
    tn_value entry = value_set_take(value_object_reserve(5), "id", interrupt_id(id));
    entry = value_set_take(entry, "node", value_ref(node));
    return run->path ? value_set_take(entry, "path", value_ref(run->path)) : entry;
}

static tn_value activation_interrupt_entry(const struct activation *activation, uint64_t id) {
    const struct run *run = activation->run;
    return interrupt_entry(run, run->graph->document->nodes[activation->plan.node].id, id);
}

/* What the hashes of pauses differ in from each other and from those of questions. */
enum { PAUSE_BEFORE = 1, PAUSE_AFTER };

static tn_value pause_before_entry(const struct activation *activation) {
    uint64_t hash = run_mix(activation_hash(activation), PAUSE_BEFORE);
    return value_set_take(activation_interrupt_entry(activation, hash), "when", value_text("before"));
}

/* The activations of the step do not exist any more: one entry for each node. */
static tn_value add_pauses_after(tn_value list, const struct run *run) {
    uint64_t step = run_mix(run->scope, run->step);
    for (size_t i = 0; i < value_count(run->interrupt_after); i++) {
        tn_value node = value_at(run->interrupt_after, i);
        tn_value entry = interrupt_entry(run, node, run_mix(run_mix(step, value_hash(node)), PAUSE_AFTER));
        list = value_push_take(list, value_set_take(entry, "when", value_text("after")));
    }
    return list;
}

static tn_value interrupt_payload_entry(const struct activation *activation, uint64_t id, tn_value interrupt) {
    tn_value payload = value_get(interrupt, "payload"), schema = value_get(interrupt, "schema");
    tn_value entry = value_set_take(activation_interrupt_entry(activation, id), "payload",
                                    payload ? value_ref(payload) : value_null());
    return schema ? value_set_take(entry, "schema", value_ref(schema)) : entry;
}

/*
 * The id of the question that a call of the activation asks. It depends on the callee: if the component calls another
 * one in the same place when it starts again, a late answer to the first question is not an answer to the second.
 */
static uint64_t child_interrupt_hash(const struct activation *activation, tn_value path, tn_value entry) {
    uint64_t hash = activation_child_hash(activation, value_chars(path, NULL));
    tn_value by = value_get(entry, "by");
    return by ? run_mix(hash, value_hash(by)) : hash;
}

/* Adds the interrupts of the calls that the activation made, and those that its nested runs wait for. */
static tn_value add_child_interrupts(tn_value list, const struct activation *activation) {
    for (size_t i = 0; i < value_count(activation->child_calls); i++) {
        tn_value path = value_key_at(activation->child_calls, i), entry = value_value_at(activation->child_calls, i);
        tn_value interrupt = value_get(entry, "asked");
        if (!interrupt) continue;
        tn_value inner = value_get(interrupt, "interrupts");
        if (inner)
            list = value_concat_take(list, value_ref(inner));
        else
            list = value_push_take(
                list, interrupt_payload_entry(activation, child_interrupt_hash(activation, path, entry), interrupt));
    }
    return list;
}

tn_value run_interrupts(const struct run *run) {
    return run_status(run) == RUN_INTERRUPTED ? run_pending_interrupts(run) : value_array();
}

tn_value run_pending_interrupts(const struct run *run) {
    tn_value list = value_array();
    for (uint32_t i = 0; i < run->activation_count; i++) {
        const struct activation *activation = &run->activations[i];
        if (activation_waits_before_start(activation)) {
            list = value_push_take(list, pause_before_entry(activation));
        } else if (activation->state == ACTIVATION_INTERRUPTED) {
            tn_value interrupt = activation_interrupt_value(activation);
            list =
                interrupt
                    ? value_push_take(list, interrupt_payload_entry(activation, activation_hash(activation), interrupt))
                    : add_child_interrupts(list, activation);
        }
    }
    return add_pauses_after(list, run);
}

/* ---- Open nodes ---- */

/* True if the activation has a nested run: then the activations of that run are listed instead. */
static bool has_nested_run(const struct run *root, const struct activation *activation) {
    for (const struct run *nested = root->nested; nested; nested = nested->next_nested)
        if (nested->outer == activation->run && nested->outer_activation == activation->index) return true;
    return false;
}

static tn_value open_node_entry(const struct activation *activation) {
    const struct run *run = activation->run;
    struct buffer name;
    buffer_init(&name, SIZE_MAX);
    for (size_t i = 0; run->path && i < value_count(run->path); i++)
        buffer_format(&name, "%s/", value_chars(value_at(run->path, i), NULL));
    buffer_text(&name, value_chars(run->graph->document->nodes[activation->plan.node].id, NULL));
    tn_value entry = value_set_take(value_object_reserve(3), "node", value_text(buffer_cstr(&name)));
    buffer_finish(&name);
    const struct component *component = instance_component(run->graph->nodes[activation->plan.node].callable);
    if (!component) return entry;
    entry = value_set_take(entry, "component", value_text(component->info->id));
    return value_set_take(entry, "plugin", value_text(plugin_id(component->plugin)));
}

static tn_value add_open_nodes(tn_value list, const struct run *root, const struct run *run) {
    for (uint32_t i = 0; i < run->activation_count; i++)
        if (run->activations[i].state == ACTIVATION_OPEN && !has_nested_run(root, &run->activations[i]))
            list = value_push_take(list, open_node_entry(&run->activations[i]));
    return list;
}

uint32_t run_mapped_items(const struct run *run, tn_value node) {
    uint32_t items = 0;
    for (uint32_t i = 0; i < run->activation_count; i++) {
        const struct activation *activation = &run->activations[i];
        tn_value id = run->graph->document->nodes[activation->plan.node].id;
        items += activation->plan.input && (id == node || value_equal(id, node));
    }
    return items;
}

tn_value run_open_nodes(const struct run *run) {
    tn_value list = add_open_nodes(value_array(), run, run);
    for (const struct run *nested = run->nested; nested; nested = nested->next_nested)
        list = add_open_nodes(list, run, nested);
    return list;
}

/* ---- Answers ---- */

static tn_value answer_by_hash(tn_value answers, uint64_t hash) {
    tn_value id = interrupt_id(hash), answer = answers ? value_get_key(answers, id) : NULL;
    value_unref(id);
    return answer;
}

static tn_value answer_input(tn_value interrupt, tn_value answer) {
    tn_value continuation = value_get(interrupt, "continuation"), input = value_object_reserve(2);
    input = value_set_take(input, "continuation", continuation ? value_ref(continuation) : value_null());
    return value_set_take(input, "answer", value_ref(answer));
}

/* The answers for a nested run; NULL if it cannot continue with them. */
static tn_value nested_answers(tn_value interrupts, tn_value answers) {
    tn_value selected = value_object();
    bool has_payload = false;
    for (size_t i = 0; i < value_count(interrupts); i++) {
        tn_value entry = value_at(interrupts, i), id = value_get(entry, "id");
        tn_value answer = id && answers ? value_get_key(answers, id) : NULL;
        has_payload |= value_get(entry, "payload") != NULL;
        if (answer) selected = value_set_key_take(selected, value_ref(id), value_ref(answer));
    }
    if (!has_payload || value_count(selected)) return selected;
    value_unref(selected);
    return NULL;
}

/* Returns true if at least one of the calls that the activation waits for can continue. */
static bool apply_child_answers(struct activation *activation, tn_value answers) {
    bool any = false;
    for (size_t i = 0; i < value_count(activation->child_calls); i++) {
        tn_value key = value_key_at(activation->child_calls, i), known = value_value_at(activation->child_calls, i);
        tn_value interrupt = value_get(known, "asked");
        if (!interrupt) continue;
        tn_value inner = value_get(interrupt, "interrupts"), input = NULL;
        if (inner) {
            tn_value selected = nested_answers(inner, answers);
            if (selected)
                input = value_set_take(
                    value_set_take(value_object_reserve(2), "saved", value_ref(value_get(interrupt, "saved"))),
                    "answers", selected);
        } else {
            tn_value answer = answer_by_hash(answers, child_interrupt_hash(activation, key, known));
            if (answer) input = answer_input(interrupt, answer);
        }
        if (!input) continue;
        tn_value by = value_get(known, "by");
        tn_value entry = value_set_take(value_object_reserve(2), "input", input);
        if (by) entry = value_set_take(entry, "by", value_ref(by));
        activation->child_calls = value_set_key_take(activation->child_calls, value_ref(key), entry);
        any = true;
    }
    return any;
}

/* An interrupt without an answer stays: the run will be interrupted again. */
static void apply_answer(struct activation *activation, tn_value answers) {
    if (activation->state == ACTIVATION_WAITING) {
        activation->passed_interrupt_before = true;
        return;
    }
    if (activation->state != ACTIVATION_INTERRUPTED) return;
    tn_value interrupt = activation_interrupt_value(activation);
    if (interrupt) {
        tn_value answer = answer_by_hash(answers, activation_hash(activation));
        if (!answer) return;
        tn_value input = answer_input(interrupt, answer);
        value_unref(activation->answer);
        activation->answer = input;
        activation->resumed = true;
    } else if (apply_child_answers(activation, answers)) {
        activation_reset_tool_uses(activation);
        activation_reset_usage(activation);
    } else {
        return;
    }
    call_free(activation->call);
    activation->call = NULL;
    value_unref(activation->restored_interrupt);
    activation->restored_interrupt = NULL;
    activation->state = ACTIVATION_WAITING;
    activation->run->interrupted--;
}

/*
 * True if the run can continue without answers. A process may have been killed after some activations had asked and
 * before the interrupts were reported, or while other activations had not ended.
 */
static bool can_continue_unanswered(const struct run *run) {
    tn_value was = value_get(value_get(run->options.loaded, "record"), "status");
    if (!run->durable && value_is(was, TN_STRING) && !value_text_is(was, run_status_name(RUN_INTERRUPTED))) return true;
    for (uint32_t i = 0; i < run->activation_count; i++)
        if (run->activations[i].state == ACTIVATION_WAITING && !activation_waits_before_start(&run->activations[i]))
            return true;
    return false;
}

int32_t run_resume(struct run *run, tn_value answers, bool *ended, struct error *error) {
    enum run_status was = run_status(run);
    /* A run that fails keeps its plan only if it has reached its limit of steps. */
    if (was != RUN_INTERRUPTED && was != RUN_STOPPED && !(was == RUN_FAILED && run_has_plan(run)))
        return error_set(error, TN_INVALID, "INVALID_INPUT",
                         "the run is %s, expected interrupted, stopped, or failed by RECURSION_LIMIT",
                         run_status_name(was));
    tn_value interrupts = run_interrupts(run);
    bool unanswered = !answers || (value_is(answers, TN_OBJECT) && !value_count(answers));
    int32_t status =
        unanswered && can_continue_unanswered(run) ? TN_OK : thread_interrupts_check(interrupts, answers, error);
    value_unref(interrupts);
    if (status != TN_OK) return status;
    run_set_state(run, RUN_STATE_STARTING);
    /* Only passing an `interrupt: after` is a step of the thread's history: a replay has no other resume. */
    const char *source = run->interrupt_after ? "resume" : NULL;
    run_set_interrupt_after_take(run, NULL);
    if (run->stop <= RUN_STOP_DRAIN) run->stop = RUN_STOP_NONE;
    error_finish(&run->error);
    bool in_step = run_in_step(run);
    run_start_step_limit(run, in_step); /* an interrupted step has been counted, and is the first of this invocation */
    run_start_timeout(run);
    trace_run_start(run);
    for (uint32_t i = 0; i < run->activation_count; i++) apply_answer(&run->activations[i], answers);
    run->next_activation = 0; /* only those in ACTIVATION_WAITING are started */
    durable_start(run);
    for (size_t i = 0; i < (answers ? value_count(answers) : 0); i++)
        durable_answer(run, value_chars(value_key_at(answers, i), NULL), value_value_at(answers, i));
    run_commit(run, source, in_step ? RUN_STATE_WAITING : RUN_STATE_PLANNING);
    *ended = run_drive(run);
    return TN_OK;
}
