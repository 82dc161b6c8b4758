/*
 * invocation.c - the life of an execution that is started, and resumed, without waiting.
 *
 *     IDLE --invocation_start--> QUEUED --next turn--+--> PREPARING (its thread) --> RUNNING --+
 *      ^                                             +------------------------------> RUNNING --+--> ended: IDLE
 *      |                                                                                        |
 *      +---------------------- invocation_resume: QUEUED again ---------------------------------+
 *
 * Only invocation_end leads back to IDLE, and nothing uses the invocation after it, because the callback may free it.
 * A request to cancel is noted in the phases QUEUED and PREPARING, and checked at the end of each; a request to drain
 * is passed to the run after its start.
 */
#include "host/engine/execution/invocation.h"
#include "adl/source/source.h"
#include "adl/value/memory.h"
#include "host/base/container_of.h"
#include "host/base/loop.h"
#include "host/data/thread/thread_interrupts.h"
#include "host/data/thread/thread_log.h"
#include "host/engine/engine.h"
#include "host/engine/execution/execution.h"
#include "host/engine/graph/answer_rights.h"
#include "host/engine/graph/graph.h"
#include "host/plugin/call/authority.h"
#include "host/plugin/call/call.h"
#include <assert.h>
#include <string.h>

struct invocation {
    struct engine *engine;
    struct callable *callable;       /* owned; NULL after invocation_clear */
    tn_value config, input, answers; /* owned; may be NULL */
    struct authority *answers_by;    /* owned; of the component that gives `answers`; NULL: the operator */
    struct run_options base;         /* as the caller set them; borrows from `config` */
    struct run_options options;      /* of the present start; owns `log` and `loaded` */
    struct thread_request request;   /* its id is NULL without a thread */
    void (*ended)(void *user);       /* receives base.user */
    struct execution *execution;     /* NULL before the start and, with a thread, after the end */
    struct loop_work start;
    enum invocation_phase phase;
    enum run_status status;
    bool began;             /* see invocation_has_begun */
    bool cancelled, drains; /* as requested; also before the execution exists */
    tn_value output;        /* owned; after the end */
    tn_value report;        /* owned; after the end; made on request as long as the execution exists */
    struct error error;     /* RUN_FAILED, RUN_CANCELLED */
};

/* Frees the execution and what it borrows. The execution must not be running. */
static void invocation_free_execution(struct invocation *invocation) {
    execution_free(invocation->execution); /* before the log, which it borrows */
    invocation->execution = NULL;
    thread_log_free(invocation->options.log);
    invocation->options.log = NULL;
    value_unref(invocation->options.loaded);
    invocation->options.loaded = NULL;
}

static void invocation_clear_results(struct invocation *invocation) {
    value_unref(invocation->output);
    value_unref(invocation->report);
    error_finish(&invocation->error);
    invocation->output = invocation->report = NULL;
}

void invocation_clear(struct invocation *invocation) {
    assert(invocation->phase == INVOCATION_IDLE);
    invocation_free_execution(invocation);
    invocation_clear_results(invocation);
    callable_unref(invocation->callable);
    value_unref(invocation->input);
    value_unref(invocation->config);
    value_unref(invocation->request.served);
    value_unref(invocation->answers);
    authority_unref(invocation->answers_by);
    invocation->callable = NULL;
    invocation->answers_by = NULL;
    invocation->input = invocation->config = invocation->answers = invocation->request.served = NULL;
}

void invocation_free(struct invocation *invocation) {
    if (!invocation) return;
    invocation_clear(invocation);
    mem_free(invocation);
}

/* ---- The end ---- */

/* Reports the end. The invocation may be freed then. */
static void invocation_end(struct invocation *invocation, enum run_status status) {
    invocation->phase = INVOCATION_IDLE;
    invocation->status = status;
    invocation->ended(invocation->base.user);
}

/* The execution has ended. A run with a thread keeps only its results. */
static void invocation_end_execution(struct invocation *invocation) {
    enum run_status status = execution_status(invocation->execution);
    const struct error *error = execution_error(invocation->execution);
    if (error && error->code && (status == RUN_FAILED || status == RUN_CANCELLED))
        error_copy(&invocation->error, error);
    invocation->output = execution_output(invocation->execution);
    if (invocation->request.id) {
        invocation->report = execution_report(invocation->execution);
        invocation_free_execution(invocation);
    }
    invocation_end(invocation, status);
}

