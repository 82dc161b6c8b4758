/*
 * remote.c - the host's side of the component protocol: tn_component_1 and tn_lifecycle_1 of an isolated plugin.
 *
 * Each function sends a message to the child process (remote_process.c) and returns; the child's messages about it are
 * handled in remote_message.c. Only `create` and reducers wait for the response.
 */
#include "adl/value/memory.h"
#include "host/base/container_of.h"
#include "host/plugin/abi/abi.h"
#include "host/plugin/call/binder.h"
#include "host/plugin/call/call.h"
#include "host/plugin/isolate/isolate_protocol.h"
#include "host/plugin/isolate/process.h"
#include "host/plugin/isolate/remote_internal.h"
#include "host/plugin/registry/manifest.h"
#include "host/plugin/registry/plugin.h"
#include "host/plugin/registry/registry.h"
#include <stdio.h>
#include <string.h>

static struct remote *remote_of(const tn_plugin *plugin) { return plugin->self; }

/* ---- tenon.component/1 ---- */

static int32_t remote_fail_create(tn_binder *binder, int32_t status, const struct error *error) {
    binder_fail(binder, status, error->code ? error->code : "PLUGIN_INVALID", "%s",
                error->message ? error->message : "the plugin failed to create the component");
    return status;
}

/* The kind of the plugin's component `id`; *component is the registry's copy of the id. NULL if it has none. */
static const char *remote_component_kind(const struct remote *remote, const char *id, const char **component) {
    struct registry *registry = plugin_registry(remote->plugin);
    static const char *const kinds[] = {"node", "tool", "model", "runner", "reducer", "store", "strategy"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const struct component_info *info = registry_known(registry, kinds[i], id);
        if (info && strcmp(info->plugin_id, plugin_id(remote->plugin)) == 0) {
            *component = info->id;
            return info->kind;
        }
    }
    return NULL;
}

/* Binds everything that the component bound in the child. */
static int32_t remote_bind_instance(const struct remote_instance *instance, tn_binder *binder) {
    tn_value reads = value_get(instance->bound, "reads"), writes = value_get(instance->bound, "writes");
    tn_value calls = value_get(instance->bound, "calls");
    uint32_t index;
    int32_t status = TN_OK;
    for (size_t i = 0; status == TN_OK && i < value_count(reads); i++)
        status = binder_read(binder, value_chars(value_at(reads, i), NULL), &index);
    for (size_t i = 0; status == TN_OK && i < value_count(writes); i++)
        status = binder_write(binder, value_chars(value_at(writes, i), NULL), &index);
    for (size_t i = 0; status == TN_OK && i < value_count(calls); i++) {
        tn_value call = value_at(calls, i);
        status = binder_call(binder, manifest_text(call, "kind"), manifest_text(call, "name"),
                             value_get(call, "config"), &index);
    }
    tn_value tools = value_get(instance->bound, "tools");
    for (size_t i = 0; status == TN_OK && i < value_count(tools); i++)
        status = binder_tools(binder, value_is(value_at(tools, i), TN_NULL) ? NULL : value_at(tools, i), &index);
    return status;
}

static void remote_instance_free(struct remote_instance *instance) {
    struct remote *remote = instance->remote;
    for (struct remote_instance **at = &remote->instances; *at; at = &(*at)->next) {
        if (*at != instance) continue;
        *at = instance->next;
        break;
    }
    remote_discard_sent(instance);
    mem_free((void *)instance->sent);
    value_unref(instance->config);
    value_unref(instance->bound);
    mem_free(instance);
}

static void remote_notify_destroyed(const struct remote_instance *instance) {
    if (!instance->remote->process || instance->lost) return;
    process_notify_take(instance->remote->process, "destroy",
                        value_set_take(value_object_reserve(1), "instance", value_int(instance->number)));
}

static int32_t remote_create(void *self, const char *id, tn_value config, tn_binder *binder, void **out) {
    struct remote *remote = self;
    struct error error = ERROR_INIT;
    int32_t status = remote_ensure_process(remote, &error);
    if (status != TN_OK) {
        remote_fail_create(binder, status, &error);
        error_finish(&error);
        return status;
    }
    struct remote_instance *instance = mem_zalloc(sizeof *instance);
    instance->remote = remote;
    instance->number = ++remote->instance_count;
    instance->kind = remote_component_kind(remote, id, &instance->component);
    instance->config = value_ref(config);
    if (!instance->kind) instance->kind = "", instance->component = "";
    status = remote_create_instance(instance, &instance->bound, &error);
    if (status != TN_OK) {
        remote_fail_create(binder, status, &error);
    } else {
        status = remote_bind_instance(instance, binder);
        instance->uses_run = value_to_bool(value_get(instance->bound, "run"));
        if (instance->uses_run) binder_report_run_used(binder); /* the child does not send what it uses of `run` */
        instance->sent = mem_zalloc((remote_sent_count(instance) + 1) * sizeof *instance->sent);
        if (status != TN_OK) remote_notify_destroyed(instance);
    }
    error_finish(&error);
    if (status != TN_OK) {
        remote_instance_free(instance);
        return status;
    }
    instance->next = remote->instances;
    remote->instances = instance;
    *out = instance;
    return TN_OK;
}

