/*
 * run_trace.c - the spans of runs, of their super-steps and of the attempts of activations (host/base/trace.h).
 *
 * A span of an outermost run has the id "RUN_ID/START", one of a super-step "step:RUN_ID/SCOPE#STEP/START", one of an
 * attempt "TASK_ID#ATTEMPT/START": a run, a step and a node that are continued after an answer are spans of their own.
 * The span around an attempt is that of its step. The one around a step is that of its run; in a nested run, that of
 * the attempt around it.
 */
#include "adl/value/memory.h"
#include "host/base/trace.h"
#include "host/engine/graph/run_internal.h"
#include "host/plugin/call/instance.h"
#include "host/plugin/registry/registry.h"
#include <inttypes.h>

/* A run has one if spans were wanted when it began, a nested run when a step of it began. */
struct run_trace {
    int64_t started_us;      /* of this invocation of an outermost run; 0 in a nested one */
    int64_t step_started_us; /* of the step, until it is committed; else 0 */
};

static bool run_is_traced(const struct run *run) {
    return (run_outermost(run)->options.modes & RUN_MODE_TRACE) != 0 && trace_wanted(run->loop);
}

static tn_value trace_id_of_run(struct run *run) {
    return run->trace ? value_format("%s/%lld", run_id(run), (long long)run->trace->started_us) : NULL;
}

tn_value trace_id_of_activation(struct activation *activation) {
    char id[ACTIVATION_ID_SIZE];
    if (!run_is_traced(activation->run)) return NULL;
    return value_format("%s#%u/%lld", activation_id(activation, id), activation->attempt,
                        (long long)activation->started_us);
}

void trace_activation_start(struct activation *activation) {
    struct loop *loop = activation->run->loop;
    activation->started_us = run_is_traced(activation->run) ? trace_start(loop) : loop_now_ms(loop) * 1000;
}

/* A step that began before spans were wanted has none. */
static tn_value trace_id_of_step(struct run *run) {
    if (!run->trace || !run->trace->step_started_us) return NULL;
    return value_format("step:%s/%" PRIx64 "#%u/%lld", run_id(run_outermost(run)), run->scope, run->step,
                        (long long)run->trace->step_started_us);
}

/* The span around the steps of the run. */
static tn_value trace_id_around(struct run *run) {
    struct run *outer = run->outer;
    if (outer && run->outer_activation < outer->activation_count)
        return trace_id_of_activation(&outer->activations[run->outer_activation]);
    return trace_id_of_run(run_outermost(run));
}

static tn_value add_context(tn_value span, struct run *run) {
    tn_value context = run_context(run);
    span = trace_add_context(span, context);
    value_unref(context);
    return span;
}

void trace_activation_end(struct activation *activation) {
    static const char *const outcomes[] = {[ACTIVATION_DONE] = "done",
                                           [ACTIVATION_FAILED] = "failed",
                                           [ACTIVATION_CANCELLED] = "cancelled",
                                           [ACTIVATION_INTERRUPTED] = "interrupted",
                                           [ACTIVATION_RETRYING] = "failed"};
    struct run *run = activation->run;
    if (!run_is_traced(run)) return;
    const struct document *document = run->graph->document;
    const struct document_node *node = &document->nodes[activation->plan.node];
    const char *outcome = outcomes[activation->state];
    tn_value span = trace_span("node", node->id, outcome ? outcome : "failed", activation->error.code);
    tn_value id = trace_id_of_activation(activation), parent = trace_id_of_step(run);
    if (!parent) parent = trace_id_around(run);
    if (id) span = value_set_take(span, "id", id);
    if (parent) span = value_set_take(span, "parent", parent);
    span = value_set_take(span, "graph", value_ref(document->name));
    span = value_set_take(span, "component", value_ref(node->type));
    span = value_set_take(span, "attempt", value_int(activation->attempt));
    if (run->path) span = value_set_take(span, "path", value_ref(run->path));
    trace_end_take(run->loop, activation->started_us, add_context(span, run));
}

tn_value trace_activation_context_take(struct activation *activation, tn_value context) {
    tn_value id = trace_wanted(activation->run->loop) ? trace_id_of_activation(activation) : NULL;
    if (id) context = trace_context_take(context, value_chars(id, NULL));
    value_unref(id);
    return context;
}

void trace_step_start(struct run *run) {
    if (!run_is_traced(run)) return;
    if (!run->trace) run->trace = mem_zalloc(sizeof *run->trace);
    if (!run->trace->step_started_us) run->trace->step_started_us = trace_start(run->loop);
}

void trace_step_end(struct run *run, const char *outcome) {
    int64_t started_us = run->trace->step_started_us;
    if (!started_us) return;
    const struct document *document = run->graph->document;
    tn_value id = trace_id_of_step(run), parent = trace_id_around(run);
    tn_value span = trace_span("step", document->name, outcome, run->error.code);
    span = value_set_take(span, "id", id);
    if (parent) span = value_set_take(span, "parent", parent);
    span = value_set_take(span, "graph", value_ref(document->name));
    span = value_set_take(span, "nodes", value_int(run->activation_count));
    if (run->path) span = value_set_take(span, "path", value_ref(run->path));
    run->trace->step_started_us = 0;
    trace_end_take(run->loop, started_us, add_context(span, run));
}

void trace_run_start(struct run *run) {
    if (run->outer || !run_is_traced(run)) return;
    if (!run->trace) run->trace = mem_zalloc(sizeof *run->trace);
    run->trace->started_us = trace_start(run->loop);
}

void trace_run_free(struct run *run) {
    mem_free(run->trace);
    run->trace = NULL;
}

void trace_run_end(struct run *run) {
    int64_t started_us = run->trace->started_us;
    if (started_us && trace_wanted(run->loop)) {
        tn_value id = trace_id_of_run(run), used = run_usage(run);
        tn_value span = trace_span("run", run->graph->document->name, run_status_name(run->status), run->error.code);
        span = value_set_take(span, "id", id);
        span = value_set_take(span, "graph", value_ref(run->graph->document->name));
        span = value_set_take(span, "steps", value_int(run->step));
        if (used) span = value_set_take(span, "usage", used);
        trace_end_take(run->loop, started_us, add_context(span, run));
    }
    trace_run_free(run);
}
