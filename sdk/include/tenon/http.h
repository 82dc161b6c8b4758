/*
 * tenon/http.h - HTTP for plugins, through the host: one pool of connections, no socket in the plugin.
 *
 * The host passes requests to a plugin with a client (tenon/http_client.h; the bundled `http` uses libcurl). It stands
 * between the two: it checks requests against the plugin's effects
 * ("network.http:HOST"; "network.http" allows every host), inserts secrets, follows redirects, records and replays, and
 * issues the tokens.
 *
 * A request is an object; members marked ? are optional:
 *   url         "https://host/path", http or https
 *   method?     default: "POST" if there is a body, else "GET"
 *   query?      {name: TEXT | number | bool | [of those]}, percent-encoded and appended to the url. An array without an
 *               object in it is several values, not one TEXT
 *   headers?    {name: TEXT}
 *   body?       TEXT or bytes; or json? any value, sent as JSON with its content type
 *   receive?    "whole" (default) | "bytes" | "events" | "lines": the form of TN_HTTP_DATA, see below
 *   timeout?    {connect_ms? 10,000, idle_ms? 60,000 (no byte in either direction), total_ms? none}; the total time
 *               includes retries, redirects, and the time in which a secret is fetched
 *   retry?      {max_attempts (2 to 10), initial_ms? 500, max_ms? 30,000}: retries after a failed connection, 408, 429,
 *               500, 502, 503, 504 and 529, as long as nothing was passed to the handler. The delay is exponential with
 *               full jitter; a Retry-After is respected up to max_ms. Without this member nothing is retried.
 *   redirects?  how many to follow, 0 (default) to 20. Each target must be allowed by the effects. Secrets are not sent
 *               to another origin.
 *   max_bytes?  limit of a received body, 64 MiB by default; beyond it LIMIT. It may be larger than 64 MiB only if the
 *               body is delivered in pieces, that is, not with "whole"
 *   private?    NAME: request and response are secret, for example when a token is requested; only with "whole". A
 *               recording does not contain the address or the body, and of a JSON response only the structure: each
 *               text is "{redacted}". A replay finds the exchange by NAME.
 *   sign?       {aws: {service, region, key_id: TEXT, secret_key: TEXT, session_token?: TEXT, clock_skew_ms?}}: the
 * host signs the request with AWS's signature version 4, if it has no header `authorization` (which may be an optional
 * secret that does not exist). `clock_skew_ms` is added to the clock. Not with `redirects`. TEXT is a string, {secret:
 * NAME}, {secret: NAME, optional: true} (if the secret does not exist, the header or query member is left out), or an
 * array of those, joined: ["Bearer ", {secret: "ACME_KEY"}]. The plugin never sees the text of a secret. Its effects
 * declare "secret:NAME", or "secret" for names that come from its configuration.
 *
 * A handler receives, in this order:
 *   TN_HTTP_HEAD    {status, headers: {lower-case name: text}, attempt}: once, of the attempt that is not retried
 *   TN_HTTP_DATA    with "bytes": bytes. With "events": {event, data, id?, retry? (ms)} of a text/event-stream; `id` is
 *                   the last id received. With "lines": a text without its line end. Malformed UTF-8 becomes U+FFFD.
 *                   Never with "whole". Only if the status is 2xx and, with "events", the content type is that of a
 *                   stream or missing; otherwise TN_HTTP_END has the whole body.
 *   TN_HTTP_END     {status, headers, body?, attempts, ms}: `body` is bytes, present if no TN_HTTP_DATA was delivered
 *   TN_HTTP_FAILED  an error object: CONNECT (retryable), TLS, TIMEOUT (detail.phase: connect, idle, total; retryable),
 *                   CONNECTION_LOST (retryable), PROTOCOL, LIMIT, INVALID_INPUT, PERMISSION_DENIED, SECRET_NOT_FOUND,
 *                   UNSUPPORTED (no plugin provides HTTP), NOT_RECORDED (the replayed recording does not contain it)
 * Exactly one END or FAILED is delivered, and nothing after it. Errors, headers and log lines never contain a secret.
 * The body of a successful response is not changed, except in the result of send_wait, which is saved.
 */
#ifndef TENON_HTTP_H
#define TENON_HTTP_H

#include <tenon.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TN_HTTP_HEAD   1
#define TN_HTTP_DATA   2
#define TN_HTTP_END    3
#define TN_HTTP_FAILED 4

#define TN_HTTP_BODY_MAX 67108864 /* bytes of a body, sent or received */

/* [loop] `value` is borrowed. The handler may send, pause, resume and cancel. Never called inside send. */
typedef void TN_FN(tn_http_handler)(void *user, int32_t event, tn_value value);

#define TN_HTTP_1 "tenon.http/1"
/* tenon.http/1, from the host. An exchange is a token, never 0. After its END or FAILED the functions return TN_STALE.
 */
typedef struct tn_http_1 {
    uint64_t size;
    /* [loop] TN_OK: END or FAILED will be delivered, also for an invalid request, unless the exchange is cancelled. */
    int32_t TN_FN(send)(const tn_host *host, tn_value request, tn_http_handler handler, void *user, uint64_t *exchange);
    /* [loop] Delivers nothing more until resume, which slows the sender down. The idle timeout is suspended. */
    int32_t TN_FN(pause)(const tn_host *host, uint64_t exchange);
    int32_t TN_FN(resume)(const tn_host *host, uint64_t exchange);
    /* [loop] Closes the stream; the handler is not called again. */
    int32_t TN_FN(cancel)(const tn_host *host, uint64_t exchange);
    /*
     * [worker] Sends and waits, with "whole": *out is END's value, and TN_CANCELLED means that the task is cancelled.
     * It counts as a call of the task, as by task_1.call_wait: if the task is resumed, an exchange that had ended is
     * not sent again.
     */
    int32_t TN_FN(send_wait)(const tn_host *host, tn_task task, tn_value request, tn_value *out, tn_value *error);
} tn_http_1;

#ifdef __cplusplus
}
#endif
#endif
