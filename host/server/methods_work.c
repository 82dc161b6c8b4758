/*
 * methods_work.c - workers of the host: methods/work.yaml.
 */
#include "adl/value/memory.h"
#include "host/assembly/host.h"
#include "host/data/kernel/kernel.h"
#include "host/plugin/call/call.h"
#include "host/server/client.h"
#include "host/server/method_call.h"
#include "host/server/method_internal.h"
#include "host/server/method_request.h"
#include "host/server/server.h"
#include "host/server/server_internal.h"
#include "host/server/server_run.h"
#include "host/server/server_work.h"
#include "host/work/work_type.h"

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

/* ---- One Task ---- */

/* A work/ask whose Task is being created. */
struct work_ask {
    void *request; /* method_request_new */
    uint64_t token;
    struct work_types *types; /* owned */
    unsigned modes;
};

/* {task_id, worker_id}, a new reference; NULL with the error. Takes `types`. */
static tn_value ask_start_take(const struct server *server, struct work_types *types, const char *task_id,
                               unsigned modes, struct error *error) {
    const struct server_worker_options options = {
        .concurrency = 1, .mode = TASK_WORKER_ONCE, .task_id = task_id, .opened = types, .modes = modes};
    const struct server_worker *worker = server_worker_start(server_workers_of(server), &options, error);
    if (!worker) return NULL;
    tn_value result = value_set_take(value_object_reserve(2), "task_id", value_text(task_id));
    return value_set_take(result, "worker_id", value_text(server_worker_id(worker)));
}

/* If the call was cancelled meanwhile, the Task stays in the queue. */
static void ask_on_created(void *user, int32_t status, tn_value task, const struct error *error) {
    struct work_ask *ask = user;
    struct error why = ERROR_INIT;
    tn_value result = NULL;
    if (status == TN_OK && call_lookup_open(ask->token)) {
        const char *id = value_chars(value_get(task, "task_id"), NULL);
        result = ask_start_take(method_request_server(ask->request), ask->types, id, ask->modes, &why);
        if (!result) status = TN_FAILED;
    } else {
        work_types_free(ask->types);
    }
    method_request_done(ask->request, status, result, why.code ? &why : error);
    value_unref(result);
    error_finish(&why);
    mem_free(ask);
}

static int32_t ask_create(const struct method_call *call, struct work_types *types, struct error *error) {
    tn_value payload = value_get(call->params, "payload"), text = value_get(call->params, "text");
    struct kernel kernel;
    int32_t status = kernel_open(host_state(server_host(call->server)), &kernel, error);
    if (status != TN_OK) return work_types_free(types), status;
    payload = text ? value_set_take(value_object_reserve(1), "text", value_ref(text)) : value_ref(payload);
    tn_value arguments = value_set_take(value_object_reserve(2), "payload", payload);
    arguments = value_set_take(arguments, "task_type", value_ref(value_get(call->params, "type")));
    struct work_ask *ask = mem_alloc(sizeof *ask);
    *ask = (struct work_ask){.request = method_request_new(call),
                             .token = call->token,
                             .types = types,
                             .modes = server_run_modes(value_get(call->params, "modes"))};
    kernel_call(&kernel, kernel_find_operation("task.create"), arguments, ask_on_created, ask);
    value_unref(arguments);
    return TN_OK;
}

/* The strategy has the rights of the operator, so a component could gain rights here. */
static int32_t ask_refuse_plugin(const struct method_call *call, struct error *error) {
    if (!client_is_plugin(call->client)) return TN_OK;
    return error_set(
        error, TN_FAILED, "PERMISSION_DENIED",
        "%s may not run the strategy of a Task, which has the rights of the operator; create the Task with "
        "task/create, and a worker will handle it",
        client_name(call->client));
}

/* The strategy is opened first, so that no Task is created that it cannot handle. */
static int32_t work_ask(const struct method_call *call, struct error *error) {
    struct work_types *types = NULL;
    const char *task_id = method_text(call, "task_id");
    int32_t status = ask_refuse_plugin(call, error);
    if (status != TN_OK) return status;
    tn_value names = value_push_take(value_array_reserve(1), value_ref(value_get(call->params, "type")));
    method_defer_loads(call, true);
    status = server_work_open_types(call->server, names, &types, error);
    method_defer_loads(call, false);
    value_unref(names);
    if (status != TN_OK) return method_wait_for_plugins(call, status);
    if (!task_id) return ask_create(call, types, error);
    tn_value result =
        ask_start_take(call->server, types, task_id, server_run_modes(value_get(call->params, "modes")), error);
    return result ? method_done_take(call, result) : TN_FAILED;
}

const struct method_handler work_methods[] = {
    {"work/start", work_start}, {"work/stop", work_stop}, {"work/get", work_get}, {"work/wait", work_wait},
    {"work/list", work_list},   {"work/ask", work_ask},   {NULL, NULL},
};
