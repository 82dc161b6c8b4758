/*
 * execution_change.c - changes of a saved thread from outside of a run: saves answers, and writes channels.
 *
 * Answers are one job on the store's thread, which also wakes the Task that waits for them. An update is a run that
 * starts no node: it loads the thread, writes the channels and ends with one commit. Everything that an update owns is
 * freed before its result is reported, so that the callback can use the thread again.
 */
#include "adl/value/memory.h"
#include "host/base/container_of.h"
#include "host/base/loop.h"
#include "host/data/kernel/kernel_wake.h"
#include "host/data/thread/thread_interrupts.h"
#include "host/data/thread/thread_log.h"
#include "host/data/thread/thread_records.h"
#include "host/engine/engine.h"
#include "host/engine/execution/execution_thread.h"
#include "host/engine/graph/graph.h"
#include <string.h>

#define ANSWER_TRIES_MAX 64

/* ---- Results that are known at once ---- */

struct thread_report {
    struct loop_work work;
    store_done *done;
    void *user;
    int32_t status;
    struct error error;
};

static void thread_report_run(struct loop_work *work) {
    struct thread_report *report = CONTAINER_OF(work, struct thread_report, work);
    if (report->done) report->done(report->user, report->status, NULL, &report->error);
    error_finish(&report->error);
    mem_free(report);
}

/* Calls `done` from the loop, in a later turn. Moves the contents of `error`. */
static void thread_report_later(struct loop *loop, int32_t status, struct error *error, store_done *done, void *user) {
    struct thread_report *report = mem_zalloc(sizeof *report);
    *report = (struct thread_report){.work.run = thread_report_run, .done = done, .user = user, .status = status};
    error_move(&report->error, error);
    loop_defer(loop, &report->work);
}

/* ---- Answers ---- */

struct thread_answers_given {
    const struct engine *engine;
    char *id;
    tn_value answers; /* owned */
};

static void thread_answers_given_free(void *user) {
    struct thread_answers_given *given = user;
    mem_free(given->id);
    value_unref(given->answers);
    mem_free(given);
}

static int32_t try_answer(struct session *session, const struct thread_answers_given *given, struct error *error) {
    tn_value found = NULL, wake = NULL;
    int64_t now_ms = loop_wall_ms(given->engine->loop);
    (void)session_wall_ms(session, &now_ms);
    int32_t status = thread_records_require(session, given->id, &found, error);
    if (status == TN_OK) status = thread_check_expiry(given->engine, value_get(found, "value"), error);
    if (status == TN_OK) status = task_wake_operation(session, given->id, now_ms, &wake, error);
    if (status == TN_OK) status = thread_interrupts_answer_take(session, given->id, found, given->answers, wake, error);
    value_unref(found);
    return status;
}

/*
 * The thread of a Task has the Task's id, and the Task may wait for these answers, so one commit saves them and wakes
 * it. On a conflict, the thread or the Task has changed: both are read again. On the store's thread.
 */
static int32_t thread_run_answer(struct session *session, void *user, tn_value *result, struct error *error) {
    int32_t status = TN_OK;
    (void)result;
    for (int tries = 0; tries < ANSWER_TRIES_MAX; tries++) {
        error_finish(error);
        status = try_answer(session, user, error);
        if (status == TN_OK || !error->code || strcmp(error->code, "CONFLICT") != 0) break;
    }
    return status;
}

void thread_answer(struct engine *engine, const char *id, tn_value answers, store_done *done, void *user) {
    struct error error = ERROR_INIT;
    struct store *store = engine->store(engine->store_user, &error);
    if (!store) {
        thread_report_later(engine->loop, TN_NOT_FOUND, &error, done, user);
        return;
    }
    struct thread_answers_given *given = mem_alloc(sizeof *given);
    *given = (struct thread_answers_given){engine, mem_text(id), answers ? value_ref(answers) : NULL};
    store_perform_take(store, thread_run_answer, given, thread_answers_given_free, done, user);
    error_finish(&error);
}

