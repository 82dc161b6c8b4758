/*
 * remote_server.c - the host's side of tenon.server for an isolated plugin: its routes, and the requests that they get.
 *
 * The effects of the manifest and the limits of server/web apply as if the plugin ran in this process. Only routes of
 * the shared process count. They end with the process, and its requests with them; it is started again, and then adds
 * them again. Parts of bodies and messages are forwarded while the child has credit. What the child writes is
 * acknowledged when the client has room, so the child knows when to wait.
 *
 * A route is the `user` of the host's handler, so it stays until its last request is closed.
 */
#include "adl/value/memory.h"
#include "host/base/log.h"
#include "host/plugin/abi/abi_server.h"
#include "host/plugin/isolate/isolate_protocol.h"
#include "host/plugin/isolate/process.h"
#include "host/plugin/isolate/remote_internal.h"
#include "host/plugin/registry/plugin.h"
#include <string.h>

struct remote_route {
    struct remote_route *next;  /* of the remote */
    struct remote_child *child; /* NULL: it has ended; requests get 503 until the next one has added the route again */
    struct remote *remote;
    int64_t number; /* the child's */
    uint64_t token; /* number of tenon.server in this process */
    uint32_t open;  /* requests */
    tn_value value; /* the route: {method, path, …} */
};

struct remote_request {
    struct remote_request *next; /* in the same bucket */
    struct remote_route *route;
    uint64_t number;
    int64_t credit;  /* parts and messages that the child accepts */
    int64_t unacked; /* what it has written since the last acknowledgement */
    bool full;       /* the client has no room: nothing is acknowledged */
};

static const tn_server_draft *server_of(const struct remote *remote) { return remote->host->server; }

static struct remote_request **request_link(struct remote_child *child, uint64_t number) {
    struct remote_request **at = &child->requests[number % TASK_BUCKETS];
    while (*at && (*at)->number != number) at = &(*at)->next;
    return at;
}

static void request_free(struct remote_child *child, struct remote_request *request) {
    *request_link(child, request->number) = request->next;
    child->request_count--;
    mem_free(request);
}

static void route_free(struct remote_route *route) {
    struct remote_route **at = &route->remote->routes;
    while (*at != route) at = &(*at)->next;
    *at = route->next;
    value_unref(route->value);
    mem_free(route);
}

/* ---- Events for the child ---- */

static enum frame_fit request_notify(const struct remote_request *request, const char *event, tn_value value) {
    const struct remote_route *route = request->route;
    tn_value params = value_set_take(value_object_reserve(4), "request", value_int((int64_t)request->number));
    params = value_set_take(params, "event", value_text(event));
    if (strcmp(event, "request") == 0) params = value_set_take(params, "route", value_int(route->number));
    if (value) params = value_set_take(params, "value", value_ref(value));
    return process_notify_take(route->child->process, "server", params);
}

/* Ends a request that the child cannot answer any more. */
static void request_end(const struct remote *remote, uint64_t number) {
    const tn_host *host = plugin_host(remote->plugin);
    tn_value error = value_set_take(value_object_reserve(2), "code", value_text("UNAVAILABLE"));
    error = value_set_take(error, "message", value_text("the process of the plugin that serves this path has ended"));
    tn_value response = value_set_take(value_object_reserve(2), "status", value_int(503));
    response = value_set_take(response, "json", value_set_take(value_object_reserve(1), "error", error));
    if (server_of(remote)->respond(host, number, response) == TN_INVALID)
        (void)server_of(remote)->abort(host, number); /* there was a response */
    value_unref(response);
}

static struct remote_request *request_new(struct remote_route *route, uint64_t number) {
    struct remote_child *child = route->child;
    if (!child->requests) child->requests = mem_zalloc(TASK_BUCKETS * sizeof(struct remote_request *));
    struct remote_request **place = request_link(child, number), *request = mem_zalloc(sizeof *request);
    *request = (struct remote_request){.route = route, .number = number, .credit = PROTOCOL_EVENTS};
    child->request_count++;
    remote_watch_requests(child);
    return *place = request;
}

static void request_ack(struct remote_request *request, int64_t at_least) {
    if (request->full || request->unacked < at_least || request->unacked == 0) return;
    (void)request_notify(request, "taken", value_int(request->unacked));
    request->unacked = 0;
}

