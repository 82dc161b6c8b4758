/*
 * remote_process.c - starts a remote plugin's process when it is needed, and handles its end.
 *
 * Instances outlive processes: a new process creates them again. If it does not create one as before, that instance is
 * lost: its tasks fail, those of other instances do not. Each death makes the pause before the next start longer.
 */
#include "host/base/log.h"
#include "host/plugin/call/call.h"
#include "host/plugin/isolate/isolate_protocol.h"
#include "host/plugin/isolate/launch.h"
#include "host/plugin/isolate/process.h"
#include "host/plugin/isolate/remote_internal.h"
#include "host/plugin/registry/plugin.h"
#include "host/plugin/registry/registry.h"

/* ---- End of the process ---- */

static void remote_count_death(struct remote *remote) {
    int64_t now = loop_now_ms(remote->host->loop);
    if (!remote->recent_deaths || now - remote->first_death_ms > REMOTE_DEATHS_MS) {
        remote->recent_deaths = 0;
        remote->first_death_ms = now;
    }
    remote->deaths++;
    registry_expect(remote->plugin, false);
    remote->recent_deaths++;
    remote->restart_ms = now + ((int64_t)REMOTE_PAUSE_MS << (remote->recent_deaths - 1));
}

static bool remote_is_given_up(const struct remote *remote) { return remote->recent_deaths >= REMOTE_DEATHS_MAX; }

static void remote_fail_tasks(struct remote *remote, const struct error *why) {
    for (uint32_t i = 0; i < remote->task_count; i++) {
        struct remote_task *task = remote_task_at(remote, i);
        if (!task->instance) continue;
        tn_task token = task->token;
        remote_task_release(remote, task, i);
        call_fail(token, why);
    }
}

static void remote_on_process_end(void *user, const struct error *why) {
    struct remote *remote = user;
    struct process *process = remote->process;
    struct error error = ERROR_INIT;
    error_copy(&error, why);
    remote_count_death(remote);
    error.more = value_set_take(error.more, "retryable", value_bool(!remote_is_given_up(remote)));
    int64_t pause = remote->restart_ms - loop_now_ms(remote->host->loop);
    if (!remote_is_given_up(remote)) error.more = value_set_take(error.more, "retry_after_ms", value_int(pause));
    log_write(LOG_ERROR, NULL, "%s%s", error.message,
              remote_is_given_up(remote) ? "; it has ended too often and is not started again" : "");
    remote->process = NULL;
    for (struct remote_instance *instance = remote->instances; instance; instance = instance->next)
        instance->lost = true;
    error_finish(&remote->last_end);
    error_copy(&remote->last_end, &error);
    remote_http_cancel_all(remote);
    remote_fail_tasks(remote, &error);
    error_finish(&error);
    process_free(process);
}

/* ---- Start of the process ---- */

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

size_t remote_sent_count(const struct remote_instance *instance) {
    return value_count(value_get(instance->bound, "reads")) + value_count(value_get(instance->bound, "tools"));
}

void remote_discard_sent(struct remote_instance *instance) {
    for (size_t i = 0; instance->sent && i < remote_sent_count(instance); i++) {
        value_unref(instance->sent[i]);
        instance->sent[i] = NULL;
    }
}

int32_t remote_create_instance(struct remote_instance *instance, tn_value *bound, struct error *error) {
    struct remote *remote = instance->remote;
    tn_value params = value_set_take(value_object_reserve(4), "instance", value_int(instance->number));
    params = value_set_take(params, "kind", value_text(instance->kind));
    params = value_set_take(params, "component", value_text(instance->component));
    params = value_set_take(params, "config", value_ref(instance->config));
    int32_t status = process_call_take(remote->process, "create", params, REMOTE_CREATE_MS, bound, error);
    if (status == TN_OK && !is_create_result(*bound)) {
        value_unref(*bound);
        *bound = NULL;
        status = error_set(error, TN_INVALID, "PLUGIN_INVALID",
                           "plugin `%s` responded to `create` with a result that is not {reads, writes, calls}",
                           plugin_id(remote->plugin));
    }
    instance->lost = status != TN_OK;
    remote_discard_sent(instance);
    return status;
}

