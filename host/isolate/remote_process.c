/*
 * remote_process.c - a remote plugin's process: started when it is needed, told of every instance, and mourned.
 *
 * Instances outlive processes: a new process makes them again, and one that it does not make as before is lost, which
 * is an error of its tasks alone. Deaths are counted; each makes the pause before the next start longer.
 */
#include "host/call/call.h"
#include "host/host.h"
#include "host/isolate/launch.h"
#include "host/isolate/process.h"
#include "host/isolate/protocol.h"
#include "host/isolate/remote_internal.h"
#include "host/log.h"
#include "host/plugin/plugin.h"
#include "host/plugin/registry.h"

/* ---- Its end ---- */

static void count_death(struct remote *remote) {
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

static bool given_up(const struct remote *remote) { return remote->recent_deaths >= REMOTE_DEATHS_MAX; }

static void fail_tasks(struct remote *remote, const struct error *why) {
    for (uint32_t i = 0; i < remote->task_count; i++) {
        struct task *task = remote_task_at(remote, i);
        if (!task->instance) continue;
        tn_task token = task->token;
        remote_task_give(remote, task, i);
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
    remote_http_end(remote);
    fail_tasks(remote, &error);
    error_finish(&error);
    process_free(process);
}

/* ---- Starting it ---- */

static bool are_texts(tn_value list) {
    if (list && !value_is(list, TN_ARRAY)) return false;
    for (size_t i = 0; i < value_count(list); i++)
        if (!value_is(value_at(list, i), TN_STRING)) return false;
    return true;
}

static bool are_sets(tn_value tools) {
    if (tools && !value_is(tools, TN_ARRAY)) return false;
    for (size_t i = 0; i < value_count(tools); i++)
        if (!value_is(value_at(tools, i), TN_NULL) && !are_texts(value_at(tools, i))) return false;
    return true;
}

static bool is_bound(tn_value bound) {
    tn_value calls = value_get(bound, "calls"), run = value_get(bound, "run");
    if (!value_is(bound, TN_OBJECT) || !are_texts(value_get(bound, "reads")) ||
        !are_texts(value_get(bound, "writes")) || !are_sets(value_get(bound, "tools")))
        return false;
    if ((calls && !value_is(calls, TN_ARRAY)) || (run && !value_is(run, TN_BOOL))) return false;
    for (size_t i = 0; i < value_count(calls); i++) {
        tn_value call = value_at(calls, i);
        if (!value_is(value_get(call, "kind"), TN_STRING) || !value_is(value_get(call, "name"), TN_STRING))
            return false;
    }
    return true;
}

size_t remote_sent_count(const struct instance *instance) {
    return value_count(value_get(instance->bound, "reads")) + value_count(value_get(instance->bound, "tools"));
}

void remote_forget_sent(struct instance *instance) {
    for (size_t i = 0; instance->sent && i < remote_sent_count(instance); i++) {
        value_unref(instance->sent[i]);
        instance->sent[i] = NULL;
    }
}

int32_t remote_ask_create(struct instance *instance, tn_value *bound, struct error *error) {
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
    remote_forget_sent(instance);
    return status;
}

static int32_t launch(struct remote *remote, struct error *error) {
    tn_value result = NULL;
    struct process_options options = {.name = plugin_id(remote->plugin),
                                      .message = remote_hear,
                                      .at_once = remote_hear_at_once,
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
    int32_t status = remote_ask_create(instance, &bound, error);
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
int32_t remote_bring_up(struct remote *remote, struct error *error) {
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
