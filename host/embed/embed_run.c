/*
 * embed_run.c - the handle of a run: starts it from the loop, reports its events and its end, and continues it.
 *
 *     tenon_start --> STARTING --> RUNNING --> ended: done, failed, cancelled, interrupted, stopped
 *                        ^                                 |
 *                        +------- tenon_run_resume --------+
 *
 * Nothing of a run happens inside the functions of the API: they only defer work, so that callbacks are called in turns
 * of the loop alone. A run with a thread is prepared without waiting (thread_prepare). Each of its invocations has its
 * own execution and log, which are freed at its end; what the program can ask for is kept as values. A run without a
 * thread keeps its execution, which can be resumed.
 */
#include "host/embed/embed_run.h"
#include "adl/source/source.h"
#include "adl/value/memory.h"
#include "host/base/container_of.h"
#include "host/data/thread/thread_interrupts.h"
#include "host/data/thread/thread_log.h"
#include "host/engine/execution/execution.h"
#include "host/engine/graph/graph.h"
#include <string.h>

static void run_free_memory(tenon_run *run) {
    tenon *handle = run->host;
    if (run->next) run->next->previous = run->previous;
    if (run->previous)
        run->previous->next = run->next;
    else
        handle->runs = run->next;
    embed_run_empty(run);
    mem_free(run);
    embed_object_remove(handle);
}

void embed_run_unref(tenon_run *run) {
    if (--run->references || atomic_load(&run->cancel_posted)) return;
    run_free_memory(run);
}

/* Frees the execution and what it borrows. The execution must not be running. */
static void embed_run_free_execution(tenon_run *run) {
    execution_free(run->execution); /* before the log, which it borrows */
    run->execution = NULL;
    thread_log_free(run->options.log);
    run->options.log = NULL;
    value_unref(run->options.loaded);
    run->options.loaded = NULL;
}

void embed_run_empty(tenon_run *run) {
    embed_run_free_execution(run);
    callable_unref(run->callable);
    value_unref(run->input);
    value_unref(run->config);
    value_unref(run->answers);
    value_unref(run->output);
    value_unref(run->report);
    value_unref(run->error_value);
    error_finish(&run->error);
    run->callable = NULL;
    run->input = run->config = run->answers = run->output = run->report = run->error_value = NULL;
}

/* ---- The end ---- */

static int32_t status_of_execution(const struct execution *execution) {
    switch (execution_status(execution)) {
    case RUN_DONE: return TENON_RUN_DONE;
    case RUN_CANCELLED: return TENON_RUN_CANCELLED;
    case RUN_INTERRUPTED: return TENON_RUN_INTERRUPTED;
    case RUN_STOPPED: return TENON_RUN_STOPPED;
    default: return TENON_RUN_FAILED;
    }
}

/* Reports the end. The run may be freed then. */
static void embed_run_end(tenon_run *run, int32_t status) {
    tenon *handle = run->host;
    run->status = status;
    run->active = false;
    handle->active--;
    if (run->ended) run->ended(run->ended_user, run);
    loop_enter(handle->loop); /* the callback may have used another host */
    embed_run_unref(run);
}

/* The execution has ended. A run with a thread keeps only its results. */
static void embed_run_end_execution(tenon_run *run) {
    const struct error *error = execution_error(run->execution);
    int32_t status = status_of_execution(run->execution);
    if (error && error->code && (status == TENON_RUN_FAILED || status == TENON_RUN_CANCELLED))
        error_copy(&run->error, error);
    run->output = execution_output(run->execution);
    if (run->request.id) {
        run->report = execution_report(run->execution);
        embed_run_free_execution(run);
    }
    embed_run_end(run, status);
}

static void embed_run_fail(tenon_run *run, int32_t status, struct error *error) {
    error_move(&run->error, error);
    embed_run_free_execution(run);
    embed_run_end(run, status);
}

static void embed_run_end_cancelled(tenon_run *run) {
    struct error error = ERROR_INIT;
    error_set(&error, TN_CANCELLED, "CANCELLED", "the run was cancelled before it started");
    embed_run_fail(run, TENON_RUN_CANCELLED, &error);
}

static void embed_run_on_ended(struct execution *execution, void *user) {
    (void)execution;
    embed_run_end_execution(user);
}

static bool embed_run_on_event(void *user, tn_value event) {
    tenon_run *run = user;
    if (!run->event) return true;
    bool more = run->event(run->event_user, event);
    loop_enter(run->host->loop); /* the callback may have used another host */
    if (more) return true;
    run->event = NULL;
    embed_run_cancel(run);
    return true;
}

/* ---- The start ---- */

static void embed_run_new_execution(tenon_run *run) {
    run->options.modes = run->modes;
    run->options.event = run->event ? embed_run_on_event : NULL;
    run->options.user = run;
    run->execution = execution_new(run->host->engine, run->callable, &run->options, embed_run_on_ended, run);
}

