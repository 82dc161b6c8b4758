/*
 * rest_server.c - the plugin `tenon.rest_server`: routes, and the requests that are open.
 */
#include "rest_server.h"
#include <stdio.h>

TN_PLUGIN("tenon.rest_server", "0.1.0", "The method table over HTTP and WebSocket")

static struct rest *rest_state; /* between init and deinit */

#define JSON     "{\"body\": {\"max\": 33554432, \"types\": [\"application/json\"], \"optional\": true}}"
#define RPC      "{\"refusals\": true, \"body\": {\"max\": 33554432, \"types\": [\"application/json\"]}}"
#define SOCKET   "{\"websocket\": true}"
#define UPLOAD   "{\"body\": {\"max\": 1073741824, \"stream\": true, \"optional\": true}, \"expose\": [\"location\"]}"
#define DOWNLOAD "{\"expose\": [\"content-range\", \"accept-ranges\", \"etag\"]}"
#define PLAIN    "{}"
_Static_assert(BODY_MAX == 33554432 && UPLOAD_MAX == 1073741824, "the bodies of the routes");

static const struct route {
    const char *method, *path, *scope, *more;
    exchange_begin *begin;
} routes[] = {
    {"POST", "/rpc", "read", RPC, rpc_post},
    {"GET", "/rpc", "read", SOCKET, socket_get},
    {"POST", "/api/{family}/{method}", "read", JSON, method_post},
    {"GET", "/api/{family}/{method}", "read", PLAIN, method_get},
    {"GET", "/api/runs/{run_id}/events", "read", PLAIN, events_get},
    {"PUT", "/api/artifacts/{name}", "run", UPLOAD, upload_put},
    {"GET", "/api/artifacts/{id}/body", "read", DOWNLOAD, download_get},
    {"GET", "/openapi.json", "read", PLAIN, openapi_get},
    {"GET", "/openrpc.json", "read", PLAIN, openrpc_get},
};

/* ---- Exchanges ---- */

static struct exchange **exchange_at(struct rest *rest, uint64_t number) {
    struct exchange **at = &rest->exchanges[number % (sizeof rest->exchanges / sizeof *rest->exchanges)];
    while (*at != NULL && (*at)->number != number) at = &(*at)->next;
    return at;
}

static void exchange_end(struct exchange *exchange) {
    if (exchange->call != 0) (void)exchange->rest->serving.methods->cancel(tn.host, exchange->call);
    if (exchange->on_event != NULL) exchange->on_event(exchange, TN_SERVER_CLOSED, NULL);
    tn_release(exchange->request);
    serving_free(exchange);
}

static struct exchange *exchange_new(struct rest *rest, uint64_t number, tn_value request) {
    struct exchange *exchange = serving_alloc(sizeof *exchange);
    if (exchange == NULL) return NULL;
    *exchange = (struct exchange){.rest = rest, .number = number};
    exchange->caller = serving_caller(request);
    exchange->request = tn_retain(request);
    return exchange;
}

void exchange_abort(struct exchange *exchange) {
    exchange->responded = true;
    (void)exchange->rest->serving.server->abort(tn.host, exchange->number);
}

void exchange_respond(struct exchange *exchange, tn_value response) {
    exchange->responded = true;
    if (response != NULL)
        (void)exchange->rest->serving.server->respond(tn.host, exchange->number, response);
    else
        exchange_abort(exchange);
    tn_release(response);
}

void exchange_reply(struct exchange *exchange, int32_t status, tn_value json) {
    exchange_respond(exchange, tn_build("{s:i, s:V}", "status", (int)status, "json", json));
}

void exchange_fail(struct exchange *exchange, tn_value error) {
    int32_t status = serving_error_status(error);
    tn_value shown = tn_set_take(tn_retain(error), "status", tn_int(status));
    exchange_reply(exchange, status, tn_build("{s:V}", "error", shown));
}

void exchange_refuse(struct exchange *exchange, int32_t status, const char *code, const char *format, ...) {
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    tn_value message = tn_text_lossy(text, strlen(text));
    exchange_reply(exchange, status,
                   tn_build("{s:{s:s, s:V, s:i}}", "error", "code", code, "message", message, "status", (int)status));
}

const char *exchange_param(const struct exchange *exchange, const char *name) {
    return tn_get_text(tn_get(exchange->request, "params"), name, "");
}

const char *exchange_header(const struct exchange *exchange, const char *name) {
    return tn_get_text(tn_get(exchange->request, "headers"), name, NULL);
}

/* ---- Calls ---- */

bool rest_is_of_events(const char *method) {
    return strncmp(method, "event/", 6) == 0 || strcmp(method, "run/subscribe") == 0;
}

