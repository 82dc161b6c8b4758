/*
 * job.c - the life of a call.
 *
 *     start -> SENDING -> ended                       create, cancel, get
 *                 |  ^
 *                 v  |    a timer                     get that waits; create that is refused for the moment
 *              WAITING                                stream whose connection is lost
 *
 * A stream is opened again with the id of its last event, so that nothing is lost or repeated. A service that numbers
 * no events repeats all of them: then the answer restarts. After RESEARCH_RECONNECTS_MAX connections that brought
 * nothing new, the stream ends as stalled: the caller can continue with `get`, because the work continues at the
 * service.
 *
 * A task that is cancelled cancels the work at the service if its input has `cancel`. `create` then waits for the id
 * first. The host abandons the task after some seconds, but the requests are still sent.
 */
#include "guard.h"
#include "internal.h"
#include <stdarg.h>

static struct research_job *open_jobs;

static void job_free(struct research_job *job) {
    struct research_job **at = &open_jobs;
    while (*at != job) at = &(*at)->next;
    *at = job->next;
    if (job->exchange != 0) (void)job->http->cancel(tn.host, job->exchange);
    if (job->timer != 0) (void)tn.core->unpost(tn.host, job->timer);
    if (job->leg_timer != 0) (void)tn.core->unpost(tn.host, job->leg_timer);
    if (job->data != NULL) {
        job->service->reset(job);
        if (job->service->release != NULL) job->service->release(job);
    }
    tn_answer_free(&job->answer);
    tn_value members[] = {job->input, job->id,    job->event_id,     job->status,  job->continuation, job->error,
                          job->head,  job->steps, job->seen_sources, job->sources, job->pending};
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) tn_release(members[i]);
    tn.core->release(tn.host, job->data);
    tn.core->release(tn.host, job);
}

/* Between enter and leave the job is not freed, even if its task ends. */
static void job_enter(struct research_job *job) { job->busy++; }
static void job_leave(struct research_job *job) {
    if (--job->busy == 0 && job->ended) job_free(job);
}

static struct research_job *job_lookup(tn_task task) {
    struct research_job *job = open_jobs;
    while (job != NULL && job->task != task) job = job->next;
    return job;
}

static struct research_job *job_new(const struct research_service *service, enum research_operation operation,
                                    tn_task task, tn_value input) {
    struct research_job *job = tn.core->alloc(tn.host, sizeof *job);
    if (job == NULL) return NULL;
    memset(job, 0, sizeof *job);
    job->data = tn.core->alloc(tn.host, service->data_size);
    if (job->data == NULL) {
        tn.core->release(tn.host, job);
        return NULL;
    }
    memset(job->data, 0, service->data_size);
    job->service = service;
    job->http = tn_easy_interface(tn.host, TN_HTTP_1, sizeof(tn_http_1));
    job->task = task;
    job->input = tn_retain(input);
    job->operation = operation;
    job->started_ns = tn.core->monotonic_ns(tn.host);
    tn_answer_init(&job->answer, task, NULL, service->provider);
    job->answer.is_silent = operation != RESEARCH_STREAM;
    job->answer.is_marked = research_flag(job, "messages", false);
    job->next = open_jobs;
    open_jobs = job;
    return job;
}

/* ---- The end ---- */

static void job_fail_take(struct research_job *job, tn_value error) {
    if (!job->ended)
        (void)tn_fail_take(job->task, error);
    else
        tn_release(error);
    job->ended = true;
}

void research_fail(struct research_job *job, const char *code, const char *format, ...) {
    char message[1024];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    job_enter(job);
    job_fail_take(job, tn_error(code, message));
    job_leave(job);
}

static void job_fail_answer(struct research_job *job) { job_fail_take(job, tn_answer_error(&job->answer)); }

/* Completes the task when all deltas are emitted. */
static void job_complete(struct research_job *job) {
    if (job->ended) return;
    if (job->exchange != 0) (void)job->http->cancel(tn.host, job->exchange);
    job->exchange = 0;
    if (!job->completing && job->state != RESEARCH_RUNNING) {
        research_end_part(job);
        tn_answer_finish(&job->answer, job->state == RESEARCH_INCOMPLETE ? "length" : "stop");
        tn_answer_end(&job->answer);
    }
    job->completing = true;
    if (job->answer.status != TN_OK)
        job_fail_answer(job);
    else if (!tn_answer_is_waiting(&job->answer)) {
        (void)tn_done_take(job->task, research_result(job));
        job->ended = true;
    }
}

