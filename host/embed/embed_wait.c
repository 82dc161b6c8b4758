/*
 * embed_wait.c - running the loop: until a run has ended, for a whole batch, or one turn in the loop of the program.
 */
#include "adl/value/json.h"
#include "host/base/container_of.h"
#include "host/base/log.h"
#include "host/embed/embed_run.h"
#include "host/engine/execution/execution.h"
#include "host/engine/graph/graph.h"
#include "host/loops/loops_batch.h"
#include <string.h>

/* The library runs the loop only if it does not run already: a nested loop would call callbacks inside callbacks. */
bool embed_may_wait_function(tenon *handle, const char *function) {
    if (!loop_running(handle->loop) && !handle->batching) return true;
    error_set(&handle->error, TN_INVALID, "NESTED",
              "%s was called in a callback of this host, which must not wait; call it after the callback has returned",
              function);
    return false;
}

void embed_wake(tenon *handle) {
    if (handle->foreign && !loop_running(handle->loop)) loop_wake(handle->loop);
}

/* ---- Waiting ---- */

struct embed_wait {
    tenon *handle;
    tenon_run *run; /* NULL: all runs */
    struct loop_timer timer;
    bool timed_out;
};

static void embed_wait_on_timer(struct loop_timer *timer) {
    CONTAINER_OF(timer, struct embed_wait, timer)->timed_out = true;
}

static bool embed_wait_has_ended(const struct embed_wait *wait) {
    return wait->run ? !embed_run_is_active(wait->run) : !wait->handle->active;
}

static bool embed_wait_is_over(void *user) {
    const struct embed_wait *wait = user;
    return wait->timed_out || embed_wait_has_ended(wait);
}

/* Runs the loop until the run (NULL: every run) has ended. */
static int32_t embed_wait_for(tenon *handle, tenon_run *run, int64_t timeout_ms) {
    struct embed_wait wait = {.handle = handle, .run = run};
    if (run) run->references++; /* a callback may release it */
    if (timeout_ms >= 0) loop_timer_start(handle->loop, &wait.timer, timeout_ms, embed_wait_on_timer);
    bool over = loop_run(handle->loop, embed_wait_is_over, &wait);
    loop_timer_stop(handle->loop, &wait.timer);
    bool ended = embed_wait_has_ended(&wait);
    if (run) embed_run_unref(run);
    if (over) return ended ? TN_OK : TN_AGAIN;
    return error_set(&handle->error, TN_FAILED, "STALLED", "the run cannot continue: no event is pending");
}

int32_t tenon_run_wait(tenon_run *run, int64_t timeout_ms) {
    if (!embed_enter_of(run) || !embed_may_wait(run->host)) return TN_INVALID;
    return embed_wait_for(run->host, run, timeout_ms);
}

int32_t tenon_wait(tenon *handle, int64_t timeout_ms) {
    if (!embed_enter(handle) || !embed_may_wait(handle)) return TN_INVALID;
    return embed_wait_for(handle, NULL, timeout_ms);
}

void embed_runs_close(tenon *handle) {
    for (tenon_run *run = handle->runs; run; run = run->next) {
        run->event = NULL;
        run->ended = NULL;
    }
    while (handle->active) {
        for (tenon_run *run = handle->runs; run; run = run->next) invocation_cancel(run->invocation);
        if (embed_wait_for(handle, NULL, -1) != TN_OK) break;
    }
    loop_run_posted(handle->loop); /* requests to cancel runs */
    for (tenon_run *run = handle->runs; run; run = run->next)
        if (!embed_run_is_active(run)) embed_run_empty(run);
}

/* ---- Runs that the caller waits for ---- */

/* Sets the error of the host for a run without an output. */
static void embed_set_run_error(tenon_run *run) {
    struct error *error = &run->host->error;
    const struct error *failure = invocation_error(run->invocation);
    if (failure->code)
        error_copy(error, failure);
    else
        error_set(error, TN_FAILED, "INTERRUPTED",
                  "the run is %s; start it with tenon_start to continue it, or with a `thread_id` to save it",
                  embed_run_status_name(run));
}

/* Runs to the end. Returns the output, or NULL with the error. */
static tn_value embed_run_to_end(tenon_runnable *runnable, tn_value input, tn_value config, unsigned modes,
                                 tenon_event event, void *user) {
    tenon *handle = runnable->host;
    tenon_run *run = tenon_start(runnable, input, config);
    if (!run) return NULL;
    embed_run_set_event(run, modes, event, user);
    int32_t status = embed_wait_for(handle, run, -1);
    if (status == TN_OK) error_finish(&handle->error); /* of calls in callbacks */
    tn_value output = invocation_output(run->invocation);
    if (output) value_ref(output);
    if (status == TN_OK && !output) embed_set_run_error(run);
    tenon_run_release(run);
    return output;
}

tn_value tenon_invoke(tenon_runnable *runnable, tn_value input, tn_value config) {
    if (!embed_enter_of(runnable) || !embed_may_wait(runnable->host)) return NULL;
    return embed_run_to_end(runnable, input, config, 0, NULL, NULL);
}

