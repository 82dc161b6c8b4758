/*
 * serve_server.c - tenon.server in a child process: the host has the routes and the requests, and sends their events.
 *
 * Numbers of routes are those of this process, numbers of requests those of the host. The host acknowledges what was
 * written when the client has room; while too much is not acknowledged, writing returns TN_SERVER_FULL. With `flow`
 * off, no credit is returned, and parts of the body that still arrive are stored.
 */
#include "adl/value/memory.h"
#include "host/base/container_of.h"
#include "host/base/trace.h"
#include "host/plugin/isolate/serve_internal.h"
#include "host/plugin/registry/plugin.h"
#include <string.h>

struct served_route {
    struct served_route *next;
    int64_t number;
    tn_server_handler handler;
    void *user;
};

struct served_request {
    struct served_request *next; /* in the same bucket */
    int64_t number;
    tn_server_handler handler;
    void *user;
    tn_value trace;     /* context of what it causes, or NULL */
    tn_value pending;   /* events not delivered yet: an array of event, value, event, value, … */
    size_t first;       /* index of the first pending event that is not delivered */
    int64_t uncredited; /* parts and messages delivered since the last credit */
    int64_t unacked;    /* writes that the host has not acknowledged */
    bool off;           /* flow(…, 0) */
    bool responded, streams, finished, upgraded, full;
    struct loop_work work; /* delivers the pending events */
};

static struct served_request **request_link(int64_t number) {
    struct served_request **at = &server.requests[(uint64_t)number % TASK_BUCKETS];
    while (*at && (*at)->number != number) at = &(*at)->next;
    return at;
}

static void request_free(struct served_request *request) {
    *request_link(request->number) = request->next;
    loop_undefer(server.loop, &request->work);
    value_unref(request->pending);
    value_unref(request->trace);
    mem_free(request);
}

/* `value` is taken; it may be NULL. */
static enum frame_fit request_send_take(const struct served_request *request, const char *method, tn_value value) {
    tn_value params = value_set_take(value_object_reserve(3), "request", value_int(request->number));
    return serve_notify_take(method, value ? value_set_take(params, "value", value) : params);
}

/* ---- Delivering ---- */

tn_value serve_set_trace(tn_value trace) {
    tn_value before = server.trace;
    server.trace = trace;
    return before;
}

/* Only `closed` frees the request, which the handler cannot cause. */
static void request_call_handler(const struct served_request *request, int32_t event, tn_value value) {
    tn_value before = serve_set_trace(request->trace);
    request->handler(request->user, (uint64_t)request->number, event, value);
    (void)serve_set_trace(before);
}

static void request_deliver(struct served_request *request, int32_t event, tn_value value) {
    bool counts = event == TN_SERVER_BODY || event == TN_SERVER_MESSAGE;
    if (counts && ++request->uncredited >= PROTOCOL_EVENTS / 4) {
        tn_value params = value_set_take(value_object_reserve(2), "request", value_int(request->number));
        serve_notify_take("server_credit", value_set_take(params, "events", value_int(request->uncredited)));
        request->uncredited = 0;
    }
    request_call_handler(request, event, value);
}

static void request_deliver_pending(struct loop_work *work) {
    struct served_request *request = CONTAINER_OF(work, struct served_request, work);
    while (!request->off && request->first < value_count(request->pending)) {
        int32_t event = (int32_t)value_to_int(value_at(request->pending, request->first));
        tn_value value = value_ref(value_at(request->pending, request->first + 1));
        request->first += 2;
        if (request->first == value_count(request->pending)) {
            value_unref(request->pending);
            request->pending = value_array();
            request->first = 0;
        }
        request_deliver(request, event, event == TN_SERVER_BODY_END ? NULL : value);
        value_unref(value);
    }
}

static void request_queue(struct served_request *request, int32_t event, tn_value value) {
    if (!request->off && value_count(request->pending) == 0) {
        request_deliver(request, event, value);
        return;
    }
    request->pending = value_push_take(request->pending, value_int(event));
    request->pending = value_push_take(request->pending, value ? value_ref(value) : value_null());
    if (!request->off) loop_defer(server.loop, &request->work);
}

