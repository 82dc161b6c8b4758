/*
 * run_step.c - drives a run: plans, starts, applies, commits and reports one super-step after the other, and ends the
 * run.
 *
 * run_drive is the only loop over steps. It starts activations up to the concurrency limit and applies the step when
 * all have ended. An activation that ends inside its start costs no turn of the event loop; after RUN_INLINE_MAX of
 * them the run lets other runs have a turn. Requests to stop are only noted (run->stop): the run ends here, when no
 * activation is open.
 *
 * The sections follow a step: activations are created (step_begin), started (step_dispatch), applied (step_apply) and
 * reported (step_report); run_drive, at the end, calls these four. A run can end in the first and the third.
 */
#include "adl/schema/schema.h"
#include "adl/value/memory.h"
#include "host/engine/engine.h"
#include "host/engine/graph/durable.h"
#include "host/engine/graph/run_internal.h"
#include <assert.h>
#include <stdatomic.h>
#include <string.h>

/* ---- Activations of a step ---- */

/*
 * Makes room for `count` activations. The activations of an earlier step are cleared, so calls do not point into the
 * array. A fan-out needs an array for each run; runs of one graph that follow each other use the same one.
 */
static void run_reserve_activations(struct run *run, uint32_t count) {
    struct graph *graph = run->graph;
    struct activation *old = run->activations == &run->inline_activation ? NULL : run->activations;
    if (!old && count <= graph->spare_capacity) {
        run->activations = graph->spare_activations;
        run->activation_capacity = graph->spare_capacity;
        graph->spare_activations = NULL;
        graph->spare_capacity = 0;
        return;
    }
    run->activations = mem_array(old, count, sizeof *run->activations);
    run->activation_capacity = count;
}

void run_release_activations(struct run *run) {
    struct graph *graph = run->graph;
    if (run->activations == &run->inline_activation) return;
    if (graph->spare_activations || run->activation_capacity > GRAPH_SPARE_MAX) {
        mem_free(run->activations);
        return;
    }
    graph->spare_activations = run->activations;
    graph->spare_capacity = run->activation_capacity;
}

void run_create_activations(struct run *run) {
    uint32_t count = run->triggered.count + run->mapped.count;
    assert(count > 0 && run->activation_count == 0);
    if (count > run->activation_capacity) run_reserve_activations(run, count);
    for (uint32_t i = 0; i < run->triggered.count; i++)
        activation_init(&run->activations[i], run, i, run->triggered.items[i]);
    for (uint32_t i = 0; i < run->mapped.count; i++)
        activation_init(&run->activations[run->triggered.count + i], run, run->triggered.count + i,
                        run->mapped.items[i]);
    run->activation_count = count;
    run->triggered.count = run->mapped.count = 0; /* the activations own the inputs now */
    run->now_ms = run->planned_ms;
    run->planned_ms = 0;
}

void run_clear_activations(struct run *run) {
    assert(run->state != RUN_STATE_WAITING && run->state != RUN_STATE_DISPATCHING);
    for (uint32_t i = 0; i < run->activation_count; i++) activation_finish(&run->activations[i]);
    run->activation_count = run->next_activation = 0;
    run->open = run->retrying = run->interrupted = 0;
    run->first_failed = NO_INDEX;
}

/* ---- The end ---- */

/* Leads a run whose end is written back to RUN_STATE_IDLE. An interrupted run keeps its activations. */
static void run_end(struct run *run) {
    if (run->trace) trace_step_end(run, run_status_name(run->status));
    if (run->status != RUN_INTERRUPTED) run_clear_activations(run);
    if (run->status == RUN_CANCELLED || run->stop == RUN_STOP_TIMEOUT) plan_clear(run);
    run_set_state(run, RUN_STATE_IDLE);
    if (run->trace) trace_run_end(run);
    emit_debug(run, run_status_name(run->status), DOCUMENT_NOWHERE, run->error.message);
}

/* The owner may free the run. */
static void run_report_end(struct run *run) {
    if (run->options.ended) run->options.ended(run, run->options.user);
}

void run_terminate(struct run *run, enum run_status status, const char *source) {
    assert(!run->open && !run->retrying);
    loop_timer_stop(run->loop, &run->timeout);
    run->status = status;
    run_set_state(run, RUN_STATE_ENDING);
    if (!run->durable || !durable_finish(run, status, source)) run_end(run);
}

void run_fail(struct run *run, struct error *error) {
    channels_rollback(&run->channels);
    error_move(&run->error, error);
    run_terminate(run, RUN_FAILED, "end");
}

