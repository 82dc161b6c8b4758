/*
 * abi_server.c - tenon.server: checks the arguments, and passes the calls on to the room that serves (server/web).
 */
#include "host/plugin/abi/abi_server.h"
#include "adl/value/error.h"
#include "adl/value/memory.h"
#include "host/base/loop.h"
#include "host/plugin/abi/abi_name.h"
#include "host/plugin/registry/plugin.h"
#include "host/plugin/registry/registry.h"

static const struct route_source *route_source_of(const struct plugin *plugin) {
    return registry_owner(plugin_registry(plugin), TN_SERVER_DRAFT);
}

/* Returns NULL with *status: TN_INVALID, TN_WRONG_THREAD, or TN_UNSUPPORTED if the host serves nothing. */
static const struct route_source *server_lookup(const tn_host *self, struct plugin **plugin, int32_t *status) {
    *plugin = plugin_of(self);
    struct registry *registry = *plugin ? plugin_registry(*plugin) : NULL;
    struct loop *loop = registry ? registry_loop(registry) : NULL;
    *status = !loop ? TN_INVALID : loop_here(loop) ? TN_OK : TN_WRONG_THREAD;
    if (*status != TN_OK) return NULL;
    const struct route_source *source = route_source_of(*plugin);
    if (!source) *status = TN_UNSUPPORTED;
    return source;
}

static int32_t server_abi_route(const tn_host *self, tn_value route, tn_server_handler handler, void *user,
                                uint64_t *number, tn_value *error) {
    struct plugin *plugin;
    int32_t status;
    const struct route_source *source = server_lookup(self, &plugin, &status);
    if (!source) return status;
    if (!route || !handler || !number) return TN_INVALID;
    struct error why = ERROR_INIT;
    status = source->route(source->user, plugin, route, handler, user, number, &why);
    if (status != TN_OK && error) *error = error_to_value(&why);
    error_finish(&why);
    return status;
}

static int32_t server_abi_unroute(const tn_host *self, uint64_t number) {
    struct plugin *plugin;
    int32_t status;
    const struct route_source *source = server_lookup(self, &plugin, &status);
    return source ? source->unroute(source->user, plugin, number) : status;
}

static int32_t server_abi_respond(const tn_host *self, uint64_t request, tn_value response) {
    struct plugin *plugin;
    int32_t status;
    const struct route_source *source = server_lookup(self, &plugin, &status);
    return source ? source->respond(source->user, plugin, request, response) : status;
}

static int32_t server_abi_write(const tn_host *self, uint64_t request, const char *data, uint64_t length) {
    struct plugin *plugin;
    int32_t status;
    const struct route_source *source = server_lookup(self, &plugin, &status);
    if (!source) return status;
    if (!data && length) return TN_INVALID;
    return source->write(source->user, plugin, request, data, length);
}

static int32_t server_abi_event(const tn_host *self, uint64_t request, tn_value event) {
    struct plugin *plugin;
    int32_t status;
    const struct route_source *source = server_lookup(self, &plugin, &status);
    return source ? source->event(source->user, plugin, request, event) : status;
}

static int32_t server_abi_finish(const tn_host *self, uint64_t request) {
    struct plugin *plugin;
    int32_t status;
    const struct route_source *source = server_lookup(self, &plugin, &status);
    return source ? source->finish(source->user, plugin, request) : status;
}

static int32_t server_abi_abort(const tn_host *self, uint64_t request) {
    struct plugin *plugin;
    int32_t status;
    const struct route_source *source = server_lookup(self, &plugin, &status);
    return source ? source->abort(source->user, plugin, request) : status;
}

static int32_t server_abi_flow(const tn_host *self, uint64_t request, int32_t on) {
    struct plugin *plugin;
    int32_t status;
    const struct route_source *source = server_lookup(self, &plugin, &status);
    return source ? source->flow(source->user, plugin, request, on != 0) : status;
}

static int32_t server_abi_accept(const tn_host *self, uint64_t request, const char *protocol) {
    struct plugin *plugin;
    int32_t status;
    const struct route_source *source = server_lookup(self, &plugin, &status);
    return source ? source->accept(source->user, plugin, request, protocol) : status;
}

static int32_t server_abi_send(const tn_host *self, uint64_t request, tn_value message) {
    struct plugin *plugin;
    int32_t status;
    const struct route_source *source = server_lookup(self, &plugin, &status);
    return source ? source->send(source->user, plugin, request, message) : status;
}

static int32_t server_abi_close(const tn_host *self, uint64_t request, int32_t code, const char *reason) {
    struct plugin *plugin;
    int32_t status;
    const struct route_source *source = server_lookup(self, &plugin, &status);
    return source ? source->close(source->user, plugin, request, code, reason ? reason : "") : status;
}

static int32_t server_abi_request_as(const tn_host *self, uint64_t caller, const char *method, uint64_t length,
                                     tn_value params, tn_host_handler handler, void *user, uint64_t *request) {
    struct plugin *plugin;
    int32_t status;
    const struct route_source *source = server_lookup(self, &plugin, &status);
    if (!source) return status;
    if (!method || !handler || !request) return TN_INVALID;
    char *name = abi_name(method, length);
    status = source->request_as(source->user, plugin, caller, name, params, handler, user, request);
    mem_free(name);
    return status;
}

static int32_t server_abi_subscribe_as(const tn_host *self, uint64_t caller, tn_value params, tn_host_handler handler,
                                       void *user, uint64_t *subscription) {
    struct plugin *plugin;
    int32_t status;
    const struct route_source *source = server_lookup(self, &plugin, &status);
    if (!source) return status;
    if (!handler || !subscription) return TN_INVALID;
    return source->subscribe_as(source->user, plugin, caller, params, handler, user, subscription);
}

void interface_server_ended(struct plugin *plugin) {
    const struct route_source *source = route_source_of(plugin);
    if (source) source->ended(source->user, plugin);
}

const tn_server_draft interface_server = {.size = sizeof(tn_server_draft),
                                          .route = server_abi_route,
                                          .unroute = server_abi_unroute,
                                          .respond = server_abi_respond,
                                          .write = server_abi_write,
                                          .event = server_abi_event,
                                          .finish = server_abi_finish,
                                          .abort = server_abi_abort,
                                          .flow = server_abi_flow,
                                          .accept = server_abi_accept,
                                          .send = server_abi_send,
                                          .close = server_abi_close,
                                          .request_as = server_abi_request_as,
                                          .subscribe_as = server_abi_subscribe_as};