static void request_begin(int64_t number, int64_t route_number, tn_value value) {
    const struct served_route *route = server.routes;
    while (route && route->number != route_number) route = route->next;
    struct served_request *request = mem_zalloc(sizeof *request);
    *request =
        (struct served_request){.number = number, .pending = value_array(), .work = {.run = request_deliver_pending}};
    if (!route) { /* it was removed meanwhile */
        (void)request_send_take(request, "server_abort", NULL);
        mem_free(request);
        return;
    }
    request->handler = route->handler;
    request->user = route->user;
    request->trace = trace_of_headers(value_get(value, "headers"));
    *request_link(number) = request;
    request_call_handler(request, TN_SERVER_REQUEST, value);
}

static void request_on_taken(struct served_request *request, tn_value value) {
    request->unacked -= value && value_is(value, TN_INT) ? value_to_int(value) : 0;
    if (!request->full || request->unacked > PROTOCOL_EVENTS / 2) return;
    request->full = false;
    request_call_handler(request, TN_SERVER_ROOM, NULL);
}

void serve_on_server_event(tn_value params) {
    int64_t number = value_to_int(value_get(params, "request"));
    tn_value event = value_get(params, "event"), value = value_get(params, "value");
    if (value_text_is(event, "request")) {
        request_begin(number, value_to_int(value_get(params, "route")), value);
        return;
    }
    struct served_request *request = *request_link(number);
    if (!request) return;
    if (value_text_is(event, "taken"))
        request_on_taken(request, value);
    else if (value_text_is(event, "body"))
        request_queue(request, TN_SERVER_BODY, value);
    else if (value_text_is(event, "body_end"))
        request_queue(request, TN_SERVER_BODY_END, NULL);
    else if (value_text_is(event, "message"))
        request_queue(request, TN_SERVER_MESSAGE, value);
    else if (value_text_is(event, "drain"))
        request_call_handler(request, TN_SERVER_DRAIN, NULL);
    else if (value_text_is(event, "closed")) {
        tn_server_handler handler = request->handler;
        void *user = request->user;
        tn_value trace = value_ref(request->trace), before = serve_set_trace(trace);
        request_free(request);
        handler(user, (uint64_t)number, TN_SERVER_CLOSED, value);
        (void)serve_set_trace(before);
        value_unref(trace);
    }
}

void serve_discard_server(void) {
    for (uint32_t i = 0; i < TASK_BUCKETS; i++)
        while (server.requests[i]) request_free(server.requests[i]);
    while (server.routes) {
        struct served_route *route = server.routes;
        server.routes = route->next;
        mem_free(route);
    }
}

/* ---- The interface ---- */

static int32_t check_serves(const tn_host *self) {
    int32_t status = serve_check_loop(self);
    return status == TN_OK && !server.serves ? TN_UNSUPPORTED : status;
}

static int32_t serve_server_route(const tn_host *self, tn_value value, tn_server_handler handler, void *user,
                                  uint64_t *number, tn_value *error) {
    int32_t status = check_serves(self);
    (void)error;
    if (status != TN_OK) return status;
    if (!value || !handler || !number) return TN_INVALID;
    if (server.route_count == TN_SERVER_ROUTES_MAX) return TN_LIMIT;
    struct served_route *route = mem_zalloc(sizeof *route);
    *route = (struct served_route){server.routes, ++server.last_route, handler, user};
    server.routes = route;
    server.route_count++;
    *number = (uint64_t)route->number;
    tn_value params = value_set_take(value_object_reserve(2), "number", value_int(route->number));
    (void)serve_notify_take("server_route", value_set_take(params, "value", value_ref(value)));
    return TN_OK;
}

static int32_t serve_server_unroute(const tn_host *self, uint64_t number) {
    int32_t status = check_serves(self);
    struct served_route **at = &server.routes;
    if (status != TN_OK) return status;
    while (*at && (uint64_t)(*at)->number != number) at = &(*at)->next;
    struct served_route *route = *at;
    if (!route) return TN_STALE;
    *at = route->next;
    server.route_count--;
    serve_notify_take("server_unroute", value_set_take(value_object_reserve(1), "number", value_int(route->number)));
    mem_free(route);
    return TN_OK;
}

/* TN_OK with *out; TN_STALE: it has ended. */
static int32_t request_lookup(const tn_host *self, uint64_t number, struct served_request **out) {
    int32_t status = check_serves(self);
    if (status != TN_OK) return status;
    *out = number <= INT64_MAX ? *request_link((int64_t)number) : NULL;
    return *out ? TN_OK : TN_STALE;
}

/* Sends what the plugin writes; TN_LIMIT if a message cannot have it. */
static int32_t request_write_take(struct served_request *request, const char *method, tn_value value) {
    if (request_send_take(request, method, value) != FRAME_FITS) return TN_LIMIT;
    if (++request->unacked >= PROTOCOL_EVENTS) request->full = true;
    return request->full ? TN_SERVER_FULL : TN_OK;
}