int32_t thread_answer_wait(struct engine *engine, const char *id, tn_value answers, struct error *error) {
    struct store_wait wait = {.done = false};
    thread_answer(engine, id, answers, store_wait_done, &wait);
    return store_wait_end(&wait, engine->loop, NULL, error);
}

/* ---- Updates ---- */

struct thread_update {
    struct loop *loop;
    struct graph *graph;           /* a reference */
    struct thread_request request; /* its strings and its answers are owned */
    tn_value channels;             /* owned */
    struct run_options options;
    struct run *run; /* NULL until the thread is loaded */
    store_done *done;
    void *user;
};

static void thread_update_free(struct thread_update *update) {
    run_free(update->run);
    thread_log_free(update->options.log);
    value_unref(update->options.loaded);
    mem_free((void *)(uintptr_t)update->request.id);
    mem_free((void *)(uintptr_t)update->request.as);
    mem_free((void *)(uintptr_t)update->request.document);
    value_unref(update->request.answers);
    value_unref(update->request.next);
    value_unref(update->request.from);
    value_unref(update->channels);
    graph_unref(update->graph);
    mem_free(update);
}

/* The run has ended. Sets the error of a run that has failed. */
static int32_t thread_update_status(const struct thread_update *update, struct error *error) {
    enum run_status status = run_status(update->run);
    if (status != RUN_FAILED && status != RUN_CANCELLED) return TN_OK;
    error_copy(error, run_error(update->run));
    return TN_FAILED;
}

static void thread_update_on_ended(struct run *run, void *user) {
    struct thread_update *update = user;
    struct error error = ERROR_INIT;
    (void)run;
    int32_t status = thread_update_status(update, &error);
    store_done *done = update->done;
    void *done_user = update->user;
    thread_update_free(update);
    if (done) done(done_user, status, NULL, &error);
    error_finish(&error);
}

static void thread_update_on_prepared(void *user, int32_t status, struct error *error) {
    struct thread_update *update = user;
    bool ended = false;
    if (status == TN_OK) {
        update->options.ended = thread_update_on_ended;
        update->options.user = update;
        update->run = run_new(update->graph, &update->options);
        status = thread_begin(update->run, &update->request, update->channels, &ended, error);
    }
    if (status == TN_OK && !ended) return;
    if (status == TN_OK) status = thread_update_status(update, error);
    /* Later, because this may still be inside of thread_update. */
    thread_report_later(update->loop, status, error, update->done, update->user);
    thread_update_free(update);
}

void thread_update(struct engine *engine, struct graph *graph, const struct thread_request *request, tn_value channels,
                   store_done *done, void *user) {
    struct thread_update *update = mem_alloc(sizeof *update);
    *update = (struct thread_update){.loop = engine->loop,
                                     .graph = graph_ref(graph),
                                     .request = *request,
                                     .channels = channels ? value_ref(channels) : NULL,
                                     .options = RUN_OPTIONS_INIT,
                                     .done = done,
                                     .user = user};
    update->request.id = mem_text(request->id);
    update->request.as = request->as ? mem_text(request->as) : NULL;
    update->request.document = request->document ? mem_text(request->document) : NULL;
    update->request.answers = request->answers ? value_ref(request->answers) : NULL;
    update->request.next = request->next ? value_ref(request->next) : NULL;
    update->request.from = request->from ? value_ref(request->from) : NULL;
    thread_prepare(engine, graph, &update->request, &update->options, thread_update_on_prepared, update);
}

int32_t thread_update_wait(struct engine *engine, struct graph *graph, const struct thread_request *request,
                           tn_value channels, struct error *error) {
    struct store_wait wait = {.done = false};
    thread_update(engine, graph, request, channels, store_wait_done, &wait);
    return store_wait_end(&wait, engine->loop, NULL, error);
}
