/*
 * methods_work.c - workers of the host: methods/work.yaml.
 */
#include "host/server/method_call.h"
#include "host/server/method_internal.h"
#include "host/server/server.h"
#include "host/server/server_internal.h"
#include "host/server/server_work.h"

static struct server_worker *worker_named(const struct method_call *call, struct error *error) {
    return server_worker_find(server_workers_of(call->server), method_text(call, "worker_id"), error);
}

static enum task_worker_mode mode_param(const struct method_call *call) {
    tn_value mode = value_get(call->params, "mode");
    if (value_text_is(mode, "once")) return TASK_WORKER_ONCE;
    return value_text_is(mode, "empty") ? TASK_WORKER_EMPTY : TASK_WORKER_FOREVER;
}

/* The strategies can need components that plugins are adding, so a failure can be temporary. */
static int32_t work_start(const struct method_call *call, struct error *error) {
    const struct server_worker_options options = {.client = call->client,
                                                  .name = method_text(call, "name"),
                                                  .types = value_get(call->params, "types"),
                                                  .concurrency = (uint32_t)method_int(call, "concurrency", 0),
                                                  .mode = mode_param(call)};
    method_defer_loads(call, true);
    struct server_worker *worker = server_worker_start(server_workers_of(call->server), &options, error);
    method_defer_loads(call, false);
    if (!worker) return method_wait_for_plugins(call, TN_FAILED);
    return method_done_take(call, server_worker_describe(worker));
}

static int32_t work_stop(const struct method_call *call, struct error *error) {
    struct server_worker *worker = worker_named(call, error);
    if (!worker) return TN_NOT_FOUND;
    server_worker_stop(worker, method_flag(call, "cancel"));
    return method_done_take(call, value_object());
}

static int32_t work_get(const struct method_call *call, struct error *error) {
    const struct server_worker *worker = worker_named(call, error);
    return worker ? method_done_take(call, server_worker_describe(worker)) : TN_NOT_FOUND;
}

static int32_t work_wait(const struct method_call *call, struct error *error) {
    struct server_worker *worker = worker_named(call, error);
    if (!worker) return TN_NOT_FOUND;
    server_worker_await(worker, call->token);
    return TN_OK;
}

static int32_t work_list(const struct method_call *call, struct error *error) {
    const struct server_workers *workers = server_workers_of(call->server);
    const struct server_worker *worker = NULL;
    tn_value list = value_array();
    (void)error;
    while ((worker = server_worker_older(workers, worker)) != NULL)
        list = value_push_take(list, server_worker_describe(worker));
    return method_done_take(call, value_set_take(value_object_reserve(1), "workers", list));
}

const struct method_handler work_methods[] = {
    {"work/start", work_start}, {"work/stop", work_stop}, {"work/get", work_get},
    {"work/wait", work_wait},   {"work/list", work_list}, {NULL, NULL},
};
