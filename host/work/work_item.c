/*
 * work_item.c - handles one claimed Task.
 *
 * Every request to the kernel or the store reports back from the loop. Only item_set_state changes the state; a
 * callback checks it first, because the claim can be lost, or the worker can be asked to end, while a request is under
 * way.
 */
#include "host/work/work_item.h"
#include "adl/value/memory.h"
#include "host/base/config/config.h"
#include "host/base/container_of.h"
#include "host/base/log.h"
#include "host/base/loop.h"
#include "host/base/time_text.h"
#include "host/data/kernel/kernel.h"
#include "host/data/kernel/kernel_task.h"
#include "host/data/thread/thread_admin.h"
#include "host/data/thread/thread_log.h"
#include "host/engine/engine.h"
#include "host/engine/execution/execution.h"
#include "host/engine/execution/invocation.h"
#include "host/engine/graph/graph.h"
#include "host/plugin/call/owner.h"
#include "host/work/run_result.h"
#include "host/work/work_notice.h"
#include "host/work/work_trace.h"
#include "host/work/work_type.h"
#include <assert.h>
#include <string.h>

#define END_RETRY_MS     100 /* before the end of a claim is written again after the store has failed */
#define END_RETRY_MAX_MS 2000
#define HOUR_MS          3600000
#define SECOND_MS        1000

enum item_state { ITEM_CLAIMED, ITEM_LOOKING, ITEM_RUNNING, ITEM_ENDING, ITEM_ENDED };

struct work_item {
    struct work_item_options options;
    tn_value task;          /* owned */
    const char *id, *token; /* borrowed from `task` */
    int64_t attempts;
    enum item_state state;
    struct invocation *invocation; /* NULL until the run starts */
    struct loop_timer renewal;     /* at a third of the ttl */
    struct loop_timer end_retry;
    int64_t end_delay_ms;
    int64_t claimed_until_ms; /* loop_now_ms at which the claim ends if it is not renewed */
    int64_t renewed_at_ms;    /* when the last task.renew was submitted */
    bool renewing;            /* task.renew has not reported yet */
    bool lost;                /* another worker may have the Task */
    bool drains, cancelled;
    const char *end_operation; /* of the kernel; it ends the claim */
    tn_value end_arguments;    /* owned */
    bool end_refused;          /* the kernel has refused what was to be written */
    size_t notified;           /* notifications that were created */
    tn_value thread_time;      /* when the thread was last written, a text; owned; NULL unless it is done */
    tn_value thread_result;    /* the state of a thread that is done; owned */
    struct loop_work report;
    enum work_outcome outcome;
    struct error error;
    tn_value output, interrupts; /* owned; NULL without them */
    struct work_trace trace;
};

const char *work_outcome_name(enum work_outcome outcome) {
    static const char *const names[] = {"done", "failed", "retried", "waiting", "released", "lost"};
    return names[outcome];
}

static void item_set_state(struct work_item *item, enum item_state state) {
    assert(state >= item->state);
    item->state = state;
}

static struct loop *item_loop(const struct work_item *item) { return item->options.engine->loop; }

/* What it creates, such as a notification, belongs to the owner of the Task. */
static void item_call_take(struct work_item *item, const char *operation, tn_value arguments, store_done *done) {
    char owner[OWNER_TEXT];
    const struct kernel_caller caller = {.owner = owner_of(item->id, owner) ? owner : NULL};
    kernel_call_for(item->options.kernel, kernel_find_operation(operation), &caller, arguments, done, item);
    value_unref(arguments);
}

/* {task_id, claim_token}, with room for more; a new reference. */
static tn_value item_claim_arguments(const struct work_item *item) {
    tn_value arguments = value_set_take(value_object_reserve(6), "task_id", value_text(item->id));
    return value_set_take(arguments, "claim_token", value_text(item->token));
}

static bool error_is(const struct error *error, const char *code) {
    return error->code && strcmp(error->code, code) == 0;
}

/* The claim does not exist any more: it has expired, or another worker has ended the Task. */
static bool claim_is_gone(const struct error *error) {
    return error_is(error, "CLAIM_LOST") || error_is(error, "INVALID_TRANSITION") || error_is(error, "NOT_FOUND");
}

/* ---- The end ---- */

static void item_run_report(struct loop_work *work) {
    struct work_item *item = CONTAINER_OF(work, struct work_item, report);
    item->options.ended(item, item->options.user);
}

