/*
 * tenon/http_server.h - draft: what a plugin with an HTTP server provides to the host, which lists it in `provides`.
 *
 * The host serves tenon/server.h to other plugins: it finds the route of a request, checks the key, and keeps the
 * limits. The server of this interface owns the sockets: it listens, parses HTTP/1.1 strictly, frames WebSocket
 * messages, and encrypts. The bundled `serve` uses libmicrohttpd and wslay.
 *
 * listen: `options` are {address: TEXT, port (0: any free one), tls?: {certificate, key: PEM texts}, limits: {…},
 * trusted?: [TEXT, …]}. `trusted`: addresses and networks ("10.0.0.0/8") of proxies, to whose connections
 * connections_per_address does not apply.
 * Limits: connections, connections_per_address, headers_bytes (request line and headers), headers_ms (from the first
 * byte of a request to the end of its headers; a server may notice it up to a quarter later), idle_ms (a connection
 * without a request, or a body or a response of which no byte moves), body_bytes (of a body for which `receive` has no
 * limit), write_bytes (of a response that the client does not read: from there on `write` returns
 * TN_HTTP_SERVER_FULL), message_bytes (of a WebSocket message). Each is an integer, and present.
 *
 * A handler receives, for each request, in this order:
 *   TN_HTTP_SERVER_REQUEST   {method, target, path, query, headers, address, secure, body}: `target` is as received,
 *                            `path` and `query` are its parts, without changes; headers: {lower-case name: TEXT},
 *                            repeated ones joined by ", " (`cookie` by "; "); `address` of the client,
 *                            "127.0.0.1:4711"; secure: bool; `body`: its length, -1 if it is not known, 0 if there is
 *                            none. The host calls `receive`, or `respond` at once, which closes the connection after
 *                            the response if a body was not received
 *   TN_HTTP_SERVER_BODY      bytes: the next part of the body
 *   TN_HTTP_SERVER_BODY_END  NULL; not sent after `respond`
 *   TN_HTTP_SERVER_ROOM      NULL: after TN_HTTP_SERVER_FULL, less than half of write_bytes waits for the client
 *   TN_HTTP_SERVER_MESSAGE   TEXT or bytes: a WebSocket message, after `accept`
 *   TN_HTTP_SERVER_CLOSED    {reason, sent}: the last event. reason: "done" (the response was sent completely),
 *                            "client" (the client has closed, or the connection is lost), "limit", "protocol",
 *                            "closed" (by the host: `abort`, `close`, or the listener has ended). sent: bytes of the
 *                            response's body, or of messages
 *
 * A client that closes its sending side while it waits for a response counts as gone. A request that the server refuses
 * by itself (malformed, too large, too slow, too many connections) is reported as TN_HTTP_SERVER_REFUSED {status, code,
 * message, address, method?, target?} with the request 0, for the log: the server has answered it, or closed the
 * connection if it could not.
 */
#ifndef TENON_HTTP_SERVER_H
#define TENON_HTTP_SERVER_H

#include <tenon.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TN_HTTP_SERVER_REQUEST  1
#define TN_HTTP_SERVER_BODY     2
#define TN_HTTP_SERVER_BODY_END 3
#define TN_HTTP_SERVER_ROOM     4
#define TN_HTTP_SERVER_MESSAGE  5
#define TN_HTTP_SERVER_CLOSED   6
#define TN_HTTP_SERVER_REFUSED  7

#define TN_HTTP_SERVER_FULL 1 /* a status: taken, but nothing more should be written until ROOM */

/*
 * [loop] `value` is borrowed. `request` is a number, never 0 (but see REFUSED), and never used again. The handler may
 * call every function. It is never called inside a function of this interface.
 */
typedef void TN_FN(tn_http_server_handler)(void *user, uint64_t request, int32_t event, tn_value value);

#define TN_HTTP_SERVER_DRAFT "tenon.http_server/1-draft.1"
/*
 * From the plugin. `self` is that of its tn_plugin. Everything is [loop]. After CLOSED of a request, its functions
 * return TN_STALE; also shortly before, if the connection has ended and CLOSED is still to be delivered.
 */
typedef struct tn_http_server_draft {
    uint64_t size;
    /* TN_OK: *listener and *address ({address, port}, a new reference); or TN_FAILED and *error: INVALID_INPUT, IO,
     * TLS. */
    int32_t TN_FN(listen)(void *self, tn_value options, tn_http_server_handler handler, void *user, uint64_t *listener,
                          tn_value *address, tn_value *error);
    /* No more connections are accepted; idle ones are closed, and others after their response. */
    int32_t TN_FN(drain)(void *self, uint64_t listener);
    /* Ends all connections at once. Their CLOSED come before it returns: an exception of the rule for handlers. */
    int32_t TN_FN(unlisten)(void *self, uint64_t listener);
    /*
     * Lets the body come. limit: bytes, beyond which the server answers 413 and CLOSED has "limit"; TN_Z: body_bytes of
     * the listener. TN_INVALID: it was called before, or there was a response.
     */
    int32_t TN_FN(receive)(void *self, uint64_t request, uint64_t limit);
    /* No BODY and no MESSAGE until resume, which slows the client down. */
    int32_t TN_FN(pause)(void *self, uint64_t request);
    int32_t TN_FN(resume)(void *self, uint64_t request);
    /*
     * headers: [[name, TEXT], …]. The body is `data` if more = 0, with its length as Content-Length (data may be NULL
     * for an empty one); with more = 1 it comes by `write`, chunked, and is not compressed. Date and framing headers
     * are the server's. The data is copied. For HEAD only the headers are sent. While a body is being received, the
     * response follows after its end; a rest of more than 1 MiB closes the connection instead. TN_INVALID: there was a
     * response already, `status` is not from 200 to 599, or a header is malformed; nothing was sent.
     */
    int32_t TN_FN(respond)(void *self, uint64_t request, int32_t status, tn_value headers, const void *data,
                           uint64_t length, int32_t more);
    /* TN_OK, or TN_HTTP_SERVER_FULL: it was taken too, but nothing more should be written until ROOM. The data is
     * copied. */
    int32_t TN_FN(write)(void *self, uint64_t request, const void *data, uint64_t length);
    int32_t TN_FN(finish)(void *self, uint64_t request); /* the end of a response with more = 1 */
    /* Answers 101 with `headers`, and completes the opening handshake. TN_INVALID: it is not a WebSocket request. */
    int32_t TN_FN(accept)(void *self, uint64_t request, tn_value headers);
    /* A message: UTF-8 if text = 1, else bytes. TN_OK or TN_HTTP_SERVER_FULL as `write`. */
    int32_t TN_FN(send)(void *self, uint64_t request, const void *data, uint64_t length, int32_t text);
    int32_t TN_FN(close)(void *self, uint64_t request, int32_t code, const char *reason, uint64_t length);
    int32_t TN_FN(abort)(void *self, uint64_t request); /* closes the connection now; CLOSED follows */
} tn_http_server_draft;

#ifdef __cplusplus
}
#endif
#endif
