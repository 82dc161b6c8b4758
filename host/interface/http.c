/*
 * http.c - tenon.http: requests of plugins, by the host they belong to; and one that a blocking task waits for.
 *
 * To wait is a call that the task makes, as an operation of the state kernel is: so it is cancelled with the task, and
 * what came of it is remembered with the task where that is resumed. In a process of its own the requests are made by
 * the host, which is told of them.
 */
#include "host/http/http.h"
#include "adl/value/memory.h"
#include "host/call/slot.h"
#include "host/call/worker.h"
#include "host/host.h"
#include "host/interface/interface.h"
#include "host/interface/view.h"
#include "host/loop/loop.h"
#include "host/plugin/plugin.h"
#include "host/plugin/registry.h"

const tn_http_draft *interface_http_elsewhere;

/* NULL: not this host's loop, or no host of ours; *status says which. */
static struct http *http_of(const void *self, struct plugin **plugin, int32_t *status) {
    *plugin = plugin_of(self);
    struct host *host = *plugin ? registry_user(plugin_registry(*plugin)) : NULL;
    *status = !host ? TN_INVALID : loop_here(host->loop) ? TN_OK : TN_WRONG_THREAD;
    return *status == TN_OK ? host->http : NULL;
}

static int32_t send(const void *self, tn_value request, tn_http_handler handler, void *user, uint64_t *exchange) {
    struct plugin *plugin;
    int32_t status;
    struct http *http = http_of(self, &plugin, &status);
    if (status != TN_OK) return status;
    if (interface_http_elsewhere) return interface_http_elsewhere->send(self, request, handler, user, exchange);
    return http_send(http, plugin, request, handler, user, exchange);
}

static int32_t pause(const void *self, uint64_t exchange) {
    struct plugin *plugin;
    int32_t status;
    struct http *http = http_of(self, &plugin, &status);
    if (status != TN_OK) return status;
    if (interface_http_elsewhere) return interface_http_elsewhere->pause(self, exchange);
    return http_pause(http, plugin, exchange);
}

static int32_t resume(const void *self, uint64_t exchange) {
    struct plugin *plugin;
    int32_t status;
    struct http *http = http_of(self, &plugin, &status);
    if (status != TN_OK) return status;
    if (interface_http_elsewhere) return interface_http_elsewhere->resume(self, exchange);
    return http_resume(http, plugin, exchange);
}

static int32_t cancel(const void *self, uint64_t exchange) {
    struct plugin *plugin;
    int32_t status;
    struct http *http = http_of(self, &plugin, &status);
    if (status != TN_OK) return status;
    if (interface_http_elsewhere) return interface_http_elsewhere->cancel(self, exchange);
    return http_cancel(http, plugin, exchange);
}

void interface_http_ended(struct plugin *plugin) {
    struct host *host = registry_user(plugin_registry(plugin));
    if (host) http_plugin_ended(host->http, plugin);
}

/* ---- Waiting ---- */

/* A callable for one call. */
struct waited {
    struct callable callable; /* first */
    struct http *http;
    struct plugin *plugin;
    uint64_t exchange, token;
};

static void on_event(void *user, int32_t event, tn_value value) {
    struct waited *waited = user;
    if (event == TN_HTTP_END) {
        waited->exchange = 0;
        (void)call_complete(waited->token, value);
    } else if (event == TN_HTTP_FAILED) {
        struct error error = ERROR_INIT;
        waited->exchange = 0;
        error_from_value(&error, value);
        (void)call_fail(waited->token, &error);
        error_finish(&error);
    }
}

static int32_t wait_start(struct callable *callable, struct call *call, tn_value input) {
    struct waited *waited = (struct waited *)callable;
    tn_value request = input ? value_ref(input) : value_null();
    waited->token = call_token(call);
    /* There is nobody to give pieces to. */
    if (value_is(value_get(request, "receive"), TN_STRING))
        request = value_set_take(request, "receive", value_text("whole"));
    int32_t status = http_send(waited->http, waited->plugin, request, on_event, waited, &waited->exchange);
    value_unref(request);
    return status;
}

static void wait_cancel(struct callable *callable, struct call *call) {
    struct waited *waited = (struct waited *)callable;
    (void)http_cancel(waited->http, waited->plugin, waited->exchange);
    (void)call_fail(call_token(call), NULL);
}

static void wait_free(struct callable *callable) { mem_free(callable); }

struct callable *interface_http_call(struct plugin *plugin) {
    static const struct callable_ops ops = {.start = wait_start, .cancel = wait_cancel, .free = wait_free};
    struct host *host = registry_user(plugin_registry(plugin));
    struct waited *waited = mem_zalloc(sizeof *waited);
    waited->callable = (struct callable){&ops, 1};
    waited->http = host->http;
    waited->plugin = plugin;
    return &waited->callable;
}

static int32_t send_wait(const void *self, tn_task task, tn_value request, tn_value *result) {
    struct view view;
    struct job *job;
    if (!plugin_of(self) || !request || !result) return TN_INVALID;
    int32_t status = view_open_to_wait(&view, task, &job);
    if (status != TN_OK) return status;
    struct callable *call = interface_http_elsewhere ? interface_state_elsewhere(INTERFACE_HTTP_SEND)
                                                     : interface_http_call(view.instance->component->plugin);
    status = view_wait(job, call, false, request, result);
    callable_unref(call);
    return status;
}

const tn_http_draft interface_http = {sizeof(tn_http_draft), 0, send, pause, resume, cancel, send_wait};