/* `ended` as the functions that start an execution return it. */
static void embed_run_started(tenon_run *run, bool ended) {
    if (ended)
        embed_run_end_execution(run);
    else if (run->drains && execution_run(run->execution))
        run_drain(execution_run(run->execution));
}

static void embed_run_on_prepared(void *user, int32_t status, struct error *error) {
    tenon_run *run = user;
    bool ended = false;
    struct error why = ERROR_INIT;
    if (status != TN_OK) {
        embed_run_fail(run, TENON_RUN_FAILED, error);
        return;
    }
    if (run->cancelled) {
        embed_run_end_cancelled(run);
        return;
    }
    embed_run_new_execution(run);
    run->began = thread_begin(execution_run(run->execution), &run->request, run->input, &ended, &why) == TN_OK;
    if (run->began)
        embed_run_started(run, ended);
    else if (strcmp(why.code, "INVALID_INPUT") == 0 &&
             thread_lacks_answers(execution_run(run->execution), &run->request))
        embed_run_end_execution(run); /* as if it had just been interrupted */
    else
        embed_run_fail(run, TENON_RUN_FAILED, &why);
    error_finish(&why);
}

static void embed_run_continue(tenon_run *run) {
    bool ended = false;
    struct error error = ERROR_INIT;
    if (execution_resume(run->execution, run->answers, &ended, &error) == TN_OK)
        embed_run_started(run, ended);
    else
        embed_run_fail(run, TENON_RUN_FAILED, &error);
    error_finish(&error);
}

static void embed_run_on_start(struct loop_work *work) {
    tenon_run *run = CONTAINER_OF(work, tenon_run, start);
    if (run->cancelled) {
        embed_run_end_cancelled(run);
    } else if (run->request.id) {
        run->options = run->base;
        run->request.answers = run->answers;
        thread_prepare(run->host->engine, graph_of_callable(run->callable), &run->request, &run->options,
                       embed_run_on_prepared, run);
    } else if (run->execution) {
        embed_run_continue(run);
    } else {
        run->options = run->base;
        embed_run_new_execution(run);
        embed_run_started(run, execution_start(run->execution, run->input));
    }
}

static void embed_run_defer_start(tenon_run *run) {
    run->status = TENON_RUN_RUNNING;
    run->active = true;
    run->references++;
    run->host->active++;
    loop_defer(run->host->loop, &run->start);
    embed_wake(run->host);
}

/* The path of a document that was read from a file, for the thread's record; or NULL. */
static const char *path_of_graph(const struct graph *graph) {
    const struct source *source = graph->document->source;
    return source_origin(source) == SOURCE_WITHOUT_FILE ? NULL : source_name(source);
}

tenon_run *embed_run_new(tenon_runnable *runnable, tn_value input, tn_value config) {
    tenon *handle = runnable->host;
    struct graph *graph = graph_of_callable(runnable->callable);
    struct run_options options = RUN_OPTIONS_INIT;
    struct thread_request request = {.mode = THREAD_INPUT};
    if (run_request_read(&options, &request, config, &handle->error) != TN_OK) return NULL;
    if (request.id && !graph) {
        error_set(&handle->error, TN_INVALID, "INVALID_INPUT",
                  "the configuration has a `thread_id`, but only the run of a graph can be saved in a thread");
        return NULL;
    }
    if (request.id) request.document = path_of_graph(graph);
    tenon_run *run = mem_zalloc(sizeof *run), *next = handle->runs;
    run->host = handle;
    run->references = 1;
    run->callable = callable_ref(runnable->callable);
    run->input = input ? value_ref(input) : NULL;
    run->config = config ? value_ref(config) : NULL;
    run->base = options;
    run->request = request;
    run->start.run = embed_run_on_start;
    run->number = atomic_fetch_add(&handle->run_count, 1);
    run->next = next;
    if (next) next->previous = run;
    handle->runs = run;
    embed_object_add(handle);
    return run;
}

tenon_run *tenon_start(tenon_runnable *runnable, tn_value input, tn_value config) {
    if (!embed_enter_of(runnable)) return NULL;
    tenon_run *run = embed_run_new(runnable, input, config);
    if (run) embed_run_defer_start(run);
    return run;
}

tenon_run *tenon_resume(tenon_runnable *runnable, tn_value answers, tn_value config) {
    if (!embed_enter_of(runnable)) return NULL;
    tenon *handle = runnable->host;
    if (answers && !value_is(answers, TN_OBJECT) && !value_is(answers, TN_NULL)) {
        error_set(&handle->error, TN_TYPE, "INVALID_INPUT", "the answers are %s, expected an object by interrupt id",
                  value_kind_name(value_kind(answers)));
        return NULL;
    }
    tenon_run *run = embed_run_new(runnable, NULL, config);
    if (!run) return NULL;
    if (!run->request.id || run->request.mode == THREAD_REPLACE) {
        error_set(&handle->error, TN_INVALID, "INVALID_INPUT",
                  run->request.id ? "a run that is resumed keeps its thread: `replace` must not be true"
                                  : "tenon_resume needs a `thread_id` in the configuration");
        embed_run_unref(run);
        return NULL;
    }
    run->request.mode = THREAD_RESUME;
    run->answers = value_is(answers, TN_OBJECT) ? value_ref(answers) : NULL;
    embed_run_defer_start(run);
    return run;
}

