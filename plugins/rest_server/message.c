/*
 * message.c - messages of JSON-RPC 2.0, with the numbers of the host's own connections.
 */
#include "rest_server.h"

tn_value rpc_result(tn_value id, tn_value result) {
    return tn_build("{s:s, s:v?, s:v?}", "jsonrpc", "2.0", "id", id, "result", result);
}

tn_value rpc_error(tn_value id, int number, const char *text, tn_value data) {
    tn_value message = tn_text_lossy(text, strlen(text));
    return tn_build("{s:s, s:v?, s:{s:i, s:V, s:v*}}", "jsonrpc", "2.0", "id", id, "error", "code", number, "message",
                    message, "data", data);
}

tn_value rpc_failure(tn_value id, tn_value error) {
    return rpc_error(id, RPC_FAILED, tn_get_text(error, "message", "the method failed"), error);
}

static bool is_id(tn_value id) {
    uint64_t length = 0;
    int32_t kind = tn.value->kind(id);
    if (kind == TN_STRING) (void)tn_chars(id, &length);
    return kind == TN_NULL || kind == TN_INT || kind == TN_DOUBLE || (kind == TN_STRING && length <= ID_MAX);
}

bool rpc_read(tn_value json, struct rpc_message *message, tn_value *error) {
    int32_t kind = json != NULL ? tn.value->kind(json) : TN_NULL;
    const char *wrong = NULL;
    *message = (struct rpc_message){.method = tn_get_text(json, "method", NULL), .params = tn_get(json, "params")};
    if (kind == TN_OBJECT) message->id = tn_get(json, "id");
    if (kind == TN_ARRAY)
        wrong = "batches are not supported: send each request as one message";
    else if (kind != TN_OBJECT)
        wrong = "the message is not an object; expected {jsonrpc, id, method, params}";
    else if (message->id != NULL && !is_id(message->id))
        wrong = "`id` is not a number, null, or a text of at most 256 bytes";
    else if (!serving_is(tn_get(json, "jsonrpc"), "2.0"))
        wrong = "`jsonrpc` is not \"2.0\"";
    else if (message->method == NULL)
        wrong = "`method` is not a text; expected the name of a method, such as \"host/info\"";
    if (wrong != NULL) {
        *error =
            rpc_error(message->id != NULL && is_id(message->id) ? message->id : NULL, RPC_INVALID_REQUEST, wrong, NULL);
        return false;
    }
    if (message->params == NULL || tn.value->kind(message->params) == TN_OBJECT) return true;
    *error = rpc_error(message->id, RPC_INVALID_PARAMS, "`params` is not an object; expected parameters by name", NULL);
    return false;
}
