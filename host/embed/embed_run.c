/*
 * embed_run.c - the handle of a run: its references, its callbacks, and the requests of the program to it.
 *
 *     tenon_start, tenon_resume --> active --> ended: done, failed, cancelled, interrupted, stopped
 *                                     ^                          |
 *                                     +--- tenon_run_resume -----+
 *
 * The life of the run itself is that of its invocation (engine/execution/invocation.h). Nothing of it happens inside
 * the functions of the API: they only defer work, so that callbacks are called in turns of the loop alone.
 */
#include "host/embed/embed_run.h"
#include "adl/value/memory.h"
#include "host/base/container_of.h"
#include "host/engine/execution/execution.h"

static void run_free_memory(tenon_run *run) {
    tenon *handle = run->host;
    if (run->next) run->next->previous = run->previous;
    if (run->previous)
        run->previous->next = run->next;
    else
        handle->runs = run->next;
    invocation_free(run->invocation);
    value_unref(run->error_value);
    mem_free(run);
    embed_object_remove(handle);
}

void embed_run_unref(tenon_run *run) {
    if (--run->references || atomic_load(&run->cancel_posted)) return;
    run_free_memory(run);
}

void embed_run_empty(tenon_run *run) {
    invocation_clear(run->invocation);
    value_unref(run->error_value);
    run->error_value = NULL;
}

/* ---- Callbacks ---- */

/* The run may be freed then. */
static void embed_run_on_ended(void *user) {
    tenon_run *run = user;
    tenon *handle = run->host;
    handle->active--;
    if (run->ended) run->ended(run->ended_user, run);
    loop_enter(handle->loop); /* the callback may have used another host */
    embed_run_unref(run);
}

void embed_run_set_event(tenon_run *run, unsigned modes, tenon_event event, void *user) {
    invocation_set_modes(run->invocation, event ? modes : 0);
    run->event = event;
    run->event_user = user;
}

static bool embed_run_on_event(void *user, tn_value event) {
    tenon_run *run = user;
    if (!run->event) return true;
    bool more = run->event(run->event_user, event);
    loop_enter(run->host->loop); /* the callback may have used another host */
    if (more) return true;
    embed_run_set_event(run, 0, NULL, NULL);
    invocation_cancel(run->invocation);
    return true;
}

/* ---- The start ---- */

/* The invocation was started or resumed. */
static void embed_run_activate(tenon_run *run) {
    run->references++;
    run->host->active++;
    embed_wake(run->host);
}

/* Adds a run that has not been started; its reference belongs to the caller. */
static tenon_run *embed_run_add(tenon *handle) {
    tenon_run *run = mem_zalloc(sizeof *run), *next = handle->runs;
    run->host = handle;
    run->references = 1;
    run->number = atomic_fetch_add(&handle->run_count, 1);
    run->next = next;
    if (next) next->previous = run;
    handle->runs = run;
    embed_object_add(handle);
    return run;
}

/* The same; NULL with the error of the host. `needs_thread`: the name of the function if only a thread can be used. */
static tenon_run *embed_run_new(tenon_runnable *runnable, tn_value input, tn_value config, const char *needs_thread) {
    tenon *handle = runnable->host;
    struct invocation_options options = {
        .run = RUN_OPTIONS_INIT, .config = config, .input = input, .ended = embed_run_on_ended};
    if (run_request_read(&options.run, &options.request, config, &handle->error) != TN_OK) return NULL;
    if (needs_thread && !options.request.id) {
        error_set(&handle->error, TN_INVALID, "INVALID_INPUT", "%s needs a `thread_id` in the configuration",
                  needs_thread);
        return NULL;
    }
    tenon_run *run = embed_run_add(handle);
    options.run.event = embed_run_on_event;
    options.run.user = run;
    run->invocation = invocation_new(handle->engine, runnable->callable, &options, &handle->error);
    if (run->invocation) return run;
    embed_run_unref(run);
    return NULL;
}

tenon_run *tenon_start(tenon_runnable *runnable, tn_value input, tn_value config) {
    if (!embed_enter_of(runnable)) return NULL;
    tenon_run *run = embed_run_new(runnable, input, config, NULL);
    if (!run) return NULL;
    invocation_start(run->invocation);
    embed_run_activate(run);
    return run;
}

tenon_run *tenon_resume(tenon_runnable *runnable, tn_value answers, tn_value config) {
    if (!embed_enter_of(runnable)) return NULL;
    tenon_run *run = embed_run_new(runnable, NULL, config, __func__);
    if (!run) return NULL;
    if (invocation_resume(run->invocation, answers, &run->host->error) == TN_OK) {
        embed_run_activate(run);
        return run;
    }
    embed_run_unref(run);
    return NULL;
}

/* ---- Continuing ---- */

int32_t tenon_run_resume(tenon_run *run, tn_value answers) {
    if (!embed_enter_of(run)) return TN_INVALID;
    int32_t status = invocation_resume(run->invocation, answers, &run->host->error);
    if (status != TN_OK) return status;
    value_unref(run->error_value);
    run->error_value = NULL;
    embed_run_activate(run);
    return TN_OK;
}

int32_t tenon_run_answer(tenon_run *run, tn_value answer) {
    if (!embed_enter_of(run)) return TN_INVALID;
    tn_value questions = invocation_interrupts(run->invocation), id = NULL;
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

void embed_run_cancel_start(tenon_run *run) {
    if (invocation_phase(run->invocation) != INVOCATION_RUNNING) invocation_cancel(run->invocation);
}

static void embed_run_on_cancel(struct loop_work *work) {
    tenon_run *run = CONTAINER_OF(work, tenon_run, cancel);
    atomic_store(&run->cancel_posted, false);
    if (run->references)
        invocation_cancel(run->invocation);
    else
        run_free_memory(run);
}

void tenon_run_cancel(tenon_run *run) {
    if (!run || !run->host->host) return;
    if (run->host->thread == loop_this_thread()) {
        if (!embed_run_is_active(run)) return;
        embed_run_cancel_start(run);
    }
    if (atomic_exchange(&run->cancel_posted, true)) return;
    run->cancel.run = embed_run_on_cancel;
    loop_post(run->host->loop, &run->cancel);
    loop_wake(run->host->loop);
}

int32_t tenon_run_drain(tenon_run *run) {
    if (!embed_enter_of(run)) return TN_INVALID;
    invocation_drain(run->invocation);
    return TN_OK;
}

void tenon_run_release(tenon_run *run) {
    if (!run || !embed_check_thread(run->host)) return;
    run->event = NULL;
    run->ended = NULL;
    if (embed_run_is_active(run)) {
        invocation_cancel(run->invocation);
        embed_wake(run->host);
    }
    embed_run_unref(run);
}
