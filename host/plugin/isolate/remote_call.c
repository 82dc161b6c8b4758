/*
 * remote_call.c - the calls that tasks of a remote plugin make: of components, tool sets, operations, methods, and HTTP
 * requests that are waited for.
 *
 * A call is found by the number that the child gave it. The chunks of a call that the child receives are sent while it
 * has credit; without credit the callee waits.
 */
#include "adl/value/memory.h"
#include "host/plugin/abi/abi.h"
#include "host/plugin/abi/abi_host.h"
#include "host/plugin/call/call.h"
#include "host/plugin/isolate/isolate_protocol.h"
#include "host/plugin/isolate/process.h"
#include "host/plugin/isolate/remote_internal.h"
#include "host/plugin/registry/plugin.h"
#include <string.h>

/* The task, and its process, may have ended before the call does. */
struct remote_call {
    struct remote *remote;
    struct remote_call *next; /* in the same bucket */
    int64_t task, call;       /* numbers on the wire */
    tn_call made;             /* the number in the task */
    int64_t credit;           /* chunks that the child still accepts */
    bool nested;              /* it may need a process of the same pool */
    bool answered;            /* its end has been reported to the child already: a chunk could not be sent */
};

int64_t remote_int_member(tn_value object, const char *key, int64_t otherwise) {
    tn_value value = value_get(object, key);
    return value_is(value, TN_INT) ? value_to_int(value) : otherwise;
}

/* The link that points to the call, or to NULL at the end of its list. */
static struct remote_call **remote_call_link(struct remote *remote, int64_t task, int64_t number) {
    struct remote_call **at = &remote->calls[(uint64_t)number % TASK_BUCKETS];
    while (*at && ((*at)->call != number || (*at)->task != task)) at = &(*at)->next;
    return at;
}

/* ---- Messages to the child ---- */

static tn_value remote_call_params(const struct remote_call *call, uint32_t more) {
    tn_value params = value_set_take(value_object_reserve(2 + more), "task", value_int(call->task));
    return value_set_take(params, "call", value_int(call->call));
}

static void remote_call_send_error(const struct remote_call *call, const struct remote_child *child,
                                   const struct error *error) {
    process_notify_take(child->process, "called",
                        value_set_take(remote_call_params(call, 1), "error", error_to_value(error)));
}

static void remote_call_notify_error(const struct remote_call *call, const struct remote_child *child, int32_t status,
                                     const char *code, const char *why) {
    struct error error = ERROR_INIT;
    error_set(&error, status, code, "%s", why);
    remote_call_send_error(call, child, &error);
    error_finish(&error);
}

static void remote_call_notify_limit(const struct remote_call *call, const struct remote_child *child, const char *what,
                                     enum frame_fit fit) {
    tn_value why = value_format("%s is %s that can be sent", what, frame_fit_text(fit));
    remote_call_notify_error(call, child, TN_LIMIT, "LIMIT", value_chars(why, NULL));
    value_unref(why);
}

void remote_call_refuse_deep(const struct remote_task *task, tn_value params) {
    const struct remote_call call = {.task = remote_task_number(task), .call = remote_int_member(params, "call", -1)};
    remote_call_notify_limit(&call, task->child, "the input of the call", FRAME_TOO_DEEP);
}

/* ---- What the call reports ---- */

/* While the task of a pool's process waits for such a call, the process does not count against the limit. */
static void remote_call_count_nested(const struct remote_call *call, struct remote_task *task, bool begins) {
    struct remote *remote = call->remote;
    if (!call->nested || task->child->shared) return;
    if (begins && task->nested++ == 0) {
        remote->pool_nested++;
        remote_pump_pool(remote);
    } else if (!begins && --task->nested == 0) {
        remote->pool_nested--;
    }
}

