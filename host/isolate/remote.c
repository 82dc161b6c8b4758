/*
 * remote.c - the host's side of the component protocol.
 *
 * Tasks have numbers of their own on the wire: an index into a table and a generation, so that what a child says of a
 * task that has ended, or never was, finds nothing. A task stays in the table until the child has ended it or is gone,
 * even when the host has long given it up. Instances outlive processes: a new process is told of them again.
 */
#include "host/isolate/remote.h"
#include "adl/value/memory.h"
#include "host/call/binder.h"
#include "host/call/call.h"
#include "host/host.h"
#include "host/interface/interface.h"
#include "host/isolate/launch.h"
#include "host/isolate/process.h"
#include "host/isolate/protocol.h"
#include "host/log.h"
#include "host/loop/loop.h"
#include "host/plugin/manifest.h"
#include "host/plugin/plugin.h"
#include "host/plugin/registry.h"
#include <string.h>

#define TASKS_MAX  (1u << 20)
#define INDEX_BITS 20

struct remote;

struct instance {
    struct instance *next;
    struct remote *remote;
    int64_t number;
    const char *kind, *component; /* the manifest's */
    tn_value config, bound;       /* bound: what create answered */
    tn_value *sent;               /* by read: the array that the child was last given */
    bool uses_run, lost;          /* lost: the present process does not have it */
};

struct task {
    struct instance *instance; /* NULL: free */
    tn_task token;
    uint32_t generation, next_free;
    uint32_t owed; /* chunks that it has room for again, and has not been told */
    bool full;     /* the reader is: owed waits */
    struct loop_timer deadline;
};

struct remote {
    tn_plugin end;
    struct host *host;
    struct plugin *plugin;
    struct process *process;
    tn_value config;
    struct instance *instances;
    int64_t instance_count;
    struct task **tasks; /* blocks of 64: tasks do not move */
    uint32_t task_count, free_task, open;
    uint32_t asked; /* calls of its tasks that have not ended */
    uint32_t deaths, recent_deaths;
    int64_t first_death_ms, restart_ms;
    struct error why; /* of the last death */
};

static const tn_plugin *end_of(struct remote *remote) { return &remote->end; }
static struct remote *remote_of(const tn_plugin *end) { return end->self; }

/* ---- Tasks ---- */

static struct task *task_at(const struct remote *remote, uint32_t index) {
    return &remote->tasks[index / 64][index % 64];
}

static int64_t task_number(const struct remote *remote, const struct task *task, uint32_t index) {
    (void)remote;
    return (int64_t)task->generation << INDEX_BITS | index;
}

static struct task *task_find(const struct remote *remote, int64_t number) {
    uint32_t index = (uint32_t)(number & ((1 << INDEX_BITS) - 1));
    if (number < 0 || index >= remote->task_count) return NULL;
    struct task *task = task_at(remote, index);
    return task->instance && task->generation == number >> INDEX_BITS ? task : NULL;
}

