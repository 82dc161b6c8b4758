/*
 * methods_schedule.c - methods about the schedules of tenon.yaml, and about those that clients make:
 * methods/schedule.yaml.
 */
#include "adl/value/memory.h"
#include "host/assembly/host.h"
#include "host/base/config/config.h"
#include "host/base/files.h"
#include "host/server/client.h"
#include "host/server/method_internal.h"
#include "host/server/method_request.h"
#include "host/server/server_internal.h"
#include "host/server/server_timetable.h"
#include "host/work/run_schedule.h"
#include "host/work/schedule_store.h"
#include <string.h>

static int32_t schedule_list_start(const struct method_call *call, struct error *error) {
    struct host *host = server_host(call->server);
    struct store *store = host_store(host, error);
    if (!store) return TN_NOT_FOUND;
    schedules_list(store, config_schedules(host_config(host)), method_int(call, "next", 0), method_request_done,
                   method_request_new(call));
    return TN_OK;
}

static int32_t schedule_run_start(const struct method_call *call, struct error *error) {
    struct host *host = server_host(call->server);
    struct store *store = host_store(host, error);
    if (!store) return TN_NOT_FOUND;
    struct schedule *schedule = schedules_find(config_schedules(host_config(host)), method_text(call, "name"), error);
    if (!schedule) return TN_INVALID;
    schedule_run(store, schedule, method_text(call, "idempotency_key"), method_request_done, method_request_new(call));
    schedule_free(schedule);
    return TN_OK;
}

/* ---- Schedules that clients make ---- */

/* What a component starts is limited by its frame, which has ended when a schedule is due. */
static int32_t refuse_component(const struct method_call *call, struct error *error) {
    if (!client_is_plugin(call->client)) return TN_OK;
    return error_set(error, TN_FAILED, "PERMISSION_DENIED",
                     "%s may not make or change schedules: their runs would have the rights of the served graph",
                     client_name(call->client));
}

/* A run schedule starts a graph that this host serves. */
static int32_t check_document(const struct method_call *call, struct error *error) {
    const char *document = method_text(call, "document");
    if (!document) return TN_OK;
    if (!files_is_graph_name(document))
        return error_set(error, TN_INVALID, "INVALID_INPUT",
                         "`document`: found `%.200s`, expected a graph that the host serves, as `graph:NAME`",
                         document);
    if (value_get(config_graphs(host_config(server_host(call->server))), document + strlen("graph:"))) return TN_OK;
    return error_set(error, TN_NOT_FOUND, "NOT_FOUND", "the host does not serve `%.200s`", document);
}

static int32_t check_change(const struct method_call *call, struct error *error) {
    int32_t status = refuse_component(call, error);
    return status == TN_OK ? check_document(call, error) : status;
}

/* The token of a user without a key ends, and a schedule does not end with it: the operator says for how long it may
 * stay. */
static int32_t run_schedule_caller_of(const struct method_call *call, struct run_schedule_caller *caller,
                                      struct error *error) {
    const char *key = client_name(call->client);
    *caller = (struct run_schedule_caller){call->owner, key, 0};
    if (call->owner) caller->days = server_timetable_days(call->server, key);
    if (caller->days < 0)
        return error_set(error, TN_FAILED, "PERMISSION_DENIED",
                         "users without a key may not make or change schedules; `token_schedule_days` in `serve: "
                         "{limits}` of tenon.yaml allows it for a number of days");
    return TN_OK;
}

static void schedule_on_changed(void *user, int32_t status, tn_value result, const struct error *error) {
    if (status == TN_OK) server_timetable_changed(server_timetable_of(method_request_server(user)));
    method_request_done(user, status, result, error);
}

static int32_t schedule_create_start(const struct method_call *call, struct error *error) {
    struct run_schedule_caller caller;
    int32_t status = run_schedule_caller_of(call, &caller, error);
    if (status == TN_OK) status = check_change(call, error);
    if (status != TN_OK) return status;
    struct store *store = host_store(server_host(call->server), error);
    if (!store) return TN_NOT_FOUND;
    run_schedule_create(store, &caller, call->params, schedule_on_changed, method_request_new(call));
    return TN_OK;
}

static int32_t schedule_update_start(const struct method_call *call, struct error *error) {
    struct run_schedule_caller caller;
    int32_t status = run_schedule_caller_of(call, &caller, error);
    if (status == TN_OK) status = check_change(call, error);
    if (status != TN_OK) return status;
    struct store *store = host_store(server_host(call->server), error);
    if (!store) return TN_NOT_FOUND;
    tn_value given = value_remove_take(value_ref(call->params), value_text("schedule_id"));
    run_schedule_update(store, &caller, method_text(call, "schedule_id"), given, schedule_on_changed,
                        method_request_new(call));
    value_unref(given);
    return TN_OK;
}

static int32_t schedule_get_start(const struct method_call *call, struct error *error) {
    struct store *store = host_store(server_host(call->server), error);
    if (!store) return TN_NOT_FOUND;
    run_schedule_get(store, call->owner, method_text(call, "schedule_id"), method_request_done,
                     method_request_new(call));
    return TN_OK;
}

static int32_t schedule_delete_start(const struct method_call *call, struct error *error) {
    int32_t status = refuse_component(call, error);
    if (status != TN_OK) return status;
    struct store *store = host_store(server_host(call->server), error);
    if (!store) return TN_NOT_FOUND;
    run_schedule_delete(store, call->owner, method_text(call, "schedule_id"), method_request_done_empty,
                        method_request_new(call));
    return TN_OK;
}

static int32_t schedule_search_start(const struct method_call *call, struct error *error) {
    struct store *store = host_store(server_host(call->server), error);
    if (!store) return TN_NOT_FOUND;
    run_schedule_search(store, call->owner, call->params, method_request_done, method_request_new(call));
    return TN_OK;
}

const struct method_handler schedule_methods[] = {
    {"schedule/list", schedule_list_start},     {"schedule/run", schedule_run_start},
    {"schedule/create", schedule_create_start}, {"schedule/get", schedule_get_start},
    {"schedule/search", schedule_search_start}, {"schedule/update", schedule_update_start},
    {"schedule/delete", schedule_delete_start}, {NULL, NULL}};
