/*
 * web_request.c - the table of requests, and the life of one: events of the provider come in, events of tenon.server go
 * out.
 *
 * Between the provider's REQUEST and its CLOSED a request exists. It is open, that is known to a plugin, between
 * TN_SERVER_REQUEST and TN_SERVER_CLOSED. A handler can end everything but the request itself, which only CLOSED frees:
 * so a request can be used after a handler has returned. CLOSED can come inside unlisten only (web_free).
 */
#include "adl/value/memory.h"
#include "host/base/container_of.h"
#include "host/plugin/abi/abi.h"
#include "host/plugin/registry/plugin.h"
#include "host/server/plugin_client.h"
#include "host/server/server.h"
#include "host/server/web/web_internal.h"
#include <string.h>

#define BUCKETS_FIRST 64u

/* ---- The table ---- */

static struct web_request **bucket_of(const struct web *web, uint64_t number) {
    return &web->buckets[number % web->bucket_count];
}

static void table_grow(struct web *web) {
    struct web_request **before = web->buckets;
    size_t count = web->bucket_count;
    web->bucket_count = count ? count * 2 : BUCKETS_FIRST;
    web->buckets = mem_zalloc(web->bucket_count * sizeof(struct web_request *));
    for (size_t i = 0; i < count; i++)
        while (before[i]) {
            struct web_request *request = before[i];
            before[i] = request->next;
            request->next = *bucket_of(web, request->number);
            *bucket_of(web, request->number) = request;
        }
    mem_free(before);
}

struct web_request *web_request_find(const struct web *web, uint64_t number) {
    struct web_request *request = web->bucket_count ? *bucket_of(web, number) : NULL;
    while (request && request->number != number) request = request->next;
    return request;
}

struct web_request *web_request_of(const struct web *web, const struct plugin *plugin, uint64_t number) {
    struct web_request *request = web_request_find(web, number);
    bool open =
        request && request->route && request->route->plugin == plugin && (request->handler || request->refusing);
    return open ? request : NULL;
}

static void request_on_later(struct loop_work *work);

static struct web_request *request_new(struct web *web, uint64_t number, tn_value head) {
    struct web_request *request = mem_zalloc(sizeof *request);
    if (web->open == web->bucket_count) table_grow(web);
    request->web = web;
    request->number = number;
    request->head = value_ref(head);
    request->client = web_proxies_open(&web->proxies, &request->head);
    request->started_us = loop_clock_us(web->loop);
    request->later.run = request_on_later;
    buffer_init(&request->body, WEB_BODY_MAX + 1);
    request->next = *bucket_of(web, number);
    *bucket_of(web, number) = request;
    web->open++;
    return request;
}

static void request_release_body(struct web_request *request) {
    request->web->bodies -= (int64_t)request->body.length;
    if (request->counted) key_use_remove_body(request->use, (int64_t)request->body.length);
    buffer_finish(&request->body);
    buffer_init(&request->body, WEB_BODY_MAX + 1);
}

static void streams_remove(struct web_request *request) {
    if (!request->stream_link) return;
    *request->stream_link = request->stream_next;
    if (request->stream_next) request->stream_next->stream_link = request->stream_link;
    request->stream_link = NULL;
}

static void request_free(struct web_request *request) {
    struct web *web = request->web;
    struct web_request **link = bucket_of(web, request->number);
    while (*link != request) link = &(*link)->next;
    *link = request->next;
    web->open--;
    streams_remove(request);
    request_release_body(request);
    web_waiting_end(request);
    buffer_finish(&request->body);
    loop_undefer(web->loop, &request->later);
    access_wait_cancel(request->wait);
    if (request->counted) key_use_end(request->use);
    web_proxies_close(&web->proxies, request->client);
    web_route_unref(request->route);
    value_unref(request->head);
    value_unref(request->event);
    value_unref(request->refusal);
    web_socket_forget_key(request);
    mem_free(request->key);
    mem_free(request->origin);
    value_unref(request->trace);
    value_unref(request->causes);
    mem_free(request);
}

/* ---- Events for plugins ---- */

void web_request_deliver(struct web_request *request, int32_t event, tn_value value) {
    if (!request->handler) return; /* it may have no route, too */
    const struct plugin *plugin = request->route->plugin;
    struct plugin_clients *clients = server_plugin_clients(request->web->server);
    void *before = interface_enter(plugin);
    tn_value outer = plugin_clients_set_trace(clients, request->causes);
    request->handler(request->route->user, request->number, event, value);
    (void)plugin_clients_set_trace(clients, outer);
    interface_leave(plugin, before);
}

