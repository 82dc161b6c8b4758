/*
 * methods_schedule.c - methods about the schedules of tenon.yaml: methods/schedule.yaml.
 */
#include "host/assembly/host.h"
#include "host/base/config/config.h"
#include "host/server/method_internal.h"
#include "host/server/method_request.h"
#include "host/server/server.h"
#include "host/work/schedule_store.h"

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

const struct method_handler schedule_methods[] = {
    {"schedule/list", schedule_list_start}, {"schedule/run", schedule_run_start}, {NULL, NULL}};
