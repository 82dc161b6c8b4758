/*
 * run.c - creates, starts, cancels and frees a run, and guards its state.
 *
 * A call of run_start, run_resume or run_update is an invocation. It leads the run out of RUN_STATE_IDLE, and the end
 * of the invocation leads back. run_step.c does what lies between.
 */
#include "adl/value/memory.h"
#include "host/base/container_of.h"
#include "host/base/random.h"
#include "host/base/trace.h"
#include "host/data/thread/thread_log.h"
#include "host/engine/engine.h"
#include "host/engine/graph/durable.h"
#include "host/engine/graph/run_internal.h"
#include <stdio.h>
#include <string.h>

const char *run_status_name(enum run_status status) {
    static const char *const names[] = {
        [RUN_NEW] = "new",        [RUN_RUNNING] = "running",     [RUN_DONE] = "done",
        [RUN_FAILED] = "failed",  [RUN_CANCELLED] = "cancelled", [RUN_INTERRUPTED] = "interrupted",
        [RUN_STOPPED] = "stopped"};
    return names[status];
}

uint64_t run_mix(uint64_t hash, uint64_t more) {
    uint64_t mixed = (hash ^ more) + 0x9e3779b97f4a7c15u;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9u;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
    return mixed ^ (mixed >> 31);
}

/* ---- State ---- */

#define TO(state) (1u << RUN_STATE_##state)

bool run_may_enter(enum run_state from, enum run_state to) {
    static const unsigned next[] = {
        [RUN_STATE_IDLE] = TO(STARTING),
        [RUN_STATE_STARTING] =
            TO(COMMITTING) | TO(REPORTING) | TO(PLANNING) | TO(WAITING) | TO(ENDING) | TO(IDLE) /* refused */,
        [RUN_STATE_PLANNING] = TO(DISPATCHING) | TO(ENDING),
        [RUN_STATE_WAITING] = TO(DISPATCHING),
        [RUN_STATE_DISPATCHING] = TO(WAITING) | TO(APPLYING),
        [RUN_STATE_APPLYING] = TO(COMMITTING) | TO(REPORTING) | TO(PLANNING) | TO(ENDING),
        [RUN_STATE_COMMITTING] = TO(REPORTING) | TO(PLANNING) | TO(WAITING) | TO(IDLE) /* the store failed */,
        [RUN_STATE_REPORTING] = TO(PLANNING),
        [RUN_STATE_ENDING] = TO(IDLE),
    };
    return (next[from] & 1u << to) != 0;
}

/* ---- Creating and freeing ---- */

static size_t align8(size_t size) { return (size + 7u) & ~(size_t)7u; }

static void run_on_turn(struct loop_work *work) { run_advance(CONTAINER_OF(work, struct run, work)); }

struct run *run_new(struct graph *graph, const struct run_options *options) {
    const struct document *document = graph->document;
    size_t head = align8(sizeof(struct run)), state = align8(channels_size(document->channel_count));
    size_t marks = align8((document->node_count + 2 * graph->join_count) * sizeof(uint32_t));
    struct run *run = mem_zalloc(head + state + marks + graph->member_count + document->node_count);
    char *memory = (char *)run + head;
    run->graph = graph_ref(graph);
    run->loop = graph->engine->loop;
    run->options = *options;
    value_ref(options->tags);
    value_ref(options->metadata);
    value_ref(options->configurable);
    value_ref(options->interrupt_before);
    value_ref(options->interrupt_after);
    run->options.run_id = NULL;
    if (options->run_id) run->id = mem_text(options->run_id);
    run->options.thread_id = options->thread_id ? mem_text(options->thread_id) : NULL;
    run->options.runner_id = options->runner_id ? mem_text(options->runner_id) : NULL;
    if (!options->event) run->options.modes = 0;
    if (trace_wanted(run->loop)) run->options.modes |= RUN_MODE_TRACE;
    run->options.loaded = options->loaded ? value_ref(options->loaded) : NULL;
    run->options.document = options->document ? mem_text(options->document) : NULL;
    run->options.served = options->served ? value_ref(options->served) : NULL;
    run->recursion_limit = options->recursion_limit ? options->recursion_limit : document->recursion_limit;
    if (run->recursion_limit > graph->engine->recursion_max) run->recursion_limit = graph->engine->recursion_max;
    run->limit_step = run->recursion_limit;
    run->concurrency = options->concurrency ? options->concurrency : document->concurrency;
    if (run->concurrency > graph->engine->concurrency_max) run->concurrency = graph->engine->concurrency_max;
    run->strategy = options->strategy >= 0 ? (enum run_strategy)options->strategy : document->strategy;
    run->first_failed = NO_INDEX;
    run->activations = &run->inline_activation;
    run->activation_capacity = 1;
    run->triggered.items = run->inline_triggered;
    run->triggered.capacity = RUN_INLINE_TRIGGERED;
    run->work.run = run_on_turn;
    channels_init(&run->channels, graph, memory);
    run->triggered_in = (uint32_t *)(void *)(memory + state);
    run->join_fired_in = run->triggered_in + document->node_count;
    run->join_count = run->join_fired_in + graph->join_count;
    run->join_arrived = (uint8_t *)memory + state + marks;
    run->deferred = (bool *)(run->join_arrived + graph->member_count);
    return run;
}

