/*
 * rpc_peer.c - reads and writes messages, and matches answers with requests.
 *
 *     a message received: has `method` and `id`  -> a request: delivered, or refused
 *                         has `method` only      -> a notification: delivered; cancellations are handled here
 *                         has `id` only          -> the answer to a request of ours
 *
 * Open requests of the client are in a list, and found by id only for a cancellation and for a repeated id. There are
 * at most PEER_REQUESTS_MAX of them.
 */
#include "host/server/rpc/rpc_peer.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/base/container_of.h"
#include "host/base/loop.h"
#include "host/server/rpc/rpc_budget.h"
#include "host/server/rpc/rpc_stream.h"
#include <stdarg.h>
#include <string.h>

struct peer_request {
    struct peer *peer; /* NULL: the peer was freed */
    struct peer_request *next, **link;
    tn_value id, method, params;
    size_t size; /* bytes of the message */
    void *data;
    void (*cancel)(struct peer_request *request);
    bool cancelled;
};

/* A request to the other side. */
struct peer_call {
    struct peer_call *next;
    uint64_t number;
    peer_done_fn *done;
    void *user;
};

struct peer {
    struct loop *loop;
    struct rpc_stream *stream;
    const struct peer_ops *ops;
    void *user;
    struct rpc_reader reader;
    struct peer_request *requests; /* open ones, the newest first */
    size_t request_count, requests_size;
    struct peer_call *calls;
    size_t call_count;
    uint64_t last_number;
    bool input_ended, closing;
    struct rpc_budget_member member;
    bool stuck;            /* a limit is reached: nothing more is sent, and the connection ends */
    bool over_budget;      /* the limit is that of the host */
    bool handling;         /* in peer_handle_input */
    struct loop_work more; /* continues to read messages that have arrived */
    struct loop_work lose; /* ends the connection that is stuck */
};

/* ---- Sending ---- */

bool peer_is_full(const struct peer *peer) { return rpc_stream_waiting(peer->stream) >= RPC_STREAM_FULL; }

/* The connection ends in a later turn, because a callback may be active. */
static void peer_get_stuck(struct peer *peer) {
    if (peer->stuck || peer->closing) return;
    peer->stuck = true;
    loop_defer(peer->loop, &peer->lose);
}

/* Takes the message. */
static void peer_send_take(struct peer *peer, tn_value message) {
    if (rpc_stream_waiting(peer->stream) >= PEER_WAITING_MAX) peer_get_stuck(peer);
    if (!peer->closing && !peer->stuck) {
        struct buffer text, framed;
        size_t before = rpc_stream_waiting(peer->stream);
        buffer_init(&text, SIZE_MAX);
        buffer_init(&framed, SIZE_MAX);
        json_write(&text, message, JSON_COMPACT);
        rpc_frame(&framed, peer->reader.framing, text.data, text.length);
        rpc_stream_write(peer->stream, framed.data, framed.length);
        buffer_finish(&text);
        buffer_finish(&framed);
        rpc_budget_grow(&peer->member, rpc_stream_waiting(peer->stream) - before);
    }
    value_unref(message);
}

static tn_value new_message(void) { return value_set_take(value_object_reserve(4), "jsonrpc", value_text("2.0")); }

/* Takes `data`, which may be NULL. A text that was cut may end inside a character. */
static tn_value error_object(int number, const char *text, tn_value data) {
    tn_value error = value_set_take(value_object_reserve(3), "code", value_int(number));
    error = value_set_take(error, "message", value_string_lossy(text, strlen(text)));
    return data ? value_set_take(error, "data", data) : error;
}

/* An answer to a message that has no request. `id` may be NULL. */
static void send_error(struct peer *peer, tn_value id, int number, const char *text, tn_value data) {
    tn_value message = value_set_take(new_message(), "id", id ? value_ref(id) : value_null());
    peer_send_take(peer, value_set_take(message, "error", error_object(number, text, data)));
}