/* ---- Sending ---- */

static void job_on_http(void *user, int32_t event, tn_value value);

static void job_transmit(struct research_job *job) {
    bool streams = job->sent == RESEARCH_STREAM;
    tn_builder *out = tn_builder_new();
    tn.value->begin(out, TN_OBJECT);
    bool ok = job->service->put_request(job, job->sent, out);
    tn_put_text(out, "receive", streams ? "events" : "whole");
    tn_put_begin(out, "timeout", TN_OBJECT);
    tn_put_int(out, "idle_ms", RESEARCH_IDLE_MS);
    tn.value->end(out);
    tn.value->end(out);
    tn_value request = tn_finish(out);
    if (ok && !job->ended) {
        job->http_status = 0;
        job->events = 0;
        int32_t status =
            request != NULL ? job->http->send(tn.host, request, job_on_http, job, &job->exchange) : TN_INVALID;
        if (status != TN_OK)
            research_fail(job, "INVALID_REQUEST",
                          "cannot send the request to %s (status %d); check that all values can be represented in JSON",
                          job->service->provider, (int)status);
    }
    tn_release(request);
}

void research_send(struct research_job *job) {
    job_enter(job);
    if (!job->ended) job_transmit(job);
    job_leave(job);
}

static void job_send(struct research_job *job, enum research_operation operation) {
    job->sent = operation;
    if (job->service->authorize == NULL || job->service->authorize(job)) research_send(job);
}

static void job_on_timer(void *argument) {
    struct research_job *job = argument;
    job_enter(job);
    job->timer = 0;
    job_send(job, job->operation);
    job_leave(job);
}

static void job_send_later(struct research_job *job, uint64_t delay_ms) {
    job->timer = tn_post(delay_ms, job_on_timer, job);
    if (job->timer == 0) research_fail(job, "NO_MEMORY", "not enough memory for a timer");
}

/* ---- Waiting ---- */

/* The milliseconds that remain of the input's `wait_ms`; 0 without one. */
static int64_t job_remaining_ms(const struct research_job *job) {
    int64_t wait = tn_get_int(job->input, "wait_ms", 0);
    int64_t passed = (tn.core->monotonic_ns(tn.host) - job->started_ns) / 1000000;
    return wait > passed ? wait - passed : 0;
}

/* Asks again after the interval. Returns false if the time to wait is over. */
static bool job_wait(struct research_job *job) {
    int64_t interval = tn_get_int(job->input, "interval_ms", RESEARCH_INTERVAL_MS), remaining = job_remaining_ms(job);
    if (remaining <= 0) return false;
    job_send_later(job, (uint64_t)(interval < remaining ? interval : remaining));
    return true;
}

/* This part of the stream is long enough: the caller saves the last event, and continues behind it. */
static void job_on_leg_timer(void *argument) {
    struct research_job *job = argument;
    job_enter(job);
    job->leg_timer = 0;
    if (!job->cancelling) job_complete(job);
    job_leave(job);
}

static uint64_t hash_of_value(tn_value value) {
    uint64_t hash = 14695981039346656037u, length = 0; /* FNV-1a */
    tn_value json = tn_to_json(value);
    const char *text = tn_chars(json, &length);
    for (uint64_t i = 0; i < length; i++) hash = (hash ^ (unsigned char)text[i]) * 1099511628211u;
    tn_release(json);
    return hash;
}

/* True if the connection has brought what none before has. A service that repeats its events does not progress. */
static bool job_has_progressed(struct research_job *job) {
    uint64_t most = job->events_most, hash = job->event_id != NULL ? hash_of_value(job->event_id) : 0;
    bool known = false;
    if (job->events > most) job->events_most = job->events;
    if (job->event_id == NULL) return job->events > most;
    for (size_t i = 0; i < RESEARCH_ENDS; i++) known |= job->ends[i] == hash;
    job->ends[job->connections % RESEARCH_ENDS] = hash;
    return !known && job->events > 0;
}