/* Adds the channels that the instance reads: whole, or only the new items of an array that grew. */
static tn_value remote_add_reads(struct remote_instance *instance, tn_task token, tn_value params) {
    tn_value names = value_get(instance->bound, "reads"), reads = NULL, grown = NULL;
    size_t count = value_count(names);
    for (uint32_t i = 0; i < count; i++) {
        tn_value value = interface_task.read(token, i), name = value_ref(value_at(names, i));
        tn_value more = value ? protocol_grown(instance->sent[i], value) : NULL;
        if (more)
            grown = value_set_key_take(grown ? grown : value_object_reserve(1), name, more);
        else if (value)
            reads = value_set_key_take(reads ? reads : value_object_reserve((uint32_t)count), name, value_ref(value));
        else
            value_unref(name);
        value_unref(instance->sent[i]);
        instance->sent[i] = value_is(value, TN_ARRAY) ? value_ref(value) : NULL;
        value_unref(value);
    }
    if (reads) params = value_set_take(params, "reads", reads);
    return grown ? value_set_take(params, "grown", grown) : params;
}

/* Adds the descriptions of the tool sets that have changed since they were last sent: {index: definitions}. */
static tn_value remote_add_tools(struct remote_instance *instance, tn_task token, tn_value params) {
    size_t first = value_count(value_get(instance->bound, "reads"));
    size_t count = value_count(value_get(instance->bound, "tools"));
    tn_value tools = NULL;
    for (size_t i = 0; i < count; i++) {
        char index[24];
        tn_value described = interface_tool.describe(token, (uint32_t)i);
        snprintf(index, sizeof index, "%zu", i);
        if (described && described != instance->sent[first + i])
            tools = value_set_take(tools ? tools : value_object_reserve(1), index, value_ref(described));
        value_unref(instance->sent[first + i]);
        instance->sent[first + i] = described;
    }
    return tools ? value_set_take(params, "tools", tools) : params;
}

/* A reducer must complete inside `start`, so this waits for the response. */
static int32_t remote_reduce(struct remote_instance *instance, tn_task token, tn_value input, struct error *error) {
    tn_value params = value_set_take(value_object_reserve(2), "instance", value_int(instance->number)), result = NULL;
    if (input) params = value_set_take(params, "input", value_ref(input));
    int32_t status = process_call_take(instance->remote->process, "reduce", params, REMOTE_CREATE_MS, &result, error);
    if (status == TN_OK && value_is(value_get(result, "completed"), TN_BOOL) &&
        value_to_bool(value_get(result, "completed")))
        interface_task.complete(token, value_get(result, "output"));
    value_unref(result);
    return status;
}

static int32_t remote_start_task(void *self, tn_task token, tn_value input) {
    struct remote_instance *instance = self;
    struct remote *remote = instance->remote;
    struct error error = ERROR_INIT;
    int32_t status = remote_ensure_process(remote, &error);
    if (status == TN_OK && strcmp(instance->kind, "reducer") == 0) {
        status = remote_reduce(instance, token, input, &error);
        if (status != TN_OK) call_fail(token, &error);
        error_finish(&error);
        return TN_OK;
    }
    if (status == TN_OK && instance->lost)
        status = error_set(&error, TN_FAILED, "PLUGIN_CRASHED",
                           "plugin `%s` was restarted and did not create `%s` as before", plugin_id(remote->plugin),
                           instance->component);
    uint32_t index = status == TN_OK ? remote_task_acquire(remote) : UINT32_MAX;
    if (status == TN_OK && index == UINT32_MAX)
        error_set(&error, TN_LIMIT, "LIMIT", "plugin `%s` has %u open tasks, which is the limit",
                  plugin_id(remote->plugin), REMOTE_TASKS_MAX);
    if (index == UINT32_MAX) {
        call_fail(token, &error);
        error_finish(&error);
        return TN_OK;
    }
    struct remote_task *task = remote_task_at(remote, index);
    struct call *call = call_lookup_open(token);
    task->instance = instance;
    task->token = token;
    task->uncredited = 0;
    task->reader_full = false;
    tn_value params = value_set_take(value_object_reserve(6), "task", value_int(remote_task_number(task, index)));
    params = value_set_take(params, "instance", value_int(instance->number));
    if (input) params = value_set_take(params, "input", value_ref(input));
    if (call && call_resumed(call)) params = value_set_take(params, "resumed", value_bool(true));
    params = remote_add_reads(instance, token, params);
    params = remote_add_tools(instance, token, params);
    params = value_set_take(params, "context", interface_task.context(token));
    if (instance->uses_run && call && call_ops_of(call)->run_value)
        params = value_set_take(params, "run", call_ops_of(call)->run_value(call));
    enum frame_fit fit = process_notify_take(remote->process, "start", params);
    if (fit == FRAME_FITS) return TN_OK;
    remote_discard_sent(instance);
    remote_task_release(remote, task, index);
    error_set(&error, TN_LIMIT, "LIMIT", "the input of `%s` is %s that can be sent to plugin `%s`", instance->component,
              frame_fit_text(fit), plugin_id(remote->plugin));
    call_fail(token, &error);
    error_finish(&error);
    return TN_OK;
}