void peer_notify_take(struct peer *peer, const char *method, tn_value params) {
    tn_value message = value_set_take(new_message(), "method", value_text(method));
    peer_send_take(peer, value_set_take(message, "params", params));
}

/* ---- Requests of the other side ---- */

const char *peer_request_method(const struct peer_request *request) { return value_chars(request->method, NULL); }
tn_value peer_request_params(const struct peer_request *request) { return request->params; }

void peer_request_drop_params(struct peer_request *request) {
    value_unref(request->params);
    request->params = value_null();
}

void *peer_request_data(const struct peer_request *request) { return request->data; }
size_t peer_open_requests(const struct peer *peer) { return peer->request_count; }

void peer_request_hold(struct peer_request *request, void *data, void (*cancel)(struct peer_request *request)) {
    request->data = data;
    request->cancel = cancel;
}

static void request_unlink(struct peer_request *request) {
    if (!request->peer) return;
    *request->link = request->next;
    if (request->next) request->next->link = request->link;
    request->peer->request_count--;
    request->peer->requests_size -= request->size;
    request->peer = NULL;
}

static void request_free(struct peer_request *request) {
    const struct peer *peer = request->peer;
    request_unlink(request);
    value_unref(request->id);
    value_unref(request->method);
    value_unref(request->params);
    mem_free(request);
    if (peer && peer->request_count == 0 && peer->ops->idle) peer->ops->idle(peer->user);
}

void peer_reply_take(struct peer_request *request, tn_value result) {
    if (request->peer) {
        tn_value message = value_set_take(new_message(), "id", value_ref(request->id));
        peer_send_take(request->peer, value_set_take(message, "result", value_ref(result)));
    }
    value_unref(result);
    request_free(request);
}

static void request_fail_take(struct peer_request *request, int number, const char *text, tn_value data) {
    if (request->peer)
        send_error(request->peer, request->id, number, text, data);
    else
        value_unref(data);
    request_free(request);
}

void peer_refuse(struct peer_request *request, int number, const char *format, ...) {
    struct buffer text;
    va_list args;
    buffer_init(&text, ERROR_MESSAGE_MAX);
    va_start(args, format);
    buffer_vformat(&text, format, args);
    va_end(args);
    request_fail_take(request, number, buffer_cstr(&text), NULL);
    buffer_finish(&text);
}

void peer_fail(struct peer_request *request, const struct error *error) {
    bool cancelled = error->code && strcmp(error->code, "CANCELLED") == 0;
    request_fail_take(request, cancelled ? RPC_CANCELLED : RPC_FAILED,
                      error->message ? error->message : "the call has failed", error_to_value(error));
}

static bool is_id(tn_value id) {
    size_t length;
    if (value_is(id, TN_INT)) return true;
    if (!value_is(id, TN_STRING)) return false;
    (void)value_chars(id, &length);
    return length <= PEER_ID_MAX;
}

static struct peer_request *find_request(struct peer *peer, tn_value id) {
    struct peer_request *request = peer->requests;
    while (request && !value_equal(request->id, id)) request = request->next;
    return request;
}

static void request_cancel(struct peer_request *request) {
    if (request->cancelled) return;
    request->cancelled = true;
    if (request->cancel) request->cancel(request);
}

static void receive_request(struct peer *peer, tn_value id, tn_value method, tn_value params, size_t size) {
    if (!is_id(id)) {
        send_error(peer, NULL, RPC_INVALID_REQUEST, "`id` must be an integer, or a text of at most 256 bytes", NULL);
        return;
    }
    if (peer->request_count == PEER_REQUESTS_MAX) {
        struct error error = ERROR_INIT;
        error_set(&error, TN_LIMIT, "LIMIT",
                  "%u requests of this connection are open, which is the limit; wait for answers", PEER_REQUESTS_MAX);
        send_error(peer, id, RPC_FAILED, error.message, error_to_value(&error));
        error_finish(&error);
        return;
    }
    if (find_request(peer, id)) {
        send_error(peer, id, RPC_INVALID_REQUEST, "a request with this id is still open", NULL);
        return;
    }
    struct peer_request *request = mem_zalloc(sizeof *request);
    request->peer = peer;
    request->id = value_ref(id);
    request->method = value_ref(method);
    request->params = params ? value_ref(params) : value_null();
    request->next = peer->requests;
    request->link = &peer->requests;
    if (request->next) request->next->link = &request->next;
    request->size = size;
    peer->requests = request;
    peer->request_count++;
    peer->requests_size += size;
    peer->ops->request(peer->user, request);
}