/* The execution did not start, or not continue. Moves the error. */
static void invocation_fail(struct invocation *invocation, enum run_status status, struct error *error) {
    error_move(&invocation->error, error);
    invocation_free_execution(invocation);
    invocation_end(invocation, status);
}

static void invocation_end_cancelled(struct invocation *invocation) {
    struct error error = ERROR_INIT;
    error_set(&error, TN_CANCELLED, "CANCELLED", "the run was cancelled before it started");
    invocation_fail(invocation, RUN_CANCELLED, &error);
}

static void invocation_on_execution_ended(struct execution *execution, void *user) {
    (void)execution;
    invocation_end_execution(user);
}

/* ---- The start ---- */

static void invocation_new_execution(struct invocation *invocation) {
    invocation->phase = INVOCATION_RUNNING;
    invocation->execution = execution_new(invocation->engine, invocation->callable, &invocation->options,
                                          invocation_on_execution_ended, invocation);
}

/* `ended` as the functions that start an execution return it. */
static void invocation_started(struct invocation *invocation, bool ended) {
    if (ended)
        invocation_end_execution(invocation);
    else if (invocation->drains)
        invocation_drain(invocation);
}

static void invocation_on_prepared(void *user, int32_t status, struct error *error) {
    struct invocation *invocation = user;
    bool ended = false;
    struct error why = ERROR_INIT;
    if (status != TN_OK) {
        invocation_fail(invocation, RUN_FAILED, error);
        return;
    }
    if (invocation->cancelled) {
        invocation_end_cancelled(invocation);
        return;
    }
    invocation_new_execution(invocation);
    struct run *run = execution_run(invocation->execution);
    invocation->began = thread_begin(run, &invocation->request, invocation->input, &ended, &why) == TN_OK;
    if (invocation->began)
        invocation_started(invocation, ended);
    else if (strcmp(why.code, "INVALID_INPUT") == 0 && thread_lacks_answers(run, &invocation->request))
        invocation_end_execution(invocation); /* as if it had just been interrupted */
    else
        invocation_fail(invocation, RUN_FAILED, &why);
    error_finish(&why);
}

static void invocation_continue_execution(struct invocation *invocation) {
    bool ended = false;
    struct error error = ERROR_INIT;
    invocation->phase = INVOCATION_RUNNING;
    invocation->began = execution_resume(invocation->execution, invocation->answers, &ended, &error) == TN_OK;
    if (invocation->began)
        invocation_started(invocation, ended);
    else
        invocation_fail(invocation, RUN_FAILED, &error);
    error_finish(&error);
}

static void invocation_on_start(struct loop_work *work) {
    struct invocation *invocation = CONTAINER_OF(work, struct invocation, start);
    if (invocation->cancelled) {
        invocation_end_cancelled(invocation);
    } else if (invocation->request.id) {
        invocation->phase = INVOCATION_PREPARING;
        invocation->options = invocation->base;
        invocation->request.answers = invocation->answers;
        invocation->request.answers_by = invocation->answers_by;
        thread_prepare(invocation->engine, graph_of_callable(invocation->callable), &invocation->request,
                       &invocation->options, invocation_on_prepared, invocation);
    } else if (invocation->execution) {
        invocation_continue_execution(invocation);
    } else {
        invocation->options = invocation->base;
        invocation_new_execution(invocation);
        invocation->began = true;
        invocation_started(invocation, execution_start(invocation->execution, invocation->input));
    }
}

static void invocation_defer_start(struct invocation *invocation) {
    invocation->phase = INVOCATION_QUEUED;
    invocation->status = RUN_RUNNING;
    invocation->began = invocation->cancelled = invocation->drains = false;
    loop_defer(invocation->engine->loop, &invocation->start);
}

/* The path of a document that was read from a file, for the thread's record; or NULL. */
static const char *path_of_graph(const struct graph *graph) {
    const struct source *source = graph->document->source;
    return source_origin(source) == SOURCE_WITHOUT_FILE ? NULL : source_name(source);
}

