/*
 * remote_message.c - the table of a remote plugin's tasks, and the messages of its process. The messages are untrusted.
 *
 * A malformed message is ignored. A message about a task that has ended is logged. A message that violates flow control
 * kills the process. Nothing here waits.
 */
#include "adl/value/memory.h"
#include "host/base/log.h"
#include "host/base/secrets/secrets.h"
#include "host/plugin/abi/abi.h"
#include "host/plugin/call/call.h"
#include "host/plugin/isolate/isolate_protocol.h"
#include "host/plugin/isolate/process.h"
#include "host/plugin/isolate/remote_internal.h"
#include "host/plugin/registry/plugin.h"
#include "host/plugin/registry/registry.h"
#include <string.h>

#define INDEX_BITS 20

/* ---- Tasks ---- */

struct remote_task *remote_task_at(const struct remote *remote, uint32_t index) {
    return &remote->tasks[index / 64][index % 64];
}

int64_t remote_task_number(const struct remote_task *task, uint32_t index) {
    return (int64_t)task->generation << INDEX_BITS | index;
}

static struct remote_task *remote_task_lookup(const struct remote *remote, int64_t number) {
    uint32_t index = (uint32_t)(number & ((1 << INDEX_BITS) - 1));
    if (number < 0 || index >= remote->task_count) return NULL;
    struct remote_task *task = remote_task_at(remote, index);
    return task->instance && task->generation == number >> INDEX_BITS ? task : NULL;
}

uint32_t remote_task_acquire(struct remote *remote) {
    if (remote->free_task == UINT32_MAX) {
        if (remote->task_count == REMOTE_TASKS_MAX) return UINT32_MAX;
        uint32_t block = remote->task_count / 64;
        MEM_EXTEND(remote->tasks, block);
        remote->tasks[block] = mem_zalloc(64 * sizeof **remote->tasks);
        for (uint32_t i = 64; i-- > 0;) {
            remote->tasks[block][i].next_free = remote->free_task;
            remote->free_task = remote->task_count + i;
        }
        remote->task_count += 64;
    }
    uint32_t index = remote->free_task;
    remote->free_task = remote_task_at(remote, index)->next_free;
    if (remote->open++ == 0) process_hold(remote->process);
    return index;
}

void remote_task_release(struct remote *remote, struct remote_task *task, uint32_t index) {
    loop_timer_stop(remote->host->loop, &task->deadline);
    task->instance = NULL;
    task->generation++;
    task->next_free = remote->free_task;
    remote->free_task = index;
    if (--remote->open == 0 && remote->process) process_unhold(remote->process);
}

static uint32_t remote_task_index(int64_t number) { return (uint32_t)(number & ((1 << INDEX_BITS) - 1)); }

/* ---- Messages about tasks ---- */

static int64_t int_member(tn_value object, const char *key, int64_t otherwise) {
    tn_value value = value_get(object, key);
    return value_is(value, TN_INT) ? value_to_int(value) : otherwise;
}

static void remote_task_write_channels(const struct remote_task *task, tn_value writes) {
    tn_value names = value_get(task->instance->bound, "writes");
    for (size_t i = 0; i < value_count(writes); i++) {
        tn_value pair = value_at(writes, i);
        if (!value_is(pair, TN_ARRAY) || value_count(pair) != 2) continue;
        for (uint32_t index = 0; index < value_count(names); index++)
            if (value_equal(value_at(names, index), value_at(pair, 0)))
                interface_task.write(task->token, index, value_at(pair, 1));
    }
}

static void remote_task_on_complete(struct remote *remote, struct remote_task *task, tn_value params) {
    (void)remote;
    tn_value writes = value_get(params, "writes");
    if (value_is(writes, TN_ARRAY)) remote_task_write_channels(task, writes);
    interface_task.complete(task->token, value_get(params, "output"));
}