static void receive_notification(struct peer *peer, const char *method, tn_value params) {
    bool lsp = strcmp(method, "$/cancelRequest") == 0;
    if (!lsp && strcmp(method, "$/cancel_request") != 0) {
        peer->ops->notification(peer->user, method, params ? params : value_null());
        return;
    }
    tn_value id = value_get(params, lsp ? "id" : "requestId");
    struct peer_request *request = id ? find_request(peer, id) : NULL;
    if (request) request_cancel(request);
}

/* ---- Requests to the other side ---- */

static void call_end(struct peer_call *call, tn_value result, const struct error *error) {
    if (call->done) call->done(call->user, result, error);
    mem_free(call);
}

uint64_t peer_call_take(struct peer *peer, const char *method, tn_value params, peer_done_fn *done, void *user) {
    if (peer->closing || peer->input_ended || peer->call_count == PEER_REQUESTS_MAX) {
        struct error error = ERROR_INIT;
        if (peer->call_count == PEER_REQUESTS_MAX)
            error_set(&error, TN_LIMIT, "LIMIT", "%u requests to the client are open", PEER_REQUESTS_MAX);
        else
            error_set(&error, TN_CANCELLED, "CANCELLED", "the connection has ended");
        value_unref(params);
        if (done) done(user, NULL, &error);
        error_finish(&error);
        return 0;
    }
    struct peer_call *call = mem_zalloc(sizeof *call);
    *call = (struct peer_call){peer->calls, ++peer->last_number, done, user};
    peer->calls = call;
    peer->call_count++;
    uint64_t number = call->number;
    tn_value message = value_set_take(new_message(), "id", value_int((int64_t)number));
    message = value_set_take(message, "method", value_text(method));
    peer_send_take(peer, value_set_take(message, "params", params));
    return number;
}

static struct peer_call *take_call(struct peer *peer, int64_t number) {
    struct peer_call **link = &peer->calls;
    while (*link && (int64_t)(*link)->number != number) link = &(*link)->next;
    struct peer_call *call = *link;
    if (call) {
        *link = call->next;
        peer->call_count--;
    }
    return call;
}

void peer_cancel(struct peer *peer, uint64_t number) {
    const struct peer_call *call = peer->calls;
    while (call && call->number != number) call = call->next;
    if (!call) return;
    tn_value id = value_int((int64_t)number);
    peer_notify_take(peer, "$/cancelRequest", value_set_take(value_object_reserve(1), "id", id));
}

static void end_all_calls(struct peer *peer) {
    struct error error = ERROR_INIT;
    error_set(&error, TN_CANCELLED, "CANCELLED", "the connection has ended");
    while (peer->calls) {
        struct peer_call *call = peer->calls;
        peer->calls = call->next;
        peer->call_count--;
        call_end(call, NULL, &error);
    }
    error_finish(&error);
}

/* For an error that another program than a host has made. */
static const char *code_of_number(tn_value number) {
    switch (number && value_is(number, TN_INT) ? value_to_int(number) : 0) {
    case RPC_METHOD_NOT_FOUND: return "UNSUPPORTED";
    case RPC_INVALID_PARAMS: return "INVALID_INPUT";
    case RPC_CANCELLED: return "CANCELLED";
    default: return "FAILED";
    }
}

