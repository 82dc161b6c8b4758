/*
 * remote.c - the host's side of the component protocol: tn_component_1 and tn_lifecycle_1 of an isolated plugin.
 *
 * remote_pool.c finds a process for a task; the messages of a process are handled in remote_message.c. Only `create`
 * and reducers wait for the response.
 */
#include "adl/value/memory.h"
#include "host/base/clock.h"
#include "host/base/container_of.h"
#include "host/plugin/abi/abi.h"
#include "host/plugin/call/binder.h"
#include "host/plugin/call/call.h"
#include "host/plugin/call/worker.h"
#include "host/plugin/isolate/launch.h"
#include "host/plugin/isolate/process.h"
#include "host/plugin/isolate/remote_internal.h"
#include "host/plugin/isolate/remote_store.h"
#include "host/plugin/registry/manifest.h"
#include "host/plugin/registry/plugin.h"
#include "host/plugin/registry/registry.h"
#include <string.h>

static struct remote *remote_of(const tn_plugin *plugin) { return plugin->self; }

/* ---- tenon.component/1 ---- */

static int32_t remote_fail_create(tn_binder *binder, int32_t status, const struct error *error) {
    if (error->code && error->message) return binder_fail_with(binder, status, error); /* detail.at is the place */
    return binder_fail(binder, status, "PLUGIN_INVALID", "the plugin failed to create the component");
}

/* True if the manifest has the component; otherwise the plugin has added it at run time. */
static bool remote_declares(const struct remote *remote, const struct component_info *info) {
    tn_value components = manifest_components(plugin_manifest(remote->plugin));
    for (size_t i = 0; i < value_count(components); i++)
        if (strcmp(manifest_text(value_at(components, i), "id"), info->id) == 0 &&
            strcmp(manifest_text(value_at(components, i), "kind"), info->kind) == 0)
            return true;
    return false;
}

/* A reducer must complete inside `start`, so it cannot wait for a process of the pool. */
static bool is_pooled(tn_value component) {
    return strcmp(manifest_text(component, "style"), "blocking") == 0 &&
           strcmp(manifest_text(component, "kind"), "reducer") != 0;
}

static bool needs_one_process(const struct plugin *plugin) {
    tn_value flag = value_get(manifest_plugin(plugin_manifest(plugin)), "one_process");
    return value_is(flag, TN_BOOL) && value_to_bool(flag);
}

/* The plugin's component `id`; NULL if it has none. */
static const struct component_info *remote_component(const struct remote *remote, const char *id) {
    struct registry *registry = plugin_registry(remote->plugin);
    static const char *const kinds[] = {"node", "tool", "model", "runner", "reducer"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const struct component_info *info = registry_known(registry, kinds[i], id);
        if (info && strcmp(info->plugin_id, plugin_id(remote->plugin)) == 0) return info;
    }
    return NULL;
}

static struct remote_instance *remote_instance_new(struct remote *remote, const char *id, tn_value config) {
    const struct component_info *info = remote_component(remote, id);
    struct remote_instance *instance = mem_zalloc(sizeof *instance);
    instance->remote = remote;
    instance->number = ++remote->instance_count;
    instance->kind = info ? info->kind : "";
    instance->component = info ? info->id : "";
    instance->pooled = info && is_pooled(info->manifest) && !needs_one_process(remote->plugin);
    instance->dynamic = info && !remote_declares(remote, info);
    instance->config = value_ref(config);
    return instance;
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
    while (instance->copies) child_remove_copy(instance->copies);
    value_unref(instance->config);
    value_unref(instance->channels);
    value_unref(instance->needed);
    value_unref(instance->bound);
    mem_free(instance);
}

static void remote_notify_destroyed(const struct remote_instance *instance) {
    for (const struct remote_copy *copy = instance->copies; copy; copy = copy->next)
        if (copy->state != COPY_LOST)
            process_notify_take(copy->child->process, "destroy",
                                value_set_take(value_object_reserve(1), "instance", value_int(instance->number)));
}