/* Reports the end as soon as no request is under way. */
static void item_report_if_ended(struct work_item *item) {
    if (item->state == ITEM_ENDED && !item->renewing) loop_defer(item_loop(item), &item->report);
}

static void item_finish(struct work_item *item, enum work_outcome outcome) {
    item->outcome = outcome;
    loop_timer_stop(item_loop(item), &item->renewal);
    loop_timer_stop(item_loop(item), &item->end_retry);
    item_set_state(item, ITEM_ENDED);
    work_trace_end(&item->trace, item_loop(item), item);
    item_report_if_ended(item);
}

static void item_finish_lost(struct work_item *item, const struct error *error) {
    if (error) error_copy(&item->error, error);
    if (!item->error.code)
        error_set(&item->error, TN_FAILED, "CLAIM_LOST", "the claim on the Task is lost; another worker continues it");
    item_finish(item, WORK_LOST);
}

static void item_submit_end(struct work_item *item);
static void item_store_failed(struct work_item *item, const struct error *error);

static void item_on_end_retry(struct loop_timer *timer) {
    item_submit_end(CONTAINER_OF(timer, struct work_item, end_retry));
}

/* What the Task should end with is too large, or malformed: it fails instead, because nothing else can be written. */
static void item_end_refused(struct work_item *item, const struct error *error) {
    item->end_refused = true;
    error_set(&item->error, TN_FAILED, "INVALID_RESULT", "the Task could not be ended with its result: %s",
              error->message);
    value_unref(item->end_arguments);
    item->end_arguments = value_set_take(item_claim_arguments(item), "error", error_to_value(&item->error));
    item->end_operation = "task.fail";
    item->outcome = WORK_FAILED;
    item_submit_end(item);
}

static void item_on_end_written(void *user, int32_t status, tn_value result, const struct error *error) {
    struct work_item *item = user;
    (void)result;
    if (status == TN_OK) {
        item_finish(item, item->outcome);
    } else if (!item->end_refused && (error_is(error, "LIMIT") || error_is(error, "INVALID_INPUT"))) {
        item_end_refused(item, error);
    } else if (item->cancelled || claim_is_gone(error) || loop_now_ms(item_loop(item)) >= item->claimed_until_ms) {
        item_finish_lost(item, error);
    } else {
        log_write(LOG_WARN, NULL, "Task %s: %s could not be written and is tried again: %s", item->id,
                  item->end_operation, error->message);
        loop_timer_start(item_loop(item), &item->end_retry, item->end_delay_ms, item_on_end_retry);
        item->end_delay_ms = 2 * item->end_delay_ms < END_RETRY_MAX_MS ? 2 * item->end_delay_ms : END_RETRY_MAX_MS;
    }
}

static void item_submit_end(struct work_item *item) {
    item_call_take(item, item->end_operation, value_ref(item->end_arguments), item_on_end_written);
}

/* Ends the claim with this operation of the kernel. Takes `arguments`. */
static void item_end_take(struct work_item *item, enum work_outcome outcome, const char *operation,
                          tn_value arguments) {
    item->outcome = outcome;
    item->end_operation = operation;
    item->end_arguments = arguments;
    item->end_delay_ms = END_RETRY_MS;
    item_set_state(item, ITEM_ENDING);
    item_submit_end(item);
}

/* `not_before_ms` is in wall clock time; 0 for none. */
static tn_value item_release_arguments(const struct work_item *item, const char *reason, int64_t not_before_ms) {
    tn_value arguments = value_set_take(item_claim_arguments(item), "reason", value_text(reason));
    return not_before_ms ? value_set_take(arguments, "not_before", time_value(not_before_ms)) : arguments;
}

static void item_release(struct work_item *item) {
    item_end_take(item, WORK_RELEASED, "task.release", item_release_arguments(item, "drain", 0));
}

/* ---- Failures ---- */

/*
 * The next attempt would fail in the same way, or ask a person again who has refused. GRAPH_CHANGED is not in the list:
 * while hosts are upgraded one by one, another one may still have the version of the document that began the Task.
 */
static bool failure_is_permanent(const struct error *error) {
    static const char *const codes[] = {
        "AUTH",           "BUDGET_EXCEEDED", "EXPIRED",           "INVALID_GRAPH", "INVALID_INPUT",   "INVALID_OUTPUT",
        "INVALID_RESULT", "INVALID_CONFIG",  "PERMISSION_DENIED", "TOOL_DENIED",   "SECRET_NOT_FOUND"};
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if (error_is(error, codes[i])) return true;
    return false;
}