/* The index of a free task, or UINT32_MAX. */
static uint32_t task_take(struct remote *remote) {
    if (remote->free_task == UINT32_MAX) {
        if (remote->task_count == TASKS_MAX) return UINT32_MAX;
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
    remote->free_task = task_at(remote, index)->next_free;
    if (remote->open++ == 0) process_hold(remote->process);
    return index;
}

static void task_give(struct remote *remote, struct task *task, uint32_t index) {
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

static bool are_texts(tn_value list) {
    if (list && !value_is(list, TN_ARRAY)) return false;
    for (size_t i = 0; i < value_count(list); i++)
        if (!value_is(value_at(list, i), TN_STRING)) return false;
    return true;
}

static bool is_bound(tn_value bound) {
    tn_value calls = value_get(bound, "calls"), run = value_get(bound, "run");
    if (!value_is(bound, TN_OBJECT) || !are_texts(value_get(bound, "reads")) || !are_texts(value_get(bound, "writes")))
        return false;
    if ((calls && !value_is(calls, TN_ARRAY)) || (run && !value_is(run, TN_BOOL))) return false;
    for (size_t i = 0; i < value_count(calls); i++) {
        tn_value call = value_at(calls, i);
        if (!value_is(value_get(call, "kind"), TN_STRING) || !value_is(value_get(call, "name"), TN_STRING))
            return false;
    }
    return true;
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

static void give_room(struct remote *remote, struct task *task, int64_t number, uint32_t least) {
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
    give_room(remote, task, number, PROTOCOL_CREDIT);
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
    int32_t status = TN_LIMIT;
    if (remote->asked < PROTOCOL_CALLS)
        status = interface_task.call(task->token, callee < 0 || callee > UINT32_MAX ? UINT32_MAX : (uint32_t)callee,
                                     value_get(params, "input"), on_called, asked);
    if (status == TN_OK) {
        remote->asked++;
        return;
    }
    if (status == TN_CANCELLED || status == TN_STALE)
        tell_called(asked, status, "CANCELLED", "the call was cancelled");
    else if (status == TN_NOT_FOUND)
        tell_called(asked, status, "NOT_FOUND", "`callee` is no index of `calls`, which `create` answered with");
    else
        tell_called(asked, status, status == TN_LIMIT ? "LIMIT" : "NODE_EXECUTION",
                    "there are too many calls at once, or too many inside each other");
    mem_free(asked);
}

static void on_log(struct remote *remote, tn_value params) {
    tn_value text = value_get(params, "message");
    int64_t level = number_of(params, "level", LOG_INFO);
    log_write(level < LOG_DEBUG || level > LOG_ERROR ? LOG_INFO : (int32_t)level, plugin_id(remote->plugin), "%s",
              text && value_is(text, TN_STRING) ? value_chars(text, NULL) : "");
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
    if (strcmp(method, "add") == 0 && value_is(component, TN_OBJECT)) {
        if (!is_there(remote, component, &error)) registry_add_component(remote->plugin, component, &error);
    } else if (value_is(kind, TN_STRING) && value_is(id, TN_STRING)) {
        registry_remove_component(remote->plugin, value_chars(kind, NULL), value_chars(id, NULL), &error);
    }
    if (error.code) log_write(LOG_WARN, plugin_id(remote->plugin), "%s", error.message);
    error_finish(&error);
}

/* Components are there when the call during which they were added returns: `initialize`, most of all. */
static bool on_message_at_once(void *user, tn_value message) {
    tn_value name = value_get(message, "method"), params = value_get(message, "params");
    bool adds = value_text_is(name, "add");
    if (!(adds || value_text_is(name, "remove")) || !value_is(params, TN_OBJECT)) return false;
    on_registry(user, adds ? "add" : "remove", params);
    return true;
}

static void on_message(void *user, tn_value message) {
    struct remote *remote = user;
    tn_value name = value_get(message, "method"), params = value_get(message, "params");
    const char *method = value_is(name, TN_STRING) ? value_chars(name, NULL) : "";
    if (!value_is(params, TN_OBJECT)) return;
    if (strcmp(method, "log") == 0) {
        on_log(remote, params);
    } else if (strcmp(method, "add") == 0 || strcmp(method, "remove") == 0) {
        on_registry(remote, method, params);
    } else {
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
            task_give(remote, task, index_of(number));
        else if (strcmp(method, "emit") == 0)
            on_emit(remote, task, number, params);
        else if (strcmp(method, "call") == 0)
            on_call(remote, task, number, params);
    }
}

/* ---- Its end ---- */

static void count_death(struct remote *remote) {
    int64_t now = loop_now_ms(remote->host->loop);
    if (!remote->recent_deaths || now - remote->first_death_ms > REMOTE_DEATHS_MS) {
        remote->recent_deaths = 0;
        remote->first_death_ms = now;
    }
    remote->deaths++;
    remote->recent_deaths++;
    remote->restart_ms = now + ((int64_t)REMOTE_PAUSE_MS << (remote->recent_deaths - 1));
}

static bool given_up(const struct remote *remote) { return remote->recent_deaths >= REMOTE_DEATHS_MAX; }

static void fail_tasks(struct remote *remote, const struct error *why) {
    for (uint32_t i = 0; i < remote->task_count; i++) {
        struct task *task = task_at(remote, i);
        if (!task->instance) continue;
        tn_task token = task->token;
        task_give(remote, task, i);
        call_fail(token, why);
    }
}

static void on_ended(void *user, const struct error *why) {
    struct remote *remote = user;
    struct process *process = remote->process;
    struct error error = ERROR_INIT;
    error_copy(&error, why);
    count_death(remote);
    error.more = value_set_take(error.more, "retryable", value_bool(!given_up(remote)));
    int64_t pause = remote->restart_ms - loop_now_ms(remote->host->loop);
    if (!given_up(remote)) error.more = value_set_take(error.more, "retry_after_ms", value_int(pause));
    log_write(LOG_ERROR, NULL, "%s%s", error.message,
              given_up(remote) ? "; it has died too often, and is not started again" : "");
    remote->process = NULL;
    for (struct instance *instance = remote->instances; instance; instance = instance->next) instance->lost = true;
    error_finish(&remote->why);
    error_copy(&remote->why, &error);
    fail_tasks(remote, &error);
    error_finish(&error);
    process_free(process);
}

/* ---- Starting it ---- */

static void forget_sent(struct instance *instance) {
    for (size_t i = 0; instance->sent && i < value_count(value_get(instance->bound, "reads")); i++) {
        value_unref(instance->sent[i]);
        instance->sent[i] = NULL;
    }
}

static int32_t ask_create(struct instance *instance, tn_value *bound, struct error *error) {
    struct remote *remote = instance->remote;
    tn_value params = value_set_take(value_object_reserve(4), "instance", value_int(instance->number));
    params = value_set_take(params, "kind", value_text(instance->kind));
    params = value_set_take(params, "component", value_text(instance->component));
    params = value_set_take(params, "config", value_ref(instance->config));
    int32_t status = process_call_take(remote->process, "create", params, REMOTE_CREATE_MS, bound, error);
    if (status == TN_OK && !is_bound(*bound)) {
        value_unref(*bound);
        *bound = NULL;
        status = error_set(error, TN_INVALID, "PLUGIN_INVALID",
                           "plugin `%s` answered `create` with something else than {reads, writes, calls}",
                           plugin_id(remote->plugin));
    }
    instance->lost = status != TN_OK;
    forget_sent(instance);
    return status;
}

static int32_t launch(struct remote *remote, struct error *error) {
    tn_value result = NULL;
    struct process_options options = {.name = plugin_id(remote->plugin),
                                      .message = on_message,
                                      .at_once = on_message_at_once,
                                      .ended = on_ended,
                                      .user = remote};
    remote->process = launch_plugin(remote->host, remote->plugin, &options, error);
    if (!remote->process) return TN_ERROR;
    tn_value params = value_set_take(value_object_reserve(5), "protocol", value_text(PROTOCOL_VERSION));
    bool drafts = remote->host->allow_drafts || plugin_bundled(remote->plugin);
    params = value_set_take(params, "plugin", value_text(plugin_id(remote->plugin)));
    params = value_set_take(params, "config", value_ref(remote->config));
    params = value_set_take(params, "log", value_int(log_level()));
    params = value_set_take(params, "drafts", value_bool(drafts));
    int32_t status = process_call_take(remote->process, "initialize", params, REMOTE_START_MS, &result, error);
    if (status == TN_OK && !value_text_is(value_get(result, "protocol"), PROTOCOL_VERSION))
        status = error_set(error, TN_UNSUPPORTED, "PLUGIN_REFUSED", "plugin `%s` speaks another protocol than %s",
                           plugin_id(remote->plugin), PROTOCOL_VERSION);
    tn_value version = value_get(result, "version");
    if (status == TN_OK && version && !value_text_is(version, plugin_version(remote->plugin)))
        status = error_set(error, TN_INVALID, "PLUGIN_REFUSED",
                           "plugin `%s` is another build than the one that was read, which had version %s: %s",
                           plugin_id(remote->plugin), plugin_version(remote->plugin), plugin_path(remote->plugin));
    value_unref(result);
    if (status != TN_OK) {
        process_free(remote->process);
        remote->process = NULL;
    }
    return status;
}

/* One that the process does not make as before is lost, and the others need not be: only its end is an error. */
static int32_t create_again(struct instance *instance, struct error *error) {
    tn_value bound = NULL;
    int32_t status = ask_create(instance, &bound, error);
    instance->lost = status != TN_OK || !value_equal(bound, instance->bound);
    value_unref(bound);
    if (status == TN_ERROR) return status; /* its death is counted when it is told */
    if (status != TN_OK)
        log_write(LOG_ERROR, plugin_id(instance->remote->plugin), "it came back and does not make `%s`: %s",
                  instance->component, error->message);
    error_finish(error);
    return TN_OK;
}

/* A process, with every instance; or an error that says when to come again. */
static int32_t bring_up(struct remote *remote, struct error *error) {
    if (remote->process) return TN_OK;
    int64_t left = remote->restart_ms - loop_now_ms(remote->host->loop);
    if (remote->deaths && (given_up(remote) || left > 0)) {
        if (given_up(remote))
            return error_set(error, TN_FAILED, "PLUGIN_HUNG",
                             "plugin `%s` has died %u times within a minute, and is given up: %s",
                             plugin_id(remote->plugin), remote->recent_deaths, remote->why.message);
        error_copy(error, &remote->why);
        error->more = value_set_take(error->more, "retry_after_ms", value_int(left));
        return TN_FAILED; /* its `retryable` and, from now, when */
    }
    struct error own = ERROR_INIT;
    int32_t status = launch(remote, &own);
    if (status != TN_OK) {
        count_death(remote);
        error_copy(&remote->why, &own);
    }
    for (struct instance *instance = remote->instances; status == TN_OK && instance; instance = instance->next)
        status = create_again(instance, &own);
    error_move(error, &own);
    return status;
}

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
    return status;
}

static void instance_free(struct instance *instance) {
    struct remote *remote = instance->remote;
    for (struct instance **at = &remote->instances; *at; at = &(*at)->next) {
        if (*at != instance) continue;
        *at = instance->next;
        break;
    }
    forget_sent(instance);
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
    int32_t status = bring_up(remote, &error);
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
    status = ask_create(instance, &instance->bound, &error);
    if (status != TN_OK) {
        refuse(binder, status, &error);
    } else {
        status = bind_all(instance, binder);
        instance->uses_run = value_to_bool(value_get(instance->bound, "run"));
        instance->sent = mem_zalloc((value_count(value_get(instance->bound, "reads")) + 1) * sizeof *instance->sent);
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
    int32_t status = bring_up(remote, &error);
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
    uint32_t index = status == TN_OK ? task_take(remote) : UINT32_MAX;
    if (status == TN_OK && index == UINT32_MAX)
        error_set(&error, TN_LIMIT, "LIMIT", "plugin `%s` has %u tasks open, the most there may be",
                  plugin_id(remote->plugin), TASKS_MAX);
    if (index == UINT32_MAX) {
        call_fail(token, &error);
        error_finish(&error);
        return TN_OK;
    }
    struct task *task = task_at(remote, index);
    struct call *call = call_of(token);
    task->instance = instance;
    task->token = token;
    task->owed = 0;
    task->full = false;
    tn_value params = value_set_take(value_object_reserve(6), "task", value_int(task_number(remote, task, index)));
    params = value_set_take(params, "instance", value_int(instance->number));
    if (input) params = value_set_take(params, "input", value_ref(input));
    params = add_reads(instance, token, params);
    params = value_set_take(params, "context", interface_task.context(token));
    if (instance->uses_run && call && call_ops_of(call)->run_value)
        params = value_set_take(params, "run", call_ops_of(call)->run_value(call));
    if (process_notify_take(remote->process, "start", params)) return TN_OK;
    forget_sent(instance);
    task_give(remote, task, index);
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
        struct task *task = task_at(remote, i);
        if (!task->instance || task->token != token) continue;
        *number = task_number(remote, task, i);
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
    give_room(instance->remote, task, number, 1);
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
    return bring_up(remote, error);
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
    while (remote->instances) instance_free(remote->instances);
    for (uint32_t i = 0; i < remote->task_count; i++)
        loop_timer_stop(remote->host->loop, &task_at(remote, i)->deadline);
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