static void job_reconnect(struct research_job *job, tn_value error) {
    if (job_has_progressed(job)) job->failures = 0;
    job->connections++;
    if (job->failures++ >= RESEARCH_RECONNECTS_MAX || job->connections >= RESEARCH_CONNECTIONS_MAX) {
        research_set_error(job, error);
        job->stalled = true;
        job->state = RESEARCH_RUNNING; /* as far as it is known */
        job_complete(job);
        return;
    }
    if (job->event_id == NULL) {
        job->service->reset(job);
        bool silent = job->answer.is_silent;
        tn_answer_restart(&job->answer, "CONNECTION_LOST");
        research_reread(job);
        job->answer.is_silent = silent;
    }
    /* At once, if the lost connection has brought something. */
    job_send_later(job, job->failures > 1 ? (uint64_t)RESEARCH_BACKOFF_MS << (job->failures - 2) : 0);
}

/* ---- Cancelling ---- */

static void job_end_cancelled(struct research_job *job) { job_fail_take(job, tn_error("CANCELLED", "cancelled")); }

/* True if the work may continue at the service without this task. */
static bool job_has_work(const struct research_job *job) {
    return job->id != NULL && (!job->has_status || job->state == RESEARCH_RUNNING);
}

void research_cancel(tn_task task) {
    struct research_job *job = job_lookup(task);
    if (job == NULL || job->cancelling) return;
    job_enter(job);
    job->cancelling = true;
    bool wanted = research_flag(job, "cancel", false) && !job->completing && job->operation != RESEARCH_CANCEL;
    if (wanted && job->operation == RESEARCH_CREATE && job->exchange != 0) {
        job_leave(job); /* job_on_resource continues with the id */
        return;
    }
    if (job->exchange != 0) (void)job->http->cancel(tn.host, job->exchange);
    job->exchange = 0;
    if (job->timer != 0) (void)tn.core->unpost(tn.host, job->timer);
    job->timer = 0;
    if (wanted && job_has_work(job))
        job_send(job, RESEARCH_CANCEL);
    else
        job_end_cancelled(job);
    job_leave(job);
}

/* ---- Responses ---- */

static void job_on_resource(struct research_job *job, tn_value resource) {
    job->service->read(job, resource);
    if (job->ended) return;
    if (job->cancelling) {
        if (job->sent != RESEARCH_CANCEL && job_has_work(job))
            job_send(job, RESEARCH_CANCEL);
        else
            job_end_cancelled(job);
        return;
    }
    job->failures = 0;
    if (job->sent != RESEARCH_CANCEL && !job->has_status)
        research_fail(job, "INVALID_RESPONSE", "%s sent an answer without a status; check the address, or try again",
                      job->service->provider);
    else if (job->operation == RESEARCH_CREATE && job->id == NULL && job->state == RESEARCH_RUNNING)
        research_fail(job, "INVALID_RESPONSE", "%s sent no id of what it has created; check the address",
                      job->service->provider);
    else if (job->operation != RESEARCH_GET || job->state != RESEARCH_RUNNING || !job_wait(job))
        job_complete(job);
}

/*
 * A failed `create` with a guard is a result, so that a graph is saved with what is known: `unconfirmed`, it may have
 * been received or not; `refused`, nothing was created.
 */
static void job_complete_guarded(struct research_job *job, const char *state, tn_value error) {
    tn_value result = tn_build("{s:s,s:s,s:s,s:v*}", "id", "", "state", state, "status", state, "error", error);
    if (!job->ended)
        (void)tn_done_take(job->task, result);
    else
        tn_release(result);
    job->ended = true;
}

