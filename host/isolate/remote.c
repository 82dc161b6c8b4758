/*
 * remote.c - the host's side of the component protocol: components and the lifecycle, as the registry sees them.
 *
 * What a component's functions are asked is told to the process (remote_process.c), and what that says of it comes back
 * on its own (remote_said.c).
 */
#include "adl/value/memory.h"
#include "host/call/binder.h"
#include "host/call/call.h"
#include "host/host.h"
#include "host/interface/interface.h"
#include "host/isolate/process.h"
#include "host/isolate/protocol.h"
#include "host/isolate/remote_internal.h"
#include "host/plugin/manifest.h"
#include "host/plugin/plugin.h"
#include "host/plugin/registry.h"
#include <stdio.h>
#include <string.h>

static const tn_plugin *end_of(struct remote *remote) { return &remote->end; }
static struct remote *remote_of(const tn_plugin *end) { return end->self; }

/* ---- tenon.component/1 ---- */

static int32_t refuse(tn_binder *binder, int32_t status, const struct error *error) {
    binder_fail(binder, status, error->code ? error->code : "PLUGIN_INVALID", "%s",
                error->message ? error->message : "it was refused");
    return status;
}

static const char *kind_of(const struct remote *remote, const char *id, const char **component) {
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

static int32_t bind_all(const struct instance *instance, tn_binder *binder) {
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

static void instance_free(struct instance *instance) {
    struct remote *remote = instance->remote;
    for (struct instance **at = &remote->instances; *at; at = &(*at)->next) {
        if (*at != instance) continue;
        *at = instance->next;
        break;
    }
    remote_forget_sent(instance);
    mem_free((void *)instance->sent);
    value_unref(instance->config);
    value_unref(instance->bound);
    mem_free(instance);
}

static void tell_destroyed(const struct instance *instance) {
    if (!instance->remote->process || instance->lost) return;
    process_notify_take(instance->remote->process, "destroy",
                        value_set_take(value_object_reserve(1), "instance", value_int(instance->number)));
}

static int32_t create(void *self, const char *id, tn_value config, tn_binder *binder, void **out) {
    struct remote *remote = self;
    struct error error = ERROR_INIT;
    int32_t status = remote_bring_up(remote, &error);
    if (status != TN_OK) {
        refuse(binder, status, &error);
        error_finish(&error);
        return status;
    }
    struct instance *instance = mem_zalloc(sizeof *instance);
    instance->remote = remote;
    instance->number = ++remote->instance_count;
    instance->kind = kind_of(remote, id, &instance->component);
    instance->config = value_ref(config);
    if (!instance->kind) instance->kind = "", instance->component = "";
    status = remote_ask_create(instance, &instance->bound, &error);
    if (status != TN_OK) {
        refuse(binder, status, &error);
    } else {
        status = bind_all(instance, binder);
        instance->uses_run = value_to_bool(value_get(instance->bound, "run"));
        instance->sent = mem_zalloc((remote_sent_count(instance) + 1) * sizeof *instance->sent);
        if (status != TN_OK) tell_destroyed(instance);
    }
    error_finish(&error);
    if (status != TN_OK) {
        instance_free(instance);
        return status;
    }
    instance->next = remote->instances;
    remote->instances = instance;
    *out = instance;
    return TN_OK;
}

/* The channels it reads: whole, or what is new of one that only grew. */
static tn_value add_reads(struct instance *instance, tn_task token, tn_value params) {
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

/* What its sets of tools describe, where that is not what they last did: {index: definitions}. */
static tn_value add_tools(struct instance *instance, tn_task token, tn_value params) {
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

/* A reducer completes inside start: its answer is waited for. */
static int32_t reduce(struct instance *instance, tn_task token, tn_value input, struct error *error) {
    tn_value params = value_set_take(value_object_reserve(2), "instance", value_int(instance->number)), result = NULL;
    if (input) params = value_set_take(params, "input", value_ref(input));
    int32_t status = process_call_take(instance->remote->process, "reduce", params, REMOTE_CREATE_MS, &result, error);
    if (status == TN_OK && value_is(value_get(result, "completed"), TN_BOOL) &&
        value_to_bool(value_get(result, "completed")))
        interface_task.complete(token, value_get(result, "output"));
    value_unref(result);
    return status;
}

static int32_t start(void *self, tn_task token, tn_value input) {
    struct instance *instance = self;
    struct remote *remote = instance->remote;
    struct error error = ERROR_INIT;
    int32_t status = remote_bring_up(remote, &error);
    if (status == TN_OK && strcmp(instance->kind, "reducer") == 0) {
        status = reduce(instance, token, input, &error);
        if (status != TN_OK) call_fail(token, &error);
        error_finish(&error);
        return TN_OK;
    }
    if (status == TN_OK && instance->lost)
        status =
            error_set(&error, TN_FAILED, "PLUGIN_CRASHED", "plugin `%s` came back and does not make `%s` as before",
                      plugin_id(remote->plugin), instance->component);
    uint32_t index = status == TN_OK ? remote_task_take(remote) : UINT32_MAX;
    if (status == TN_OK && index == UINT32_MAX)
        error_set(&error, TN_LIMIT, "LIMIT", "plugin `%s` has %u tasks open, the most there may be",
                  plugin_id(remote->plugin), REMOTE_TASKS_MAX);
    if (index == UINT32_MAX) {
        call_fail(token, &error);
        error_finish(&error);
        return TN_OK;
    }
    struct task *task = remote_task_at(remote, index);
    struct call *call = call_of(token);
    task->instance = instance;
    task->token = token;
    task->owed = 0;
    task->full = false;
    tn_value params = value_set_take(value_object_reserve(6), "task", value_int(remote_task_number(task, index)));
    params = value_set_take(params, "instance", value_int(instance->number));
    if (input) params = value_set_take(params, "input", value_ref(input));
    if (call && call_resumed(call)) params = value_set_take(params, "resumed", value_bool(true));
    params = add_reads(instance, token, params);
    params = add_tools(instance, token, params);
    params = value_set_take(params, "context", interface_task.context(token));
    if (instance->uses_run && call && call_ops_of(call)->run_value)
        params = value_set_take(params, "run", call_ops_of(call)->run_value(call));
    if (process_notify_take(remote->process, "start", params)) return TN_OK;
    remote_forget_sent(instance);
    remote_task_give(remote, task, index);
    error_set(&error, TN_LIMIT, "LIMIT", "what `%s` is given is longer than the 64 MiB that plugin `%s` can be told",
              instance->component, plugin_id(remote->plugin));
    call_fail(token, &error);
    error_finish(&error);
    return TN_OK;
}

/* The task of a token: few are cancelled, so the table is searched. */
static struct task *task_of(const struct instance *instance, tn_task token, int64_t *number) {
    const struct remote *remote = instance->remote;
    for (uint32_t i = 0; i < remote->task_count; i++) {
        struct task *task = remote_task_at(remote, i);
        if (!task->instance || task->token != token) continue;
        *number = remote_task_number(task, i);
        return task;
    }
    return NULL;
}

static void on_deadline(struct loop_timer *timer) {
    struct task *task = (struct task *)(void *)((char *)timer - offsetof(struct task, deadline));
    process_kill(task->instance->remote->process, "it did not end a task that was cancelled");
}

static void cancel(void *self, tn_task token) {
    struct instance *instance = self;
    struct remote *remote = instance->remote;
    int64_t number;
    struct task *task = task_of(instance, token, &number);
    if (!task || !remote->process) return;
    process_notify_take(remote->process, "cancel", value_set_take(value_object_reserve(1), "task", value_int(number)));
    loop_timer_start(remote->host->loop, &task->deadline, REMOTE_CANCEL_MS, on_deadline);
}

static void ready(void *self, tn_task token) {
    struct instance *instance = self;
    int64_t number;
    struct task *task = task_of(instance, token, &number);
    if (!task || !instance->remote->process) return;
    task->full = false;
    remote_give_room(instance->remote, task, number, 1);
}

static void destroy(void *self) {
    struct instance *instance = self;
    tell_destroyed(instance);
    instance_free(instance);
}

static const tn_component_1 components = {sizeof(tn_component_1), 0, create, start, cancel, ready, destroy};

/* ---- tenon.lifecycle/1, and the whole ---- */

static void quiesce(void *self) {
    struct remote *remote = self;
    if (remote->process) process_notify_take(remote->process, "quiesce", value_object());
}

static void deinit(void *self) { remote_close(end_of(self)); }

static const tn_lifecycle_1 lifecycle = {sizeof(tn_lifecycle_1), 0, NULL, quiesce, deinit};

static const void *offer(void *self, const char *id) {
    (void)self;
    if (strcmp(id, TN_COMPONENT_1) == 0) return &components;
    return strcmp(id, TN_LIFECYCLE_1) == 0 ? &lifecycle : NULL;
}

const tn_plugin *remote_open(struct host *host, struct plugin *plugin) {
    struct remote *remote = mem_zalloc(sizeof *remote);
    remote->end = (tn_plugin){sizeof(tn_plugin), 0, remote, offer};
    remote->host = host;
    remote->plugin = plugin;
    remote->free_task = UINT32_MAX;
    return &remote->end;
}

int32_t remote_start(const tn_plugin *end, tn_value config, struct error *error) {
    struct remote *remote = remote_of(end);
    value_unref(remote->config);
    remote->config = value_ref(config);
    return remote_bring_up(remote, error);
}

void remote_close(const tn_plugin *end) {
    struct remote *remote = remote_of(end);
    if (remote->process) {
        tn_value result = NULL;
        /* One that still works on what was given up is not asked. */
        if (!remote->open)
            process_call_take(remote->process, "shutdown", value_object(), REMOTE_CREATE_MS, &result, NULL);
        value_unref(result);
        process_free(remote->process);
        remote->process = NULL;
    }
    remote_http_end(remote);
    mem_free((void *)remote->crossings);
    while (remote->instances) instance_free(remote->instances);
    for (uint32_t i = 0; i < remote->task_count; i++)
        loop_timer_stop(remote->host->loop, &remote_task_at(remote, i)->deadline);
    for (uint32_t i = 0; i < remote->task_count / 64; i++) mem_free(remote->tasks[i]);
    mem_free((void *)remote->tasks);
    error_finish(&remote->why);
    value_unref(remote->config);
    mem_free(remote);
}

int64_t remote_process(const tn_plugin *end) {
    const struct remote *remote = remote_of(end);
    return remote->process ? process_id(remote->process) : 0;
}

uint32_t remote_deaths(const tn_plugin *end) { return remote_of(end)->deaths; }