char *tenon_invoke_json(tenon_runnable *runnable, const char *input) {
    tn_value value = NULL;
    if (!embed_enter_of(runnable) || !embed_may_wait(runnable->host)) return NULL;
    if (input && json_read(input, strlen(input), NULL, &value, &runnable->host->error) != TN_OK) return NULL;
    tn_value output = embed_run_to_end(runnable, value, NULL, 0, NULL, NULL);
    value_unref(value);
    char *text = output ? json_text(output, JSON_COMPACT) : NULL;
    value_unref(output);
    return text;
}

tn_value tenon_stream(tenon_runnable *runnable, tn_value input, tn_value config, const char *modes, tenon_event event,
                      void *user) {
    if (!embed_enter_of(runnable) || !embed_may_wait(runnable->host)) return NULL;
    unsigned parsed = run_modes_parse(modes ? modes : "values", &runnable->host->error);
    return parsed ? embed_run_to_end(runnable, input, config, parsed, event, user) : NULL;
}

struct embed_progress {
    tenon *handle;
    tenon_progress function;
    void *user;
};

static void embed_on_progress(void *user, size_t done, size_t total) {
    const struct embed_progress *progress = user;
    progress->function(progress->user, done, total);
    loop_enter(progress->handle->loop); /* the callback may have used another host */
}

/*
 * Another loop builds the graph again. It cannot if the graph contains what only this host has, such as components of
 * the program; and it cannot run other runnables, because they may call functions of the program.
 */
static tn_value embed_batch(const tenon_runnable *runnable, tn_value inputs, const struct batch_options *options) {
    tenon *handle = runnable->host;
    struct graph *graph = handle->loops ? graph_of_callable(runnable->callable) : NULL;
    struct error error = ERROR_INIT;
    tn_value results = NULL;
    bool ran = graph && loops_batch_run(handle->loops, graph_current(graph), inputs, options, &handle->cancel, &results,
                                        &error) == TN_OK;
    if (graph && !ran) log_write(LOG_INFO, NULL, "the batch runs on one loop: %s", error.message);
    error_finish(&error);
    return ran ? results : batch_run(handle->engine, runnable->callable, inputs, options, &handle->cancel);
}

tn_value tenon_batch(tenon_runnable *runnable, tn_value inputs, tn_value config, uint32_t concurrency,
                     tenon_progress progress, void *user) {
    if (!embed_enter_of(runnable) || !embed_may_wait(runnable->host)) return NULL;
    tenon *handle = runnable->host;
    struct embed_progress callback = {handle, progress, user};
    struct batch_options options = {.concurrency = concurrency, .options = RUN_OPTIONS_INIT, .user = &callback};
    if (run_options_read(&options.options, config, &handle->error) != TN_OK) return NULL;
    if (options.options.thread_id) {
        error_set(&handle->error, TN_INVALID, "INVALID_INPUT",
                  "the runs of a batch are not saved in threads: start each with tenon_start and its `thread_id`");
        return NULL;
    }
    if (!inputs || !value_is(inputs, TN_ARRAY)) {
        error_set(&handle->error, TN_TYPE, "INVALID_INPUT", "a batch takes an array of inputs");
        return NULL;
    }
    if (progress) options.progress = embed_on_progress;
    handle->cancel = false;
    handle->batching = true; /* the first runs start before the loop runs */
    tn_value results = embed_batch(runnable, inputs, &options);
    handle->batching = false;
    return results;
}

/* ---- Cancelling everything ---- */

static void embed_on_cancel(struct loop_work *work) {
    tenon *handle = CONTAINER_OF(work, tenon, cancel_work);
    atomic_store(&handle->cancel_posted, false);
    uint64_t before = atomic_load(&handle->cancel_before);
    for (tenon_run *run = handle->runs; run; run = run->next)
        if (run->number < before) invocation_cancel(run->invocation);
}

void tenon_cancel(tenon *handle) {
    if (!handle || !handle->host) return;
    if (handle->thread == loop_this_thread())
        for (tenon_run *run = handle->runs; run; run = run->next) embed_run_cancel_start(run);
    atomic_store(&handle->cancel, true);
    atomic_store(&handle->cancel_before, atomic_load(&handle->run_count));
    if (!atomic_exchange(&handle->cancel_posted, true)) {
        handle->cancel_work.run = embed_on_cancel;
        loop_post(handle->loop, &handle->cancel_work);
    }
    loop_wake(handle->loop);
}

/* ---- The loop of the program ---- */

int32_t tenon_descriptor(tenon *handle) {
    if (!embed_enter(handle)) return -1;
    handle->foreign = true;
    return loop_descriptor(handle->loop);
}

int64_t tenon_timeout(tenon *handle) { return embed_enter(handle) ? loop_timeout_ms(handle->loop) : -1; }

int32_t tenon_turn(tenon *handle) {
    if (!embed_enter(handle) || !embed_may_wait(handle)) return TN_INVALID;
    loop_run_turn(handle->loop);
    return TN_OK;
}