static void job_on_create_failure(struct research_job *job, tn_value error) {
    static const char *const before_sending[] = {"CONNECT", "AUTH", "INVALID_REQUEST", "UNSUPPORTED"};
    bool refused = job->http_status >= 400, certain = refused;
    for (size_t i = 0; i < sizeof before_sending / sizeof *before_sending; i++)
        certain |= strcmp(tn_get_text(error, "code", ""), before_sending[i]) == 0 && job->http_status == 0 &&
                   strcmp(tn_get_text(tn_get(error, "detail"), "type", ""), "CONNECTION_LOST") != 0;
    bool busy = job->http_status == 429 || job->http_status == 503;
    if (busy && ++job->failures < RESEARCH_CREATES_MAX) {
        int64_t wait = tn_get_int(error, "retry_after_ms", RESEARCH_REFUSED_MIN_MS);
        if (wait < RESEARCH_REFUSED_MIN_MS) wait = RESEARCH_REFUSED_MIN_MS;
        job_send_later(job, (uint64_t)(wait < RESEARCH_REFUSED_MAX_MS ? wait : RESEARCH_REFUSED_MAX_MS));
        return;
    }
    if (certain && job->guarded) guard_give_back(tn_get(job->input, "guard"));
    if (job->guarded)
        job_complete_guarded(job, certain ? "refused" : "unconfirmed", error);
    else
        job_fail_take(job, tn_retain(error));
}

static void job_on_failure_take(struct research_job *job, tn_value error) {
    bool retryable = research_error_is_retryable(error);
    if (job->cancelling)
        job_end_cancelled(job);
    else if (job->operation == RESEARCH_CREATE)
        job_on_create_failure(job, error);
    else if (job->operation == RESEARCH_STREAM && retryable)
        job_reconnect(job, error);
    else if (job->operation != RESEARCH_GET || !retryable || job->failures++ >= RESEARCH_FAILURES_MAX || !job_wait(job))
        job_fail_take(job, tn_retain(error));
    tn_release(error);
}

/* Returns true if the request was or will be sent with other credentials. */
static bool job_retry(struct research_job *job, int64_t status, const char *code) {
    return job->service->retry != NULL && job->events == 0 && job->service->retry(job, status, code);
}

static void job_on_whole(struct research_job *job, tn_value end) {
    tn_value body = tn_get(end, "body");
    uint64_t length = 0;
    const char *bytes = tn.value->as_bytes(body, &length);
    if (bytes == NULL) bytes = tn_chars(body, &length);
    tn_value json = bytes != NULL ? tn_from_json(bytes, length) : NULL;
    if (tn.value->kind(json) == TN_OBJECT)
        job_on_resource(job, json);
    else
        job_on_failure_take(job, tn_set_take(tn_build("{s:s,s:s}", "code", "INVALID_RESPONSE", "message",
                                                      "the service sent an answer that is not a JSON object; check the "
                                                      "address, or try again"),
                                             "retryable", tn_bool(1)));
    tn_release(json);
}

static tn_value job_lost_error(const struct research_job *job) {
    char message[160];
    (void)snprintf(message, sizeof message, "%s ended the stream before its end; try again", job->service->provider);
    return tn_set_take(tn_error("CONNECTION_LOST", message), "retryable", tn_bool(1));
}

static void job_on_end(struct research_job *job, tn_value end) {
    int64_t status = tn_get_int(end, "status", job->http_status);
    job->http_status = status;
    if (job->head == NULL) job->head = tn_retain(end);
    if (status < 200 || status > 299) {
        if (!job_retry(job, status, "")) job_on_failure_take(job, research_error_of_response(job, end));
    } else if (job->sent != RESEARCH_STREAM || (job->events == 0 && tn_get(end, "body") != NULL)) {
        job_on_whole(job, end); /* also of a service that cannot stream */
    } else if (job->has_status && job->state != RESEARCH_RUNNING) {
        job_complete(job);
    } else {
        job_on_failure_take(job, job_lost_error(job));
    }
}

/* ---- Events ---- */

void research_drop(struct research_job *job, tn_value error) {
    if (job->exchange != 0) (void)job->http->cancel(tn.host, job->exchange);
    job->exchange = 0;
    if (job->events > 0) job->events--; /* the event that reports the failure */
    job_reconnect(job, error);
}