/* When the next attempt may begin, in wall clock time. */
static int64_t item_retry_at_ms(const struct work_item *item) {
    return store_wall_ms(item->options.kernel->store) + work_type_retry_delay_ms(item->options.type, item->attempts);
}

/* Releases the Task for another attempt, with the error of this one if it has one. */
static void item_release_for_retry(struct work_item *item, enum work_outcome outcome) {
    tn_value arguments = item_release_arguments(item, "retry", item_retry_at_ms(item));
    if (item->error.code) arguments = value_set_take(arguments, "error", error_to_value(&item->error));
    item_end_take(item, outcome, "task.release", arguments);
}

/* The Artifacts of the Task: those that it was created with, then those that its thread has used. A new reference. */
static tn_value item_artifacts(const struct work_item *item, tn_value used) {
    tn_value given = value_get(item->task, "artifact_refs"), all = given ? value_ref(given) : value_array();
    tn_value known = value_object();
    for (size_t i = 0; i < value_count(given); i++)
        known = value_set_key_take(known, value_ref(value_at(given, i)), value_bool(true));
    for (size_t i = 0; i < value_count(used) && value_count(all) < TASK_ARTIFACTS_MAX; i++)
        if (!value_get_key(known, value_at(used, i))) all = value_push_take(all, value_ref(value_at(used, i)));
    value_unref(known);
    return all;
}

/* Completes the Task, or fails it if the item has an error. `artifact_ids` may be NULL. */
static void item_end_with_artifacts(struct work_item *item, tn_value artifact_ids) {
    bool failed = item->error.code != NULL;
    tn_value arguments = item_claim_arguments(item);
    if (failed)
        arguments = value_set_take(arguments, "error", error_to_value(&item->error));
    else if (item->output)
        arguments = value_set_take(arguments, "user_output", value_ref(item->output));
    arguments = value_set_take(arguments, "artifact_refs", item_artifacts(item, artifact_ids));
    item_end_take(item, failed ? WORK_FAILED : WORK_DONE, failed ? "task.fail" : "task.complete", arguments);
}

static void item_on_artifacts(void *user, int32_t status, tn_value result, const struct error *error) {
    struct work_item *item = user;
    if (item->lost)
        item_finish_lost(item, NULL);
    else if (status != TN_OK && !item->error.code)
        item_store_failed(item, error); /* the result is in the thread: the next claim only ends the Task */
    else
        item_end_with_artifacts(item, value_get(result, "artifact_ids"));
}

/* Ends the Task with the Artifacts that its thread has used. */
static void item_end_decided(struct work_item *item) {
    tn_value arguments = value_set_take(value_object_reserve(1), "thread_id", value_text(item->id));
    item_call_take(item, "artifact.linked", arguments, item_on_artifacts);
}

/* Moves the error. */
static void item_fail(struct work_item *item, struct error *error) {
    error_move(&item->error, error);
    if (item->options.type->graph)
        item_end_decided(item);
    else
        item_end_with_artifacts(item, NULL);
}

/* The attempt has failed: the Task is tried again after a delay, or fails. Moves the error. */
static void item_fail_attempt(struct work_item *item, struct error *error) {
    if (failure_is_permanent(error) || item->attempts >= item->options.type->max_attempts) {
        item_fail(item, error);
        return;
    }
    error_move(&item->error, error);
    item_release_for_retry(item, WORK_RETRIED);
}

/* A request to the store has failed. If that may pass, it is not the fault of the attempt, which then does not count.
 */
static void item_store_failed(struct work_item *item, const struct error *error) {
    struct error why = ERROR_INIT;
    error_copy(&why, error);
    if (error_retryable(&why))
        item_end_take(item, WORK_RELEASED, "task.release",
                      item_release_arguments(item, "drain", item_retry_at_ms(item)));
    else
        item_fail_attempt(item, &why);
    error_finish(&why);
}

/* ---- The result ---- */

/* Takes the contents of `result`. */
static void item_end_with_result(struct work_item *item, struct run_result *result) {
    item->output = result->user_output;
    result->user_output = NULL;
    if (result->state == RUN_RESULT_RUNNING && result->error.code) {
        item_fail_attempt(item, &result->error);
        return;
    }
    error_move(&item->error, &result->error);
    if (result->state == RUN_RESULT_RUNNING)
        item_release_for_retry(item, WORK_RELEASED);
    else if (item->options.type->graph)
        item_end_decided(item);
    else
        item_end_with_artifacts(item, result->artifact_refs);
}