/* TN_AGAIN if the child has no credit left. */
static int32_t remote_call_send_chunk(struct remote_call *call, const struct remote_task *task, tn_value chunk) {
    enum frame_fit fit = process_notify_take(task->child->process, "chunk",
                                             value_set_take(remote_call_params(call, 1), "chunk", value_ref(chunk)));
    if (fit == FRAME_FITS) return --call->credit > 0 ? TN_OK : TN_AGAIN;
    remote_call_notify_limit(call, task->child, "a chunk of the call", fit);
    call->answered = true;
    (void)interface_task.cancel_call(task->token, call->made);
    return TN_OK;
}

static int32_t remote_call_handle(void *user, int32_t status, tn_value value) {
    struct remote_call *call = user;
    struct remote *remote = call->remote;
    struct remote_task *task = remote_task_lookup(remote, call->task);
    if (status == TN_CHUNK) return task && !call->answered ? remote_call_send_chunk(call, task, value) : TN_OK;
    remote->open_calls--;
    if (task) {
        const struct remote_child *child = task->child;
        tn_value params = remote_call_params(call, 1);
        enum frame_fit fit;
        remote_call_count_nested(call, task, false);
        if (value) params = value_set_take(params, status == TN_OK ? "output" : "error", value_ref(value));
        if (status == TN_CANCELLED && !call->answered)
            remote_call_notify_error(call, child, status, "CANCELLED", "the call was cancelled");
        else if (status != TN_OK && !value && !call->answered)
            remote_call_notify_error(call, child, status, "NODE_EXECUTION", "the call failed");
        else if (!call->answered &&
                 (fit = process_notify_take(child->process, "called", value_ref(params))) != FRAME_FITS)
            remote_call_notify_limit(call, child, "the result of the call", fit);
        value_unref(params);
    }
    struct remote_call **link = &remote->calls[(uint64_t)call->call % TASK_BUCKETS];
    while (*link != call) link = &(*link)->next;
    *link = call->next;
    mem_free(call);
    return TN_OK;
}

static void remote_call_on_done(void *user, int32_t status, tn_value result) {
    (void)remote_call_handle(user, status, result);
}

/* ---- Making the call ---- */

static uint32_t index_member(tn_value params, const char *key) {
    int64_t index = remote_int_member(params, key, -1);
    return index < 0 || index > UINT32_MAX ? UINT32_MAX : (uint32_t)index;
}

/* Makes the call. Returns a status other than TN_OK if it was not made. */
static int32_t remote_call_start(struct remote_call *call, tn_task token, tn_value params) {
    const struct remote *remote = call->remote;
    tn_value operation = value_get(params, "operation"), input = value_get(params, "input");
    tn_value options = value_get(params, "options");
    if (remote->open_calls >= PROTOCOL_CALLS) return TN_LIMIT;
    if (value_text_is(operation, PROTOCOL_HTTP_SEND)) {
        struct callable *request = remote->host->http_request(remote->plugin);
        int32_t status = call_child(token, request, false, input, remote_call_on_done, call);
        callable_unref(request);
        return status;
    }
    if (value_is(operation, TN_STRING)) {
        size_t length, prefix = strlen(PROTOCOL_METHOD);
        const char *name = value_chars(operation, &length);
        if (strncmp(name, PROTOCOL_METHOD, prefix) == 0) {
            call->nested = true; /* it can wait for a run */
            return remote->host->methods->call(token, name + prefix, length - prefix, input, options,
                                               remote_call_handle, call, &call->made);
        }
        int32_t status =
            remote->host->state->invoke(token, name, length, input, options, remote_call_handle, call, &call->made);
        if (status != TN_NOT_FOUND) return status;
        call->nested = true;
        return remote->host->document->invoke(token, name, length, input, options, remote_call_handle, call,
                                              &call->made);
    }
    call->nested = true;
    if (value_get(params, "tools"))
        return interface_tool.invoke(token, index_member(params, "tools"), input ? input : value_null(), options,
                                     remote_call_handle, call, &call->made);
    return interface_task.call(token, index_member(params, "callee"), input, options, remote_call_handle, call,
                               &call->made);
}