static void request_forward(struct remote_request *request, int32_t event, tn_value value) {
    static const char *const names[] = {
        [TN_SERVER_REQUEST] = "request", [TN_SERVER_BODY] = "body",   [TN_SERVER_BODY_END] = "body_end",
        [TN_SERVER_MESSAGE] = "message", [TN_SERVER_DRAIN] = "drain", [TN_SERVER_CLOSED] = "closed"};
    struct remote_child *child = request->route->child;
    const struct remote *remote = child->remote;
    uint64_t number = request->number;
    bool counts = event == TN_SERVER_BODY || event == TN_SERVER_MESSAGE;
    if (request_notify(request, names[event], value) != FRAME_FITS && event != TN_SERVER_CLOSED) {
        request_free(child, request);
        request_end(remote, number);
    } else if (counts && --request->credit == 0) {
        (void)server_of(remote)->flow(plugin_host(remote->plugin), number, 0);
    }
}

/* tn_server_handler of all routes. */
static void remote_route_handle(void *user, uint64_t number, int32_t event, tn_value value) {
    struct remote_route *route = user;
    struct remote_child *child = route->child;
    struct remote_request *request = NULL;
    if (event == TN_SERVER_REFUSED) return; /* the host does not wait for a process */
    if (event == TN_SERVER_REQUEST) {
        route->open++;
        if (child)
            request = request_new(route, number);
        else
            request_end(route->remote, number);
    } else if (child && child->requests) {
        request = *request_link(child, number);
    }
    if (request && event == TN_SERVER_ROOM) {
        request->full = false;
        request_ack(request, 1);
    } else if (request) {
        request_forward(request, event, value);
    }
    if (event != TN_SERVER_CLOSED) return;
    if (request) request_free(child, request);
    if (--route->open == 0 && !route->token) route_free(route);
}

/* ---- Routes ---- */

static struct remote_route *route_find(const struct remote_child *child, int64_t number) {
    struct remote_route *route = child->remote->routes;
    while (route && (route->child != child || route->number != number || !route->token)) route = route->next;
    return route;
}

static void route_end(struct remote_route *route) {
    (void)server_of(route->remote)->unroute(plugin_host(route->remote->plugin), route->token);
    route->token = 0;
    if (!route->open) route_free(route);
}

static bool member_is_same(tn_value a, tn_value b, const char *name) {
    tn_value of_a = value_get(a, name), of_b = value_get(b, name);
    return of_a && of_b && value_equal(of_a, of_b);
}

/* The route of a process that has ended leaves its place to that of the next one. */
static void route_end_old(struct remote *remote, tn_value value) {
    for (struct remote_route *route = remote->routes, *next; route; route = next) {
        next = route->next;
        if (!route->child && route->token && member_is_same(route->value, value, "method") &&
            member_is_same(route->value, value, "path"))
            route_end(route);
    }
}

static void route_add(struct remote_child *child, int64_t number, tn_value value) {
    struct remote *remote = child->remote;
    tn_value why = NULL, own = value ? value_ref(value) : value_null();
    if (!child->shared) { /* processes of the pool add the same ones */
        value_unref(own);
        return;
    }
    if (value_is(own, TN_OBJECT)) own = value_remove_take(own, value_text("refusals"));
    struct remote_route *route = mem_zalloc(sizeof *route);
    route_end_old(remote, own);
    *route = (struct remote_route){
        .next = remote->routes, .child = child, .remote = remote, .number = number, .value = value_ref(own)};
    remote->routes = route;
    remote->serves = true;
    int32_t status =
        server_of(remote)->route(plugin_host(remote->plugin), own, remote_route_handle, route, &route->token, &why);
    if (status != TN_OK) {
        tn_value message = value_get(why, "message");
        log_write(LOG_WARN, plugin_id(remote->plugin), "its route was refused: %s",
                  message ? value_chars(message, NULL) : "the host serves nothing");
        route->token = 0;
        route_free(route);
    }
    value_unref(why);
    value_unref(own);
}

/* ---- Messages of the child ---- */

