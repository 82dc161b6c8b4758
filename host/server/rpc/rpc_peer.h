/*
 * rpc_peer.h - one side of a JSON-RPC 2.0 connection: requests and notifications in both directions, over a stream.
 *
 *     struct peer *peer = peer_new(loop, stream, RPC_FRAMING_HEADERS, &ops, me);
 *     static void my_request(void *user, struct peer_request *request) {
 *         if (strcmp(peer_request_method(request), "ping") == 0) peer_reply_take(request, value_text("pong"));
 *         ...                                             // or later; each request is answered exactly once
 *     }
 *     peer_notify_take(peer, "progress", params);
 *     peer_close(peer);                                   // `closed` follows
 *
 * Requests are delivered in the order in which they arrive, and may be answered in any order. A request that the peer
 * cannot deliver is answered by it: malformed JSON (-32700), not a request or a repeated id (-32600), too many open
 * requests (-32000 with the code LIMIT). Half of a surrogate pair in a text is read as U+FFFD. Batches are refused with
 * -32600. A frame that cannot be found (rpc_framing.h) ends the connection, after an error with the id null. If the
 * input ends inside a message, such an error is sent, too, and then it is the end of the input.
 *
 * Memory is bounded: while RPC_STREAM_FULL bytes wait for the client to read, nothing is read from it, so a client that
 * floods the host or never reads only stops itself. The requests that are open then are still answered; a client that
 * lets PEER_WAITING_MAX bytes wait is disconnected. Notifications are the sender's own care: see peer_is_full. What all
 * peers of a host hold together is limited by peer_join.
 *
 * All functions are [loop].
 */
#ifndef TENON_HOST_SERVER_RPC_RPC_PEER_H
#define TENON_HOST_SERVER_RPC_RPC_PEER_H

#include "adl/value/error.h"
#include "adl/value/value.h"
#include "host/server/rpc/rpc_framing.h"
#include <stdbool.h>
#include <stdint.h>

struct loop;
struct peer;
struct peer_request;
struct rpc_budget;
struct rpc_stream;

#define PEER_REQUESTS_MAX 1024u /* open requests of the client; and open requests to it */
#define PEER_ID_MAX       256u  /* bytes of an id that is a text */
#define PEER_DEPTH_MAX    272u  /* nesting of a message: that of a value (JSON_DEPTH_MAX), and of what is around it */
#define PEER_WAITING_MAX  ((size_t)128 << 20) /* bytes that wait for the other side to read; more end the connection */

/* Error numbers of JSON-RPC and LSP. */
#define RPC_PARSE_ERROR      (-32700)
#define RPC_INVALID_REQUEST  (-32600)
#define RPC_METHOD_NOT_FOUND (-32601)
#define RPC_INVALID_PARAMS   (-32602)
#define RPC_INTERNAL_ERROR   (-32603)
#define RPC_FAILED           (-32000) /* an error of Tenon: data.code is its stable code */
#define RPC_NOT_INITIALIZED  (-32002)
#define RPC_CANCELLED        (-32800)

struct peer_ops {
    void (*request)(void *user, struct peer_request *request);
    void (*notification)(void *user, const char *method, tn_value params); /* params is borrowed; null if absent */
    void (*drained)(void *user);                                           /* peer_is_full became false; may be NULL */
    void (*idle)(void *user); /* the last open request was answered; may be NULL. It must not call peer_close */
    /*
     * Nothing more can be received: the input has ended (`why` is NULL), or the connection has failed. Called before
     * open requests to the other side end with CANCELLED, and once more if a limit ends the connection after the end of
     * the input. It may call peer_close.
     */
    void (*ended)(void *user, const struct error *why);
    void (*closed)(void *user); /* after peer_close: the last callback. The peer is freed when it returns. */
};

/* Takes the stream, and begins to read. `ops` must outlive the peer. */
struct peer *peer_new(struct loop *loop, struct rpc_stream *stream, enum rpc_framing framing,
                      const struct peer_ops *ops, void *user);
/*
 * What it holds counts for the budget from now on: bytes that wait, bytes of an incomplete message, and the messages of
 * open requests. If the peers of the budget hold too much, and this one most, it is disconnected (`ended` with LIMIT).
 */
void peer_join(struct peer *peer, struct rpc_budget *budget);
/* Sends what waits, then calls `closed`. Answers after that have no effect. Calls to the other side fail. */
void peer_close(struct peer *peer);

/* ---- Requests of the other side ---- */

const char *peer_request_method(const struct peer_request *request);
tn_value peer_request_params(const struct peer_request *request); /* borrowed; null if absent */
/* From now on its parameters are null: what is not needed does not use memory until the answer. */
void peer_request_drop_params(struct peer_request *request);
/* A pointer of the user, NULL at first: what answers the request. */
void *peer_request_data(const struct peer_request *request);
/*
 * `cancel` is called if the other side cancels the request ($/cancelRequest, $/cancel_request), or the connection is
 * closed before it is answered; the request must still be answered.
 */
void peer_request_hold(struct peer_request *request, void *data, void (*cancel)(struct peer_request *request));
/* Each ends the request. */
void peer_reply_take(struct peer_request *request, tn_value result);
void peer_refuse(struct peer_request *request, int number, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* RPC_FAILED, or RPC_CANCELLED for the code CANCELLED; `data` is {code, message, retryable, …}. */
void peer_fail(struct peer_request *request, const struct error *error);
size_t peer_open_requests(const struct peer *peer);

/* ---- Messages to the other side ---- */

/* No effect if the connection has failed or is closed. */
void peer_notify_take(struct peer *peer, const char *method, tn_value params);
/* True while the other side has not read RPC_STREAM_FULL bytes: send no more than necessary until `drained`. */
bool peer_is_full(const struct peer *peer);
/*
 * Sends a request. `done` is called once: with the result (borrowed), or with NULL and the error: that of the other
 * side (its `data.code`, or one for its number: UNSUPPORTED, INVALID_INPUT, CANCELLED, FAILED), LIMIT, or CANCELLED if
 * the connection ends. It may be called before peer_call_take returns. NULL: the answer is ignored. Returns a number
 * for peer_cancel, or 0.
 */
typedef void peer_done_fn(void *user, tn_value result, const struct error *error);
uint64_t peer_call_take(struct peer *peer, const char *method, tn_value params, peer_done_fn *done, void *user);
/* Asks the other side to cancel the request; `done` is called when it answers. No effect if it has. */
void peer_cancel(struct peer *peer, uint64_t number);

#endif