static void item_end_with_output(struct work_item *item, tn_value output) {
    struct run_result result = RUN_RESULT_INIT;
    struct error error = ERROR_INIT;
    if (run_result_read(output, &result, &error) == TN_OK)
        item_end_with_result(item, &result);
    else
        item_fail_attempt(item, &error);
    run_result_finish(&result);
    error_finish(&error);
}

/* ---- Waiting for a person ---- */

static void item_wait(struct work_item *item) {
    int64_t hours = config_limit(item->options.engine->config, "interrupt_hours", 0);
    /* Whether an answer is too late is decided in whole seconds. */
    int64_t at = hours ? store_wall_ms(item->options.kernel->store) + hours * HOUR_MS + SECOND_MS : 0;
    item_end_take(item, WORK_WAITING, "task.release", item_release_arguments(item, "wait", at));
}

static void item_notify(struct work_item *item);

static void item_on_notified(void *user, int32_t status, tn_value result, const struct error *error) {
    struct work_item *item = user;
    (void)result;
    if (item->lost) {
        item_finish_lost(item, NULL);
    } else if (status == TN_OK) {
        item->notified++;
        item_notify(item);
    } else {
        item_store_failed(item, error);
    }
}

/* Creates one notification after the other, then ends the claim. */
static void item_notify(struct work_item *item) {
    if (item->options.no_notification || item->notified == value_count(item->interrupts)) {
        item_wait(item);
        return;
    }
    tn_value interrupt = value_at(item->interrupts, item->notified);
    item_call_take(item, "task.create", work_notice_arguments(item->task, interrupt), item_on_notified);
}

static void item_end_interrupted(struct work_item *item) {
    struct error error = ERROR_INIT;
    item->interrupts = invocation_interrupts(item->invocation);
    if (item->options.type->graph) {
        item_notify(item);
        return;
    }
    error_set(&error, TN_FAILED, "INTERRUPTED",
              "the runner asks a question, but has no thread that could wait for the answer; use a strategy");
    item_fail(item, &error);
}

/* ---- The run ---- */

/* Another worker, which was suspended, has written the thread after it was read here: it must be read again. */
static bool item_thread_has_changed(const struct work_item *item, const struct error *error) {
    return !invocation_has_begun(item->invocation) && (error_is(error, "DONE") || error_is(error, "UNFINISHED"));
}

static void item_on_run_ended(void *user) {
    struct work_item *item = user;
    struct error error = ERROR_INIT;
    enum run_status status = invocation_status(item->invocation);
    if (invocation_error(item->invocation)->code) error_copy(&error, invocation_error(item->invocation));
    if (item->lost || error_is(&error, "FENCED"))
        item_finish_lost(item, item->lost ? NULL : &error);
    else if (status == RUN_DONE)
        item_end_with_output(item, invocation_output(item->invocation));
    else if (status == RUN_INTERRUPTED)
        item_end_interrupted(item);
    else if (status == RUN_STOPPED || status == RUN_CANCELLED || item_thread_has_changed(item, &error))
        item_release(item);
    else
        item_fail_attempt(item, &error);
    error_finish(&error);
}

static bool item_on_event(void *user, tn_value event) {
    const struct work_item *item = user;
    return item->options.event(item->options.user, event);
}

/* Returns the configuration of the run; a new reference. */
static tn_value item_run_config(const struct work_item *item) {
    tn_value metadata = value_set_take(value_object_reserve(3), "task_id", value_text(item->id));
    metadata = value_set_take(metadata, "task_type", value_text(item->options.type->name));
    metadata = value_set_take(metadata, "attempt", value_int(item->attempts));
    metadata = work_trace_metadata_take(&item->trace, item_loop(item), metadata);
    tn_value config = value_set_take(value_object_reserve(4), "metadata", metadata);
    config = value_set_take(config, "runner_id", value_text(item->options.worker));
    if (!item->options.type->graph) { /* without a thread, the id of the run says to whom it belongs */
        char owner[OWNER_TEXT];
        return owner_of(item->id, owner) ? value_set_take(config, "run_id", value_text(item->id)) : config;
    }
    config = value_set_take(config, "thread_id", value_text(item->id));
    /* The claim is the right to take the thread over, also if the worker before is only suspended. */
    return value_set_take(config, "force", value_bool(true));
}