/* {code, message, data?} of the other side. */
static void read_error(tn_value object, struct error *error) {
    tn_value data = value_get(object, "data"), text = value_get(object, "message");
    tn_value code = data && value_is(data, TN_OBJECT) ? value_get(data, "code") : NULL;
    if (code && value_is(code, TN_STRING)) {
        error_from_value(error, data);
        return;
    }
    error_set(error, TN_FAILED, code_of_number(value_get(object, "code")), "%s",
              text && value_is(text, TN_STRING) ? value_chars(text, NULL) : "the other side has failed");
}

static void receive_answer(struct peer *peer, tn_value id, tn_value message) {
    struct peer_call *call = value_is(id, TN_INT) ? take_call(peer, value_to_int(id)) : NULL;
    tn_value failure = value_get(message, "error"), result = value_get(message, "result");
    if (!call) return; /* late, or not ours */
    if (failure && value_is(failure, TN_OBJECT)) {
        struct error error = ERROR_INIT;
        read_error(failure, &error);
        call_end(call, NULL, &error);
        error_finish(&error);
    } else {
        call_end(call, result ? result : value_null(), NULL);
    }
}

/* ---- Receiving ---- */

static void receive_message(struct peer *peer, tn_value message, size_t size) {
    tn_value id = value_get(message, "id"), method = value_get(message, "method");
    tn_value params = value_get(message, "params");
    bool named = method && value_is(method, TN_STRING);
    if (!value_is(message, TN_OBJECT)) {
        send_error(peer, NULL, RPC_INVALID_REQUEST,
                   value_is(message, TN_ARRAY) ? "batches are not supported; send each request as a message"
                                               : "a message must be an object",
                   NULL);
    } else if (!value_text_is(value_get(message, "jsonrpc"), "2.0") || (method && !named) ||
               (params && !value_is(params, TN_OBJECT) && !value_is(params, TN_ARRAY) && !value_is(params, TN_NULL))) {
        send_error(peer, id && is_id(id) ? id : NULL, RPC_INVALID_REQUEST,
                   "expected {\"jsonrpc\": \"2.0\", \"method\": TEXT, \"params\": OBJECT} of JSON-RPC 2.0", NULL);
    } else if (named && id) {
        receive_request(peer, id, method, params, size);
    } else if (named) {
        receive_notification(peer, value_chars(method, NULL), params);
    } else if (id) {
        receive_answer(peer, id, message);
    } else {
        send_error(peer, NULL, RPC_INVALID_REQUEST, "a message has neither `method` nor `id`", NULL);
    }
}

static void receive_text(struct peer *peer, const char *text, size_t length) {
    struct error error = ERROR_INIT;
    tn_value message;
    const struct json_limits limits = {.depth = PEER_DEPTH_MAX, .half_pairs = true};
    if (json_read(text, length, &limits, &message, &error) == TN_OK) {
        receive_message(peer, message, length);
        value_unref(message);
    } else {
        send_error(peer, NULL, RPC_PARSE_ERROR, error.message, NULL);
    }
    error_finish(&error);
}

static void peer_end_input(struct peer *peer, const struct error *why) {
    if (peer->input_ended) return;
    peer->input_ended = true;
    peer->ops->ended(peer->user, why);
    end_all_calls(peer);
}

static void peer_lose_frames(struct peer *peer, const struct error *error) {
    send_error(peer, NULL, RPC_PARSE_ERROR, error->message, NULL);
    rpc_stream_pause(peer->stream, true);
    peer_end_input(peer, error);
}

/* Also after the end of the input, while requests are open. */
static void peer_lose(struct loop_work *work) {
    struct peer *peer = CONTAINER_OF(work, struct peer, lose);
    struct error error = ERROR_INIT;
    if (peer->closing) return;
    if (peer->over_budget)
        error_set(
            &error, TN_LIMIT, "LIMIT",
            "all connections of the host hold too many bytes that are not read or not complete, and this one most");
    else
        error_set(&error, TN_LIMIT, "LIMIT", "the other side has not read %zu bytes, which is the limit",
                  PEER_WAITING_MAX);
    peer->input_ended = false;
    peer_end_input(peer, &error);
    error_finish(&error);
}

