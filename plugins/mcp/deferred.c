/*
 * deferred.c - asks for the state of a task until it has ended.
 *
 * The server chooses the interval, within bounds. A request that is lost is repeated, at most MCP_RECONNECTS_MAX times
 * in a row. A question has a key that is unique in its task, so an answered one is not asked again while the server
 * still lists it.
 */
#include "deferred.h"
#include "question.h"

#define POLL_MS     1000 /* unless the server states an interval */
#define POLL_MIN_MS 100
#define POLL_MAX_MS 60000
#define TASK_MAX_MS 86400000 /* one day: a task that has not ended by then is given up */
#define ID_MAX      1024     /* bytes of a task's id */

static int64_t deferred_now_ms(void) { return tn.core->monotonic_ns(tn.host) / 1000000; }

/* ---- Asking for a task ---- */

static bool requires_task(const struct call *call) {
    return call->tool->method == NULL && strcmp(session_version(call->server->session), MCP_LEGACY) == 0 &&
           value_is(value_get_nested(call->tool->definition, "execution", "taskSupport"), "required");
}

tn_value deferred_ask_take(struct call *call, tn_value params) {
    call->deferred.core = requires_task(call);
    if (!call->deferred.core) return params;
    tn_value offered = value_get_nested(session_capabilities(call->server->session), "tasks", "requests");
    if (tn.value->kind(value_get_nested(offered, "tools", "call")) == TN_OBJECT)
        return tn_set_take(params, "task", tn_build("{}"));
    tn_release(params);
    call_decide(call, "SERVER_ERROR",
                format_value("server `%s`: tool `%s` can only be called as a task (`execution.taskSupport`), but the "
                             "server does not offer tasks for tools (`tasks.requests.tools.call` of its capabilities)",
                             call->server->name, call->tool->name),
                NULL);
    return NULL;
}

tn_value deferred_find_task(const struct call *call, tn_value result) {
    tn_value task = call->deferred.core ? tn_get(result, "task") : NULL;
    if (tn.value->kind(task) == TN_OBJECT) return task;
    return value_is(tn_get(result, "resultType"), "task") ? result : NULL;
}

bool deferred_is_related(const struct call *call, tn_value params) {
    tn_value id = tn_get(value_get_nested(params, "_meta", "io.modelcontextprotocol/related-task"), "taskId");
    return id != NULL && call->deferred.id != NULL && tn.value->equal(id, call->deferred.id);
}

/* ---- The state of a task ---- */

static void on_poll_due(void *argument) {
    struct call *call = argument;
    call->deferred.timer = 0;
    call->must_send = true;
    call_advance(call);
}

static void deferred_fail_take(struct call *call, const char *code, tn_value message) {
    call_decide(call, code, message, NULL);
    call_advance(call);
}

static void deferred_schedule(struct call *call) {
    struct deferred *deferred = &call->deferred;
    if (deferred_now_ms() >= deferred->until_ms) {
        deferred_cancel(call);
        deferred_fail_take(call, "TIMEOUT",
                           format_value("server `%s`: tool `%s`: its task has not ended within a day, or within its "
                                        "time to live",
                                        call->server->name, call->tool->name));
        return;
    }
    deferred->timer = tn_post((uint64_t)deferred->poll_ms, on_poll_due, call);
    if (deferred->timer == 0) deferred_fail_take(call, "NO_MEMORY", tn_text("not enough memory"));
}

static void report_status(const struct call *call, tn_value task) {
    const char *message = tn_get_text(task, "statusMessage", NULL);
    if (message == NULL || call->task == 0) return;
    tn_value chunk = tn_build("{s:{s:s}}", "progress", "message", message);
    if (chunk != NULL) (void)tn.task->emit(call->task, chunk);
    tn_release(chunk);
}

/* Keeps only questions that were not answered; asks them, and sends the answers when all are there. */
static void ask_questions(struct call *call, tn_value inputs) {
    tn_builder *builder = tn_builder_new();
    uint64_t open = 0;
    tn.value->begin(builder, TN_OBJECT);
    for (uint64_t i = 0, count = tn.value->count(inputs); i < count && open < MCP_QUESTIONS_MAX; i++) {
        tn_value key, input;
        if (tn.value->entry(inputs, i, &key, &input) != TN_OK) break;
        if (tn_get_key(call->deferred.answered, key) != NULL) continue;
        tn_put_key(builder, key, input);
        open++;
    }
    tn.value->end(builder);
    tn_release(call->input_requests);
    tn_release(call->responses);
    call->input_requests = tn_finish(builder);
    call->responses = open > 0 ? tn_build("{}") : NULL;
    if (open == 0) { /* the server has not taken our answers into account yet */
        deferred_schedule(call);
        return;
    }
    if (++call->rounds > MCP_ROUNDS_MAX) {
        deferred_fail_take(
            call, "SERVER_ERROR",
            format_value("server `%s`: tool `%s` asks for more input too often", call->server->name, call->tool->name));
        return;
    }
    questions_add_input_requests(call);
    call->must_send = true;
    call_advance(call);
}

static void end_with_error(struct call *call, tn_value task, const char *status) {
    tn_value error = tn_get(task, "error");
    const char *why = tn_get_text(error, "message", tn_get_text(task, "statusMessage", "no reason is given"));
    deferred_fail_take(
        call, "SERVER_ERROR",
        format_value("server `%s`: tool `%s`: its task has %s: %s", call->server->name, call->tool->name, status, why));
}

