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

static const struct serving_row routes[] = {
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

void exchange_abort(struct exchange *exchange) {
    exchange->responded = true;
    (void)exchange->rest->serving.server->abort(tn.host, exchange->number);
}

void exchange_respond(struct exchange *exchange, tn_value response) {
    exchange->responded = true;
    serving_respond_take(&exchange->rest->serving, exchange->number, response);
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
static tn_value refusal(const struct serving_row *row, tn_value value) {
    (void)row;
    const char *text = tn_get_text(value, "message", "the request was refused");
    int64_t status = tn_get_int(value, "status", 500);
    bool malformed = status == 400 && tn_get(value, "json") == NULL;
    tn_value id = tn_get(tn_get(value, "json"), "id");
    int32_t kind = id != NULL ? tn.value->kind(id) : TN_NULL;
    if (kind != TN_STRING && kind != TN_INT) id = NULL;
    tn_value data = tn_build("{s:s, s:s}", "code", tn_get_text(value, "code", "FAILED"), "message", text);
    tn_value body = rpc_error(id, malformed ? RPC_PARSE_ERROR : RPC_FAILED, text, data);
    tn_value response = tn_build("{s:I, s:V}", "status", status, "json", body);
    tn_release(data);
    return response;
}

static void begin(void *plugin, struct exchange *exchange, const struct serving_row *row) {
    exchange->rest = plugin;
    row->begin(exchange);
}

static void on_event(struct exchange *exchange, int32_t event, tn_value value) {
    if (event == TN_SERVER_CLOSED && exchange->call != 0)
        (void)exchange->rest->serving.methods->cancel(tn.host, exchange->call);
    if (exchange->on_event != NULL) exchange->on_event(exchange, event, value);
}

static const struct serving_protocol protocol = {.size = sizeof(struct exchange),
                                                 .rows = routes,
                                                 .count = sizeof routes / sizeof *routes,
                                                 .begin = begin,
                                                 .event = on_event,
                                                 .refusal = refusal};

/* ---- The plugin ---- */

static void TN_ABI deinit(void *self) {
    (void)self;
    struct rest *rest = rest_state;
    if (rest == NULL) return;
    serving_exchanges_close(&rest->exchanges);
    rest_state = NULL;
    tn_release(rest->table);
    serving_free(rest);
}

static int32_t TN_ABI init(void *self, tn_value config) {
    (void)config;
    struct rest *rest = serving_alloc(sizeof *rest);
    if (rest == NULL) return TN_NO_MEMORY;
    if (!serving_open(&rest->serving)) {
        serving_free(rest);
        return TN_OK;
    }
    rest_state = rest;
    int32_t status = serving_exchanges_open(&rest->exchanges, &rest->serving, &protocol, rest);
    if (status != TN_OK) deinit(self);
    return status;
}

TN_LIFECYCLE(init, NULL, deinit)