/* Creates the instance in a process and binds what it has bound there. */
static int32_t remote_create_first(struct remote_instance *instance, tn_binder *binder, struct error *error) {
    int32_t status = TN_FAILED;
    struct remote_child *child = remote_child_for_create(instance->remote, instance, error);
    struct remote_copy *copy = child ? child_create_wait(child, instance, &instance->bound, &status, error) : NULL;
    if (!copy) {
        remote_fail_create(binder, status, error);
        return status;
    }
    remote_copy_set_ready(copy);
    status = remote_bind_instance(instance, binder);
    instance->uses_run = value_to_bool(value_get(instance->bound, "run"));
    if (instance->uses_run) binder_report_run_used(binder); /* the child does not send what it uses of `run` */
    if (status != TN_OK) remote_notify_destroyed(instance);
    return status;
}

static int32_t remote_create(void *self, const char *id, uint64_t length, tn_value config, tn_binder *binder,
                             void **out) {
    struct remote *remote = self;
    (void)length; /* the host passes ids that end with a NUL */
    struct error error = ERROR_INIT;
    struct remote_instance *instance = remote_instance_new(remote, id, config);
    instance->channels = binder_field_names(binder);
    instance->needed = binder_needed_fields(binder);
    int32_t status = remote_create_first(instance, binder, &error);
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

/* The reducer's copy in the shared process, which is started and creates it if necessary; it waits. */
static struct remote_copy *remote_reducer_copy(struct remote_instance *instance, int32_t *status, struct error *error) {
    struct remote_child *child = remote_child_for_create(instance->remote, instance, error);
    *status = TN_FAILED;
    if (!child) return NULL;
    struct remote_copy *copy = child_copy(child, instance);
    if (copy && copy->state == COPY_READY) return copy;
    tn_value bound = NULL;
    copy = child_create_wait(child, instance, &bound, status, error);
    if (copy && !value_equal(bound, instance->bound)) {
        copy->state = COPY_LOST;
        copy = NULL;
        *status =
            error_set(error, TN_FAILED, "PLUGIN_CRASHED", "plugin `%s` was restarted and did not create `%s` as before",
                      plugin_id(instance->remote->plugin), instance->component);
    }
    value_unref(bound);
    if (copy) remote_copy_set_ready(copy);
    return copy;
}

/* A reducer must complete inside `start`, so this waits for the response. */
static void remote_reduce(struct remote_instance *instance, tn_task token, tn_value input) {
    struct error error = ERROR_INIT;
    int32_t status;
    const struct remote_copy *copy = remote_reducer_copy(instance, &status, &error);
    if (copy) {
        tn_value params = value_set_take(value_object_reserve(2), "instance", value_int(instance->number));
        tn_value result = NULL;
        if (input) params = value_set_take(params, "input", value_ref(input));
        status = process_call_take(copy->child->process, "reduce", params, REMOTE_CREATE_MS, &result, &error);
        if (status == TN_OK && value_is(value_get(result, "completed"), TN_BOOL) &&
            value_to_bool(value_get(result, "completed")))
            interface_task.complete(token, value_get(result, "output"));
        if (status != TN_ERROR) remote_on_task_ended(copy->child);
        value_unref(result);
    }
    if (status != TN_OK) call_fail(token, &error);
    error_finish(&error);
}

static int32_t remote_start_task(void *self, tn_task token, tn_value input) {
    struct remote_instance *instance = self;
    struct remote *remote = instance->remote;
    if (strcmp(instance->kind, "reducer") == 0) {
        remote_reduce(instance, token, input);
        return TN_OK;
    }
    struct remote_task *task = remote_task_acquire(remote);
    if (task) {
        task->instance = instance;
        task->token = token;
        remote_enqueue(remote, task);
        return TN_OK;
    }
    struct error error = ERROR_INIT;
    error_set(&error, TN_LIMIT, "LIMIT", "plugin `%s` has %u open and waiting tasks, which is the limit",
              plugin_id(remote->plugin), remote->tasks_max);
    call_fail(token, &error);
    error_finish(&error);
    return TN_OK;
}

static void remote_cancel(void *self, tn_task token) {
    struct remote *remote = ((struct remote_instance *)self)->remote;
    struct remote_task *task = remote_task_lookup_by_token(remote, token);
    if (!task) return;
    if (task->state != TASK_OPEN) { /* no process knows it */
        remote_task_fail(remote, task, NULL);
        remote_pump_pool(remote);
        return;
    }
    remote_task_cancel(task);
}

static void remote_ready(void *self, tn_task token) {
    struct remote_task *task = remote_task_lookup_by_token(((struct remote_instance *)self)->remote, token);
    if (!task || task->state != TASK_OPEN) return;
    task->reader_full = false;
    remote_task_send_credit(task, 1);
}

static void remote_destroy(void *self) {
    struct remote_instance *instance = self;
    remote_notify_destroyed(instance);
    remote_instance_free(instance);
}

static const tn_component_1 remote_components = {sizeof(tn_component_1), remote_create, remote_start_task,
                                                 remote_cancel,          remote_ready,  remote_destroy};

/* ---- tenon.lifecycle/1 and the plugin ---- */

/*
 * Only the shared process: the others may still have to create instances that exist already. Until it has quiesced, the
 * plugin needs more time (registry_take_leave): serve.c sends `expect` then. A program may ignore `quiesce`.
 */
static void remote_quiesce(void *self) {
    struct remote *remote = self;
    remote->quiesced = true;
    remote_demand_end(remote);
    if (!remote->shared) return;
    process_notify_take(remote->shared->process, "quiesce", value_object());
    registry_expect(remote->plugin, !manifest_is_program(plugin_path(remote->plugin)));
}

static void remote_deinit(void *self) { remote_close(&((struct remote *)self)->plugin_entry); }

static const tn_lifecycle_1 remote_lifecycle = {sizeof(tn_lifecycle_1), NULL, remote_quiesce, remote_deinit};

static bool remote_provides(const struct plugin *plugin, const char *id) {
    tn_value ids = value_get(manifest_plugin(plugin_manifest(plugin)), "provides");
    for (size_t i = 0; i < value_count(ids); i++)
        if (value_text_is(value_at(ids, i), id)) return true;
    return false;
}

static const void *remote_get_interface(void *self, const char *id) {
    const struct remote *remote = self;
    if (strcmp(id, TN_STORE_DRAFT) == 0) return remote_provides(remote->plugin, id) ? &remote_store : NULL;
    if (strcmp(id, TN_COMPONENT_1) == 0) return &remote_components;
    return strcmp(id, TN_LIFECYCLE_1) == 0 ? &remote_lifecycle : NULL;
}

static bool may_have_routes(const struct plugin *plugin) {
    tn_value effects = value_get(manifest_plugin(plugin_manifest(plugin)), "effects");
    for (size_t i = 0; value_is(effects, TN_ARRAY) && i < value_count(effects); i++) {
        tn_value effect = value_at(effects, i);
        if (value_is(effect, TN_STRING) && strncmp(value_chars(effect, NULL), "server.route", 12) == 0) return true;
    }
    return false;
}

/* True if a component of the manifest, one that the plugin may add, or a route needs the shared process. */
static bool remote_needs_shared(const struct plugin *plugin) {
    tn_value components = manifest_components(plugin_manifest(plugin));
    if (needs_one_process(plugin) || may_have_routes(plugin)) return true;
    if (value_count(value_get(manifest_plugin(plugin_manifest(plugin)), "dynamic")) > 0) return true;
    for (size_t i = 0; i < value_count(components); i++)
        if (!is_pooled(value_at(components, i))) return true;
    return value_count(components) == 0 && !remote_provides(plugin, TN_STORE_DRAFT);
}

/* Only a store, which starts a process when it is opened. */
static bool is_only_store(const struct remote *remote) {
    return !remote->shares && value_count(manifest_components(plugin_manifest(remote->plugin))) == 0;
}

uint32_t remote_processes_default(void) {
    uint32_t workers = workers_count();
    return workers < REMOTE_POOL_DEFAULT_MAX ? workers : REMOTE_POOL_DEFAULT_MAX;
}

static uint32_t remote_pool_limit(const struct remote_services *services, const struct plugin *plugin) {
    uint32_t count = services->processes ? services->processes(services->processes_user, plugin) : 0;
    if (!count) count = remote_processes_default();
    return count < REMOTE_PROCESSES_MAX ? count : REMOTE_PROCESSES_MAX;
}

const tn_plugin *remote_open(const struct remote_services *services, struct plugin *plugin) {
    struct remote *remote = mem_zalloc(sizeof *remote);
    remote->plugin_entry = (tn_plugin){sizeof(tn_plugin), remote, remote_get_interface};
    remote->host = services;
    remote->plugin = plugin;
    remote->free_task = UINT32_MAX;
    remote->shares = remote_needs_shared(plugin);
    remote->pool_max = remote_pool_limit(services, plugin);
    remote->processes_max = REMOTE_PROCESSES_MAX;
    remote->tasks_max = REMOTE_TASKS_MAX;
    remote->store_deaths = store_deaths_new();
    remote->store_ms = REMOTE_STORE_MS;
    remote->store_pause_ms = REMOTE_STORE_PAUSE_MS;
    return &remote->plugin_entry;
}

static int32_t remote_configure(struct remote *remote, tn_value config, struct error *error) {
    value_unref(remote->config);
    remote->config = value_ref(config);
    if (!remote_provides(remote->plugin, TN_STORE_DRAFT)) return TN_OK;
    return launch_environment(remote->host, remote->plugin, &remote->store_environment, error) == TN_OK ? TN_OK
                                                                                                        : TN_FAILED;
}

int32_t remote_start_later(const tn_plugin *entry, tn_value config,
                           void (*started)(struct plugin *plugin, const struct error *error), struct error *error) {
    struct remote *remote = remote_of(entry);
    int32_t status = remote_configure(remote, config, error);
    if (status != TN_OK || is_only_store(remote)) return status;
    if (!child_launch(remote, remote->shares, error)) {
        if (error->code && strcmp(error->code, "PLUGIN_CRASHED") == 0) remote_count_death(remote, NULL, error);
        return TN_FAILED;
    }
    remote->started = started;
    return TN_AGAIN;
}

int32_t remote_start(const tn_plugin *entry, tn_value config, struct error *error) {
    struct remote *remote = remote_of(entry);
    int32_t status = remote_configure(remote, config, error);
    if (status != TN_OK || is_only_store(remote)) return status;
    if (child_start_wait(remote, remote->shares, error)) return TN_OK;
    /* A plugin that refuses its configuration has not crashed. */
    if (error->code && strcmp(error->code, "PLUGIN_CRASHED") == 0) remote_count_death(remote, NULL, error);
    return TN_FAILED;
}

/* Shuts an idle process down; one that still works on cancelled tasks would not respond in time, and is killed. */
static void remote_shut_down(struct remote_child *child, int64_t until_ms) {
    int64_t left_ms = until_ms - clock_now_ms();
    tn_value result = NULL;
    if (!child->open && child->state == CHILD_RUNNING && left_ms > 0)
        process_call_take(child->process, "shutdown", value_object(), left_ms, &result, NULL);
    value_unref(result);
    child_free(child);
}

void remote_close(const tn_plugin *entry) {
    struct remote *remote = remote_of(entry);
    int64_t until_ms = clock_now_ms() + REMOTE_CREATE_MS;
    remote_pool_close(remote);
    for (uint32_t i = 0; i < remote->task_count; i++) {
        struct remote_task *task = remote_task_at(remote, i);
        loop_timer_stop(remote->host->loop, &task->deadline);
        if (task->state == TASK_WAITING) remote_task_release(remote, task);
    }
    while (remote->pool) remote_shut_down(remote->pool, until_ms);
    if (remote->shared) remote_shut_down(remote->shared, until_ms);
    while (remote->instances) remote_instance_free(remote->instances);
    for (uint32_t i = 0; i < remote->task_count / 64; i++) mem_free(remote->tasks[i]);
    mem_free((void *)remote->tasks);
    error_finish(&remote->last_end);
    value_unref(remote->config);
    value_unref(remote->environment);
    value_unref(remote->store_environment);
    store_deaths_free(remote->store_deaths);
    remote_demand_free(remote);
    remote_server_free(remote);
    mem_free(remote);
}

void remote_reset(const tn_plugin *entry) {
    struct remote *remote = remote_of(entry);
    remote_clear_deaths(remote);
    remote_pump(remote);
}

int64_t remote_process(const tn_plugin *entry) {
    const struct remote *remote = remote_of(entry);
    const struct remote_child *child = remote->shared ? remote->shared : remote->pool;
    return child ? process_id(child->process) : 0;
}

uint32_t remote_process_count(const tn_plugin *entry) {
    const struct remote *remote = remote_of(entry);
    return remote->pool_count + (remote->shared != NULL);
}

uint32_t remote_deaths(const tn_plugin *entry) { return remote_of(entry)->deaths; }
