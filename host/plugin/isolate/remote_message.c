/*
 * remote_message.c - the messages of a remote plugin's processes. They are untrusted: one process cannot reach the
 * tasks of another.
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

/* ---- Messages about tasks ---- */

static int32_t remote_task_write_pair(const struct remote_task *task, tn_value pair, struct error *error) {
    const struct remote_instance *instance = task->instance;
    tn_value names = value_get(instance->bound, "writes"), name;
    const char *plugin = plugin_id(instance->remote->plugin);
    bool is_pair = value_is(pair, TN_ARRAY) && value_count(pair) == 2 && value_is(value_at(pair, 0), TN_STRING);
    if (!is_pair)
        return error_set(error, TN_INVALID, "PLUGIN_INVALID",
                         "plugin `%s`: `%s` sent `complete` with an item of `writes` that is not [channel, value]",
                         plugin, instance->component);
    name = value_at(pair, 0);
    for (uint32_t index = 0; index < value_count(names); index++)
        if (value_equal(value_at(names, index), name))
            return interface_task.write(task->token, index, value_at(pair, 1)) == TN_LIMIT
                       ? error_set(error, TN_LIMIT, "LIMIT", "plugin `%s`: `%s` writes too often", plugin,
                                   instance->component)
                       : TN_OK;
    return error_set(error, TN_NOT_FOUND, "CHANNEL",
                     "plugin `%s`: `%s` writes `%.100s`, which is not in `writes` of its answer to `create`", plugin,
                     instance->component, value_chars(name, NULL));
}

static int32_t remote_task_write_channels(const struct remote_task *task, tn_value writes, struct error *error) {
    int32_t status = TN_OK;
    if (!value_is(writes, TN_ARRAY))
        return error_set(error, TN_INVALID, "PLUGIN_INVALID",
                         "plugin `%s`: `%s` sent `complete` with `writes` that is not an array",
                         plugin_id(task->instance->remote->plugin), task->instance->component);
    for (size_t i = 0; status == TN_OK && i < value_count(writes); i++)
        status = remote_task_write_pair(task, value_at(writes, i), error);
    return status;
}

