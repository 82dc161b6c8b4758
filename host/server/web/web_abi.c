/*
 * web_abi.c - tenon.server: finds the request or the caller of a call, and passes it on.
 */
#include "host/assembly/host.h"
#include "host/plugin/abi/abi_server.h"
#include "host/plugin/registry/plugin.h"
#include "host/server/plugin_client.h"
#include "host/server/server.h"
#include "host/server/web/web_internal.h"

static int32_t source_route(void *user, struct plugin *plugin, tn_value value, tn_server_handler handler,
                            void *handler_user, uint64_t *number, struct error *error) {
    struct web *web = user;
    struct web_route *route = web_routes_add(&web->routes, plugin, value, error);
    if (!route) return TN_FAILED;
    route->handler = handler;
    route->user = handler_user;
    *number = route->number;
    return TN_OK;
}

static int32_t source_unroute(void *user, struct plugin *plugin, uint64_t number) {
    struct web *web = user;
    struct web_route *route = web_routes_lookup(&web->routes, plugin, number);
    if (!route) return TN_STALE;
    route->handler = NULL; /* not even for a request whose body is still coming */
    web_routes_remove(&web->routes, route);
    return TN_OK;
}

static int32_t source_respond(void *user, struct plugin *plugin, uint64_t number, tn_value response) {
    struct web_request *request = web_request_of(user, plugin, number);
    return request ? web_respond(request, response) : TN_STALE;
}

/* A request that is being refused can only be responded to. */
static struct web_request *open_request(const struct web *web, const struct plugin *plugin, uint64_t number) {
    struct web_request *request = web_request_of(web, plugin, number);
    return request && !request->refusing ? request : NULL;
}

static int32_t source_write(void *user, struct plugin *plugin, uint64_t number, const char *data, size_t length) {
    struct web_request *request = open_request(user, plugin, number);
    return request ? web_write(request, data, length) : TN_STALE;
}

static int32_t source_event(void *user, struct plugin *plugin, uint64_t number, tn_value event) {
    struct web_request *request = open_request(user, plugin, number);
    return request ? web_event(request, event) : TN_STALE;
}

static int32_t source_finish(void *user, struct plugin *plugin, uint64_t number) {
    struct web_request *request = open_request(user, plugin, number);
    return request ? web_finish(request) : TN_STALE;
}

static int32_t source_abort(void *user, struct plugin *plugin, uint64_t number) {
    struct web_request *request = open_request(user, plugin, number);
    if (!request) return TN_STALE;
    web_request_abort(request, "error");
    return TN_OK;
}

static int32_t source_flow(void *user, struct plugin *plugin, uint64_t number, bool on) {
    struct web_request *request = open_request(user, plugin, number);
    return request ? web_flow(request, on) : TN_STALE;
}

static int32_t source_accept(void *user, struct plugin *plugin, uint64_t number, const char *protocol) {
    struct web_request *request = open_request(user, plugin, number);
    return request ? web_accept(request, protocol) : TN_STALE;
}

static int32_t source_send(void *user, struct plugin *plugin, uint64_t number, tn_value message) {
    struct web_request *request = open_request(user, plugin, number);
    return request ? web_send(request, message) : TN_STALE;
}

static int32_t source_close(void *user, struct plugin *plugin, uint64_t number, int32_t code, const char *reason) {
    struct web_request *request = open_request(user, plugin, number);
    return request ? web_close(request, code, reason) : TN_STALE;
}

static int32_t source_request_as(void *user, struct plugin *plugin, uint64_t number, const char *method,
                                 tn_value params, tn_host_handler handler, void *handler_user, uint64_t *request) {
    struct plugin_caller *caller = web_caller_find(user, plugin, number);
    return caller ? plugin_caller_request(caller, method, params, handler, handler_user, request) : TN_STALE;
}

static int32_t source_subscribe_as(void *user, struct plugin *plugin, uint64_t number, tn_value params,
                                   tn_host_handler handler, void *handler_user, uint64_t *subscription) {
    struct plugin_caller *caller = web_caller_find(user, plugin, number);
    return caller ? plugin_caller_subscribe(caller, params, handler, handler_user, subscription) : TN_STALE;
}

static void source_ended(void *user, struct plugin *plugin) {
    struct web *web = user;
    web_requests_end(web, plugin);
    web_routes_remove_all(&web->routes, plugin);
    web_callers_end(web, plugin);
}

void web_set_routes(struct web *web, bool on) {
    const struct route_source source = {.user = web,
                                        .route = source_route,
                                        .unroute = source_unroute,
                                        .respond = source_respond,
                                        .write = source_write,
                                        .event = source_event,
                                        .finish = source_finish,
                                        .abort = source_abort,
                                        .flow = source_flow,
                                        .accept = source_accept,
                                        .send = source_send,
                                        .close = source_close,
                                        .request_as = source_request_as,
                                        .subscribe_as = source_subscribe_as,
                                        .ended = source_ended};
    host_set_routes(server_host(web->server), on ? &source : NULL);
}
