/*
 * remote_child.c - one process of a remote plugin: starts it, creates instances in it, and stops it.
 *
 * A task's process is started, and its instance created, without waiting: remote_pool.c is notified. Only what must
 * have a result at once waits: loading the plugin, the first `create` of an instance, and reducers.
 */
#include "adl/value/memory.h"
#include "host/base/clock.h"
#include "host/base/container_of.h"
#include "host/base/log.h"
#include "host/plugin/isolate/isolate_protocol.h"
#include "host/plugin/isolate/launch.h"
#include "host/plugin/isolate/process.h"
#include "host/plugin/isolate/remote_internal.h"
#include "host/plugin/registry/plugin.h"
#include "host/plugin/registry/registry.h"
#include <assert.h>

/* ---- Copies of instances ---- */

struct remote_copy *child_copy(const struct remote_child *child, const struct remote_instance *instance) {
    struct remote_copy *copy = instance->copies;
    while (copy && copy->child != child) copy = copy->next;
    return copy;
}

static struct remote_copy *child_add_copy(struct remote_child *child, struct remote_instance *instance) {
    struct remote_copy *copy = mem_zalloc(sizeof *copy);
    copy->instance = instance;
    copy->child = child;
    copy->next = instance->copies;
    instance->copies = copy;
    copy->next_in_child = child->copies;
    if (child->copies) child->copies->previous_in_child = copy;
    child->copies = copy;
    return copy;
}

void child_remove_copy(struct remote_copy *copy) {
    struct remote_copy **at = &copy->instance->copies;
    while (*at != copy) at = &(*at)->next;
    *at = copy->next;
    *(copy->previous_in_child ? &copy->previous_in_child->next_in_child : &copy->child->copies) = copy->next_in_child;
    if (copy->next_in_child) copy->next_in_child->previous_in_child = copy->previous_in_child;
    copy_discard_sent(copy);
    mem_free((void *)copy->sent);
    mem_free(copy);
}

size_t copy_sent_count(const struct remote_copy *copy) {
    tn_value bound = copy->instance->bound;
    return value_count(value_get(bound, "reads")) + value_count(value_get(bound, "tools"));
}

void copy_discard_sent(struct remote_copy *copy) {
    for (size_t i = 0; copy->sent && i < copy_sent_count(copy); i++) {
        value_unref(copy->sent[i]);
        copy->sent[i] = NULL;
    }
}

/* ---- Creating an instance ---- */

static bool is_text_array(tn_value list) {
    if (list && !value_is(list, TN_ARRAY)) return false;
    for (size_t i = 0; i < value_count(list); i++)
        if (!value_is(value_at(list, i), TN_STRING)) return false;
    return true;
}

static bool is_tool_sets(tn_value tools) {
    if (tools && !value_is(tools, TN_ARRAY)) return false;
    for (size_t i = 0; i < value_count(tools); i++)
        if (!value_is(value_at(tools, i), TN_NULL) && !is_text_array(value_at(tools, i))) return false;
    return true;
}

/* True if the result of `create` has the right form. */
static bool is_create_result(tn_value bound) {
    tn_value calls = value_get(bound, "calls"), run = value_get(bound, "run");
    if (!value_is(bound, TN_OBJECT) || !is_text_array(value_get(bound, "reads")) ||
        !is_text_array(value_get(bound, "writes")) || !is_tool_sets(value_get(bound, "tools")))
        return false;
    if ((calls && !value_is(calls, TN_ARRAY)) || (run && !value_is(run, TN_BOOL))) return false;
    for (size_t i = 0; i < value_count(calls); i++) {
        tn_value call = value_at(calls, i);
        if (!value_is(value_get(call, "kind"), TN_STRING) || !value_is(value_get(call, "name"), TN_STRING))
            return false;
    }
    return true;
}

static tn_value create_params(const struct remote_instance *instance) {
    tn_value params = value_set_take(value_object_reserve(6), "instance", value_int(instance->number));
    params = value_set_take(params, "kind", value_text(instance->kind));
    params = value_set_take(params, "component", value_text(instance->component));
    if (instance->channels) params = value_set_take(params, "channels", value_ref(instance->channels));
    if (value_count(instance->needed)) params = value_set_take(params, "needed", value_ref(instance->needed));
    return value_set_take(params, "config", value_ref(instance->config));
}

static int32_t set_not_a_result(const struct remote *remote, struct error *error) {
    return error_set(error, TN_INVALID, "PLUGIN_INVALID",
                     "plugin `%s` responded to `create` with a result that is not {reads, writes, calls}",
                     plugin_id(remote->plugin));
}

void child_kill_late(struct remote_child *child, const char *method, int limit_ms) {
    tn_value why = value_format("it did not answer `%s` within %d ms", method, limit_ms);
    process_kill(child->process, value_chars(why, NULL));
    value_unref(why);
}

static void child_on_create_tick(struct loop_timer *timer) {
    struct remote_child *child = CONTAINER_OF(timer, struct remote_child, create_timer);
    child->create_left_ms -= REMOTE_TICK_MS;
    if (child->create_left_ms > 0)
        loop_timer_start(child->remote->host->loop, timer, REMOTE_TICK_MS, child_on_create_tick);
    else
        child_kill_late(child, "create", REMOTE_CREATE_MS);
}

