/*
 * http_abi.c - tenon.http: the interface for plugins, and send_wait for blocking tasks.
 *
 * send_wait is a child call of the task, as an operation of the state kernel is. So it is cancelled with the task, and
 * the journal keeps its result for a task that is resumed. For an isolated plugin the host sends the requests
 * (plugin/isolate).
 */
#include "host/net/http_abi.h"
#include "adl/value/memory.h"
#include "host/base/loop.h"
#include "host/net/http.h"
#include "host/plugin/abi/abi.h"
#include "host/plugin/abi/abi_view.h"
#include "host/plugin/call/call.h"
#include "host/plugin/call/worker.h"
#include "host/plugin/registry/plugin.h"
#include "host/plugin/registry/registry.h"

/* Returns NULL with *status if `self` is invalid (TN_INVALID) or this is not the loop's thread (TN_WRONG_THREAD). */
static struct http *http_abi_lookup(const tn_host *self, struct plugin **plugin, int32_t *status) {
    *plugin = plugin_of(self);
    struct registry *registry = *plugin ? plugin_registry(*plugin) : NULL;
    struct loop *loop = registry ? registry_loop(registry) : NULL;
    *status = !loop ? TN_INVALID : loop_here(loop) ? TN_OK : TN_WRONG_THREAD;
    return *status == TN_OK ? registry_owner(registry, TN_HTTP_1) : NULL;
}

static int32_t http_abi_send(const tn_host *self, tn_value request, tn_http_handler handler, void *user,
                             uint64_t *exchange) {
    struct plugin *plugin;
    int32_t status;
    struct http *http = http_abi_lookup(self, &plugin, &status);
    if (status != TN_OK) return status;
    return http_send(http, plugin, request, handler, user, exchange);
}

static int32_t http_abi_pause(const tn_host *self, uint64_t exchange) {
    struct plugin *plugin;
    int32_t status;
    struct http *http = http_abi_lookup(self, &plugin, &status);
    if (status != TN_OK) return status;
    return http_pause(http, plugin, exchange);
}

static int32_t http_abi_resume(const tn_host *self, uint64_t exchange) {
    struct plugin *plugin;
    int32_t status;
    struct http *http = http_abi_lookup(self, &plugin, &status);
    if (status != TN_OK) return status;
    return http_resume(http, plugin, exchange);
}

static int32_t http_abi_cancel(const tn_host *self, uint64_t exchange) {
    struct plugin *plugin;
    int32_t status;
    struct http *http = http_abi_lookup(self, &plugin, &status);
    if (status != TN_OK) return status;
    return http_cancel(http, plugin, exchange);
}

void interface_http_ended(struct plugin *plugin) {
    http_plugin_ended(registry_owner(plugin_registry(plugin), TN_HTTP_1), plugin);
}

/* ---- Waiting ---- */

/* The callable of one send_wait. */
struct http_wait {
    struct callable callable; /* first */
    struct http *http;
    struct plugin *plugin;
    uint64_t exchange, token;
};

static void http_wait_on_event(void *user, int32_t event, tn_value value) {
    struct http_wait *wait = user;
    if (event == TN_HTTP_END) {
        wait->exchange = 0;
        (void)call_complete(wait->token, value);
    } else if (event == TN_HTTP_FAILED) {
        struct error error = ERROR_INIT;
        wait->exchange = 0;
        error_from_value(&error, value);
        (void)call_fail(wait->token, &error);
        error_finish(&error);
    }
}

static int32_t http_wait_start(struct callable *callable, struct call *call, tn_value input) {
    struct http_wait *wait = (struct http_wait *)callable;
    tn_value request = input ? value_ref(input) : value_null();
    wait->token = call_token(call);
    /* A call has one result, so the response cannot be delivered in pieces. */
    if (value_is(value_get(request, "receive"), TN_STRING))
        request = value_set_take(request, "receive", value_text("whole"));
    int32_t status = http_send(wait->http, wait->plugin, request, http_wait_on_event, wait, &wait->exchange);
    value_unref(request);
    return status;
}

static void http_wait_cancel(struct callable *callable, struct call *call) {
    struct http_wait *wait = (struct http_wait *)callable;
    (void)http_cancel(wait->http, wait->plugin, wait->exchange);
    (void)call_fail(call_token(call), NULL);
}

static void http_wait_free(struct callable *callable) { mem_free(callable); }

struct callable *interface_http_call(struct plugin *plugin) {
    static const struct callable_ops ops = {
        .start = http_wait_start, .cancel = http_wait_cancel, .free = http_wait_free, .from_outside = true};
    struct http_wait *wait = mem_zalloc(sizeof *wait);
    wait->callable = (struct callable){&ops, 1};
    wait->http = registry_owner(plugin_registry(plugin), TN_HTTP_1);
    wait->plugin = plugin;
    return &wait->callable;
}

static int32_t http_abi_send_wait(const tn_host *self, tn_task task, tn_value request, tn_value *out, tn_value *error) {
    struct view view;
    struct job *job;
    if (!plugin_of(self) || !request || !out) return TN_INVALID;
    int32_t status = view_open_to_wait(&view, task, &job);
    if (status != TN_OK) return status;
    struct callable *call = interface_http_call(view_component(&view)->plugin);
    status = view_wait(job, call, false, NULL, request, out, error);
    callable_unref(call);
    return status;
}

const tn_http_1 interface_http = {.size = sizeof(tn_http_1),
                                  .send = http_abi_send,
                                  .pause = http_abi_pause,
                                  .resume = http_abi_resume,
                                  .cancel = http_abi_cancel,
                                  .send_wait = http_abi_send_wait};