struct invocation *invocation_new(struct engine *engine, struct callable *callable,
                                  const struct invocation_options *options, struct error *error) {
    const struct graph *graph = graph_of_callable(callable);
    if (options->request.id && !graph) {
        error_set(error, TN_INVALID, "INVALID_INPUT",
                  "the configuration has a `thread_id`, but only the run of a graph can be saved in a thread");
        return NULL;
    }
    struct invocation *invocation = mem_zalloc(sizeof *invocation);
    invocation->engine = engine;
    invocation->callable = callable_ref(callable);
    invocation->config = options->config ? value_ref(options->config) : NULL;
    invocation->input = options->input ? value_ref(options->input) : NULL;
    invocation->base = options->run;
    invocation->request = options->request;
    if (options->request.served) value_ref(options->request.served);
    if (options->request.id && !options->request.document) invocation->request.document = path_of_graph(graph);
    invocation->ended = options->ended;
    invocation->start.run = invocation_on_start;
    return invocation;
}

void invocation_start(struct invocation *invocation) {
    assert(invocation->status == RUN_NEW);
    invocation_defer_start(invocation);
}

/* ---- Resuming ---- */

/*
 * A run that the thread refused before it began cannot be continued: that would drop its input, and continue a run that
 * another program has started. A request to resume may be repeated.
 */
static bool invocation_can_continue(const struct invocation *invocation) {
    if (!invocation->callable) return false;
    switch (invocation->status) {
    case RUN_NEW: return invocation->request.id != NULL;
    case RUN_INTERRUPTED:
    case RUN_STOPPED: return true;
    case RUN_FAILED:
    case RUN_CANCELLED:
        if (invocation->request.id) return invocation->began || invocation->request.mode == THREAD_RESUME;
        return invocation->error.code && strcmp(invocation->error.code, "RECURSION_LIMIT") == 0;
    default: return false;
    }
}

int32_t invocation_check_answers(struct engine *engine, const struct answered_run *run, const struct authority *by,
                                 tn_value answers, struct error *error) {
    if (!answers && (run->has_thread || run->status != RUN_INTERRUPTED))
        return TN_OK; /* they may have been saved in the thread */
    int32_t status = thread_interrupts_check(run->interrupts, answers, error);
    return status == TN_OK ? answer_rights_check(engine, by, run->interrupts, answers, error) : status;
}

static int32_t invocation_check_own_answers(struct invocation *invocation, const struct authority *by, tn_value answers,
                                            struct error *error) {
    const struct answered_run run = {invocation_interrupts(invocation), invocation->status,
                                     invocation->request.id != NULL};
    int32_t status = invocation_check_answers(invocation->engine, &run, by, answers, error);
    value_unref(run.interrupts);
    return status;
}

/* The same for the thread of another invocation, whose interrupts are not known yet. */
static int32_t invocation_check_thread(const struct invocation *invocation, tn_value answers, struct error *error) {
    if (answers && !value_is(answers, TN_OBJECT))
        return error_set(error, TN_TYPE, "INVALID_INPUT", "the answers are %s, expected an object by interrupt id",
                         value_kind_name(value_kind(answers)));
    if (invocation->request.mode != THREAD_REPLACE) return TN_OK;
    return error_set(error, TN_INVALID, "INVALID_INPUT",
                     "a run that is resumed keeps its thread: `replace` must not be true");
}

int32_t invocation_resume_by(struct invocation *invocation, struct authority *by, tn_value answers,
                             struct error *error) {
    if (!invocation_can_continue(invocation))
        return error_set(error, TN_INVALID, "INVALID_INPUT", "the run is %s: there is nothing to continue",
                         run_status_name(invocation->status));
    if (answers && value_is(answers, TN_NULL)) answers = NULL;
    int32_t status = invocation->status == RUN_NEW ? invocation_check_thread(invocation, answers, error)
                                                   : invocation_check_own_answers(invocation, by, answers, error);
    if (status != TN_OK) return status;
    if (invocation->request.id) invocation->request.mode = THREAD_RESUME;
    value_unref(invocation->answers);
    invocation->answers = answers ? value_ref(answers) : NULL;
    authority_unref(invocation->answers_by);
    invocation->answers_by = authority_ref(by);
    invocation_clear_results(invocation);
    invocation_defer_start(invocation);
    return TN_OK;
}