/* The run was cancelled, or has timed out, and no activation is open. */
static void run_terminate_cancelled(struct run *run) {
    const char *kept = run->durable ? "; what was committed is kept" : "";
    struct error error = ERROR_INIT;
    if (run->stop == RUN_STOP_TIMEOUT) {
        int64_t limit = run_timeout_ms(run);
        error_set(&error, TN_FAILED, "TIMEOUT", "the run took longer than its %lld ms%s", (long long)limit, kept);
        run_fail(run, &error);
        return;
    }
    error_set(&run->error, TN_CANCELLED, "CANCELLED", "the run was cancelled in step %u%s", run->step, kept);
    run_terminate(run, RUN_CANCELLED, "end");
}

/* The run fails with the error of its first activation, in activation order, that failed. */
static void run_fail_by_activation(struct run *run) {
    struct activation *activation = &run->activations[run->first_failed];
    assert(activation->state == ACTIVATION_FAILED);
    struct error error = ERROR_INIT;
    error_set(&error, TN_FAILED, activation->error.code, "node `%s`%s: %s",
              graph_node_name(run->graph, (int32_t)activation->plan.node),
              activation->attempt > 1 ? ", every attempt" : "",
              activation->error.message ? activation->error.message : "failed");
    error.more = value_ref(activation->error.more);
    run_fail(run, &error);
}

/* A join that some of its sources never reach is probably a mistake of the document's author. */
static void warn_half_filled_joins(struct run *run) {
    const struct graph *graph = run->graph;
    for (uint32_t i = 0; i < graph->join_count; i++) {
        const struct graph_join *join = &graph->joins[i];
        for (uint32_t m = 0; m < join->count; m++) {
            if (!run->join_arrived[join->first + m]) continue;
            int32_t to = graph->document->edges[join->edge].to[0];
            emit_warning(run, "half_filled_join", to, "the run ends while a join still waits for some of its sources");
            break;
        }
    }
}

/* Nothing is planned: the run is done if its result fits the document's `output`. */
static void run_terminate_done(struct run *run) {
    const struct document *document = run->graph->document;
    if (run->graph->member_count) warn_half_filled_joins(run);
    if (document->output) {
        tn_value result = run_result(run);
        struct schema_errors errors = SCHEMA_ERRORS_INIT;
        if (schema_validate(document->output, result, &errors) != TN_OK) {
            struct error error = ERROR_INIT;
            error_set(&error, TN_INVALID, "INVALID_OUTPUT", "the result%s%s does not fit the document's `output`: %s",
                      errors.count && *errors.items[0].pointer ? " at " : "",
                      errors.count ? errors.items[0].pointer : "", errors.count ? errors.items[0].message : "");
            schema_errors_finish(&errors);
            value_unref(result);
            run_fail(run, &error);
            return;
        }
        schema_errors_finish(&errors);
        value_unref(result);
    }
    if (document->budget) run_warn_over_budget(run);
    run_terminate(run, RUN_DONE, "end");
}

/* ---- Checkpoints ---- */

void run_commit(struct run *run, const char *source, enum run_state next) {
    if (!run->durable) {
        run_set_state(run, next);
        return;
    }
    run->state_after_commit = next;
    run_set_state(run, RUN_STATE_COMMITTING);
    if (!durable_commit(run, source)) run_set_state(run, next);
}

bool run_has_ended_badly(const struct run *run) {
    return run->state == RUN_STATE_ENDING && run->status != RUN_DONE && run->error.code;
}

void run_on_written(struct run *run, const struct error *error) {
    assert(run->state == RUN_STATE_COMMITTING || run->state == RUN_STATE_ENDING);
    if (!error && run->state == RUN_STATE_COMMITTING) {
        run_set_state(run, run->state_after_commit);
        if (run->state == RUN_STATE_PLANNING && !run_in_step(run)) run_clear_activations(run);
        run_advance(run);
        return;
    }
    /* A run that failed or was cancelled anyway keeps its own error. */
    if (error && !run_has_ended_badly(run)) {
        loop_timer_stop(run->loop, &run->timeout);
        error_copy(&run->error, error);
        plan_clear(run);
        run->status = RUN_FAILED;
    }
    run_end(run);
    run_report_end(run);
}

/* ---- Planning: from the plan to the first activation ---- */

