/*
 * rpc.c - POST /rpc: one request of JSON-RPC, and its response. A notification has no effect, as on every connection of
 * the host.
 */
#include "rest_server.h"

static tn_value request_id(const struct exchange *exchange) { return tn_get(tn_get(exchange->request, "json"), "id"); }

static void TN_ABI on_result(void *user, int32_t status, tn_value value) {
    struct exchange *exchange = user;
    exchange->call = 0;
    exchange_reply(exchange, 200,
                   status == TN_OK ? rpc_result(request_id(exchange), value)
                                   : rpc_failure(request_id(exchange), value));
}

void rpc_post(struct exchange *exchange) {
    struct rpc_message message;
    tn_value error = NULL;
    if (!rpc_read(tn_get(exchange->request, "json"), &message, &error)) {
        exchange_reply(exchange, 400, error);
        return;
    }
    if (message.id == NULL) {
        exchange_respond(exchange, tn_build("{s:i}", "status", 204));
        return;
    }
    if (rest_is_of_events(message.method)) {
        error = tn_error("UNSUPPORTED", "events need a connection: open a WebSocket at this address");
        exchange_reply(exchange, 200, rpc_failure(message.id, error));
        tn_release(error);
        return;
    }
    tn_value params = message.params != NULL ? tn_retain(message.params) : tn_build("{}");
    error = exchange_call_take(exchange, message.method, params, on_result);
    if (error == NULL) return;
    bool unknown = serving_is(tn_get(error, "code"), "NOT_FOUND");
    exchange_reply(exchange, 200,
                   unknown ? rpc_error(message.id, RPC_METHOD_NOT_FOUND, tn_get_text(error, "message", ""), error)
                           : rpc_failure(message.id, error));
    tn_release(error);
}