/* Handles what has arrived, until the output is full. */
static void peer_handle_input(struct loop_work *work) {
    struct peer *peer = CONTAINER_OF(work, struct peer, more);
    struct error error = ERROR_INIT;
    enum rpc_read result = RPC_READ_MORE;
    const char *text;
    size_t length;
    if (peer->handling || peer->closing) return;
    peer->handling = true;
    while (!peer->closing && !peer->input_ended && !peer->stuck && !peer_is_full(peer)) {
        result = rpc_reader_next(&peer->reader, &text, &length, &error);
        if (result != RPC_READ_MESSAGE) break;
        receive_text(peer, text, length);
    }
    peer->handling = false;
    if (result == RPC_READ_FAILED) peer_lose_frames(peer, &error);
    error_finish(&error);
    rpc_reader_rest(&peer->reader);
    if (!peer->closing && !peer->input_ended) rpc_stream_pause(peer->stream, peer_is_full(peer));
}

static void peer_on_data(void *user, const char *bytes, size_t length) {
    struct peer *peer = user;
    if (peer->stuck) return;
    rpc_reader_add(&peer->reader, bytes, length);
    rpc_budget_grow(&peer->member, length);
    peer_handle_input(&peer->more);
}

static void peer_on_drained(void *user) {
    struct peer *peer = user;
    loop_defer(peer->loop, &peer->more);
    if (peer->ops->drained) peer->ops->drained(peer->user);
}

static void peer_on_ended(void *user, const struct error *why) {
    struct peer *peer = user;
    if (!why && !peer->input_ended && rpc_reader_is_inside(&peer->reader))
        send_error(peer, NULL, RPC_PARSE_ERROR, "the input ends inside a message", NULL);
    peer_end_input(peer, why);
}

/* ---- The budget of the host ---- */

static size_t peer_size(struct rpc_budget_member *member) {
    const struct peer *peer = CONTAINER_OF(member, struct peer, member);
    return rpc_stream_waiting(peer->stream) + rpc_reader_held(&peer->reader) + peer->requests_size;
}

static void peer_exceed_budget(struct rpc_budget_member *member) {
    struct peer *peer = CONTAINER_OF(member, struct peer, member);
    peer->over_budget = true;
    rpc_stream_discard(peer->stream);
    peer_get_stuck(peer);
}

void peer_join(struct peer *peer, struct rpc_budget *budget) { rpc_budget_join(budget, &peer->member); }

/* ---- Life ---- */

static void peer_free(struct peer *peer) {
    rpc_budget_leave(&peer->member);
    loop_undefer(peer->loop, &peer->more);
    loop_undefer(peer->loop, &peer->lose);
    rpc_reader_finish(&peer->reader);
    mem_free(peer);
}

static void peer_on_closed(void *user) {
    struct peer *peer = user;
    peer->ops->closed(peer->user);
    peer_free(peer);
}

static const struct rpc_stream_ops peer_stream_ops = {
    .data = peer_on_data, .ended = peer_on_ended, .drained = peer_on_drained, .closed = peer_on_closed};

struct peer *peer_new(struct loop *loop, struct rpc_stream *stream, enum rpc_framing framing,
                      const struct peer_ops *ops, void *user) {
    struct peer *peer = mem_zalloc(sizeof *peer);
    peer->loop = loop;
    peer->stream = stream;
    peer->ops = ops;
    peer->user = user;
    peer->more.run = peer_handle_input;
    peer->lose.run = peer_lose;
    peer->member.size = peer_size;
    peer->member.end = peer_exceed_budget;
    rpc_reader_init(&peer->reader, framing, 0);
    rpc_stream_start(stream, &peer_stream_ops, peer);
    return peer;
}

void peer_close(struct peer *peer) {
    if (!peer || peer->closing) return;
    peer->input_ended = true;
    while (peer->requests) {
        struct peer_request *request = peer->requests;
        request_unlink(request);
        request_cancel(request);
    }
    end_all_calls(peer);
    peer->closing = true;
    rpc_stream_close(peer->stream);
}