/* Work that a function of tenon.server has left, because it must not call the handler. */
static void request_on_later(struct loop_work *work) {
    struct web_request *request = CONTAINER_OF(work, struct web_request, later);
    if (!request->web->draining || request->drained) return;
    request->drained = true;
    if (request->wait) { /* an authenticator may need longer than the drain */
        access_wait_cancel(request->wait);
        request->wait = NULL;
        web_refuse_drain(request);
        return;
    }
    web_request_deliver(request, TN_SERVER_DRAIN, NULL);
}

static void request_on_body(struct web_request *request, tn_value bytes) {
    struct web *web = request->web;
    size_t length = 0;
    const void *data = value_is(bytes, TN_BYTES) ? value_data(bytes, &length) : NULL;
    request->received += length;
    if (request->responded && !request->handler) return; /* it was refused */
    if (request->handler) {
        if (request->received > (uint64_t)request->limit)
            web_request_fail(request, "the body is larger than the route allows");
        else
            web_request_deliver(request, TN_SERVER_BODY, bytes);
    } else if (request->received > (uint64_t)request->limit) {
        request_release_body(request);
        web_refuse_format(request, 413, "BODY_TOO_LARGE", "the body is larger than %lld bytes, which the route allows",
                          (long long)request->limit);
    } else if (web->bodies + (int64_t)length > WEB_BODIES_MAX) {
        request_release_body(request);
        web_refuse_format(request, 503, "LIMIT", "the server receives too many large bodies; try again later");
    } else if (request->counted && !key_use_add_body(request->use, (int64_t)length, WEB_BODIES_MAX / 4 * 3)) {
        request_release_body(request);
        web_refuse_format(request, 429, "RATE_LIMITED",
                          "this key sends too many large bodies at once; try again later");
    } else {
        buffer_append(&request->body, data, length);
        web->bodies += (int64_t)length;
    }
}

static void request_on_body_end(struct web_request *request) {
    if (request->handler) {
        web_request_deliver(request, TN_SERVER_BODY_END, NULL);
    } else if (!request->responded) {
        bool taken = web_request_take_body(request);
        request_release_body(request);
        if (taken) web_request_open(request);
    }
}

/* ---- The end ---- */

static const char *request_reason(const struct web_request *request, tn_value closed) {
    tn_value reason = value_get(closed, "reason");
    if (reason && value_text_is(reason, "done")) return "done";
    if (request->reason) return request->reason;
    if (reason && (value_text_is(reason, "client") || value_text_is(reason, "limit"))) return value_chars(reason, NULL);
    return request->web->draining || request->web->ending ? "drain" : "error";
}

static const char *head_text(const struct web_request *request, const char *member) {
    tn_value text = value_get(request->head, member);
    return text && value_is(text, TN_STRING) ? value_chars(text, NULL) : NULL;
}

static void request_log(struct web_request *request, const char *reason, tn_value closed) {
    struct web *web = request->web;
    int64_t sent = 0;
    tn_value bytes = value_get(closed, "sent");
    if (bytes) (void)value_as_int(bytes, &sent);
    web_trace_end(request, reason, sent);
    web_log_write(web->log, &(struct web_log_line){.time_ms = loop_wall_ms(web->loop),
                                                   .us = loop_clock_us(web->loop) - request->started_us,
                                                   .id = request->id,
                                                   .address = head_text(request, "address"),
                                                   .key = request->key,
                                                   .method = head_text(request, "method"),
                                                   .route = request->route ? request->route->pattern : NULL,
                                                   .path = head_text(request, "path"),
                                                   .status = request->status,
                                                   .bytes_in = request->received,
                                                   .bytes_out = sent > 0 ? (uint64_t)sent : 0,
                                                   .code = request->code,
                                                   .reason = reason});
}

static void request_on_closed(struct web_request *request, tn_value closed) {
    const char *reason = request_reason(request, closed);
    request_log(request, reason, closed);
    streams_remove(request);
    if (request->handler) {
        tn_value value = value_set_take(value_object_reserve(1), "reason", value_text(reason));
        web_request_deliver(request, TN_SERVER_CLOSED, value);
        value_unref(value);
        request->handler = NULL;
    }
    request_free(request);
}