/* The process answers one request after the other: the time for the next one starts with an answer. */
static void child_watch_creating(struct remote_child *child) {
    struct loop *loop = child->remote->host->loop;
    loop_timer_stop(loop, &child->create_timer);
    child->create_left_ms = REMOTE_CREATE_MS;
    if (child->creating) loop_timer_start(loop, &child->create_timer, REMOTE_TICK_MS, child_on_create_tick);
}

/* The instance may have been destroyed, and its copy removed, since the request was sent. */
static void child_on_created(void *user, int64_t number, int32_t status, tn_value bound, const struct error *error) {
    struct remote_child *child = user;
    struct remote_copy *copy = child->copies;
    struct error own = ERROR_INIT;
    process_unhold(child->process);
    child->creating--;
    child_watch_creating(child);
    while (copy && copy->instance->number != number) copy = copy->next_in_child;
    if (!copy) {
        remote_pump_pool(child->remote);
        return;
    }
    if (status == TN_OK && !is_create_result(bound)) {
        status = set_not_a_result(child->remote, &own);
        error = &own;
    }
    remote_on_created(copy, status, bound, error);
    error_finish(&own);
}

struct remote_copy *child_create(struct remote_child *child, struct remote_instance *instance, enum frame_fit *fit) {
    *fit = process_request_take(child->process, "create", create_params(instance), child_on_created, child,
                                instance->number);
    if (*fit != FRAME_FITS) return NULL;
    process_hold(child->process); /* until the response */
    if (child->creating++ == 0) child_watch_creating(child);
    return child_add_copy(child, instance);
}

struct remote_copy *child_create_wait(struct remote_child *child, struct remote_instance *instance, tn_value *bound,
                                      int32_t *status, struct error *error) {
    int64_t limit_ms = REMOTE_CREATE_MS + (child->state == CHILD_STARTING ? child->start_left_ms : 0);
    *bound = NULL;
    *status = process_call_take(child->process, "create", create_params(instance), limit_ms, bound, error);
    if (*status == TN_ERROR && child->start_error.code) error_copy(error, &child->start_error);
    if (*status == TN_OK && !is_create_result(*bound)) {
        value_unref(*bound);
        *bound = NULL;
        *status = set_not_a_result(child->remote, error);
    }
    if (*status != TN_OK) return NULL;
    struct remote_copy *copy = child_copy(child, instance);
    if (!copy) copy = child_add_copy(child, instance);
    return copy;
}

/* ---- Starting ---- */

int32_t remote_check_initialized(const struct remote *remote, struct process *process, tn_value result,
                                 struct error *error) {
    const struct plugin *plugin = remote->plugin;
    tn_value version = value_get(result, "version");
    if (!value_text_is(value_get(result, "protocol"), PROTOCOL_VERSION))
        return error_set(error, TN_UNSUPPORTED, "PLUGIN_REFUSED", "plugin `%s` does not speak the protocol %s",
                         plugin_id(plugin), PROTOCOL_VERSION);
    if (version && !value_text_is(version, plugin_version(plugin)))
        return error_set(error, TN_INVALID, "PLUGIN_REFUSED",
                         "plugin `%s` has changed since its manifest was read; the manifest had version %s: %s",
                         plugin_id(plugin), plugin_version(plugin), plugin_path(plugin));
    if (value_get(result, "shared") == value_bool(true)) process_allow_shared(process);
    return TN_OK;
}

tn_value remote_initialize_params(const struct remote *remote) {
    tn_value params = value_set_take(value_object_reserve(7), "protocol", value_text(PROTOCOL_VERSION));
    params = value_set_take(params, "plugin", value_text(plugin_id(remote->plugin)));
    params = value_set_take(params, "config", value_ref(remote->config));
    params = value_set_take(params, "log", value_int(log_level(log_current())));
    params = value_set_take(params, "shared", value_bool(true));
    if (registry_owner(plugin_registry(remote->plugin), TN_SERVER_DRAFT))
        params = value_set_take(params, "serves", value_bool(true));
    params = value_set_take(params, "demand", value_bool(true));
    return value_set_take(params, "drafts", value_bool(plugin_may_use_drafts(remote->plugin)));
}

int32_t remote_check_file(const struct remote *remote, struct error *error) {
    if (!plugin_file_replaced(remote->plugin)) return TN_OK;
    return error_set(error, TN_INVALID, "PLUGIN_REFUSED",
                     "plugin `%s` has changed since its manifest was read: %s was replaced or removed; `tenon plugin "
                     "upgrade` replaces a plugin of a running host",
                     plugin_id(remote->plugin), plugin_path(remote->plugin));
}

