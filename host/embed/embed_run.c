/*
 * embed_run.c - runs: invoke, stream, batch, cancel.
 */
#include "adl/value/json.h"
#include "host/assembly/host.h"
#include "host/base/loop.h"
#include "host/embed/embed_internal.h"
#include "host/engine/execution/execution.h"
#include "host/engine/graph/run.h"
#include <string.h>

struct embed_run {
    tenon *handle;
    tenon_event event;
    void *user;
    struct execution *execution;
    bool ended;
    bool refused; /* the event callback returned 0 and is not called again */
};

static void embed_on_ended(struct execution *execution, void *user) {
    (void)execution;
    ((struct embed_run *)user)->ended = true;
}

static bool embed_on_event(void *user, tn_value event) {
    struct embed_run *run = user;
    if (run->refused) return true;
    bool more = run->event(run->user, event);
    loop_enter(host_loop(run->handle->host)); /* the callback may have used another host */
    if (more) return true;
    run->refused = true;
    run->handle->cancel = run->handle->cancelling = true;
    execution_cancel(run->execution);
    return true;
}

static bool embed_run_is_done(void *user) {
    struct embed_run *run = user;
    if (run->handle->cancel && !run->handle->cancelling) {
        run->handle->cancelling = true;
        execution_cancel(run->execution);
    }
    return run->ended;
}

static void embed_set_run_error(tenon *handle, const struct execution *execution) {
    const struct error *error = execution_error(execution);
    const struct run *engine_run = execution_run(execution);
    if (error && error->code)
        error_copy(&handle->error, error);
    else
        error_set(&handle->error, TN_FAILED, "INTERRUPTED", "the run is %s",
                  engine_run ? run_status_name(run_status(engine_run)) : "not complete");
}

/* Runs to the end. Returns the output, or NULL with the error. */
static tn_value embed_run_wait(tenon_runnable *runnable, tn_value input, tn_value config, unsigned modes,
                               struct embed_run *run) {
    tenon *handle = runnable->host;
    struct run_options options = RUN_OPTIONS_INIT;
    run->handle = handle;
    handle->cancel = handle->cancelling = false;
    if (run_options_read(&options, config, &handle->error) != TN_OK) return NULL;
    options.modes = modes;
    options.event = run->event ? embed_on_event : NULL;
    options.user = run;
    run->execution = execution_new(host_engine(handle->host), runnable->callable, &options, embed_on_ended, run);
    run->ended = execution_start(run->execution, input);
    tn_value output = NULL;
    if (loop_run(host_loop(handle->host), embed_run_is_done, run))
        output = execution_output(run->execution);
    else
        error_set(&handle->error, TN_FAILED, "STALLED", "the run cannot continue: no event is pending");
    if (!output && !handle->error.code) embed_set_run_error(handle, run->execution);
    execution_free(run->execution);
    return output;
}

tn_value tenon_invoke(tenon_runnable *runnable, tn_value input, tn_value config) {
    struct embed_run run = {0};
    if (!embed_enter_of(runnable)) return NULL;
    return embed_run_wait(runnable, input, config, 0, &run);
}

char *tenon_invoke_json(tenon_runnable *runnable, const char *input) {
    tn_value value = NULL;
    if (!embed_enter_of(runnable)) return NULL;
    if (input && json_read(input, strlen(input), NULL, &value, &runnable->host->error) != TN_OK) return NULL;
    tn_value output = tenon_invoke(runnable, value, NULL);
    value_unref(value);
    char *text = output ? json_text(output, JSON_COMPACT) : NULL;
    value_unref(output);
    return text;
}

tn_value tenon_stream(tenon_runnable *runnable, tn_value input, tn_value config, const char *modes, tenon_event event,
                      void *user) {
    struct embed_run run = {.event = event, .user = user};
    if (!embed_enter_of(runnable)) return NULL;
    unsigned parsed = run_modes_parse(modes ? modes : "values", &runnable->host->error);
    if (!parsed) return NULL;
    return embed_run_wait(runnable, input, config, parsed, &run);
}

struct embed_progress {
    tenon *handle;
    tenon_progress function;
    void *user;
};

static void embed_on_progress(void *user, size_t done, size_t total) {
    const struct embed_progress *progress = user;
    progress->function(progress->user, done, total);
    loop_enter(host_loop(progress->handle->host)); /* as in embed_on_event */
}

tn_value tenon_batch(tenon_runnable *runnable, tn_value inputs, tn_value config, uint32_t concurrency,
                     tenon_progress progress, void *user) {
    tenon *handle = runnable ? runnable->host : NULL;
    if (!embed_enter(handle)) return NULL;
    struct embed_progress callback = {handle, progress, user};
    struct batch_options options = {.concurrency = concurrency, .options = RUN_OPTIONS_INIT, .user = &callback};
    handle->cancel = false;
    if (run_options_read(&options.options, config, &handle->error) != TN_OK) return NULL;
    if (!inputs || !value_is(inputs, TN_ARRAY)) {
        error_set(&handle->error, TN_TYPE, "INVALID_INPUT", "a batch takes an array of inputs");
        return NULL;
    }
    if (progress) options.progress = embed_on_progress;
    return batch_run(host_engine(handle->host), runnable->callable, inputs, &options, &handle->cancel);
}

void tenon_cancel(tenon *handle) {
    if (!handle) return;
    handle->cancel = true;
    loop_wake(host_loop(handle->host));
}