/* A request that the provider has answered itself. */
static void log_refused(struct web *web, tn_value refused) {
    int64_t status = 0;
    tn_value code = value_get(refused, "code"), number = value_get(refused, "status");
    tn_value address = value_get(refused, "address"), method = value_get(refused, "method");
    if (number) (void)value_as_int(number, &status);
    web_log_write(web->log, &(struct web_log_line){
                                .time_ms = loop_wall_ms(web->loop),
                                .address = address && value_is(address, TN_STRING) ? value_chars(address, NULL) : NULL,
                                .method = method && value_is(method, TN_STRING) ? value_chars(method, NULL) : NULL,
                                .status = (int)status,
                                .code = code && value_is(code, TN_STRING) ? value_chars(code, NULL) : NULL,
                                .reason = "protocol"});
}

/* ---- Events of the provider ---- */

static void request_begin(struct web *web, uint64_t number, tn_value head) {
    struct web_request *request = request_new(web, number, head);
    tn_value given = value_get(value_get(head, "headers"), "x-request-id");
    web_log_id(given && value_is(given, TN_STRING) ? value_chars(given, NULL) : NULL, request->id);
    if (web_request_check(request)) web_request_admit(request);
}

void web_request_admit(struct web_request *request) {
    const struct web *web = request->web;
    if (request->route->streams || request->length == 0) {
        web_request_open(request);
        if (request->length == 0 && request->route->streams && !request->responded)
            web_request_deliver(request, TN_SERVER_BODY_END, NULL);
        if (request->responded || request->length == 0) return;
    }
    /* A little more than what is allowed, so that this room sees it, and refuses it in the form of the protocol. */
    (void)web->provider.vtable->receive(web->provider.self, request->number,
                                        (uint64_t)request->limit + WEB_BODY_DEFAULT);
}

void web_on_http(void *user, uint64_t number, int32_t event, tn_value value) {
    struct web *web = user;
    struct web_request *request = event == TN_HTTP_SERVER_REQUEST ? NULL : web_request_find(web, number);
    if (event == TN_HTTP_SERVER_REFUSED) log_refused(web, value);
    if (event == TN_HTTP_SERVER_REQUEST && number && !web_request_find(web, number)) request_begin(web, number, value);
    if (!request) return;
    switch (event) {
    case TN_HTTP_SERVER_BODY: request_on_body(request, value); break;
    case TN_HTTP_SERVER_BODY_END: request_on_body_end(request); break;
    case TN_HTTP_SERVER_ROOM:
        web_note_room(request);
        web_request_deliver(request, TN_SERVER_ROOM, NULL);
        break;
    case TN_HTTP_SERVER_MESSAGE: web_request_deliver(request, TN_SERVER_MESSAGE, value); break;
    case TN_HTTP_SERVER_CLOSED: request_on_closed(request, value); break;
    default: break;
    }
}

/* ---- Ending requests ---- */

void web_request_abort(struct web_request *request, const char *reason) {
    const struct web_provider *provider = &request->web->provider;
    if (!request->reason) request->reason = reason;
    request->aborted = true;
    (void)provider->vtable->abort(provider->self, request->number);
}

void web_request_fail(struct web_request *request, const char *message) {
    if (request->responded || request->upgraded) {
        web_request_abort(request, "error");
        return;
    }
    request->handler = NULL;
    web_refuse_format(request, 500, "INTERNAL", "%s", message);
}

/* Calls `each` for every request. It must not free one. */
static void requests_each(struct web *web, void (*each)(struct web_request *request, const struct plugin *plugin),
                          const struct plugin *plugin) {
    for (size_t i = 0; i < web->bucket_count; i++)
        for (struct web_request *at = web->buckets[i]; at; at = at->next) each(at, plugin);
}

static void end_one(struct web_request *request, const struct plugin *plugin) {
    if (!request->route || !request->route->plugin || (plugin && request->route->plugin != plugin)) return;
    request->route->handler = NULL;
    if (!request->handler) return;
    request->handler = NULL; /* no function of the plugin is called any more */
    if (request->responded || request->upgraded)
        web_request_abort(request, "error");
    else
        web_refuse_format(request, 503, "UNAVAILABLE", "the plugin that serves this path has ended");
}

void web_requests_end(struct web *web, const struct plugin *plugin) { requests_each(web, end_one, plugin); }

static void drain_one(struct web_request *request, const struct plugin *plugin) {
    (void)plugin;
    loop_defer(request->web->loop, &request->later);
}

void web_requests_drain(struct web *web) { requests_each(web, drain_one, NULL); }

void web_requests_free(struct web *web) {
    for (size_t i = 0; i < web->bucket_count; i++)
        while (web->buckets[i]) request_on_closed(web->buckets[i], NULL);
    mem_free(web->buckets);
    web->buckets = NULL;
    web->bucket_count = 0;
}
