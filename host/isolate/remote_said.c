/*
 * remote_said.c - the table of a remote plugin's tasks, and what its process says of them: anything may be in that.
 *
 * A message that makes no sense is passed over, and logged where it is of a task that has ended; one that breaks the
 * protocol ends the process. Nothing here waits.
 */
#include "adl/value/memory.h"
#include "host/call/call.h"
#include "host/host.h"
#include "host/http/http.h"
#include "host/interface/interface.h"
#include "host/isolate/process.h"
#include "host/isolate/protocol.h"
#include "host/isolate/remote_internal.h"
#include "host/log.h"
#include "host/plugin/plugin.h"
#include "host/plugin/registry.h"
#include <string.h>

#define INDEX_BITS 20

/* ---- Tasks ---- */

struct task *remote_task_at(const struct remote *remote, uint32_t index) {
    return &remote->tasks[index / 64][index % 64];
}

int64_t remote_task_number(const struct task *task, uint32_t index) {
    return (int64_t)task->generation << INDEX_BITS | index;
}

static struct task *task_find(const struct remote *remote, int64_t number) {
    uint32_t index = (uint32_t)(number & ((1 << INDEX_BITS) - 1));
    if (number < 0 || index >= remote->task_count) return NULL;
    struct task *task = remote_task_at(remote, index);
    return task->instance && task->generation == number >> INDEX_BITS ? task : NULL;
}