/* Returns {task, runner_id, options} without the members that the strategy does not declare; a new reference. */
static tn_value item_run_input(const struct work_item *item) {
    const struct work_type *type = item->options.type;
    const struct document *document = type->graph ? type->graph->document : NULL;
    tn_value task = value_remove_take(value_ref(item->task), value_text("claim_token"));
    tn_value input = value_set_take(value_object_reserve(3), "task", task);
    if (!document || document_find_channel(document, "runner_id", 9) >= 0)
        input = value_set_take(input, "runner_id", value_text(item->options.worker));
    if (!document || document_find_channel(document, "options", 7) >= 0)
        input = value_set_take(input, "options", value_ref(type->options));
    return input;
}

/* Fails the Task, and returns true, if it was started too often. */
static bool item_is_exhausted(struct work_item *item) {
    struct error error = ERROR_INIT;
    if (item->attempts <= item->options.type->max_attempts) return false;
    error_set(&error, TN_FAILED, "ATTEMPTS_EXHAUSTED",
              "the Task was started %u times, and no attempt has ended it; its history has the attempts",
              item->options.type->max_attempts);
    item_fail(item, &error);
    return true;
}

static void item_run(struct work_item *item, bool resumes) {
    struct invocation_options options = {.run = RUN_OPTIONS_INIT, .ended = item_on_run_ended};
    struct error error = ERROR_INIT;
    if (item_is_exhausted(item)) return;
    options.config = item_run_config(item);
    options.input = resumes ? NULL : item_run_input(item);
    int32_t status = run_request_read(&options.run, &options.request, options.config, &error);
    options.run.modes = item->options.modes;
    options.run.event = item->options.modes ? item_on_event : NULL;
    options.run.user = item;
    if (status == TN_OK)
        item->invocation = invocation_new(item->options.engine, item->options.type->callable, &options, &error);
    if (item->invocation) {
        item_set_state(item, ITEM_RUNNING);
        if (!resumes)
            invocation_start(item->invocation);
        else
            status = invocation_resume(item->invocation, NULL, &error);
    }
    if (status != TN_OK || !item->invocation)
        item_fail_attempt(item, &error);
    else if (item->drains)
        work_item_drain(item);
    value_unref(options.input);
    value_unref(options.config);
    error_finish(&error);
}

/* ---- The thread ---- */

/* Ends the item if it must not start a run any more. */
static bool item_is_stopped(struct work_item *item) {
    if (item->lost)
        item_finish_lost(item, NULL);
    else if (item->cancelled || item->drains)
        item_release(item);
    return item->state >= ITEM_ENDING;
}

/* The time of the newest decision about the Task, done or failed, a text; NULL if there was none. */
static tn_value last_decision(tn_value task) {
    tn_value history = value_get(task, "history");
    for (size_t i = value_count(history); i-- > 0;) {
        tn_value entry = value_at(history, i), outcome = value_get(entry, "outcome");
        if (value_text_is(outcome, "done") || value_text_is(outcome, "failed")) return value_get(entry, "ended_at");
    }
    return NULL;
}

/*
 * The thread is done. Its result ends the Task if the worker that has made it was killed before it could write the end.
 * If the result is older than a decision, the Task was queued again, and the strategy starts again on the same state;
 * so does one that has returned `running`.
 */
static void item_on_task(void *user, int32_t status, tn_value task, const struct error *error) {
    struct work_item *item = user;
    if (item_is_stopped(item)) return;
    tn_value decided = last_decision(task);
    bool old = value_is(decided, TN_STRING) && value_is(item->thread_time, TN_STRING) &&
               value_compare_strings(item->thread_time, decided) <= 0;
    if (status != TN_OK)
        item_store_failed(item, error);
    else if (old || value_text_is(value_get(item->thread_result, "task_state"), "running"))
        item_run(item, false);
    else
        item_end_with_output(item, item->thread_result);
}

static void item_on_state(void *user, int32_t status, tn_value state, const struct error *error) {
    struct work_item *item = user;
    if (item_is_stopped(item)) return;
    if (status != TN_OK) {
        item_store_failed(item, error);
        return;
    }
    item->thread_result = value_ref(state);
    item_call_take(item, "task.get", value_set_take(value_object_reserve(1), "task_id", value_text(item->id)),
                   item_on_task);
}

static void item_on_thread(void *user, int32_t status, tn_value record, const struct error *error) {
    struct work_item *item = user;
    tn_value time = value_get(record, "updated_at");
    if (item_is_stopped(item)) return;
    if (status != TN_OK && error_is(error, "NOT_FOUND")) {
        item_run(item, false);
    } else if (status != TN_OK) {
        item_store_failed(item, error);
    } else if (value_text_is(value_get(record, "status"), "done")) {
        item->thread_time = time ? value_ref(time) : NULL;
        thread_state(item->options.kernel->store, item->id, THREAD_HEAD, item_on_state, item);
    } else {
        item_run(item, true);
    }
}