static int32_t remote_launch(struct remote *remote, struct error *error) {
    tn_value result = NULL;
    struct process_options options = {.name = plugin_id(remote->plugin),
                                      .message = remote_on_message,
                                      .message_now = remote_on_message_now,
                                      .ended = remote_on_process_end,
                                      .user = remote};
    remote->process = launch_plugin(remote->host, remote->plugin, &options, error);
    if (!remote->process) return TN_ERROR;
    tn_value params = value_set_take(value_object_reserve(5), "protocol", value_text(PROTOCOL_VERSION));
    bool drafts = remote->host->allow_drafts || plugin_bundled(remote->plugin);
    params = value_set_take(params, "plugin", value_text(plugin_id(remote->plugin)));
    params = value_set_take(params, "config", value_ref(remote->config));
    params = value_set_take(params, "log", value_int(log_level(log_current())));
    params = value_set_take(params, "drafts", value_bool(drafts));
    int32_t status = process_call_take(remote->process, "initialize", params, REMOTE_START_MS, &result, error);
    if (status == TN_OK && !value_text_is(value_get(result, "protocol"), PROTOCOL_VERSION))
        status = error_set(error, TN_UNSUPPORTED, "PLUGIN_REFUSED", "plugin `%s` does not speak the protocol %s",
                           plugin_id(remote->plugin), PROTOCOL_VERSION);
    tn_value version = value_get(result, "version");
    if (status == TN_OK && version && !value_text_is(version, plugin_version(remote->plugin)))
        status = error_set(error, TN_INVALID, "PLUGIN_REFUSED",
                           "plugin `%s` has changed since its manifest was read; the manifest had version %s: %s",
                           plugin_id(remote->plugin), plugin_version(remote->plugin), plugin_path(remote->plugin));
    value_unref(result);
    if (status != TN_OK) {
        process_free(remote->process);
        remote->process = NULL;
    }
    return status;
}

/* Creates an instance in a new process. If the result differs, the instance is lost; only a death is an error. */
static int32_t remote_recreate_instance(struct remote_instance *instance, struct error *error) {
    tn_value bound = NULL;
    int32_t status = remote_create_instance(instance, &bound, error);
    instance->lost = status != TN_OK || !value_equal(bound, instance->bound);
    value_unref(bound);
    if (status == TN_ERROR) return status; /* remote_on_process_end counts the death */
    if (status != TN_OK)
        log_write(LOG_ERROR, plugin_id(instance->remote->plugin),
                  "after the restart it did not create `%s` as before: %s", instance->component, error->message);
    error_finish(error);
    return TN_OK;
}

int32_t remote_ensure_process(struct remote *remote, struct error *error) {
    if (remote->process) return TN_OK;
    int64_t left = remote->restart_ms - loop_now_ms(remote->host->loop);
    if (remote->deaths && (remote_is_given_up(remote) || left > 0)) {
        if (remote_is_given_up(remote))
            return error_set(error, TN_FAILED, "PLUGIN_HUNG",
                             "plugin `%s` is given up because its process ended %u times within a minute: %s",
                             plugin_id(remote->plugin), remote->recent_deaths, remote->last_end.message);
        error_copy(error, &remote->last_end);
        error->more = value_set_take(error->more, "retry_after_ms", value_int(left));
        return TN_FAILED; /* the copied error says whether and when a retry is useful */
    }
    struct error failure = ERROR_INIT;
    int32_t status = remote_launch(remote, &failure);
    if (status != TN_OK) {
        remote_count_death(remote);
        error_copy(&remote->last_end, &failure);
    }
    for (struct remote_instance *instance = remote->instances; status == TN_OK && instance; instance = instance->next)
        status = remote_recreate_instance(instance, &failure);
    error_move(error, &failure);
    return status;
}