/* The options name the node, or all nodes. They are about the outermost graph. */
static bool options_name(const struct run *run, tn_value names, uint32_t node) {
    tn_value id = run->graph->document->nodes[node].id;
    for (size_t i = 0; i < value_count(names); i++)
        if (value_text_is(value_at(names, i), "*") || value_equal(value_at(names, i), id)) return true;
    return false;
}

bool run_stops_before(const struct run *run, uint32_t node) {
    return run->graph->document->nodes[node].interrupt_before || options_name(run, run->options.interrupt_before, node);
}

bool run_stops_after(const struct run *run, uint32_t node) {
    return run->graph->document->nodes[node].interrupt_after || options_name(run, run->options.interrupt_after, node);
}

/* A node of the step stops the run before it, and the run was not resumed after that interrupt. */
static bool must_interrupt_before(const struct run *run) {
    if (!run->graph->has_interrupts && !run->options.interrupt_before) return false;
    for (uint32_t i = 0; i < run->activation_count; i++) {
        const struct activation *activation = &run->activations[i];
        if (run_stops_before(run, activation->plan.node) && !activation->passed_interrupt_before) return true;
    }
    return false;
}

/* Returns RECURSION_LIMIT if the planned step would exceed the limit of steps. */
static int32_t check_step_limit(const struct run *run, struct error *error) {
    if (run->step < run->limit_step) return TN_OK;
    bool operators = run->recursion_limit == run->graph->engine->recursion_max; /* tenon.yaml has the lowest limit */
    const struct plan_entry *next = run->triggered.count ? run->triggered.items : run->mapped.items;
    return error_set(error, TN_LIMIT, "RECURSION_LIMIT",
                     "the run has taken %u step%s, which is its limit, and `%s` would be next; raise %s, or give the "
                     "loop a way to END",
                     run->step, run->step == 1 ? "" : "s", graph_node_name(run->graph, (int32_t)next->node),
                     operators ? "limits.recursion_limit in tenon.yaml" : "recursion_limit");
}

/* Creates the activations of the planned step. Returns false if the run ends instead. */
static bool step_begin(struct run *run) {
    assert(run->activation_count == 0);
    if (run_is_cancelled(run)) {
        run_terminate_cancelled(run);
        return false;
    }
    if (run->interrupt_after) {
        run_terminate(run, RUN_INTERRUPTED, "end");
        return false;
    }
    if (!run_has_plan(run)) {
        run_terminate_done(run);
        return false;
    }
    if (run->stop == RUN_STOP_DRAIN || (run->stop == RUN_STOP_MOVE && !run->carried)) {
        run_terminate(run, RUN_STOPPED, "end");
        return false;
    }
    struct error error = ERROR_INIT;
    int32_t status = check_step_limit(run, &error);
    if (status == TN_OK && run->graph->document->budget) status = run_check_step_budget(run, &error);
    if (status != TN_OK) {
        error_move(&run->error, &error);
        run_terminate(run, RUN_FAILED, "end"); /* the plan is saved: run_resume continues from here */
        return false;
    }
    run->step++;
    if (run->options.shown_steps) atomic_store_explicit(run->options.shown_steps, run->step, memory_order_relaxed);
    run->carried = false;
    run_create_activations(run);
    if (must_interrupt_before(run)) {
        run_terminate(run, RUN_INTERRUPTED, "end");
        return false;
    }
    return true;
}

/* ---- Dispatching: starting activations ---- */

/* What one call of run_drive may still do before other runs get a turn. */
struct slice {
    uint32_t starts_left; /* RUN_INLINE_MAX at first; 0 when RUN_INLINE_US have passed */
    int64_t since_us;     /* when the slice began; 0 if not yet read */
};

/* Reading the clock costs as much as starting a small node, so it is read once for so many starts. */
#define CLOCK_EVERY 4u

static void slice_count_start(struct slice *slice, const struct run *run) {
    if (--slice->starts_left % CLOCK_EVERY != 0) return;
    int64_t now = loop_clock_us(run->loop);
    if (!slice->since_us) slice->since_us = now;
    if (now - slice->since_us >= RUN_INLINE_US) slice->starts_left = 0;
}

/* Activations before the first that failed may start, and retry. */
static bool may_start_next(const struct run *run) {
    return run->next_activation < run->activation_count && run->next_activation < run->first_failed &&
           !run_is_cancelled(run);
}