/* ---- The claim ---- */

static void item_on_renewal_due(struct loop_timer *timer);

/* Soon again after a renewal that has failed: two failures must not use up the claim. */
static void item_schedule_renewal(struct work_item *item, bool failed) {
    loop_timer_start(item_loop(item), &item->renewal, item->options.type->ttl_ms / (failed ? 12 : 3),
                     item_on_renewal_due);
}

static void item_lose(struct work_item *item, const struct error *error) {
    item->lost = true;
    error_copy(&item->error, error);
    if (item->state == ITEM_RUNNING) invocation_cancel(item->invocation);
}

static void item_on_renewed(void *user, int32_t status, tn_value result, const struct error *error) {
    struct work_item *item = user;
    (void)result;
    item->renewing = false;
    if (item->state == ITEM_ENDED) {
        item_report_if_ended(item);
    } else if (status != TN_OK && claim_is_gone(error)) {
        if (item->state != ITEM_ENDING) item_lose(item, error);
    } else {
        if (status == TN_OK)
            item->claimed_until_ms = item->renewed_at_ms + item->options.type->ttl_ms;
        else
            log_write(LOG_WARN, NULL, "Task %s: the claim could not be renewed and is tried again: %s", item->id,
                      error->message);
        item_schedule_renewal(item, status != TN_OK);
    }
}

static void item_renew(struct work_item *item) {
    const struct work_type *type = item->options.type;
    tn_value seconds = value_double((double)type->ttl_ms / 1000.0);
    item->renewing = true;
    item->renewed_at_ms = loop_now_ms(item_loop(item));
    item_call_take(item, "task.renew", value_set_take(item_claim_arguments(item), "ttl_seconds", seconds),
                   item_on_renewed);
}

static void item_on_renewal_due(struct loop_timer *timer) {
    item_renew(CONTAINER_OF(timer, struct work_item, renewal));
}

/* ---- The item ---- */

struct work_item *work_item_new(const struct work_item_options *options, tn_value task) {
    struct work_item *item = mem_zalloc(sizeof *item);
    tn_value attempts = value_get(task, "attempts");
    item->options = *options;
    item->task = value_ref(task);
    item->id = value_chars(value_get(task, "task_id"), NULL);
    item->token = value_chars(value_get(task, "claim_token"), NULL);
    item->attempts = attempts ? value_to_int(attempts) : 1;
    item->report.run = item_run_report;
    return item;
}

void work_item_start(struct work_item *item) {
    const struct work_type *type = item->options.type;
    item->claimed_until_ms = loop_now_ms(item_loop(item)) + type->ttl_ms;
    item_schedule_renewal(item, false);
    work_trace_start(&item->trace, item_loop(item), item->id);
    item_set_state(item, ITEM_LOOKING);
    if (type->graph)
        thread_show(item->options.kernel->store, item->id, item_on_thread, item);
    else if (!item_is_stopped(item))
        item_run(item, false);
}

void work_item_drain(struct work_item *item) {
    item->drains = true;
    if (item->state == ITEM_RUNNING) invocation_drain(item->invocation);
}

void work_item_cancel(struct work_item *item) {
    item->cancelled = true;
    if (item->state == ITEM_RUNNING) invocation_cancel(item->invocation);
}

void work_item_continue(struct work_item *item) {
    if (item->state == ITEM_RUNNING) invocation_continue(item->invocation);
}

void work_item_free(struct work_item *item) {
    if (!item) return;
    invocation_free(item->invocation);
    value_unref(item->end_arguments);
    value_unref(item->thread_result);
    value_unref(item->thread_time);
    value_unref(item->interrupts);
    value_unref(item->output);
    value_unref(item->task);
    work_trace_finish(&item->trace);
    error_finish(&item->error);
    mem_free(item);
}

tn_value work_item_task(const struct work_item *item) { return item->task; }
const char *work_item_id(const struct work_item *item) { return item->id; }
const struct work_type *work_item_type(const struct work_item *item) { return item->options.type; }
enum work_outcome work_item_outcome(const struct work_item *item) { return item->outcome; }
const struct error *work_item_error(const struct work_item *item) { return &item->error; }
tn_value work_item_output(const struct work_item *item) { return item->output; }
tn_value work_item_interrupts(const struct work_item *item) { return item->interrupts; }