/* The index of a free task, or UINT32_MAX. */
uint32_t remote_task_take(struct remote *remote) {
    if (remote->free_task == UINT32_MAX) {
        if (remote->task_count == REMOTE_TASKS_MAX) return UINT32_MAX;
        uint32_t block = remote->task_count / 64;
        if ((block & (block - 1)) == 0)
            remote->tasks = mem_array((void *)remote->tasks, block ? (size_t)block * 2 : 1, sizeof *remote->tasks);
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

void remote_task_give(struct remote *remote, struct task *task, uint32_t index) {
    loop_timer_stop(remote->host->loop, &task->deadline);
    task->instance = NULL;
    task->generation++;
    task->next_free = remote->free_task;
    remote->free_task = index;
    if (--remote->open == 0 && remote->process) process_release(remote->process);
}

static uint32_t index_of(int64_t number) { return (uint32_t)(number & ((1 << INDEX_BITS) - 1)); }

/* ---- What the child says: anything may be in it ---- */

static int64_t number_of(tn_value object, const char *key, int64_t otherwise) {
    tn_value value = value_get(object, key);
    return value_is(value, TN_INT) ? value_to_int(value) : otherwise;
}

static void write_channels(const struct task *task, tn_value writes) {
    tn_value names = value_get(task->instance->bound, "writes");
    for (size_t i = 0; i < value_count(writes); i++) {
        tn_value pair = value_at(writes, i);
        if (!value_is(pair, TN_ARRAY) || value_count(pair) != 2) continue;
        for (uint32_t index = 0; index < value_count(names); index++)
            if (value_equal(value_at(names, index), value_at(pair, 0)))
                interface_task.write(task->token, index, value_at(pair, 1));
    }
}

static void on_complete(struct remote *remote, struct task *task, tn_value params) {
    (void)remote;
    tn_value writes = value_get(params, "writes");
    if (value_is(writes, TN_ARRAY)) write_channels(task, writes);
    interface_task.complete(task->token, value_get(params, "output"));
}

static void on_fail(struct remote *remote, struct task *task, tn_value params) {
    struct error error = ERROR_INIT;
    (void)remote;
    if (value_is(value_get(params, "error"), TN_OBJECT)) error_from_value(&error, value_get(params, "error"));
    if (!error.message || !*error.message)
        error_set(&error, TN_FAILED, value_get(value_get(params, "error"), "code") ? error.code : "NODE_EXECUTION",
                  "the task failed, and does not say why");
    call_fail(task->token, &error);
    error_finish(&error);
}

static void on_interrupt(struct remote *remote, struct task *task, tn_value params) {
    (void)remote;
    interface_task.interrupt(task->token, value_get(params, "payload"), value_get(params, "schema"),
                             value_get(params, "continuation"));
}

void remote_give_room(struct remote *remote, struct task *task, int64_t number, uint32_t least) {
    if (task->full || task->owed < least) return;
    tn_value params = value_set_take(value_object_reserve(2), "task", value_int(number));
    process_notify_take(remote->process, "credit", value_set_take(params, "chunks", value_int(task->owed)));
    task->owed = 0;
}

static void on_emit(struct remote *remote, struct task *task, int64_t number, tn_value params) {
    tn_value chunk = value_get(params, "chunk");
    if (task->owed++ >= PROTOCOL_CHUNKS) {
        process_kill(remote->process, "it emitted more than it was given room for");
        return;
    }
    if (chunk && call_emit(task->token, chunk) == TN_AGAIN) task->full = true;
    remote_give_room(remote, task, number, PROTOCOL_CREDIT);
}

struct asked {
    struct remote *remote;
    int64_t task, call;
};

static tn_value called_params(const struct asked *asked, uint32_t more) {
    tn_value params = value_set_take(value_object_reserve(2 + more), "task", value_int(asked->task));
    return value_set_take(params, "call", value_int(asked->call));
}

static void tell_called(const struct asked *asked, int32_t status, const char *code, const char *why) {
    struct error error = ERROR_INIT;
    error_set(&error, status, code, "%s", why);
    process_notify_take(asked->remote->process, "called",
                        value_set_take(called_params(asked, 1), "error", error_to_value(&error)));
    error_finish(&error);
}

static void on_called(void *user, int32_t status, tn_value result) {
    struct asked *asked = user;
    struct remote *remote = asked->remote;
    remote->asked--;
    if (remote->process && task_find(remote, asked->task)) {
        tn_value params = called_params(asked, 1);
        if (result) params = value_set_take(params, status == TN_OK ? "output" : "error", value_ref(result));
        if (status == TN_CANCELLED)
            tell_called(asked, status, "CANCELLED", "the call was cancelled");
        else if (status != TN_OK && !result)
            tell_called(asked, status, "NODE_EXECUTION", "the call failed");
        else if (!process_notify_take(remote->process, "called", value_ref(params)))
            tell_called(asked, TN_LIMIT, "LIMIT", "what the call gave is longer than 64 MiB");
        value_unref(params);
    }
    mem_free(asked);
}

static void on_call(struct remote *remote, struct task *task, int64_t number, tn_value params) {
    struct asked *asked = mem_zalloc(sizeof *asked);
    *asked = (struct asked){remote, number, number_of(params, "call", -1)};
    int64_t callee = number_of(params, "callee", -1);
    tn_value operation = value_get(params, "operation"), input = value_get(params, "input");
    int32_t status = TN_LIMIT;
    if (remote->asked < PROTOCOL_CALLS && value_text_is(operation, INTERFACE_HTTP_SEND)) {
        struct callable *request = interface_http_call(remote->plugin);
        status = call_child(task->token, request, false, input, on_called, asked);
        callable_unref(request);
    } else if (remote->asked < PROTOCOL_CALLS && value_is(operation, TN_STRING)) {
        status = interface_state.invoke(task->token, value_chars(operation, NULL), input, on_called, asked);
        if (status == TN_NOT_FOUND)
            status = interface_document.invoke(task->token, value_chars(operation, NULL), input, on_called, asked);
    } else if (remote->asked < PROTOCOL_CALLS && value_get(params, "tools")) {
        int64_t set = number_of(params, "tools", -1);
        status = interface_tool.invoke(task->token, set < 0 || set > UINT32_MAX ? UINT32_MAX : (uint32_t)set,
                                       input ? input : value_null(), on_called, asked);
    } else if (remote->asked < PROTOCOL_CALLS)
        status = interface_task.call(task->token, callee < 0 || callee > UINT32_MAX ? UINT32_MAX : (uint32_t)callee,
                                     input, on_called, asked);
    if (status == TN_OK) {
        remote->asked++;
        return;
    }
    if (status == TN_CANCELLED || status == TN_STALE)
        tell_called(asked, status, "CANCELLED", "the call was cancelled");
    else if (status == TN_NOT_FOUND)
        tell_called(asked, status, "NOT_FOUND",
                    operation ? "there is no `operation` of that name"
                              : "`callee` or `tools` is no index of what `create` answered with");
    else
        tell_called(asked, status, status == TN_LIMIT ? "LIMIT" : "NODE_EXECUTION",
                    "there are too many calls at once, or too many inside each other");
    mem_free(asked);
}

static void on_log(struct remote *remote, tn_value params) {
    tn_value text = value_get(params, "message");
    int64_t level = number_of(params, "level", LOG_INFO);
    const char *line = value_is(text, TN_STRING) ? value_chars(text, NULL) : "";
    char *safe = http_scrub_line(remote->host->http, line);
    log_write(level < LOG_DEBUG || level > LOG_ERROR ? LOG_INFO : (int32_t)level, plugin_id(remote->plugin), "%s",
              safe ? safe : line);
    mem_free(safe);
}

/* A process that was started anew adds what the one before it had: that is the same component, or takes its place. */
static bool is_there(struct remote *remote, tn_value component, struct error *error) {
    tn_value kind = value_get(component, "kind"), id = value_get(component, "id");
    if (!value_is(kind, TN_STRING) || !value_is(id, TN_STRING)) return false;
    const struct component_info *info =
        registry_known(plugin_registry(remote->plugin), value_chars(kind, NULL), value_chars(id, NULL));
    if (!info || strcmp(info->plugin_id, plugin_id(remote->plugin)) != 0) return false;
    if (value_equal(info->manifest, component)) return true;
    if (remote->deaths > 0) registry_remove_component(remote->plugin, info->kind, info->id, error);
    return false;
}

static void on_registry(struct remote *remote, const char *method, tn_value params) {
    struct error error = ERROR_INIT;
    tn_value kind = value_get(params, "kind"), id = value_get(params, "id");
    tn_value component = value_get(params, "component");
    if (strcmp(method, "expect") == 0) {
        registry_expect(remote->plugin, value_to_bool(value_get(params, "more")));
    } else if (strcmp(method, "add") == 0 && value_is(component, TN_OBJECT)) {
        if (!is_there(remote, component, &error)) registry_add_component(remote->plugin, component, &error);
    } else if (value_is(kind, TN_STRING) && value_is(id, TN_STRING)) {
        registry_remove_component(remote->plugin, value_chars(kind, NULL), value_chars(id, NULL), &error);
    }
    if (error.code) log_write(LOG_WARN, plugin_id(remote->plugin), "%s", error.message);
    error_finish(&error);
}

static bool of_registry(const char *method) {
    return strcmp(method, "add") == 0 || strcmp(method, "remove") == 0 || strcmp(method, "expect") == 0;
}

/* Components are there when the call during which they were added returns: `initialize`, most of all. */
bool remote_hear_at_once(void *user, tn_value message) {
    tn_value name = value_get(message, "method"), params = value_get(message, "params");
    const char *method = value_is(name, TN_STRING) ? value_chars(name, NULL) : "";
    if (!of_registry(method) || !value_is(params, TN_OBJECT)) return false;
    on_registry(user, method, params);
    return true;
}

void remote_hear(void *user, tn_value message) {
    struct remote *remote = user;
    tn_value name = value_get(message, "method"), params = value_get(message, "params");
    const char *method = value_is(name, TN_STRING) ? value_chars(name, NULL) : "";
    if (!value_is(params, TN_OBJECT)) return;
    if (strcmp(method, "log") == 0) {
        on_log(remote, params);
    } else if (of_registry(method)) {
        on_registry(remote, method, params);
    } else if (!remote_http_hear(remote, method, params)) {
        tn_value which = value_get(params, "task");
        int64_t number = value_is(which, TN_INT) ? value_to_int(which) : -1;
        struct task *task = task_find(remote, number);
        bool ends = true;
        if (!task) {
            log_write(LOG_WARN, plugin_id(remote->plugin), "it says `%s` of a task that has ended", method);
            return;
        }
        if (strcmp(method, "complete") == 0)
            on_complete(remote, task, params);
        else if (strcmp(method, "fail") == 0)
            on_fail(remote, task, params);
        else if (strcmp(method, "interrupt") == 0)
            on_interrupt(remote, task, params);
        else
            ends = false;
        if (ends)
            remote_task_give(remote, task, index_of(number));
        else if (strcmp(method, "emit") == 0)
            on_emit(remote, task, number, params);
        else if (strcmp(method, "call") == 0)
            on_call(remote, task, number, params);
    }
}
