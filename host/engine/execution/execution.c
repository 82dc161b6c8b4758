/*
 * execution.c - one invocation of a graph (a run) or of any other callable (a call), with the same functions.
 */
#include "host/engine/execution/execution.h"
#include "adl/value/memory.h"
#include "adl/value/nearest.h"
#include "host/engine/engine.h"
#include "host/engine/graph/graph.h"
#include "host/plugin/call/call.h"
#include <string.h>

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
    if (!execution->options.event || !(execution->options.modes & RUN_MODE_CUSTOM)) return true;
    tn_value event = value_set_take(value_object_reserve(2), "type", value_text("custom"));
    event = value_set_take(event, "data", value_ref(chunk));
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

/* ---- RunnableConfig ---- */

static int32_t option_wrong_kind(struct error *error, const char *key, tn_value found, const char *expected) {
    return error_set(error, TN_TYPE, "INVALID_INPUT", "the configuration's `%s` is %s, expected %s", key,
                     value_kind_name(value_kind(found)), expected);
}

static int32_t option_read_count(tn_value value, const char *key, int64_t max, int64_t *out, struct error *error) {
    int64_t number;
    if (!value_as_int(value, &number)) return option_wrong_kind(error, key, value, "an integer");
    if (number < 0 || number > max)
        return error_set(error, TN_INVALID, "INVALID_INPUT", "the configuration's `%s` is %lld, expected 0 to %lld",
                         key, (long long)number, (long long)max);
    *out = number;
    return TN_OK;
}

static int32_t option_read_strategy(tn_value value, struct run_options *options, struct error *error) {
    static const char *const names[] = {"parallel", "pick_first", "pick_last", "stop_at_nonlinear"};
    for (int i = 0; i < 4; i++) {
        if (!value_text_is(value, names[i])) continue;
        options->strategy = i;
        return TN_OK;
    }
    return error_set(error, TN_INVALID, "INVALID_INPUT",
                     "the configuration's `strategy` must be parallel, pick_first, pick_last or stop_at_nonlinear");
}

int32_t run_options_read(struct run_options *options, tn_value config, struct error *error) {
    static const struct {
        const char *key;
        int kind;
    } keys[] = {
        {"tags", TN_ARRAY},       {"metadata", TN_OBJECT},  {"configurable", TN_OBJECT}, {"run_id", TN_STRING},
        {"thread_id", TN_STRING}, {"runner_id", TN_STRING}, {"recursion_limit", TN_INT}, {"concurrency", TN_INT},
        {"timeout_ms", TN_INT},   {"seed", TN_INT},         {"strategy", TN_STRING}};
    if (!config || value_is(config, TN_NULL)) return TN_OK;
    if (!value_is(config, TN_OBJECT))
        return error_set(error, TN_TYPE, "INVALID_INPUT", "the configuration is %s, expected an object",
                         value_kind_name(value_kind(config)));
    for (size_t i = 0, n = value_count(config); i < n; i++) {
        size_t length;
        const char *key = value_chars(value_key_at(config, i), &length);
        tn_value value = value_value_at(config, i);
        struct nearest nearest;
        nearest_init(&nearest, key, length);
        size_t row = 0;
        for (; row < sizeof keys / sizeof *keys && strcmp(keys[row].key, key) != 0; row++)
            nearest_add_candidate(&nearest, keys[row].key, strlen(keys[row].key));
        if (row == sizeof keys / sizeof *keys) {
            return error_set(error, TN_NOT_FOUND, "INVALID_INPUT", "the configuration has no key `%s`%s", key,
                             nearest_hint(&nearest).text);
        }
        if (keys[row].kind != TN_INT && !value_is(value, keys[row].kind))
            return option_wrong_kind(error, key, value, value_kind_name(keys[row].kind));
        int64_t number = 0;
        int32_t status = TN_OK;
        switch (row) {
        case 0: options->tags = value; break;
        case 1: options->metadata = value; break;
        case 2: options->configurable = value; break;
        case 3: options->run_id = value_chars(value, NULL); break;
        case 4: options->thread_id = value_chars(value, NULL); break;
        case 5: options->runner_id = value_chars(value, NULL); break;
        case 6:
            status = option_read_count(value, key, UINT32_MAX - 1, &number, error);
            options->recursion_limit = (uint32_t)number;
            break;
        case 7:
            status = option_read_count(value, key, UINT32_MAX - 1, &number, error);
            options->concurrency = (uint32_t)number;
            break;
        case 8: status = option_read_count(value, key, INT64_MAX, &options->timeout_ms, error); break;
        case 9:
            status = option_read_count(value, key, INT64_MAX, &number, error);
            options->seed = (uint64_t)number;
            break;
        default: status = option_read_strategy(value, options, error); break;
        }
        if (status != TN_OK) return status;
    }
    return TN_OK;
}
