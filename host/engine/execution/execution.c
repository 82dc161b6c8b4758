/*
 * execution.c - one invocation of a graph (a run) or of any other callable (a call), with the same functions. The
 * result as an event is in execution_report.c.
 */
#include "host/engine/execution/execution.h"
#include "adl/value/memory.h"
#include "host/engine/engine.h"
#include "host/engine/graph/graph.h"
#include "host/plugin/call/call.h"

struct execution {
    struct engine *engine;
    struct callable *callable;
    struct run_options options;
    execution_ended_fn *ended;
    void *user;
    struct run *run;   /* a graph */
    struct call *call; /* anything else */
    struct error error;
};

static void execution_on_run_ended(struct run *run, void *user) {
    (void)run;
    struct execution *execution = user;
    execution->ended(execution, execution->user);
}

static bool execution_on_run_event(void *user, tn_value event) {
    struct execution *execution = user;
    return execution->options.event(execution->options.user, event);
}

static void execution_on_call_ended(struct call *call) {
    struct execution *execution = call_owner(call);
    execution->ended(execution, execution->user);
}

static bool execution_on_chunk(struct call *call, tn_value chunk) {
    struct execution *execution = call_owner(call);
    tn_value delta = chunk_delta(chunk);
    unsigned mode = delta ? RUN_MODE_MESSAGES : RUN_MODE_CUSTOM;
    if (!execution->options.event || !(execution->options.modes & mode)) return true;
    tn_value event = value_set_take(value_object_reserve(4), "type", value_text(delta ? "messages" : "custom"));
    if (delta) { /* events of this type have a step and a node */
        event = value_set_take(event, "step", value_int(0));
        event = value_set_take(event, "node", value_text("model"));
    }
    event = value_set_take(event, delta ? "delta" : "data", value_ref(delta ? delta : chunk));
    bool more = execution->options.event(execution->options.user, event);
    value_unref(event);
    return more;
}

struct execution *execution_new(struct engine *engine, struct callable *callable, const struct run_options *options,
                                execution_ended_fn *ended, void *user) {
    static const struct call_ops ops = {.ended = execution_on_call_ended, .chunk = execution_on_chunk};
    struct execution *execution = mem_zalloc(sizeof *execution);
    execution->engine = engine;
    execution->callable = callable_ref(callable);
    execution->options = *options;
    execution->ended = ended;
    execution->user = user;
    struct graph *graph = graph_of_callable(callable);
    if (graph) {
        struct run_options inner = *options;
        inner.ended = execution_on_run_ended;
        inner.event = options->event ? execution_on_run_event : NULL;
        inner.user = execution;
        execution->run = run_new(graph_current(graph), &inner);
    } else {
        execution->call = call_new(engine->loop, callable, &ops, execution);
        if (options->timeout_ms) call_set_time_limits(execution->call, options->timeout_ms, 0);
    }
    return execution;
}

bool execution_start(struct execution *execution, tn_value input) {
    if (execution->run) return run_start(execution->run, input && !value_is(input, TN_NULL) ? input : NULL);
    return call_start(execution->call, input);
}

void execution_cancel(struct execution *execution) {
    if (execution->run)
        run_cancel(execution->run);
    else if (call_outcome(execution->call) == CALL_OPEN)
        call_cancel(execution->call);
}

void execution_continue(struct execution *execution) {
    if (execution->run)
        run_continue(execution->run);
    else
        call_resume(execution->call);
}

void execution_free(struct execution *execution) {
    if (!execution) return;
    run_free(execution->run);
    call_free(execution->call);
    callable_unref(execution->callable);
    error_finish(&execution->error);
    mem_free(execution);
}

struct run *execution_run(const struct execution *execution) {
    return execution->run;
}

tn_value execution_output(const struct execution *execution) {
    if (execution->run) return run_status(execution->run) == RUN_DONE ? run_result(execution->run) : NULL;
    if (call_outcome(execution->call) != CALL_COMPLETED) return NULL;
    tn_value output = call_output(execution->call);
    return output ? value_ref(output) : value_null();
}

const struct error *execution_error(const struct execution *execution) {
    return execution->run ? run_error(execution->run) : call_error(execution->call);
}

enum run_status execution_status(const struct execution *execution) {
    static const enum run_status of_call[] = {[CALL_OPEN] = RUN_RUNNING,
                                              [CALL_COMPLETED] = RUN_DONE,
                                              [CALL_FAILED] = RUN_FAILED,
                                              [CALL_CANCELLED] = RUN_CANCELLED,
                                              [CALL_INTERRUPTED] = RUN_INTERRUPTED};
    return execution->run ? run_status(execution->run) : of_call[call_outcome(execution->call)];
}

int32_t execution_resume(struct execution *execution, tn_value answers, bool *ended, struct error *error) {
    if (execution->run) return run_resume(execution->run, answers, ended, error);
    return error_set(error, TN_UNSUPPORTED, "INVALID_INPUT",
                     "only the run of a graph can be resumed; a component that asks must be a node of a graph");
}