/* Starts as many activations as it may. Returns true if all activations of the step have ended. */
static bool step_dispatch(struct run *run, const struct run *root, struct slice *slice) {
    run_set_state(run, RUN_STATE_DISPATCHING);
    while (may_start_next(run) && run->open < run->concurrency && slice->starts_left && !root->subscriber_full) {
        struct activation *activation = &run->activations[run->next_activation++];
        if (activation->state != ACTIVATION_WAITING) continue;
        activation_start(activation);
        slice_count_start(slice, run);
    }
    bool more = may_start_next(run);
    if (!more && !run->open && !run->retrying) {
        run_set_state(run, RUN_STATE_APPLYING);
        return true;
    }
    run_set_state(run, RUN_STATE_WAITING);
    if (more && !slice->starts_left) loop_defer(run->loop, &run->work);
    return false;
}

/* ---- Applying: writes and successors ---- */

/* Adds one write of an activation to the pending writes of the step. */
static int32_t apply_write(void *user, struct activation *activation, uint32_t channel, tn_value value,
                           struct error *error) {
    struct run *run = user;
    const struct document_channel *def = &run->graph->document->channels[channel];
    uint32_t other = NO_INDEX;
    /* Only messages get ids, and hashing costs time. */
    uint64_t origin = def->reducer == REDUCER_MESSAGES ? activation_hash(activation) : 0;
    int32_t status = run->durable ? durable_check_write(run, channel, value, error) : TN_OK;
    if (status != TN_OK) return status;
    status = channels_write(&run->channels, channel, value, activation->index, origin, &other, error);
    if (status != TN_OK && other != NO_INDEX) {
        const struct graph *graph = run->graph;
        const char *first = graph_node_name(graph, (int32_t)run->activations[other].plan.node);
        const char *second = graph_node_name(graph, (int32_t)activation->plan.node);
        error_set(error, status, "CONCURRENT_UPDATE",
                  "channel `%s` is of type %s, and was written in one step by `%s` and by `%s`; make it an "
                  "append or reduce channel, or put one node after the other",
                  value_chars(def->name, NULL), def->type == CHANNEL_EPHEMERAL ? "ephemeral" : "last_value", first,
                  second);
    }
    return status;
}

/* The entry of the `error` channel for a failure that on_error handles. */
static tn_value handled_error(const struct activation *activation) {
    tn_value entry = error_to_value(&activation->error);
    entry = value_set_take(entry, "node", value_ref(activation->run->graph->document->nodes[activation->plan.node].id));
    if (activation->plan.input) entry = value_set_take(entry, "item", value_ref(activation->plan.input));
    return entry;
}

/* Prefixes the error of a write with the node that wrote. CONCURRENT_UPDATE names both nodes already. */
static void prefix_with_node(struct run *run, const struct activation *activation, struct error *error) {
    if (error->code && strcmp(error->code, "CONCURRENT_UPDATE") == 0) return;
    struct error inner = ERROR_INIT;
    error_move(&inner, error);
    error_set(error, TN_ERROR, inner.code, "node `%s`: %s", graph_node_name(run->graph, (int32_t)activation->plan.node),
              inner.message ? inner.message : "its writes do not fit");
    error->more = value_ref(inner.more);
    error_finish(&inner);
}

/* The implicit one, or one that the document declares. It exists if a node has on_error. */
static uint32_t error_channel(const struct document *document) {
    return (uint32_t)document_find_channel(document, "error", strlen("error"));
}

/* Merges the writes of all activations, in their order, and makes them the new state of the channels. */
static int32_t step_apply_writes(struct run *run, struct error *error) {
    const struct document *document = run->graph->document;
    for (uint32_t i = 0; i < run->activation_count; i++) {
        struct activation *activation = &run->activations[i];
        int32_t status;
        assert(activation->state == ACTIVATION_DONE || activation->state == ACTIVATION_FAILED);
        if (activation->state == ACTIVATION_FAILED) { /* its on_error handles the failure */
            tn_value entry = handled_error(activation);
            status = channels_write(&run->channels, error_channel(document), entry, i, 0, NULL, error);
            value_unref(entry);
        } else {
            status = activation_each_write(activation, apply_write, run, error);
        }
        if (status != TN_OK) {
            activation->refused = true;
            durable_save_outcome(activation); /* instead of what was saved when it ended */
            prefix_with_node(run, activation, error);
            return status;
        }
    }
    int32_t status = channels_commit(&run->channels, error);
    if (status == TN_OK) run->applied_step = run->step;
    return status;
}

/*
 * Adds the node's id to the list (may be NULL), if the run stops after the node. The activations of a node are next
 * to each other. A node that was both triggered and mapped to is listed twice, with the same id of its interrupt.
 */