/* ---- Continuing ---- */

/*
 * A run that the thread refused before it began cannot be continued: that would drop its input, and continue a run that
 * another program has started. A request to resume may be repeated.
 */
static bool embed_run_can_continue(const tenon_run *run) {
    if (run->active) return false;
    if (run->status == TENON_RUN_INTERRUPTED || run->status == TENON_RUN_STOPPED) return true;
    if (run->status == TENON_RUN_DONE) return false;
    if (run->request.id) return run->began || run->request.mode == THREAD_RESUME;
    return run->error.code && strcmp(run->error.code, "RECURSION_LIMIT") == 0;
}

int32_t tenon_run_resume(tenon_run *run, tn_value answers) {
    if (!embed_enter_of(run)) return TN_INVALID;
    struct error *error = &run->host->error;
    if (!embed_run_can_continue(run))
        return error_set(error, TN_INVALID, "INVALID_INPUT", "the run is %s: there is nothing to continue",
                         embed_run_status_name(run));
    bool given = answers && !value_is(answers, TN_NULL);
    bool stored = run->request.id && !given; /* the answers may have been saved in the thread */
    if (given || (run->status == TENON_RUN_INTERRUPTED && !stored)) {
        tn_value questions = embed_run_questions(run);
        int32_t status = thread_interrupts_check(questions, given ? answers : NULL, error);
        value_unref(questions);
        if (status != TN_OK) return status;
    }
    if (run->request.id) run->request.mode = THREAD_RESUME;
    value_unref(run->answers);
    value_unref(run->output);
    value_unref(run->report);
    value_unref(run->error_value);
    error_finish(&run->error);
    run->answers = given ? value_ref(answers) : NULL;
    run->output = run->report = run->error_value = NULL;
    run->cancelled = run->drains = false;
    embed_run_defer_start(run);
    return TN_OK;
}

int32_t tenon_run_answer(tenon_run *run, tn_value answer) {
    if (!embed_enter_of(run)) return TN_INVALID;
    tn_value questions = embed_run_questions(run), id = NULL;
    size_t count = 0;
    for (size_t i = 0; i < value_count(questions); i++) {
        if (!value_get(value_at(questions, i), "payload")) continue;
        id = value_get(value_at(questions, i), "id");
        count++;
    }
    int32_t status = TN_INVALID;
    if (count == 1) {
        tn_value answers =
            value_set_key_take(value_object_reserve(1), value_ref(id), answer ? value_ref(answer) : value_null());
        status = tenon_run_resume(run, answers);
        value_unref(answers);
    } else {
        error_set(&run->host->error, status, "INVALID_INPUT",
                  count ? "the run asks %zu questions; answer them by id, with tenon_run_resume"
                        : "the run asks no question (%zu are open)",
                  count);
    }
    value_unref(questions);
    return status;
}

/* ---- Cancelling and releasing ---- */

void embed_run_cancel(tenon_run *run) {
    if (!run->active) return;
    run->cancelled = true;
    if (run->execution && !run->start.queued && execution_status(run->execution) == RUN_RUNNING)
        execution_cancel(run->execution);
}

static void embed_run_on_cancel(struct loop_work *work) {
    tenon_run *run = CONTAINER_OF(work, tenon_run, cancel);
    atomic_store(&run->cancel_posted, false);
    if (run->references)
        embed_run_cancel(run);
    else
        run_free_memory(run);
}

void tenon_run_cancel(tenon_run *run) {
    if (!run || !run->host->host) return;
    if (run->host->thread == loop_this_thread()) {
        if (!run->active) return;
        run->cancelled = true; /* if it has not begun, it does not begin */
    }
    if (atomic_exchange(&run->cancel_posted, true)) return;
    run->cancel.run = embed_run_on_cancel;
    loop_post(run->host->loop, &run->cancel);
    loop_wake(run->host->loop);
}

int32_t tenon_run_drain(tenon_run *run) {
    if (!embed_enter_of(run)) return TN_INVALID;
    run->drains = true;
    bool running = run->active && run->execution && !run->start.queued && execution_run(run->execution);
    if (running && execution_status(run->execution) == RUN_RUNNING) run_drain(execution_run(run->execution));
    return TN_OK;
}

void tenon_run_release(tenon_run *run) {
    if (!run || !embed_check_thread(run->host)) return;
    run->event = NULL;
    run->ended = NULL;
    if (run->active) {
        embed_run_cancel(run);
        embed_wake(run->host);
    }
    embed_run_unref(run);
}
