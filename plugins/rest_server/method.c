/*
 * method.c - a method as a resource: POST /api/FAMILY/METHOD with its parameters as the body, and GET with a query for
 * methods that only read.
 */
#include "rest_server.h"
#include <stdio.h>

#define METHOD_NAME_MAX 128u

/* "thread/list"; false if the path cannot be a method's. */
static bool method_name(const struct exchange *exchange, char name[METHOD_NAME_MAX]) {
    int length = snprintf(name, METHOD_NAME_MAX, "%s/%s", exchange_param(exchange, "family"),
                          exchange_param(exchange, "method"));
    return length > 0 && length < (int)METHOD_NAME_MAX;
}

static void refuse_unknown(struct exchange *exchange) {
    exchange_refuse(exchange, 404, "NOT_FOUND", "there is no method `%.80s/%.80s`; GET /openapi.json lists them",
                    exchange_param(exchange, "family"), exchange_param(exchange, "method"));
}

static void TN_ABI on_result(void *user, int32_t status, tn_value value) {
    struct exchange *exchange = user;
    exchange->call = 0;
    if (status == TN_OK)
        exchange_reply(exchange, 200, tn_retain(value));
    else
        exchange_fail(exchange, value);
}

/* Takes `params`. */
static void method_start(struct exchange *exchange, const char *name, tn_value params) {
    tn_value error = exchange_call_take(exchange, name, params, on_result);
    if (error != NULL) exchange_fail(exchange, error);
    tn_release(error);
}

void method_post(struct exchange *exchange) {
    char name[METHOD_NAME_MAX];
    tn_value json = tn_get(exchange->request, "json");
    uint64_t length = 0;
    (void)tn.value->as_bytes(tn_get(exchange->request, "body"), &length);
    if (!method_name(exchange, name)) {
        refuse_unknown(exchange);
    } else if (rest_is_of_events(name)) {
        exchange_refuse(exchange, 404, "NOT_FOUND",
                        "`%s` needs a connection: open a WebSocket at /rpc, or GET /api/runs/{run_id}/events", name);
    } else if (json != NULL && tn.value->kind(json) != TN_OBJECT) {
        exchange_refuse(exchange, 400, "INVALID_INPUT", "the body is %s; expected an object with the parameters of %s",
                        tn_kind_name(json), name);
    } else if (json == NULL && length > 0) {
        exchange_refuse(exchange, 415, "INVALID_INPUT", "the body has no Content-Type: application/json");
    } else {
        method_start(exchange, name, json != NULL ? tn_retain(json) : tn_build("{}"));
    }
}

/* ---- GET ---- */

static void get_with_table(struct exchange *exchange) {
    char name[METHOD_NAME_MAX];
    tn_value table = exchange->rest->table;
    tn_value row = method_name(exchange, name) && !rest_is_of_events(name) ? openrpc_find(table, name) : NULL;
    if (row == NULL) {
        refuse_unknown(exchange);
    } else if (!query_is_flat(table, row)) {
        tn_value error = tn_build("{s:s, s:s, s:i}", "code", "UNSUPPORTED", "message",
                                  "this method is called with POST: it changes something, or its parameters do not fit "
                                  "into a query",
                                  "status", 405);
        exchange_respond(exchange, tn_build("{s:i, s:{s:s}, s:{s:V}}", "status", 405, "headers", "Allow", "POST",
                                            "json", "error", error));
    } else {
        method_start(exchange, name, query_params(table, row, tn_get(exchange->request, "query")));
    }
}

static void TN_ABI on_table(void *user, int32_t status, tn_value value) {
    struct exchange *exchange = user;
    exchange->call = 0;
    if (status != TN_OK) {
        exchange_fail(exchange, value);
        return;
    }
    tn_release(exchange->rest->table);
    exchange->rest->table = tn_retain(value);
    get_with_table(exchange);
}

/* The table does not change while the host runs, so it is asked for once. */
void method_get(struct exchange *exchange) {
    const struct serving *serving = &exchange->rest->serving;
    if (exchange->rest->table != NULL) {
        get_with_table(exchange);
        return;
    }
    if (serving->methods->request(tn.host, "host/methods", TN_Z, NULL, on_table, exchange, &exchange->call) == TN_OK)
        return;
    exchange->call = 0;
    exchange_refuse(exchange, 429, "LIMIT", "too many requests of this plugin are open; try again later");
}
