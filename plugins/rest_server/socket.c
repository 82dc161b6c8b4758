/*
 * socket.c - GET /rpc: JSON-RPC over a WebSocket, one message of text each way for each request, and notifications with
 * events. While the client does not read, nothing is read from it, and its subscriptions pause.
 */
#include "rest_server.h"

#define CLOSE_GOING_AWAY  1001
#define CLOSE_UNSUPPORTED 1003

struct socket_call {
    struct socket_call *next;
    struct socket *socket;
    tn_value id;
    uint64_t number;
};

void socket_send_take(struct socket *socket, tn_value message) {
    const tn_server_draft *server = socket->exchange->rest->serving.server;
    uint64_t number = socket->exchange->number;
    tn_value text = message != NULL ? tn_to_json(message) : NULL;
    tn_release(message);
    int32_t status = text != NULL ? server->send(tn.host, number, text) : TN_NO_MEMORY;
    tn_release(text);
    if (status == TN_NO_MEMORY) (void)server->abort(tn.host, number);
    if (status != TN_SERVER_FULL || socket->full) return;
    socket->full = true;
    (void)server->flow(tn.host, number, 0);
    subscriptions_flow(socket);
}

/* ---- Calls ---- */

static void call_free(struct socket_call *call) {
    struct socket_call **at = &call->socket->calls;
    while (*at != call) at = &(*at)->next;
    *at = call->next;
    call->socket->calls_open--;
    tn_release(call->id);
    serving_free(call);
}

/* A host that ends waits for the requests that are open, not for subscriptions: clients continue those by `seq`. */
static void close_when_idle(struct socket *socket) {
    if (socket->draining && socket->calls == NULL)
        (void)socket->exchange->rest->serving.server->close(tn.host, socket->exchange->number, CLOSE_GOING_AWAY,
                                                            "the host ends");
}

static void TN_ABI on_result(void *user, int32_t status, tn_value value) {
    struct socket_call *call = user;
    struct socket *socket = call->socket;
    tn_value answer = status == TN_OK ? rpc_result(call->id, value) : rpc_failure(call->id, value);
    call_free(call);
    socket_send_take(socket, answer);
    close_when_idle(socket);
}

static void refuse(struct socket *socket, tn_value id, const char *code, const char *text) {
    tn_value error = tn_error(code, text);
    socket_send_take(socket, rpc_failure(id, error));
    tn_release(error);
}

static void socket_request(struct socket *socket, const struct rpc_message *message) {
    struct socket_call *call = socket->calls_open < CALLS_MAX ? serving_alloc(sizeof *call) : NULL;
    if (call == NULL) {
        refuse(socket, message->id, "LIMIT", "256 requests of this connection are open; wait for their responses");
        return;
    }
    *call = (struct socket_call){.next = socket->calls, .socket = socket, .id = tn_retain(message->id)};
    socket->calls = call;
    socket->calls_open++;
    tn_value params = message->params != NULL ? tn_retain(message->params) : tn_build("{}");
    tn_value error = rest_call_take(socket->exchange->rest, socket->exchange->caller, message->method, params,
                                    on_result, call, &call->number);
    if (error == NULL) return;
    bool unknown = serving_is(tn_get(error, "code"), "NOT_FOUND");
    tn_value answer = unknown ? rpc_error(call->id, RPC_METHOD_NOT_FOUND, tn_get_text(error, "message", ""), error)
                              : rpc_failure(call->id, error);
    call_free(call);
    tn_release(error);
    socket_send_take(socket, answer);
}

/* $/cancelRequest {id}: the request ends with the code CANCELLED. What it has done stays. */
static void socket_cancel(struct socket *socket, tn_value id) {
    struct socket_call *call = socket->calls;
    while (call != NULL && (id == NULL || !tn.value->equal(call->id, id))) call = call->next;
    if (call == NULL) return;
    (void)socket->exchange->rest->serving.methods->cancel(tn.host, call->number);
    tn_value kept = tn_retain(call->id);
    call_free(call);
    refuse(socket, kept, "CANCELLED", "the request was cancelled");
    tn_release(kept);
    close_when_idle(socket);
}

/* ---- Messages ---- */

static void socket_message(struct socket *socket, tn_value value) {
    uint64_t length = 0;
    const char *chars = tn_chars(value, &length);
    struct rpc_message message;
    tn_value error = NULL;
    if (chars == NULL) {
        (void)socket->exchange->rest->serving.server->close(tn.host, socket->exchange->number, CLOSE_UNSUPPORTED,
                                                            "messages are JSON in frames of text");
        return;
    }
    tn_value json = tn_from_json(chars, length);
    if (json == NULL)
        socket_send_take(socket, rpc_error(NULL, RPC_PARSE_ERROR, "the message is not valid JSON", NULL));
    else if (!rpc_read(json, &message, &error))
        socket_send_take(socket, error);
    else if (message.id == NULL && strcmp(message.method, "$/cancelRequest") == 0)
        socket_cancel(socket, tn_get(message.params, "id"));
    else if (message.id != NULL && rest_is_of_events(message.method))
        subscription_request(socket, &message);
    else if (message.id != NULL)
        socket_request(socket, &message);
    tn_release(json);
}

static void socket_free(struct socket *socket) {
    while (socket->calls != NULL) {
        if (socket->calls->number != 0)
            (void)socket->exchange->rest->serving.methods->cancel(tn.host, socket->calls->number);
        call_free(socket->calls);
    }
    subscriptions_free(socket);
    serving_free(socket);
}

static void socket_event(struct exchange *exchange, int32_t event, tn_value value) {
    struct socket *socket = exchange->object;
    if (event == TN_SERVER_MESSAGE) {
        socket_message(socket, value);
    } else if (event == TN_SERVER_ROOM && socket->full) {
        socket->full = false;
        (void)exchange->rest->serving.server->flow(tn.host, exchange->number, 1);
        subscriptions_flow(socket);
    } else if (event == TN_SERVER_DRAIN) {
        socket->draining = true;
        close_when_idle(socket);
    } else if (event == TN_SERVER_CLOSED) {
        socket_free(socket);
    }
}

void socket_get(struct exchange *exchange) {
    struct socket *socket = serving_alloc(sizeof *socket);
    if (socket == NULL) {
        exchange_abort(exchange);
        return;
    }
    if (exchange->rest->serving.server->accept(tn.host, exchange->number, NULL) != TN_OK) {
        serving_free(socket);
        exchange_refuse(exchange, 400, "INVALID_INPUT",
                        "this is not the upgrade of a WebSocket; send one request of JSON-RPC with POST");
        return;
    }
    exchange->responded = true;
    socket->exchange = exchange;
    exchange->object = socket;
    exchange->on_event = socket_event;
}
