/*
 * document.c - GET /openrpc.json and /openapi.json: what the key may call, made from the host's table on each request.
 */
#include "rest_server.h"

/* The object without the member; takes it. */
static tn_value without_take(tn_value object, const char *key) {
    if (object != NULL && tn_get(object, key) != NULL) (void)tn.value->remove(&object, key, TN_Z);
    return object;
}

static tn_value trim_params(tn_value params) {
    tn_value kept = tn_build("[]");
    for (uint64_t i = 0, count = tn.value->count(params); i < count; i++)
        if (!serving_is(tn_get(tn.value->at(params, i), "name"), "subscribe"))
            (void)tn_append_take(&kept, tn_retain(tn.value->at(params, i)));
    return kept;
}

static tn_value trim_row(tn_value row) {
    tn_value whole = tn_get(row, "x-tenon-params"), trimmed = tn_retain(row);
    if (!serving_is(tn_get(row, "name"), "run/start") && !serving_is(tn_get(row, "name"), "run/resume")) return trimmed;
    trimmed = tn_set_take(trimmed, "params", trim_params(tn_get(row, "params")));
    trimmed = without_take(trimmed, "examples"); /* they have the member */
    trimmed = tn_set_take(trimmed, "examples", tn_build("[]"));
    if (whole == NULL) return trimmed;
    tn_value properties = without_take(tn_retain(tn_get(whole, "properties")), "subscribe");
    return tn_set_take(trimmed, "x-tenon-params", tn_set_take(tn_retain(whole), "properties", properties));
}

tn_value openrpc_trim_take(tn_value document) {
    tn_value methods = tn_get(document, "methods"), trimmed = tn_build("[]");
    for (uint64_t i = 0, count = tn.value->count(methods); i < count; i++)
        (void)tn_append_take(&trimmed, trim_row(tn.value->at(methods, i)));
    return tn_set_take(document, "methods", trimmed);
}

static void TN_ABI on_openrpc(void *user, int32_t status, tn_value value) {
    struct exchange *exchange = user;
    exchange->call = 0;
    if (status == TN_OK)
        exchange_reply(exchange, 200, openrpc_trim_take(tn_retain(value)));
    else
        exchange_fail(exchange, value);
}

static void TN_ABI on_openapi(void *user, int32_t status, tn_value value) {
    struct exchange *exchange = user;
    exchange->call = 0;
    if (status != TN_OK) {
        exchange_fail(exchange, value);
        return;
    }
    tn_value document = openrpc_trim_take(tn_retain(value));
    exchange_reply(exchange, 200, openapi_build(document, tn_get_text(exchange->request, "origin", "/")));
    tn_release(document);
}

static void ask(struct exchange *exchange, tn_host_handler handler) {
    tn_value error = exchange_call_take(exchange, "host/methods", tn_build("{}"), handler);
    if (error != NULL) exchange_fail(exchange, error);
    tn_release(error);
}

void openrpc_get(struct exchange *exchange) { ask(exchange, on_openrpc); }

void openapi_get(struct exchange *exchange) { ask(exchange, on_openapi); }