void run_free(struct run *run) {
    if (!run) return;
    loop_timer_stop(run->loop, &run->timeout);
    loop_undefer(run->loop, &run->work);
    run_clear_activations(run);
    plan_clear(run);
    if (run->trace) trace_run_free(run);
    run_release_activations(run);
    if (run->triggered.items != run->inline_triggered) mem_free(run->triggered.items);
    mem_free(run->mapped.items);
    durable_free(run);
    if (run->tool_uses) run_clear_tool_uses(run);
    mem_free(run->usage);
    mem_free(run->usage_settled);
    mem_free(run->usage_before);
    channels_finish(&run->channels);
    value_unref(run->options.loaded);
    value_unref(run->options.served);
    mem_free((void *)(uintptr_t)run->options.document);
    value_unref(run->options.tags);
    value_unref(run->options.metadata);
    value_unref(run->options.configurable);
    value_unref(run->options.interrupt_before);
    value_unref(run->options.interrupt_after);
    mem_free((void *)(uintptr_t)run->options.thread_id);
    mem_free((void *)(uintptr_t)run->options.runner_id);
    value_unref(run->input);
    value_unref(run->path);
    value_unref(run->interrupt_after);
    mem_free(run->id);
    mem_free(run->incarnation);
    error_finish(&run->error);
    graph_unref(run->graph);
    mem_free(run);
}

/* ---- Invocations ---- */

static void run_on_timeout(struct loop_timer *timer);

void run_start_step_limit(struct run *run, uint32_t counted) {
    uint64_t limit = (uint64_t)run->step + run->recursion_limit - counted;
    run->limit_step = limit < UINT32_MAX ? (uint32_t)limit : UINT32_MAX;
}

int64_t run_timeout_ms(const struct run *run) {
    return run->options.timeout_ms ? run->options.timeout_ms : run->graph->document->timeout_ms;
}

void run_start_timeout_after(struct run *run, int64_t ms) {
    loop_timer_start(run->loop, &run->timeout, ms, run_on_timeout);
}

void run_start_timeout(struct run *run) {
    int64_t timeout = run_timeout_ms(run);
    if (timeout) run_start_timeout_after(run, timeout);
}

/* The input has been applied. Returns true if the run has ended. */
static bool run_launch(struct run *run) {
    bool reports = run_may_report(run);
    run->report_next = 0;
    if (reports) trace_run_start(run);
    run_commit(run, "input", reports ? RUN_STATE_REPORTING : RUN_STATE_PLANNING);
    return run_drive(run);
}

bool run_start(struct run *run, tn_value input) {
    struct error error = ERROR_INIT;
    run_set_state(run, RUN_STATE_STARTING);
    run_start_step_limit(run, 0);
    run_start_timeout(run);
    if (run_apply_input(run, input, &error) == TN_OK) return run_launch(run);
    run_fail(run, &error);
    return run->state == RUN_STATE_IDLE;
}

int32_t run_try_start(struct run *run, tn_value input, bool *ended, struct error *error) {
    run_set_state(run, RUN_STATE_STARTING);
    int32_t status = run_apply_input(run, input, error);
    if (status != TN_OK) {
        run_set_state(run, RUN_STATE_IDLE);
        return status;
    }
    run_start_step_limit(run, 0);
    run_start_timeout(run);
    *ended = run_launch(run);
    return TN_OK;
}

void run_discard_plan(struct run *run) {
    const struct document *document = run->graph->document;
    /* The number of the step is not used again: ids of activations depend on it, and the journal has their outcomes. */
    if (!run_in_step(run) && (run_has_plan(run) || run->deferred_count)) run->step++;
    run_clear_activations(run);
    plan_clear(run);
    memset(run->join_arrived, 0, run->graph->member_count);
    memset(run->join_count, 0, run->graph->join_count * sizeof *run->join_count);
    memset(run->deferred, 0, document->node_count * sizeof *run->deferred);
    run->deferred_count = 0;
    run_set_interrupt_after_take(run, NULL);
    run->planned_ms = 0;
}

/* ---- Requests from outside ---- */

void run_request_stop(struct run *run, enum run_stop stop) {
    if (stop > run->stop) run->stop = stop;
}

static void run_request_cancel(struct run *run, enum run_stop stop) {
    bool repeated = run_is_cancelled(run);
    run_request_stop(run, stop);
    if (repeated) return;
    activation_cancel_all_from(run, 0);
    loop_defer(run->loop, &run->work); /* ends the run if no activation is open */
}

static void run_on_timeout(struct loop_timer *timer) {
    run_request_cancel(CONTAINER_OF(timer, struct run, timeout), RUN_STOP_TIMEOUT);
}

void run_cancel(struct run *run) {
    if (run->state != RUN_STATE_IDLE) run_request_cancel(run, RUN_STOP_CANCEL);
}