/* `pruned`: the details were nested too deep, and parts of them are missing. Code and message never are. */
static void remote_task_on_fail(const struct remote_task *task, tn_value params, bool pruned) {
    struct error error = ERROR_INIT;
    if (value_is(value_get(params, "error"), TN_OBJECT)) error_from_value(&error, value_get(params, "error"));
    if (!error.message || !*error.message)
        error_set(&error, TN_FAILED, value_get(value_get(params, "error"), "code") ? error.code : "NODE_EXECUTION",
                  "the task failed without an error message");
    if (pruned && error.more) error.more = value_remove_take(error.more, value_text("detail"));
    call_fail(task->token, &error);
    error_finish(&error);
}

static void remote_task_on_interrupt(struct remote *remote, struct remote_task *task, tn_value params) {
    (void)remote;
    interface_task.interrupt(task->token, value_get(params, "payload"), value_get(params, "schema"),
                             value_get(params, "continuation"));
}

void remote_task_send_credit(struct remote *remote, struct remote_task *task, int64_t number, uint32_t least) {
    if (task->reader_full || task->uncredited < least) return;
    tn_value params = value_set_take(value_object_reserve(2), "task", value_int(number));
    process_notify_take(remote->process, "credit", value_set_take(params, "chunks", value_int(task->uncredited)));
    task->uncredited = 0;
}

static void remote_task_on_emit(struct remote *remote, struct remote_task *task, int64_t number, tn_value params) {
    tn_value chunk = value_get(params, "chunk");
    if (task->uncredited++ >= PROTOCOL_CHUNKS) {
        process_kill(remote->process, "it emitted more chunks than it had credit for");
        return;
    }
    if (chunk && call_emit(task->token, chunk) == TN_AGAIN) task->reader_full = true;
    remote_task_send_credit(remote, task, number, PROTOCOL_CREDIT);
}

/* A call that a task of the child has made. */
struct remote_call {
    struct remote *remote;
    int64_t task, call; /* numbers on the wire */
};

static tn_value remote_call_params(const struct remote_call *call, uint32_t more) {
    tn_value params = value_set_take(value_object_reserve(2 + more), "task", value_int(call->task));
    return value_set_take(params, "call", value_int(call->call));
}

static void remote_call_notify_error(const struct remote_call *call, int32_t status, const char *code,
                                     const char *why) {
    struct error error = ERROR_INIT;
    error_set(&error, status, code, "%s", why);
    process_notify_take(call->remote->process, "called",
                        value_set_take(remote_call_params(call, 1), "error", error_to_value(&error)));
    error_finish(&error);
}

static void remote_call_notify_limit(const struct remote_call *call, const char *what, enum frame_fit fit) {
    tn_value why = value_format("%s is %s that can be sent", what, frame_fit_text(fit));
    remote_call_notify_error(call, TN_LIMIT, "LIMIT", value_chars(why, NULL));
    value_unref(why);
}

static void remote_call_on_done(void *user, int32_t status, tn_value result) {
    struct remote_call *call = user;
    struct remote *remote = call->remote;
    remote->open_calls--;
    if (remote->process && remote_task_lookup(remote, call->task)) {
        tn_value params = remote_call_params(call, 1);
        enum frame_fit fit;
        if (result) params = value_set_take(params, status == TN_OK ? "output" : "error", value_ref(result));
        if (status == TN_CANCELLED)
            remote_call_notify_error(call, status, "CANCELLED", "the call was cancelled");
        else if (status != TN_OK && !result)
            remote_call_notify_error(call, status, "NODE_EXECUTION", "the call failed");
        else if ((fit = process_notify_take(remote->process, "called", value_ref(params))) != FRAME_FITS)
            remote_call_notify_limit(call, "the result of the call", fit);
        value_unref(params);
    }
    mem_free(call);
}