int32_t invocation_resume(struct invocation *invocation, tn_value answers, struct error *error) {
    return invocation_resume_by(invocation, NULL, answers, error);
}

/* ---- Requests ---- */

void invocation_set_modes(struct invocation *invocation, unsigned modes) { invocation->base.modes = modes; }

void invocation_cancel(struct invocation *invocation) {
    if (invocation->phase == INVOCATION_IDLE) return;
    invocation->cancelled = true;
    if (invocation->phase == INVOCATION_RUNNING) execution_cancel(invocation->execution);
}

void invocation_drain(struct invocation *invocation) {
    if (invocation->phase == INVOCATION_IDLE) return;
    invocation->drains = true;
    struct run *run = invocation->phase == INVOCATION_RUNNING ? execution_run(invocation->execution) : NULL;
    if (run) run_drain(run);
}

void invocation_continue(struct invocation *invocation) {
    if (invocation->phase == INVOCATION_RUNNING) execution_continue(invocation->execution);
}

/* ---- Results ---- */

enum invocation_phase invocation_phase(const struct invocation *invocation) { return invocation->phase; }
enum run_status invocation_status(const struct invocation *invocation) { return invocation->status; }
bool invocation_has_begun(const struct invocation *invocation) { return invocation->began; }
tn_value invocation_output(const struct invocation *invocation) { return invocation->output; }
const struct error *invocation_error(const struct invocation *invocation) { return &invocation->error; }

/* The report of the execution. Borrowed; NULL while it is not idle, and if it failed before it began. */
static tn_value invocation_execution_report(struct invocation *invocation) {
    if (!invocation->report && invocation->phase == INVOCATION_IDLE && invocation->execution)
        invocation->report = execution_report(invocation->execution);
    return invocation->report;
}

tn_value invocation_report(struct invocation *invocation) {
    tn_value report = invocation_execution_report(invocation);
    if (report) return value_ref(report);
    report = value_set_take(value_object_reserve(3), "type", value_text("result"));
    report = value_set_take(report, "status", value_text(run_status_name(invocation->status)));
    const struct error *error = &invocation->error;
    return error->code ? value_set_take(report, "error", error_to_value(error)) : report;
}

tn_value invocation_interrupts(struct invocation *invocation) {
    tn_value interrupts = value_get(invocation_execution_report(invocation), "interrupts");
    return interrupts ? value_ref(interrupts) : value_array();
}

/* The run that has not ended; or NULL. */
static struct run *invocation_live_run(const struct invocation *invocation) {
    return invocation->phase == INVOCATION_RUNNING ? execution_run(invocation->execution) : NULL;
}

/* A member of the report, a new reference; or NULL. */
static tn_value invocation_reported(struct invocation *invocation, const char *name) {
    tn_value member = value_get(invocation_execution_report(invocation), name);
    return member ? value_ref(member) : NULL;
}

tn_value invocation_state(struct invocation *invocation) {
    const struct run *run = invocation_live_run(invocation);
    return run ? run_state_read(run, NULL) : invocation_reported(invocation, "state");
}

uint32_t invocation_steps(struct invocation *invocation) {
    const struct run *run = invocation_live_run(invocation);
    if (run) return run_steps(run);
    tn_value steps = value_get(invocation_execution_report(invocation), "steps");
    return steps ? (uint32_t)value_to_int(steps) : 0;
}

tn_value invocation_open_nodes(struct invocation *invocation) {
    const struct run *run = invocation_live_run(invocation);
    return run ? run_open_nodes(run) : value_array();
}

uint32_t invocation_mapped_items(const struct invocation *invocation, tn_value node) {
    const struct run *run = invocation_live_run(invocation);
    return run ? run_mapped_items(run, node) : 0;
}

tn_value invocation_usage(struct invocation *invocation) {
    const struct run *run = invocation_live_run(invocation);
    return run ? run_usage(run) : invocation_reported(invocation, "usage");
}