static bool run_is_idle(void *user) { return ((const struct run *)user)->state == RUN_STATE_IDLE; }

void run_cancel_wait(struct run *run) {
    if (run_is_idle(run)) return;
    run_cancel(run);
    loop_run(run->loop, run_is_idle, run);
}

void run_drain(struct run *run) {
    if (run->state != RUN_STATE_IDLE) run_request_stop(run, RUN_STOP_DRAIN);
}

static void resume_calls(struct run *run) {
    for (uint32_t i = 0; i < run->activation_count; i++)
        if (run->activations[i].state == ACTIVATION_OPEN && run->activations[i].call)
            call_resume(run->activations[i].call);
    if (run->state != RUN_STATE_IDLE) loop_defer(run->loop, &run->work);
}

void run_continue(struct run *run) {
    if (!run->subscriber_full) return;
    run->subscriber_full = false;
    resume_calls(run);
    for (struct run *nested = run->nested; nested; nested = nested->next_nested) resume_calls(nested);
}

/* ---- Reading ---- */

enum run_status run_status(const struct run *run) { return run->state == RUN_STATE_IDLE ? run->status : RUN_RUNNING; }
const struct error *run_error(const struct run *run) { return &run->error; }
uint32_t run_steps(const struct run *run) { return run->step; }
tn_value run_loaded(const struct run *run) { return run->options.loaded; }
struct graph *run_graph(const struct run *run) {
    return run->graph;
}

static bool run_plans_node(const struct run *run, uint32_t node) {
    for (uint32_t i = 0; i < run->triggered.count; i++)
        if (run->triggered.items[i].node == node) return true;
    for (uint32_t i = 0; i < run->mapped.count; i++)
        if (run->mapped.items[i].node == node) return true;
    return false;
}

tn_value run_next_nodes(const struct run *run) {
    tn_value nodes = value_array();
    for (uint32_t i = 0; i < run->graph->document->node_count; i++)
        if (run_plans_node(run, i)) nodes = value_push_take(nodes, value_ref(run->graph->document->nodes[i].id));
    return nodes;
}

tn_value run_state(const struct run *run) { return channels_object(&run->channels, true); }

tn_value run_state_read(const struct run *run, struct error *error) {
    tn_value state = run_state(run);
    if (!run->options.log || thread_log_read_all(run->options.log, state, error) == TN_OK) return state;
    value_unref(state);
    return NULL;
}

tn_value run_result(struct run *run) {
    const struct document *document = run->graph->document;
    if (run->graph->whole) return value_ref(run->channels.values[GRAPH_WHOLE_CHANNEL_OUTPUT]);
    tn_value state = channels_object(&run->channels, false);
    tn_value properties = document->output_value ? value_get(document->output_value, "properties") : NULL;
    if (!properties && run->graph->alone && run->input) {
        value_unref(state);
        return value_ref(run->input);
    }
    if (!properties) return state;
    tn_value result = value_object_reserve(value_count(properties));
    for (size_t i = 0, n = value_count(properties); i < n; i++) {
        tn_value key = value_key_at(properties, i), value = value_get_key(state, key);
        if (value) result = value_set_key_take(result, value_ref(key), value_ref(value));
    }
    value_unref(state);
    return result;
}

const char *run_id(struct run *run) {
    if (run->outer) return run_id(run->outer);
    if (run->id) return run->id;
    static const char digits[] = "0123456789abcdef";
    unsigned char bytes[16];
    random_fill(bytes, sizeof bytes);
    bytes[6] = (unsigned char)((bytes[6] & 0x0f) | 0x40); /* a random UUID, RFC 9562 version 4 */
    bytes[8] = (unsigned char)((bytes[8] & 0x3f) | 0x80);
    run->id = mem_alloc(37);
    char *at = run->id;
    for (int i = 0; i < 16; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10) *at++ = '-';
        *at++ = digits[bytes[i] >> 4];
        *at++ = digits[bytes[i] & 0x0f];
    }
    *at = 0;
    return run->id;
}

tn_value run_context(struct run *run) {
    const struct run_options *options = &run->options;
    tn_value context = value_object_reserve(10);
    context = value_set_take(context, "run_id", value_text(run_id(run)));
    context = value_set_take(context, "thread_id", options->thread_id ? value_text(options->thread_id) : value_null());
    context = value_set_take(context, "runner_id", options->runner_id ? value_text(options->runner_id) : value_null());
    context = value_set_take(context, "step", value_int(run->step));
    if (!run->now_ms) run->now_ms = loop_wall_ms(run->loop); /* the same time during a whole step */
    context = value_set_take(context, "now", value_int(run->now_ms));
    context = value_set_take(context, "path", run->path ? value_ref(run->path) : value_array());
    context = value_set_take(context, "tags", options->tags ? value_ref(options->tags) : value_array());
    context = value_set_take(context, "metadata", options->metadata ? value_ref(options->metadata) : value_object());
    return value_set_take(context, "configurable",
                          options->configurable ? value_ref(options->configurable) : value_object());
}