static void remote_task_on_complete(const struct remote_task *task, tn_value params) {
    struct error error = ERROR_INIT;
    tn_value writes = value_get(params, "writes");
    if (writes && !value_is(writes, TN_NULL) && remote_task_write_channels(task, writes, &error) != TN_OK)
        call_fail(task->token, &error);
    else
        interface_task.complete(task->token, value_get(params, "output"));
    error_finish(&error);
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

static void remote_task_on_interrupt(const struct remote_task *task, tn_value params) {
    interface_task.interrupt(task->token, value_get(params, "payload"), value_get(params, "schema"),
                             value_get(params, "continuation"));
}

static void remote_task_on_emit(struct remote_task *task, tn_value params) {
    tn_value chunk = value_get(params, "chunk");
    if (task->uncredited++ >= PROTOCOL_CHUNKS) {
        process_kill(task->child->process, "it emitted more chunks than it had credit for");
        return;
    }
    if (chunk && call_emit(task->token, chunk) == TN_AGAIN) task->reader_full = true;
    remote_task_send_credit(task, PROTOCOL_CREDIT);
}

/* Ends the task for its caller, and cancels it in its process, which belongs to it until it has ended. */
static void remote_task_give_up(struct remote_task *task, const struct error *why) {
    remote_task_cancel(task);
    call_fail(task->token, why);
}

/*
 * A message about a task was nested too deep: fails what it is about. That is the call, or else the task; a task that
 * has not ended in the child is cancelled there. Returns false for an error, which is reported without its details.
 */
static bool remote_task_on_pruned(struct remote *remote, struct remote_task *task, const char *method,
                                  tn_value params) {
    struct error error = ERROR_INIT;
    if (strcmp(method, "fail") == 0) return false;
    if (strcmp(method, "call") == 0) {
        remote_call_refuse_deep(task, params);
        return true;
    }
    error_set(&error, TN_LIMIT, "LIMIT", "plugin `%s`: what `%s` sent with `%s` is %s that can be sent",
              plugin_id(remote->plugin), task->instance->component, method, frame_fit_text(FRAME_TOO_DEEP));
    if (strcmp(method, "emit") == 0)
        remote_task_give_up(task, &error);
    else
        remote_task_fail(remote, task, &error);
    error_finish(&error);
    remote_pump_pool(remote);
    return true;
}

void remote_on_log(const struct remote *remote, tn_value params) {
    tn_value text = value_get(params, "message");
    int64_t level = remote_int_member(params, "level", LOG_INFO);
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
    if (remote->shared_starts > 1) registry_remove_component(remote->plugin, info->kind, info->id, error);
    return false;
}

static void remote_on_registry(struct remote *remote, const char *method, tn_value message) {
    struct error error = ERROR_INIT;
    tn_value params = value_get(message, "params");
    tn_value kind = value_get(params, "kind"), id = value_get(params, "id");
    tn_value component = value_get(params, "component");
    if (strcmp(method, "expect") == 0) {
        remote_on_expect(remote, value_to_bool(value_get(params, "more")));
    } else if (strcmp(method, "demanded") == 0) {
        remote_on_demanded(remote, params);
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

/*
 * The processes of the pool add the same components as the shared one, whose messages count. A plugin without a shared
 * process declares nothing as dynamic: registry_add_component refuses what it adds.
 */
static void remote_child_on_registry(const struct remote_child *child, const char *method, tn_value message) {
    if (child->shared || !child->remote->shares) remote_on_registry(child->remote, method, message);
}

static bool is_registry_method(const char *method) {
    static const char *const methods[] = {"add", "remove", "expect", "demanded"};
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        if (strcmp(method, methods[i]) == 0) return true;
    return false;
}

/*
 * Components and routes that the child adds while it handles a request, usually `initialize`, must exist when the
 * request returns.
 */
bool remote_on_message_now(void *user, tn_value message) {
    struct remote_child *child = user;
    tn_value name = value_get(message, "method"), params = value_get(message, "params");
    const char *method = value_is(name, TN_STRING) ? value_chars(name, NULL) : "";
    if (!value_is(params, TN_OBJECT)) return false;
    if (strcmp(method, "server_route") == 0) return remote_server_on_message(child, method, message);
    if (!is_registry_method(method)) return false;
    remote_child_on_registry(child, method, message);
    return true;
}

static void remote_on_task_message(struct remote_child *child, const char *method, tn_value message) {
    struct remote *remote = child->remote;
    tn_value params = value_get(message, "params");
    int64_t number = remote_int_member(params, "task", -1);
    struct remote_task *task = remote_task_lookup(remote, number);
    bool ends = true;
    if (!task || task->child != child) {
        log_write(LOG_WARN, plugin_id(remote->plugin), "it sent `%s` for a task that %s", method,
                  remote_task_was_ended(remote, number) ? "it has already ended" : "has ended");
        return;
    }
    if (frame_is_pruned(message) && remote_task_on_pruned(remote, task, method, params)) return;
    if (strcmp(method, "complete") == 0)
        remote_task_on_complete(task, params);
    else if (strcmp(method, "fail") == 0)
        remote_task_on_fail(task, params, frame_is_pruned(message));
    else if (strcmp(method, "interrupt") == 0)
        remote_task_on_interrupt(task, params);
    else
        ends = false;
    if (ends) {
        remote_task_release(remote, task);
        remote_on_task_ended(child);
        remote_pump_pool(remote);
    } else if (strcmp(method, "emit") == 0) {
        remote_task_on_emit(task, params);
    } else {
        remote_call_on_message(task, method, params);
    }
}

void remote_on_message(void *user, tn_value message) {
    struct remote_child *child = user;
    tn_value name = value_get(message, "method"), params = value_get(message, "params");
    const char *method = value_is(name, TN_STRING) ? value_chars(name, NULL) : "";
    if (!value_is(params, TN_OBJECT)) return;
    if (strcmp(method, "log") == 0)
        remote_on_log(child->remote, params);
    else if (is_registry_method(method))
        remote_child_on_registry(child, method, message);
    else if (!remote_http_on_message(child, method, message) && !remote_host_on_message(child, method, message) &&
             !remote_server_on_message(child, method, message))
        remote_on_task_message(child, method, message);
}