/* A function that writes: FULL keeps the acknowledgement back. */
static void request_wrote(struct remote_request *request, int32_t status) {
    request->unacked++;
    if (status == TN_SERVER_FULL) request->full = true;
    if (status == TN_INVALID)
        log_write(LOG_WARN, plugin_id(request->route->remote->plugin), "it sent a malformed part of a response");
    request_ack(request, PROTOCOL_CREDIT);
}

static void request_credit(struct remote_child *child, struct remote_request *request, tn_value params) {
    int64_t more = remote_int_member(params, "events", 0);
    if (more < 1 || more > PROTOCOL_EVENTS - request->credit) {
        process_kill(child->process, "it sent more credit for the parts of a request than it had received");
        return;
    }
    bool paused = request->credit == 0;
    request->credit += more;
    if (paused) (void)server_of(child->remote)->flow(plugin_host(child->remote->plugin), request->number, 1);
}

static int32_t request_write(const struct remote *remote, uint64_t number, tn_value data) {
    size_t length;
    if (!data || !value_is(data, TN_BYTES)) return TN_INVALID;
    const void *bytes = value_data(data, &length);
    return server_of(remote)->write(plugin_host(remote->plugin), number, bytes, length);
}

static void request_call(struct remote_child *child, struct remote_request *request, const char *what,
                         tn_value params) {
    const struct remote *remote = child->remote;
    const tn_server_draft *server = server_of(remote);
    const tn_host *host = plugin_host(remote->plugin);
    tn_value value = value_get(params, "value");
    const char *text = value && value_is(value, TN_STRING) ? value_chars(value, NULL) : NULL;
    uint64_t number = request->number;
    if (strcmp(what, "respond") == 0)
        (void)server->respond(host, number, value);
    else if (strcmp(what, "write") == 0)
        request_wrote(request, request_write(remote, number, value));
    else if (strcmp(what, "event") == 0)
        request_wrote(request, server->event(host, number, value));
    else if (strcmp(what, "send") == 0)
        request_wrote(request, server->send(host, number, value));
    else if (strcmp(what, "finish") == 0)
        (void)server->finish(host, number);
    else if (strcmp(what, "abort") == 0)
        (void)server->abort(host, number);
    else if (strcmp(what, "accept") == 0)
        (void)server->accept(host, number, text);
    else if (strcmp(what, "close") == 0)
        (void)server->close(host, number, (int32_t)remote_int_member(params, "code", 1000), text);
    else if (strcmp(what, "credit") == 0)
        request_credit(child, request, params);
}

bool remote_server_on_message(struct remote_child *child, const char *method, tn_value message) {
    tn_value params = value_get(message, "params");
    if (strncmp(method, "server_", 7) != 0) return false;
    const char *what = method + 7;
    if (!server_of(child->remote)) return true;
    if (!plugin_may_use_drafts(child->remote->plugin)) {
        process_kill(child->process, "it used tenon.server, a draft that it may not use");
    } else if (strcmp(what, "route") == 0) {
        route_add(child, remote_int_member(params, "number", 0), value_get(params, "value"));
    } else if (strcmp(what, "unroute") == 0) {
        struct remote_route *route = route_find(child, remote_int_member(params, "number", 0));
        if (route) route_end(route);
    } else if (child->requests) {
        /* An unknown number: it was sent before the child learned of the end. */
        struct remote_request *request = *request_link(child, (uint64_t)remote_int_member(params, "request", 0));
        if (request) request_call(child, request, what, params);
    }
    return true;
}

void remote_server_end_all(struct remote_child *child) {
    struct remote *remote = child->remote;
    for (struct remote_route *route = remote->routes, *next; route; route = next) {
        next = route->next;
        if (route->child != child) continue;
        route->child = NULL;
        if (remote->closing && route->token) route_end(route);
    }
    for (uint32_t i = 0; child->requests && i < TASK_BUCKETS; i++)
        while (child->requests[i]) {
            uint64_t number = child->requests[i]->number;
            request_free(child, child->requests[i]);
            request_end(remote, number);
        }
    mem_free((void *)child->requests);
    child->requests = NULL;
}

void remote_server_free(struct remote *remote) {
    while (remote->routes) {
        struct remote_route *route = remote->routes;
        if (route->token) (void)server_of(remote)->unroute(plugin_host(remote->plugin), route->token);
        route_free(route);
    }
}