tn_value rest_call_take(struct rest *rest, uint64_t caller, const char *method, tn_value params,
                        tn_host_handler handler, void *user, uint64_t *number) {
    int32_t status = params == NULL ? TN_NO_MEMORY
                                    : rest->serving.server->request_as(tn.host, caller, method, strlen(method), params,
                                                                       handler, user, number);
    tn_release(params);
    if (status == TN_OK) return NULL;
    *number = 0;
    if (status == TN_NOT_FOUND) {
        struct tn_text_buffer text = TN_TEXT_BUFFER(512);
        (void)tn_text_append_format(&text, "there is no method `%.80s`; GET /openapi.json lists them", method);
        tn_value message = tn_text_lossy(tn_text_chars(&text), strlen(tn_text_chars(&text)));
        tn_text_free(&text);
        return tn_build("{s:s, s:V}", "code", "NOT_FOUND", "message", message);
    }
    if (status == TN_LIMIT) return tn_error("LIMIT", "this key has too many open requests; try again later");
    if (status == TN_STALE) return tn_error("PERMISSION_DENIED", "the key is not valid any more");
    if (status == TN_UNSUPPORTED) return tn_error("UNSUPPORTED", "the host has no methods");
    return tn_error("NO_MEMORY", "memory ran out");
}

tn_value exchange_call_take(struct exchange *exchange, const char *method, tn_value params, tn_host_handler handler) {
    return rest_call_take(exchange->rest, exchange->caller, method, params, handler, exchange, &exchange->call);
}

/* ---- Events of requests ---- */

/* Only the routes of JSON-RPC: others have the words of the host. */
static void refuse(uint64_t request, tn_value value) {
    const char *text = tn_get_text(value, "message", "the request was refused");
    int64_t status = tn_get_int(value, "status", 500);
    bool malformed = status == 400 && tn_get(value, "json") == NULL;
    tn_value id = tn_get(tn_get(value, "json"), "id");
    int32_t kind = id != NULL ? tn.value->kind(id) : TN_NULL;
    if (kind != TN_STRING && kind != TN_INT) id = NULL;
    tn_value data = tn_build("{s:s, s:s}", "code", tn_get_text(value, "code", "FAILED"), "message", text);
    tn_value body = rpc_error(id, malformed ? RPC_PARSE_ERROR : RPC_FAILED, text, data);
    tn_value response = tn_build("{s:I, s:V}", "status", status, "json", body);
    (void)rest_state->serving.server->respond(tn.host, request, response);
    tn_release(response);
    tn_release(data);
}

static void TN_ABI on_request(void *user, uint64_t number, int32_t event, tn_value value) {
    const struct route *route = user;
    struct rest *rest = rest_state;
    if (rest == NULL) return;
    if (event == TN_SERVER_REFUSED) {
        refuse(number, value);
        return;
    }
    struct exchange **at = exchange_at(rest, number), *exchange = *at;
    if (event == TN_SERVER_REQUEST && exchange == NULL) {
        exchange = *at = exchange_new(rest, number, value);
        if (exchange != NULL)
            route->begin(exchange);
        else
            (void)rest->serving.server->abort(tn.host, number);
        return;
    }
    if (exchange == NULL) return;
    if (event == TN_SERVER_CLOSED) {
        *at = exchange->next;
        exchange_end(exchange);
    } else if (exchange->on_event != NULL) {
        exchange->on_event(exchange, event, value);
    }
}

/* ---- The plugin ---- */

static int32_t TN_ABI init(void *self, tn_value config) {
    (void)self, (void)config;
    struct rest *rest = serving_alloc(sizeof *rest);
    if (rest == NULL) return TN_NO_MEMORY;
    if (!serving_open(&rest->serving)) {
        serving_free(rest);
        return TN_OK;
    }
    rest_state = rest;
    for (size_t i = 0; i < sizeof routes / sizeof *routes; i++) {
        const struct route *route = &routes[i];
        int32_t status = serving_route(&rest->serving, route->method, route->path, route->scope, route->more,
                                       on_request, (void *)(uintptr_t)route);
        if (status == TN_UNSUPPORTED) break; /* the host serves nothing */
    }
    return TN_OK;
}

static void TN_ABI deinit(void *self) {
    (void)self;
    struct rest *rest = rest_state;
    if (rest == NULL) return;
    for (size_t i = 0; i < sizeof rest->exchanges / sizeof *rest->exchanges; i++)
        while (rest->exchanges[i] != NULL) {
            struct exchange *exchange = rest->exchanges[i];
            rest->exchanges[i] = exchange->next;
            exchange_end(exchange);
        }
    rest_state = NULL;
    tn_release(rest->table);
    serving_free(rest);
}

TN_LIFECYCLE(init, NULL, deinit)