static tn_value add_interrupt_after(tn_value list, const struct run *run, uint32_t node) {
    const struct document_node *def = &run->graph->document->nodes[node];
    if (!run_stops_after(run, node)) return list;
    size_t count = value_count(list);
    if (count && value_equal(value_at(list, count - 1), def->id)) return list;
    return value_push_take(list ? list : value_array(), value_ref(def->id));
}

/* Plans the next step: the successors of each activation. */
static int32_t step_route(struct run *run, struct error *error) {
    tn_value interrupt_after = NULL;
    for (uint32_t i = 0; i < run->activation_count; i++) {
        int32_t status = route_activation(run, &run->activations[i], error);
        if (status != TN_OK) {
            value_unref(interrupt_after);
            return status;
        }
        if (run->graph->has_interrupts || run->options.interrupt_after)
            interrupt_after = add_interrupt_after(interrupt_after, run, run->activations[i].plan.node);
    }
    plan_finish(run);
    run_set_interrupt_after_take(run, interrupt_after);
    return TN_OK;
}

/* Routing failed. The writes of the step are committed: subscribers must see them, and nothing may follow. */
static void fail_routing(struct run *run, struct error *error) {
    plan_clear(run);
    if (run_has_subscriber(run, RUN_MODE_ALL)) {
        run->report_next = 0;
        while (run_report_next(run)) {
        }
    }
    run_fail(run, error);
}

/* All activations have ended: applies and commits the step. Returns false if the run ends instead. */
static bool step_apply(struct run *run) {
    struct error error = ERROR_INIT;
    assert(!run->open && !run->retrying);
    if (run_is_cancelled(run)) {
        run_terminate_cancelled(run);
        return false;
    }
    if (run->first_failed != NO_INDEX) {
        run_fail_by_activation(run);
        return false;
    }
    if (run->interrupted) {
        run_terminate(run, RUN_INTERRUPTED, "end");
        return false;
    }
    if (step_apply_writes(run, &error) != TN_OK) {
        run_fail(run, &error);
        return false;
    }
    if (step_route(run, &error) != TN_OK) {
        fail_routing(run, &error);
        return false;
    }
    if (run->usage) run_settle_usage(run);
    if (run->tool_uses != run->tool_uses_settled) run_settle_tool_uses(run);
    run->report_next = 0;
    bool reports = run_may_report(run);
    run_commit(run, "step", reports ? RUN_STATE_REPORTING : RUN_STATE_PLANNING);
    /* A failed commit saves the activations separately. */
    if (!reports && run->state != RUN_STATE_COMMITTING) run_clear_activations(run);
    return true;
}

/* ---- Reporting ---- */

/* Returns false if the subscriber is full before the last event. A cancelled run does not wait for its subscriber. */
static bool step_report(struct run *run, const struct run *root) {
    if (run->trace) trace_step_end(run, "done");
    if (root->options.modes)
        while (!root->subscriber_full && run_report_next(run)) {
        }
    if (root->subscriber_full && !run_is_cancelled(run)) return false;
    run_clear_activations(run);
    run_set_state(run, RUN_STATE_PLANNING);
    return true;
}

/* ---- The driver ---- */

/*
 * Each pass of the loop is one step, entered where the run is: a new one in PLANNING, one that was resumed or whose
 * activations were open in WAITING, one that is not completely reported in REPORTING. A function that returns false has
 * ended the run, or left it to an event: an activation, the store, the subscriber or the next turn calls run_advance
 * again.
 */
bool run_drive(struct run *run) {
    const struct run *root = run_outermost(run);
    struct slice slice = {RUN_INLINE_MAX, 0};
    while (!root->subscriber_full || run_is_cancelled(run)) {
        switch (run->state) {
        case RUN_STATE_REPORTING:
            if (!step_report(run, root)) return false;
            /* fallthrough */
        case RUN_STATE_PLANNING:
            if (!step_begin(run)) return run->state == RUN_STATE_IDLE;
            /* fallthrough */
        case RUN_STATE_WAITING:
            if (root->trace) trace_step_start(run);
            if (!step_dispatch(run, root, &slice)) return false;
            if (!step_apply(run)) return run->state == RUN_STATE_IDLE;
            break;
        default: return false;
        }
        if (!slice.starts_left) {
            loop_defer(run->loop, &run->work);
            return false;
        }
    }
    return false;
}

void run_advance(struct run *run) {
    if (run_drive(run)) run_report_end(run);
}
