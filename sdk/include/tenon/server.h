/*
 * tenon/server.h - draft: routes of the host's HTTP server, for plugins that serve a protocol (`tenon serve`).
 *
 * The host owns what all protocols share: it finds the route, checks the key and its scope, `Host` and `Origin`, limits
 * and sizes, writes the access log, and drains. A plugin registers its routes in init, and answers requests. It acts
 * for the user of a request with `request_as` and `subscribe_as`: calls of the method table with the scope of the key,
 * which reach only what belongs to its owner. A thread of another user is NOT_FOUND.
 *
 *     static void TN_ABI on_request(void *self, uint64_t request, int32_t event, tn_value value) {
 *         if (event == TN_SERVER_REQUEST) server->respond(host, request, with_json(200, tn_get(value, "query")));
 *     }
 *     server = tn_easy_interface(host, TN_SERVER_DRAFT, sizeof(tn_server_draft));     // in init; NULL: nothing is
 * served server->route(host, route, on_request, self, &number, &error);  // {method: "GET", path: "/echo", scope:
 * "read"}
 *
 * A route is an object; members marked ? are optional:
 *   method     "GET", "POST", …; "GET" also answers HEAD
 *   path       "/v1/responses/{id}/cancel": a segment in braces is one segment of any text, decoded; a last segment
 *              "{rest*}" is all that follows. More literal segments win. The effects of the manifest's `plugin` must
 *              declare "server.route:PATTERN", for example "server.route:/v1*"
 *   scope      what the key needs: "read", "run", "admin", or "none": for everybody, without a key
 *   body?      {max? bytes (default 1 MiB, at most 64 MiB; of a streamed one, at most 1 GiB), stream? bool,
 *              types? [media types, in which `*` stands for any text; others get 415], optional? bool}. Without it, a
 *              body is refused
 *   websocket? bool: the request may be an upgrade, which `accept` completes
 *   refusals?  bool: the plugin words the host's refusals, see TN_SERVER_REFUSED
 *   origins?   "*": pages of every origin may call it (but without cookies); otherwise those of `serve: {origins}`
 *   expose?    [names of headers that pages may read]
 *   summary?   one sentence, for the list of routes
 *
 * A handler receives:
 *   TN_SERVER_REQUEST  {id, method, path, route, params: {name: TEXT}, query: {name: TEXT or [TEXT, …]}, headers:
 *                      {lower-case name: TEXT}, address, secure, origin (of this server, "http://127.0.0.1:8700"),
 *                      caller?: {number, name, owner, scope}, body? bytes, json?}: first, and once. `id` names the
 *                      request in the log. `address` is that of the client, with its port; behind a trusted proxy
 *                      perhaps without. `json` is the body if its type is JSON; malformed JSON was refused with 400.
 *                      `caller` is absent only with the scope "none"
 *                      `body` is absent then. With that scope there is issuers? [TEXT, …]: the OAuth issuers whose
 *                      tokens the host accepts (`serve: {authenticators}`). `headers` do not contain the key
 *   TN_SERVER_BODY     bytes, with body.stream: the next part; TN_SERVER_BODY_END: NULL
 *   TN_SERVER_ROOM     NULL: after TN_SERVER_FULL, the client has taken what waited; write more
 *   TN_SERVER_MESSAGE  TEXT or bytes: a WebSocket message
 *   TN_SERVER_DRAIN    NULL: the host is about to end; end this stream soon, at a position from which the client can
 *                      continue. After the time of --drain it is closed
 *   TN_SERVER_CLOSED   {reason}: the last event, after every request. reason: "done", "client", "limit", "drain",
 *                      "error". Calls and subscriptions that were made for the request continue: end them
 *   TN_SERVER_REFUSED  {id, method, path, route, status, code, message, headers, json?}: only with `refusals`, instead
 *                      of all others. The host refuses the request (400, 401, 403, 404, 405, 411, 413, 415, 429, 500,
 *                      503). Call `respond` before returning: its body is sent with the host's status and headers; a
 *                      header of the response replaces that of the host. `headers` do not contain the key. A path
 *                      without a route is refused by the route that has the most first segments in common with it, at
 *                      least one
 *
 * An isolated plugin gets no TN_SERVER_REFUSED: the host words refusals itself. Its `route` returns TN_OK; why a route
 * was refused is in the log. When its process ends, its requests are closed, and its routes answer 503 until it has
 * been started again.
 *
 * Errors of methods as an HTTP status: INVALID_INPUT, INVALID_GRAPH 400; PERMISSION_DENIED 403; NOT_FOUND 404; EXISTS,
 * CONFLICT, OWNED, CLAIM_LOST, INVALID_TRANSITION, GRAPH_CHANGED, INVALID_STATE, FENCED 409; LIMIT, RATE_LIMITED,
 * BUDGET_EXCEEDED 429; UNSUPPORTED 501; STORE_… 503; others 500.
 */
#ifndef TENON_SERVER_H
#define TENON_SERVER_H