/* Handles the state of the task. */
static void read_task(struct call *call, tn_value task) {
    struct deferred *deferred = &call->deferred;
    const char *status = tn_get_text(task, "status", "");
    int64_t poll_ms = tn_get_int(task, deferred->core ? "pollInterval" : "pollIntervalMs", deferred->poll_ms);
    deferred->poll_ms = poll_ms < POLL_MIN_MS ? POLL_MIN_MS : poll_ms > POLL_MAX_MS ? POLL_MAX_MS : poll_ms;
    report_status(call, task);
    if (strcmp(status, "working") == 0) {
        deferred_schedule(call);
    } else if (deferred->core && (strcmp(status, "input_required") == 0 || strcmp(status, "completed") == 0 ||
                                  strcmp(status, "failed") == 0)) {
        deferred->fetching = call->must_send = true; /* the server asks its questions while it is open */
        call_advance(call);
    } else if (strcmp(status, "input_required") == 0) {
        ask_questions(call, tn_get(task, "inputRequests"));
    } else if (strcmp(status, "completed") == 0 && tn.value->kind(tn_get(task, "result")) == TN_OBJECT) {
        call_decide_result(call, tn_get(task, "result"));
        call_advance(call);
    } else if (strcmp(status, "failed") == 0) {
        end_with_error(call, task, "failed");
    } else if (strcmp(status, "cancelled") == 0) {
        end_with_error(call, task, "been cancelled by the server");
    } else {
        deferred_fail_take(call, "SERVER_ERROR",
                           format_value("server `%s`: tool `%s`: its task has the status `%.40s`, expected working, "
                                        "input_required, completed with a result, failed or cancelled",
                                        call->server->name, call->tool->name, status));
    }
}

static void deferred_set_id(struct call *call, tn_value id) {
    tn_release(call->deferred.id);
    call->deferred.id = tn_retain(id);
    call->deferred.poll_ms = POLL_MS;
    call->deferred.until_ms = deferred_now_ms() + TASK_MAX_MS;
    if (call->deferred.answered == NULL) call->deferred.answered = tn_build("{}");
}

void deferred_start(struct call *call, tn_value task) {
    uint64_t length = 0;
    tn_value id = tn_get(task, "taskId");
    int64_t ttl_ms = tn_get_int(task, call->deferred.core ? "ttl" : "ttlMs", TASK_MAX_MS);
    if (tn_chars(id, &length) == NULL || length == 0 || length > ID_MAX || call->tool->method != NULL) {
        deferred_fail_take(call, "SERVER_ERROR",
                           format_value("server `%s`: tool `%s`: it answered with a task, but its `taskId` is not a "
                                        "string of 1 to %d bytes, or no task was possible",
                                        call->server->name, call->tool->name, ID_MAX));
        return;
    }
    deferred_set_id(call, id);
    if (ttl_ms > 0 && ttl_ms < TASK_MAX_MS) call->deferred.until_ms = deferred_now_ms() + ttl_ms;
    if (call->deferred.core || value_is(tn_get(task, "status"), "working")) {
        read_task(call, task);
        return;
    }
    call->must_send = true; /* its first state has neither a result nor questions: ask for them */
    call_advance(call);
}

void deferred_resume(struct call *call, tn_value id) {
    deferred_set_id(call, id);
    call->deferred.resumed = true;
}

const char *deferred_request(struct call *call, tn_value *params) {
    call->deferred.updating = call->responses != NULL;
    *params = tn_build("{s:v,s:v*}", "taskId", call->deferred.id, "inputResponses", call->responses);
    if (call->deferred.fetching) return "tasks/result";
    return call->deferred.updating ? "tasks/update" : "tasks/get";
}

/* The server has the answers. */
static void deferred_note_answers(struct call *call) {
    for (uint64_t i = 0, count = tn.value->count(call->responses); i < count; i++) {
        tn_value key, value;
        uint64_t length;
        if (tn.value->entry(call->responses, i, &key, &value) != TN_OK) break;
        const char *name = tn_chars(key, &length);
        (void)tn.value->set(&call->deferred.answered, name, length, value);
    }
    tn_release(call->responses);
    tn_release(call->input_requests);
    call->responses = call->input_requests = NULL;
}

static bool is_passing(const struct rpc_answer *answer) {
    return answer->status >= 500 || (answer->failure != NULL && (strcmp(answer->failure, "TIMEOUT") == 0 ||
                                                                 strcmp(answer->failure, "CONNECTION_LOST") == 0));
}

bool deferred_on_response(struct call *call, const struct rpc_answer *answer) {
    struct deferred *deferred = &call->deferred;
    bool fetching = deferred->fetching;
    deferred->fetching = false;
    if (answer->result != NULL) {
        deferred->failures = 0;
        deferred->resumed = false;
        if (fetching) {
            call_decide_result(call, answer->result);
            call_advance(call);
        } else if (deferred->updating) {
            deferred_note_answers(call);
            deferred_schedule(call);
        } else {
            read_task(call, answer->result);
        }
        return true;
    }
    if (is_passing(answer) && ++deferred->failures <= MCP_RECONNECTS_MAX) {
        deferred_schedule(call);
        return true;
    }
    if (deferred->resumed && answer->code != 0 && !call->repeated) { /* another server: make the call again */
        deferred_free(call);
        call_repeat(call);
        call_advance(call);
        return true;
    }
    return false;
}

void deferred_cancel(struct call *call) {
    if (call->deferred.id == NULL || call->server->session == NULL || call->server->state != SERVER_READY) return;
    tn_value params = tn_build("{s:v}", "taskId", call->deferred.id);
    (void)session_request(call->server->session, "tasks/cancel", params, NULL, false, server_timeout_ms(call->server),
                          NULL, NULL);
    tn_release(params);
}

void deferred_free(struct call *call) {
    if (call->deferred.timer != 0) (void)tn.core->unpost(tn.host, call->deferred.timer);
    tn_release(call->deferred.id);
    tn_release(call->deferred.answered);
    call->deferred = (struct deferred){0};
}
