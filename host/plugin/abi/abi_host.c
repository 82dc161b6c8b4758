/*
 * abi_host.c - tenon.host: calls of tasks become operations (abi_operation.h); everything else goes to the server.
 */
#include "host/plugin/abi/abi_host.h"
#include "adl/value/memory.h"
#include "host/base/loop.h"
#include "host/plugin/abi/abi_name.h"
#include "host/plugin/abi/abi_operation.h"
#include "host/plugin/registry/plugin.h"
#include "host/plugin/registry/registry.h"

static const struct method_source *host_source(const struct plugin *plugin) {
    return registry_owner(plugin_registry(plugin), TN_HOST_1);
}

/* ---- Calls of tasks ---- */

static int32_t host_make_call(const struct view *view, const char *name, struct callable **out) {
    const struct component *component = view_component(view);
    const struct method_source *source = host_source(component->plugin);
    return source ? source->make(component, name, out) : TN_UNSUPPORTED;
}

static int32_t host_abi_call(tn_task task, const char *method, uint64_t length, tn_value params, tn_value options,
                             tn_call_handler handler, void *user, tn_call *call) {
    const struct operation_use use = {task, method, length, params, options};
    return operation_invoke(host_make_call, &use, handler, user, call);
}

static int32_t host_abi_call_wait(tn_task task, const char *method, uint64_t length, tn_value params, tn_value options,
                                  tn_value *out, tn_value *error) {
    const struct operation_use use = {task, method, length, params, options};
    return operation_invoke_wait(host_make_call, &use, out, error);
}

/* ---- Requests and subscriptions ---- */

/* Returns NULL with *status: TN_INVALID, TN_WRONG_THREAD, or TN_UNSUPPORTED if the host has no server. */
static const struct method_source *host_lookup(const tn_host *self, struct plugin **plugin, int32_t *status) {
    *plugin = plugin_of(self);
    struct registry *registry = *plugin ? plugin_registry(*plugin) : NULL;
    struct loop *loop = registry ? registry_loop(registry) : NULL;
    *status = !loop ? TN_INVALID : loop_here(loop) ? TN_OK : TN_WRONG_THREAD;
    if (*status != TN_OK) return NULL;
    const struct method_source *source = host_source(*plugin);
    if (!source) *status = TN_UNSUPPORTED;
    return source;
}

static int32_t host_abi_request(const tn_host *self, const char *method, uint64_t length, tn_value params,
                                tn_host_handler handler, void *user, uint64_t *request) {
    struct plugin *plugin;
    int32_t status;
    const struct method_source *source = host_lookup(self, &plugin, &status);
    if (!source) return status;
    if (!method || !handler || !request) return TN_INVALID;
    char *name = abi_name(method, length);
    status = source->request(source->user, plugin, name, params, handler, user, request);
    mem_free(name);
    return status;
}

static int32_t host_abi_cancel(const tn_host *self, uint64_t request) {
    struct plugin *plugin;
    int32_t status;
    const struct method_source *source = host_lookup(self, &plugin, &status);
    return source ? source->cancel(source->user, plugin, request) : status;
}

static int32_t host_abi_subscribe(const tn_host *self, tn_value params, tn_host_handler handler, void *user,
                                  uint64_t *subscription) {
    struct plugin *plugin;
    int32_t status;
    const struct method_source *source = host_lookup(self, &plugin, &status);
    if (!source) return status;
    if (!handler || !subscription) return TN_INVALID;
    return source->subscribe(source->user, plugin, params, handler, user, subscription);
}

static int32_t host_pause(const tn_host *self, uint64_t subscription, bool paused) {
    struct plugin *plugin;
    int32_t status;
    const struct method_source *source = host_lookup(self, &plugin, &status);
    return source ? source->pause(source->user, plugin, subscription, paused) : status;
}

static int32_t host_abi_pause(const tn_host *self, uint64_t subscription) {
    return host_pause(self, subscription, true);
}

static int32_t host_abi_resume(const tn_host *self, uint64_t subscription) {
    return host_pause(self, subscription, false);
}

static int32_t host_abi_unsubscribe(const tn_host *self, uint64_t subscription) {
    struct plugin *plugin;
    int32_t status;
    const struct method_source *source = host_lookup(self, &plugin, &status);
    return source ? source->unsubscribe(source->user, plugin, subscription) : status;
}

void interface_host_ended(struct plugin *plugin) {
    const struct method_source *source = host_source(plugin);
    if (source) source->ended(source->user, plugin);
}

void interface_host_left(struct plugin *plugin) {
    const struct method_source *source = host_source(plugin);
    if (source) source->left(source->user, plugin);
}

int32_t interface_host_refuse_unknown(const struct plugin *plugin, const char *method, struct error *error) {
    return host_source(plugin)->refuse_unknown(method, error);
}

const tn_host_1 interface_host = {.size = sizeof(tn_host_1),
                                  .call = host_abi_call,
                                  .call_wait = host_abi_call_wait,
                                  .request = host_abi_request,
                                  .cancel = host_abi_cancel,
                                  .subscribe = host_abi_subscribe,
                                  .pause = host_abi_pause,
                                  .resume = host_abi_resume,
                                  .unsubscribe = host_abi_unsubscribe};