static void remote_task_on_call(struct remote *remote, struct remote_task *task, int64_t number, tn_value params) {
    struct remote_call *call = mem_zalloc(sizeof *call);
    *call = (struct remote_call){remote, number, int_member(params, "call", -1)};
    int64_t callee = int_member(params, "callee", -1);
    tn_value operation = value_get(params, "operation"), input = value_get(params, "input");
    int32_t status = TN_LIMIT;
    if (remote->open_calls < PROTOCOL_CALLS && value_text_is(operation, PROTOCOL_HTTP_SEND)) {
        struct callable *request = remote->host->http_request(remote->plugin);
        status = call_child(task->token, request, false, input, remote_call_on_done, call);
        callable_unref(request);
    } else if (remote->open_calls < PROTOCOL_CALLS && value_is(operation, TN_STRING)) {
        status =
            remote->host->state->invoke(task->token, value_chars(operation, NULL), input, remote_call_on_done, call);
        if (status == TN_NOT_FOUND)
            status = remote->host->document->invoke(task->token, value_chars(operation, NULL), input,
                                                    remote_call_on_done, call);
    } else if (remote->open_calls < PROTOCOL_CALLS && value_get(params, "tools")) {
        int64_t set = int_member(params, "tools", -1);
        status = interface_tool.invoke(task->token, set < 0 || set > UINT32_MAX ? UINT32_MAX : (uint32_t)set,
                                       input ? input : value_null(), remote_call_on_done, call);
    } else if (remote->open_calls < PROTOCOL_CALLS)
        status = interface_task.call(task->token, callee < 0 || callee > UINT32_MAX ? UINT32_MAX : (uint32_t)callee,
                                     input, remote_call_on_done, call);
    if (status == TN_OK) {
        remote->open_calls++;
        return;
    }
    if (status == TN_CANCELLED || status == TN_STALE)
        remote_call_notify_error(call, status, "CANCELLED", "the call was cancelled");
    else if (status == TN_NOT_FOUND)
        remote_call_notify_error(call, status, "NOT_FOUND",
                                 operation ? "`operation`: this operation does not exist"
                                           : "`callee` or `tools` is not an index into the result of `create`");
    else
        remote_call_notify_error(call, status, status == TN_LIMIT ? "LIMIT" : "NODE_EXECUTION",
                                 "too many calls are open, or they are nested too deeply");
    mem_free(call);
}

/*
 * A message about a task was nested too deep: fails what it is about. That is the call, or else the task; a task that
 * has not ended in the child is cancelled there. Returns false for an error, which is reported without its details.
 */
static bool remote_task_on_pruned(struct remote *remote, struct remote_task *task, int64_t number, const char *method,
                                  tn_value params) {
    struct error error = ERROR_INIT;
    if (strcmp(method, "fail") == 0) return false;
    if (strcmp(method, "call") == 0) {
        struct remote_call call = {remote, number, int_member(params, "call", -1)};
        remote_call_notify_limit(&call, "the input of the call", FRAME_TOO_DEEP);
        return true;
    }
    error_set(&error, TN_LIMIT, "LIMIT", "plugin `%s`: what `%s` sent with `%s` is %s that can be sent",
              plugin_id(remote->plugin), task->instance->component, method, frame_fit_text(FRAME_TOO_DEEP));
    if (strcmp(method, "emit") == 0)
        process_notify_take(remote->process, "cancel",
                            value_set_take(value_object_reserve(1), "task", value_int(number)));
    tn_task token = task->token;
    remote_task_release(remote, task, remote_task_index(number));
    call_fail(token, &error);
    error_finish(&error);
    return true;
}

static void remote_on_log(struct remote *remote, tn_value params) {
    tn_value text = value_get(params, "message");
    int64_t level = int_member(params, "level", LOG_INFO);
    const char *line = value_is(text, TN_STRING) ? value_chars(text, NULL) : "";
    char *safe = secrets_scrub_line(remote->host->secrets, line);
    log_write(level < LOG_DEBUG || level > LOG_ERROR ? LOG_INFO : (int32_t)level, plugin_id(remote->plugin), "%s",
              safe ? safe : line);
    mem_free(safe);
}

/*
 * A restarted process adds the components that the previous one had. Returns true if the registry already has the same
 * component; a component that has changed is removed first, so that the new one can take its place.
 */