static struct remote_child *child_new(struct remote *remote, bool shared, struct error *error) {
    if (remote_check_file(remote, error) != TN_OK) return NULL;
    struct remote_child *child = mem_zalloc(sizeof *child);
    struct process_options options = {.name = plugin_id(remote->plugin),
                                      .message = remote_on_message,
                                      .message_now = remote_on_message_now,
                                      .ended = remote_on_child_end,
                                      .user = child};
    child->remote = remote;
    child->shared = shared;
    child->state = CHILD_STARTING;
    child->deaths_before = remote->deaths;
    child->used_ms = clock_now_ms();
    const struct launch launch = {remote->host, remote->plugin, remote->host->loop, &remote->environment, NULL};
    child->process = launch_plugin(&launch, &options, error);
    if (!child->process) {
        mem_free(child);
        return NULL;
    }
    if (shared) {
        assert(!remote->shared);
        remote->shared = child;
        remote->shared_starts++;
    } else {
        child->next = remote->pool;
        remote->pool = child;
        remote->pool_count++;
        remote->pool_starting++;
        if (remote->pool_count > 1) remote_watch_idle(remote);
    }
    return child;
}

static void child_set_running(struct remote_child *child) {
    child->state = CHILD_RUNNING;
    child->used_ms = clock_now_ms();
    if (!child->shared) child->remote->pool_starting--;
}

static void child_on_initialized(void *user, int64_t tag, int32_t status, tn_value result, const struct error *error) {
    struct remote_child *child = user;
    (void)tag;
    loop_timer_stop(child->remote->host->loop, &child->start_timer);
    process_unhold(child->process);
    if (status == TN_OK)
        status = remote_check_initialized(child->remote, child->process, result, &child->start_error);
    else
        error_copy(&child->start_error, error);
    if (status != TN_OK) {
        process_kill(child->process, "it was not initialised");
        return;
    }
    child_set_running(child);
    if (child->shared) remote_demand_begin(child->remote, result);
    remote_on_started(child);
}

static void child_on_start_tick(struct loop_timer *timer) {
    struct remote_child *child = CONTAINER_OF(timer, struct remote_child, start_timer);
    child->start_left_ms -= REMOTE_TICK_MS;
    if (child->start_left_ms > 0) {
        loop_timer_start(child->remote->host->loop, timer, REMOTE_TICK_MS, child_on_start_tick);
        return;
    }
    child_kill_late(child, "initialize", REMOTE_START_MS);
}

struct remote_child *child_launch(struct remote *remote, bool shared, struct error *error) {
    struct remote_child *child = child_new(remote, shared, error);
    if (!child) return NULL;
    process_hold(child->process); /* until the response */
    process_request_take(child->process, "initialize", remote_initialize_params(remote), child_on_initialized, child,
                         0);
    child->start_left_ms = REMOTE_START_MS;
    loop_timer_start(remote->host->loop, &child->start_timer, REMOTE_TICK_MS, child_on_start_tick);
    return child;
}

struct remote_child *child_start_wait(struct remote *remote, bool shared, struct error *error) {
    tn_value result = NULL;
    struct remote_child *child = child_new(remote, shared, error);
    if (!child) return NULL;
    int32_t status = process_call_take(child->process, "initialize", remote_initialize_params(remote), REMOTE_START_MS,
                                       &result, error);
    if (status == TN_OK) status = remote_check_initialized(child->remote, child->process, result, error);
    if (status == TN_OK) {
        child_set_running(child);
        if (shared) remote_demand_begin(remote, result);
    }
    value_unref(result);
    if (status == TN_OK) return child;
    child_free(child);
    return NULL;
}

/* ---- Ending ---- */

static void child_leave_pool(struct remote_child *child) {
    struct remote *remote = child->remote;
    if (child->state != CHILD_STOPPING) remote->pool_count--;
    if (child->state == CHILD_STARTING) remote->pool_starting--;
    for (struct remote_child **at = &remote->pool; *at; at = &(*at)->next) {
        if (*at != child) continue;
        *at = child->next;
        return;
    }
}

void child_free(struct remote_child *child) {
    struct remote *remote = child->remote;
    if (child->shared)
        remote->shared = NULL;
    else
        child_leave_pool(child);
    loop_timer_stop(remote->host->loop, &child->start_timer);
    loop_timer_stop(remote->host->loop, &child->create_timer);
    loop_timer_stop(remote->host->loop, &child->ping_timer);
    remote_http_cancel_all(child);
    remote_server_end_all(child);
    remote_host_end_all(child);
    mem_free((void *)child->exchanges);
    while (child->copies) child_remove_copy(child->copies);
    error_finish(&child->start_error);
    process_free(child->process);
    mem_free(child);
}

static void child_on_shut_down(void *user, int64_t tag, int32_t status, tn_value result, const struct error *error) {
    (void)tag, (void)status, (void)result, (void)error;
    child_free(user);
}

void child_stop(struct remote_child *child) {
    assert(!child->shared && !child->open && child->state == CHILD_RUNNING);
    child->state = CHILD_STOPPING;
    child->remote->pool_count--;
    child->used_ms = clock_now_ms();
    while (child->copies) child_remove_copy(child->copies);
    process_request_take(child->process, "shutdown", value_object(), child_on_shut_down, child, 0);
}