static int32_t serve_server_respond(const tn_host *self, uint64_t number, tn_value response) {
    struct served_request *request;
    int32_t status = request_lookup(self, number, &request);
    if (status != TN_OK) return status;
    if (!response || request->responded || request->upgraded) return TN_INVALID;
    request->responded = true;
    request->streams = value_get(response, "stream") != NULL;
    return request_send_take(request, "server_respond", value_ref(response)) == FRAME_FITS ? TN_OK : TN_LIMIT;
}

static int32_t serve_server_write(const tn_host *self, uint64_t number, const char *data, uint64_t length) {
    struct served_request *request;
    int32_t status = request_lookup(self, number, &request);
    if (status != TN_OK) return status;
    if ((!data && length) || !request->streams || request->finished) return TN_INVALID;
    return request_write_take(request, "server_write", value_bytes(data, length));
}

static int32_t serve_server_event(const tn_host *self, uint64_t number, tn_value event) {
    struct served_request *request;
    int32_t status = request_lookup(self, number, &request);
    if (status != TN_OK) return status;
    if (!value_is(event, TN_OBJECT) || !request->streams || request->finished) return TN_INVALID;
    return request_write_take(request, "server_event", value_ref(event));
}

static int32_t serve_server_finish(const tn_host *self, uint64_t number) {
    struct served_request *request;
    int32_t status = request_lookup(self, number, &request);
    if (status != TN_OK) return status;
    if (!request->streams || request->finished) return TN_INVALID;
    request->finished = true;
    (void)request_send_take(request, "server_finish", NULL);
    return TN_OK;
}

static int32_t serve_server_abort(const tn_host *self, uint64_t number) {
    struct served_request *request;
    int32_t status = request_lookup(self, number, &request);
    if (status == TN_OK) (void)request_send_take(request, "server_abort", NULL);
    return status;
}

static int32_t serve_server_flow(const tn_host *self, uint64_t number, int32_t on) {
    struct served_request *request;
    int32_t status = request_lookup(self, number, &request);
    if (status != TN_OK) return status;
    request->off = !on;
    if (on && value_count(request->pending)) loop_defer(server.loop, &request->work);
    return TN_OK;
}

static int32_t serve_server_accept(const tn_host *self, uint64_t number, const char *protocol) {
    struct served_request *request;
    int32_t status = request_lookup(self, number, &request);
    if (status != TN_OK) return status;
    if (request->responded || request->upgraded) return TN_INVALID;
    request->upgraded = true;
    (void)request_send_take(request, "server_accept", protocol ? value_string_lossy(protocol, strlen(protocol)) : NULL);
    return TN_OK;
}

static int32_t serve_server_send(const tn_host *self, uint64_t number, tn_value message) {
    struct served_request *request;
    int32_t status = request_lookup(self, number, &request);
    if (status != TN_OK) return status;
    if (!request->upgraded || request->finished || !(value_is(message, TN_STRING) || value_is(message, TN_BYTES)))
        return TN_INVALID;
    return request_write_take(request, "server_send", value_ref(message));
}

static int32_t serve_server_close(const tn_host *self, uint64_t number, int32_t code, const char *reason) {
    struct served_request *request;
    int32_t status = request_lookup(self, number, &request);
    if (status != TN_OK) return status;
    if (!request->upgraded || request->finished) return TN_INVALID;
    request->finished = true;
    tn_value params = value_set_take(value_object_reserve(3), "request", value_int(request->number));
    params = value_set_take(params, "code", value_int(code));
    if (reason) params = value_set_take(params, "value", value_string_lossy(reason, strlen(reason)));
    serve_notify_take("server_close", params);
    return TN_OK;
}

const tn_server_draft serve_server = {.size = sizeof(tn_server_draft),
                                      .route = serve_server_route,
                                      .unroute = serve_server_unroute,
                                      .respond = serve_server_respond,
                                      .write = serve_server_write,
                                      .event = serve_server_event,
                                      .finish = serve_server_finish,
                                      .abort = serve_server_abort,
                                      .flow = serve_server_flow,
                                      .accept = serve_server_accept,
                                      .send = serve_server_send,
                                      .close = serve_server_close,
                                      .request_as = serve_host_request_as,
                                      .subscribe_as = serve_host_subscribe_as};