/* Finds the task of a token with a linear search, because cancels are rare. */
static struct remote_task *remote_task_lookup_by_token(const struct remote_instance *instance, tn_task token,
                                                       int64_t *number) {
    const struct remote *remote = instance->remote;
    for (uint32_t i = 0; i < remote->task_count; i++) {
        struct remote_task *task = remote_task_at(remote, i);
        if (!task->instance || task->token != token) continue;
        *number = remote_task_number(task, i);
        return task;
    }
    return NULL;
}

static void remote_task_on_deadline(struct loop_timer *timer) {
    struct remote_task *task = CONTAINER_OF(timer, struct remote_task, deadline);
    process_kill(task->instance->remote->process, "it did not end a cancelled task");
}

static void remote_cancel(void *self, tn_task token) {
    struct remote_instance *instance = self;
    struct remote *remote = instance->remote;
    int64_t number;
    struct remote_task *task = remote_task_lookup_by_token(instance, token, &number);
    if (!task || !remote->process) return;
    process_notify_take(remote->process, "cancel", value_set_take(value_object_reserve(1), "task", value_int(number)));
    loop_timer_start(remote->host->loop, &task->deadline, REMOTE_CANCEL_MS, remote_task_on_deadline);
}

static void remote_ready(void *self, tn_task token) {
    struct remote_instance *instance = self;
    int64_t number;
    struct remote_task *task = remote_task_lookup_by_token(instance, token, &number);
    if (!task || !instance->remote->process) return;
    task->reader_full = false;
    remote_task_send_credit(instance->remote, task, number, 1);
}

static void remote_destroy(void *self) {
    struct remote_instance *instance = self;
    remote_notify_destroyed(instance);
    remote_instance_free(instance);
}

static const tn_component_1 remote_components = {
    sizeof(tn_component_1), 0, remote_create, remote_start_task, remote_cancel, remote_ready, remote_destroy};

/* ---- tenon.lifecycle/1 and the plugin ---- */

static void remote_quiesce(void *self) {
    struct remote *remote = self;
    if (remote->process) process_notify_take(remote->process, "quiesce", value_object());
}

static void remote_deinit(void *self) { remote_close(&((struct remote *)self)->plugin_entry); }

static const tn_lifecycle_1 remote_lifecycle = {sizeof(tn_lifecycle_1), 0, NULL, remote_quiesce, remote_deinit};

static const void *remote_get_interface(void *self, const char *id) {
    (void)self;
    if (strcmp(id, TN_COMPONENT_1) == 0) return &remote_components;
    return strcmp(id, TN_LIFECYCLE_1) == 0 ? &remote_lifecycle : NULL;
}

const tn_plugin *remote_open(const struct remote_services *services, struct plugin *plugin) {
    struct remote *remote = mem_zalloc(sizeof *remote);
    remote->plugin_entry = (tn_plugin){sizeof(tn_plugin), 0, remote, remote_get_interface};
    remote->host = services;
    remote->plugin = plugin;
    remote->free_task = UINT32_MAX;
    return &remote->plugin_entry;
}

int32_t remote_start(const tn_plugin *entry, tn_value config, struct error *error) {
    struct remote *remote = remote_of(entry);
    value_unref(remote->config);
    remote->config = value_ref(config);
    return remote_ensure_process(remote, error);
}

void remote_close(const tn_plugin *entry) {
    struct remote *remote = remote_of(entry);
    if (remote->process) {
        tn_value result = NULL;
        /* A child that still works on cancelled tasks would not respond in time: it is killed at once. */
        if (!remote->open)
            process_call_take(remote->process, "shutdown", value_object(), REMOTE_CREATE_MS, &result, NULL);
        value_unref(result);
        process_free(remote->process);
        remote->process = NULL;
    }
    remote_http_cancel_all(remote);
    mem_free((void *)remote->exchanges);
    while (remote->instances) remote_instance_free(remote->instances);
    for (uint32_t i = 0; i < remote->task_count; i++)
        loop_timer_stop(remote->host->loop, &remote_task_at(remote, i)->deadline);
    for (uint32_t i = 0; i < remote->task_count / 64; i++) mem_free(remote->tasks[i]);
    mem_free((void *)remote->tasks);
    error_finish(&remote->last_end);
    value_unref(remote->config);
    mem_free(remote);
}

int64_t remote_process(const tn_plugin *entry) {
    const struct remote *remote = remote_of(entry);
    return remote->process ? process_id(remote->process) : 0;
}

uint32_t remote_deaths(const tn_plugin *entry) { return remote_of(entry)->deaths; }