static bool remote_has_component(struct remote *remote, tn_value component, struct error *error) {
    tn_value kind = value_get(component, "kind"), id = value_get(component, "id");
    if (!value_is(kind, TN_STRING) || !value_is(id, TN_STRING)) return false;
    const struct component_info *info =
        registry_known(plugin_registry(remote->plugin), value_chars(kind, NULL), value_chars(id, NULL));
    if (!info || strcmp(info->plugin_id, plugin_id(remote->plugin)) != 0) return false;
    if (value_equal(info->manifest, component)) return true;
    if (remote->deaths > 0) registry_remove_component(remote->plugin, info->kind, info->id, error);
    return false;
}

static void remote_on_registry(struct remote *remote, const char *method, tn_value message) {
    struct error error = ERROR_INIT;
    tn_value params = value_get(message, "params");
    tn_value kind = value_get(params, "kind"), id = value_get(params, "id");
    tn_value component = value_get(params, "component");
    if (strcmp(method, "expect") == 0) {
        registry_expect(remote->plugin, value_to_bool(value_get(params, "more")));
    } else if (strcmp(method, "add") == 0 && frame_is_pruned(message)) {
        error_set(&error, TN_LIMIT, "LIMIT", "a component that it adds is %s that can be sent",
                  frame_fit_text(FRAME_TOO_DEEP));
    } else if (strcmp(method, "add") == 0 && value_is(component, TN_OBJECT)) {
        if (!remote_has_component(remote, component, &error)) registry_add_component(remote->plugin, component, &error);
    } else if (value_is(kind, TN_STRING) && value_is(id, TN_STRING)) {
        registry_remove_component(remote->plugin, value_chars(kind, NULL), value_chars(id, NULL), &error);
    }
    if (error.code) log_write(LOG_WARN, plugin_id(remote->plugin), "%s", error.message);
    error_finish(&error);
}

static bool is_registry_method(const char *method) {
    return strcmp(method, "add") == 0 || strcmp(method, "remove") == 0 || strcmp(method, "expect") == 0;
}

/* Components that the child adds while it handles a request, usually `initialize`, must exist when the request returns.
 */
bool remote_on_message_now(void *user, tn_value message) {
    tn_value name = value_get(message, "method"), params = value_get(message, "params");
    const char *method = value_is(name, TN_STRING) ? value_chars(name, NULL) : "";
    if (!is_registry_method(method) || !value_is(params, TN_OBJECT)) return false;
    remote_on_registry(user, method, message);
    return true;
}

void remote_on_message(void *user, tn_value message) {
    struct remote *remote = user;
    tn_value name = value_get(message, "method"), params = value_get(message, "params");
    const char *method = value_is(name, TN_STRING) ? value_chars(name, NULL) : "";
    if (!value_is(params, TN_OBJECT)) return;
    if (strcmp(method, "log") == 0) {
        remote_on_log(remote, params);
    } else if (is_registry_method(method)) {
        remote_on_registry(remote, method, message);
    } else if (!remote_http_on_message(remote, method, message)) {
        tn_value which = value_get(params, "task");
        int64_t number = value_is(which, TN_INT) ? value_to_int(which) : -1;
        struct remote_task *task = remote_task_lookup(remote, number);
        bool ends = true;
        if (!task) {
            log_write(LOG_WARN, plugin_id(remote->plugin), "it sent `%s` for a task that has ended", method);
            return;
        }
        if (frame_is_pruned(message) && remote_task_on_pruned(remote, task, number, method, params)) return;
        if (strcmp(method, "complete") == 0)
            remote_task_on_complete(remote, task, params);
        else if (strcmp(method, "fail") == 0)
            remote_task_on_fail(task, params, frame_is_pruned(message));
        else if (strcmp(method, "interrupt") == 0)
            remote_task_on_interrupt(remote, task, params);
        else
            ends = false;
        if (ends)
            remote_task_release(remote, task, remote_task_index(number));
        else if (strcmp(method, "emit") == 0)
            remote_task_on_emit(remote, task, number, params);
        else if (strcmp(method, "call") == 0)
            remote_task_on_call(remote, task, number, params);
    }
}