static void job_on_event(struct research_job *job, tn_value event) {
    uint64_t length = 0;
    const char *data = tn_chars(tn_get(event, "data"), &length);
    if (data == NULL || length == 0) return;
    bool last = strcmp(data, "[DONE]") == 0;
    tn_value json = last ? NULL : tn_from_json(data, length);
    job->events++;
    if (tn.value->kind(json) == TN_OBJECT) job->service->event(job, json);
    if (json == NULL && !last) {
        tn_value error = job_lost_error(job);
        research_drop(job, error);
        tn_release(error);
    }
    tn_release(json);
    if (job->ended || job->exchange == 0) return;
    if (job->answer.status != TN_OK)
        job_fail_answer(job);
    else if (job->has_status && job->state != RESEARCH_RUNNING && (last || job->finished))
        job_complete(job);
    else if (tn_answer_is_waiting(&job->answer))
        (void)job->http->pause(tn.host, job->exchange);
}

static void job_on_http(void *user, int32_t event, tn_value value) {
    struct research_job *job = user;
    job_enter(job);
    if (event == TN_HTTP_HEAD) {
        research_replace(&job->head, value);
        job->http_status = tn_get_int(value, "status", 0);
    } else if (event == TN_HTTP_DATA) {
        if (!job->completing) job_on_event(job, value);
    } else {
        job->exchange = 0; /* the exchange has ended; do not cancel it */
        if (job->ended || job->completing) {
        } else if (event == TN_HTTP_END) {
            job_on_end(job, value);
        } else if (job->sent == RESEARCH_STREAM && job->has_status && job->state != RESEARCH_RUNNING) {
            job_complete(job); /* the connection was lost after the last event */
        } else if (!job_retry(job, 0, tn_get_text(value, "code", ""))) {
            job_on_failure_take(job, research_error_of_exchange(job, value));
        }
    }
    job_leave(job);
}

/* ---- Component functions ---- */

void research_ready(tn_task task) {
    struct research_job *job = job_lookup(task);
    if (job == NULL) return;
    job_enter(job);
    if (tn_answer_flush(&job->answer) && !job->ended) {
        if (job->completing)
            job_complete(job);
        else if (job->exchange != 0)
            (void)job->http->resume(tn.host, job->exchange);
    } else if (job->answer.status != TN_OK && !job->ended) {
        job_fail_answer(job);
    }
    job_leave(job);
}

/* Returns true if the job can start. */
static bool job_check_guard(struct research_job *job) {
    tn_value guard = research_get(job, "guard");
    if (guard == NULL) return true;
    job->guarded = guard_spend(guard);
    if (!job->guarded) job_complete_guarded(job, "unconfirmed", NULL);
    return job->guarded;
}

/*
 * Reports the error of a `create` that was refused, once. After that, or in another process, it is tried again. Without
 * an error the guard is returned as it is: the caller asks only whether `create` would be called.
 */
static void job_prepare(struct research_job *job) {
    tn_value error = research_get(job, "error"), guard = research_get(job, "guard");
    if (error != NULL && guard_spend(guard))
        (void)tn_fail_with(job->task, error);
    else if (error == NULL && guard != NULL)
        (void)tn_done_take(job->task, tn_build("{s:v}", "guard", guard));
    else
        (void)tn_done_take(job->task, tn_build("{s:V}", "guard", guard_new()));
    job->ended = true;
}

int32_t research_start(const struct research_service *service, enum research_operation operation, tn_task task,
                       tn_value input) {
    struct research_job *job = job_new(service, operation, task, input);
    if (job == NULL) return TN_NO_MEMORY;
    job_enter(job);
    tn_value event_id = research_get(job, "event_id");
    research_set_id(job, research_get(job, "id"));
    research_set_event_id(job, event_id);
    job->resumed = event_id != NULL;
    if (event_id != NULL) job->ends[RESEARCH_ENDS - 1] = hash_of_value(event_id);
    if (operation == RESEARCH_CREATE && research_flag(job, "prepare", false)) {
        job_prepare(job);
    } else if (job->http == NULL) {
        research_fail(job, "UNSUPPORTED", "this host provides no HTTP");
    } else if (operation != RESEARCH_CREATE || job_check_guard(job)) {
        int64_t leg_ms = operation == RESEARCH_STREAM ? tn_get_int(input, "wait_ms", 0) : 0;
        if (leg_ms > 0) job->leg_timer = tn_post((uint64_t)leg_ms, job_on_leg_timer, job);
        job_send(job, operation);
    }
    job_leave(job);
    return TN_OK;
}