#include <tenon.h>
#include <tenon/host.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TN_SERVER_REQUEST  1
#define TN_SERVER_BODY     2
#define TN_SERVER_BODY_END 3
#define TN_SERVER_ROOM     4
#define TN_SERVER_MESSAGE  5
#define TN_SERVER_DRAIN    6
#define TN_SERVER_CLOSED   7
#define TN_SERVER_REFUSED  8

#define TN_SERVER_FULL 1 /* a status: taken, but write nothing more until TN_SERVER_ROOM */

#define TN_SERVER_ROUTES_MAX 256 /* of one plugin; then TN_LIMIT */

/* [loop] `value` is borrowed. Never called inside a function of tn_server_draft, except for REFUSED. */
typedef void TN_FN(tn_server_handler)(void *user, uint64_t request, int32_t event, tn_value value);

#define TN_SERVER_DRAFT "tenon.server/1-draft.1"
/*
 * From the host. Everything is [loop]. Numbers are never 0, and never used again. A function returns TN_STALE for a
 * request that has ended or belongs to another plugin, and TN_UNSUPPORTED if the host serves nothing.
 */
typedef struct tn_server_draft {
    uint64_t size;
    /* TN_FAILED and *error: INVALID_INPUT (malformed), EXISTS (taken by another plugin), PERMISSION_DENIED (effects).
     */
    int32_t TN_FN(route)(const tn_host *host, tn_value route, tn_server_handler handler, void *user, uint64_t *number,
                         tn_value *error);
    int32_t TN_FN(unroute)(const tn_host *host, uint64_t number);
    /*
     * {status, headers?: {name: TEXT, or [TEXT, …]}, and one of: json? any value; body? TEXT or bytes; stream? "bytes"
     * or "events"}. With `stream` the body comes by `write` or `event`, until `finish`; "events" is a text/event-stream
     * with the headers that proxies need, and a comment as keep-alive every 15 seconds. TN_INVALID: malformed, or there
     * was a response already; the request then gets 500 if there was none. 429 and 503 get a Retry-After unless
     * `headers` have one. All responses get X-Request-Id, X-Content-Type-Options and, if they have none, Cache-Control;
     * headers of framing and of CORS are not the plugin's. TN_LIMIT: too many large responses wait for clients that
     * read slowly, so the request got 503 or 429, in the words of TN_SERVER_REFUSED.
     */
    int32_t TN_FN(respond)(const tn_host *host, uint64_t request, tn_value response);
    /*
     * TN_OK or TN_SERVER_FULL. The data is copied. The request is closed ("limit") when a plugin has written 16 MiB
     * after TN_SERVER_FULL. TN_INVALID: the response does not stream, or was finished.
     */
    int32_t TN_FN(write)(const tn_host *host, uint64_t request, const char *data, uint64_t length);
    /* An event of a text/event-stream: {data: TEXT, or a value that is sent as JSON, event?, id?, retry?: ms}. */
    int32_t TN_FN(event)(const tn_host *host, uint64_t request, tn_value event);
    int32_t TN_FN(finish)(const tn_host *host, uint64_t request);
    /* Closes the connection in the middle of the response, so that the client notices that it is not complete. */
    int32_t TN_FN(abort)(const tn_host *host, uint64_t request);
    /* No BODY and no MESSAGE until flow(…, 1). */
    int32_t TN_FN(flow)(const tn_host *host, uint64_t request, int32_t on);
    /*
     * Completes an upgrade; `protocol` is one that the client has offered, or NULL. Pages send their key as one, which
     * is not in `headers`; then the host selects `tenon` for NULL, because pages need one.
     */
    int32_t TN_FN(accept)(const tn_host *host, uint64_t request, const char *protocol);
    /* A WebSocket message: TEXT or bytes. TN_OK or TN_SERVER_FULL. */
    int32_t TN_FN(send)(const tn_host *host, uint64_t request, tn_value message);
    int32_t TN_FN(close)(const tn_host *host, uint64_t request, int32_t code, const char *reason);
    /*
     * As tn_host_1.request and subscribe, for the user `caller`, a `number` of a request's `caller`. cancel, pause,
     * resume and unsubscribe of tn_host_1 take the numbers that these return. The plugin's effects must allow the
     * method. A caller may be used until the plugin ends, also after the request; when its key is revoked or
     * has expired, calls other than run/cancel fail with PERMISSION_DENIED. What a method starts has the rights that
     * the operator gave to the graph, not those of this plugin. TN_STALE: no such caller.
     */
    int32_t TN_FN(request_as)(const tn_host *host, uint64_t caller, const char *method, uint64_t length,
                              tn_value params, tn_host_handler handler, void *user, uint64_t *request);
    int32_t TN_FN(subscribe_as)(const tn_host *host, uint64_t caller, tn_value params, tn_host_handler handler,
                                void *user, uint64_t *subscription);
} tn_server_draft;

#ifdef __cplusplus
}
#endif
#endif
