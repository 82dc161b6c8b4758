/*
 * run_trace.c - the spans of runs and of the attempts of activations (host/base/trace.h).
 *
 * A span of an outermost run has the id "RUN_ID/START", one of an attempt "TASK_ID#ATTEMPT/START": a run and a node
 * that are continued after an answer are spans of their own. The span around an attempt is that of its run; in a nested
 * run, that of the attempt around it.
 */
#include "host/base/trace.h"
#include "host/engine/graph/run_internal.h"
#include "host/plugin/call/instance.h"
#include "host/plugin/registry/registry.h"

static bool run_is_traced(const struct run *run) {
    return (run_outermost(run)->options.modes & RUN_MODE_TRACE) != 0 && trace_wanted(run->loop);
}

static tn_value trace_id_of_run(struct run *run) {
    return run->started_us ? value_format("%s/%lld", run_id(run), (long long)run->started_us) : NULL;
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

static tn_value parent_of(struct activation *activation) {
    struct run *run = activation->run, *outer = run->outer;
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
    tn_value id = trace_id_of_activation(activation), parent = parent_of(activation);
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

void trace_run_start(struct run *run) {
    if (!run->outer && run_is_traced(run)) run->started_us = trace_start(run->loop);
}

void trace_run_end(struct run *run) {
    int64_t started_us = run->started_us;
    if (run->outer || !trace_wanted(run->loop)) return;
    tn_value id = trace_id_of_run(run), used = run_usage(run);
    tn_value span = trace_span("run", run->graph->document->name, run_status_name(run->status), run->error.code);
    span = value_set_take(span, "id", id);
    span = value_set_take(span, "graph", value_ref(run->graph->document->name));
    span = value_set_take(span, "steps", value_int(run->step));
    if (used) span = value_set_take(span, "usage", used);
    run->started_us = 0;
    trace_end_take(run->loop, started_us, add_context(span, run));
}