/* What is called does not exist: an operation, a method, or an index. */
static void remote_call_refuse_unknown(const struct remote_call *call, const struct remote_child *child,
                                       tn_value operation) {
    struct error error = ERROR_INIT;
    const char *name = operation && value_is(operation, TN_STRING) ? value_chars(operation, NULL) : NULL;
    if (name && strncmp(name, PROTOCOL_METHOD, strlen(PROTOCOL_METHOD)) == 0)
        (void)interface_host_refuse_unknown(call->remote->plugin, name + strlen(PROTOCOL_METHOD), &error);
    else if (name)
        error_set(&error, TN_NOT_FOUND, "NOT_FOUND",
                  "`operation`: there is no operation `%.80s`; expected `method:NAME`, `http.send`, or one that "
                  "tenon/state.h or tenon/document.h lists",
                  name);
    else
        error_set(&error, TN_NOT_FOUND, "NOT_FOUND", "`callee` or `tools` is not an index into the result of `create`");
    remote_call_send_error(call, child, &error);
    error_finish(&error);
}

static void remote_call_explain(const struct remote_call *call, const struct remote_child *child, int32_t status,
                                tn_value params) {
    if (status == TN_CANCELLED || status == TN_STALE)
        remote_call_notify_error(call, child, status, "CANCELLED", "the call was cancelled");
    else if (status == TN_NOT_FOUND)
        remote_call_refuse_unknown(call, child, value_get(params, "operation"));
    else if (status == TN_INVALID)
        remote_call_notify_error(call, child, status, "INVALID_INPUT",
                                 "`options` are not {chunks?: \"forward\" | \"receive\" | \"drop\", timeout_ms?: an "
                                 "integer above 0}");
    else if (status == TN_UNSUPPORTED)
        remote_call_notify_error(call, child, status, "UNSUPPORTED", "the host has no methods");
    else
        remote_call_notify_error(call, child, status, status == TN_LIMIT ? "LIMIT" : "NODE_EXECUTION",
                                 "too many calls are open, or they are nested too deeply");
}

static void remote_call_make(struct remote_task *task, tn_value params) {
    struct remote *remote = task->instance->remote;
    struct remote_call *call = mem_zalloc(sizeof *call);
    call->remote = remote;
    call->task = remote_task_number(task);
    call->call = remote_int_member(params, "call", -1);
    call->credit = PROTOCOL_CHUNKS;
    int32_t status = remote_call_start(call, task->token, params);
    if (status == TN_OK) { /* the handler is never called from inside, so the call still exists */
        struct remote_call **bucket = &remote->calls[(uint64_t)call->call % TASK_BUCKETS];
        call->next = *bucket;
        *bucket = call;
        remote->open_calls++;
        remote_call_count_nested(call, task, true);
        return;
    }
    remote_call_explain(call, task->child, status, params);
    mem_free(call);
}

static void remote_call_add_credit(struct remote_call *call, const struct remote_task *task, tn_value params) {
    int64_t more = remote_int_member(params, "chunks", 0);
    if (more < 1 || more > PROTOCOL_CHUNKS - call->credit) {
        process_kill(task->child->process, "it sent more credit for the chunks of a call than it had received");
        return;
    }
    bool paused = call->credit <= 0;
    call->credit += more;
    if (paused) (void)interface_task.resume_call(task->token, call->made);
}

void remote_call_on_message(struct remote_task *task, const char *method, tn_value params) {
    if (strcmp(method, "call") == 0) {
        remote_call_make(task, params);
        return;
    }
    int64_t number = remote_int_member(params, "call", -1);
    struct remote_call *call = *remote_call_link(task->instance->remote, remote_task_number(task), number);
    if (!call) return; /* it has ended */
    if (strcmp(method, "cancel_call") == 0)
        (void)interface_task.cancel_call(task->token, call->made);
    else if (strcmp(method, "call_credit") == 0)
        remote_call_add_credit(call, task, params);
}
