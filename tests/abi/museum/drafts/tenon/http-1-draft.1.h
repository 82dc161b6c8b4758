/*
 * tenon/http.h - draft: HTTP for plugins, through the host: one pool of connections, no socket in the plugin.
 *
 * A plugin asks the host for it; a plugin that has a client (the bundled `http`, on libcurl) provides it, under the
 * same id. Between the two stands the host: it allows the hosts that the plugin's effects declare ("network.http:HOST";
 * "network.http" is any), puts in secrets, records and replays, and gives out the tokens.
 *
 * A request is an object; members marked ? may be left out:
 *   url         "https://host/path", http or https
 *   method?     "GET", or "POST" where there is a body
 *   query?      {name: TEXT | number | bool | [of those]}, percent-encoded and added to the url's; an array that has no
 *               object in it is several values, and not one TEXT
 *   headers?    {name: TEXT}
 *   body?       TEXT or bytes; or json? any value: sent as its JSON, with its content-type
 *   receive?    "whole" (default) | "bytes" | "events" | "lines": what TN_HTTP_DATA gives, see below
 *   timeout?    {connect_ms? 10,000, idle_ms? 60,000 (no byte either way), total_ms? none}
 *   retry?      {max_attempts (2 to 10), initial_ms? 500, max_ms? 30,000}: tries again, before anything has been given
 *               on, after a failed connection, 408, 429, 500, 502, 503, 504 and 529; exponential, with full jitter; a
 *               Retry-After is heeded, up to max_ms. No retry without it.
 *   redirects?  how many are followed, within what the effects allow; 0 by default, at most 20. Secrets stay behind
 *               where the origin changes.
 *   max_bytes?  of a body that is received, 64 MiB by default; LIMIT
 *   private?    NAME: what is sent and what comes back are secrets, as where a token is got; "whole" alone. A recording
 *               has neither the address nor the body, and of a JSON answer all but its texts, which are "{redacted}". A
 *               replay finds it by this name.
 * TEXT is a string, {secret: NAME}, {secret: NAME, optional: true} (where there is none the header or query is left
 * out), or an array of those, joined: ["Bearer ", {secret: "ACME_KEY"}]. The plugin never sees a secret's text: its
 * effects declare "secret:NAME", or "secret" for those that its configuration names.
 *
 * What a handler gets, in order:
 *   TN_HTTP_HEAD    {status, headers: {lower-case name: text}, attempt}: once, of the attempt that counts
 *   TN_HTTP_DATA    "bytes": bytes; "events": {event, data, id?, retry? (ms)} of a text/event-stream, id being the last
 *                   that was given; "lines": a text, without its end. What is not UTF-8 in them is U+FFFD. "whole":
 *                   never. Only where the status is 2xx and, of "events", the content type is that or there is none:
 *                   else the body is kept for the end.
 *   TN_HTTP_END     {status, headers, body?, attempts, ms}: body, as bytes, where it was not given piece by piece
 *   TN_HTTP_FAILED  an error object: CONNECT (retryable), TLS, TIMEOUT (detail.phase: connect, idle, total; retryable),
 *                   CONNECTION_LOST (retryable), PROTOCOL, LIMIT, INVALID_INPUT, PERMISSION_DENIED, SECRET_NOT_FOUND,
 *                   UNSUPPORTED (nobody provides HTTP), NOT_RECORDED (a replay does not have it)
 * One END or FAILED comes, and nothing after it. No error, header or log line has a secret in it.
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

/* [loop] `value` is borrowed. It may send, pause, resume and cancel. Never called inside send. */
typedef void (*tn_http_handler)(void *user, int32_t event, tn_value value);

#define TN_HTTP_DRAFT "tenon.http/1-draft.1"
/*
 * `self` is the tn_host of a plugin that asks; where it is the plugin that provides this, its own tn_plugin's self. An
 * exchange is a token, never 0, of this plugin's; after its END or FAILED every function gives TN_STALE.
 */
typedef struct tn_http_draft {
    uint32_t size;
    uint32_t reserved;
    /* [loop] TN_OK: END or FAILED will come, whatever is wrong with the request, unless it is cancelled. */
    int32_t (*send)(const void *self, tn_value request, tn_http_handler handler, void *user, uint64_t *exchange);
    /* [loop] No more TN_HTTP_DATA (and what follows it) until resume: the sender is slowed down. Idle time stands. */
    int32_t (*pause)(const void *self, uint64_t exchange);
    int32_t (*resume)(const void *self, uint64_t exchange);
    /* [loop] Closes the stream; the handler is not called again. */
    int32_t (*cancel)(const void *self, uint64_t exchange);
    /*
     * [worker] Sends and waits, "whole": TN_OK with END's value in *result, TN_FAILED with an error object, or
     * TN_CANCELLED, where the task is. It is a call of the task's, as by task_1.call_wait: one that had ended is not
     * made again where the task is resumed. A plugin that provides this leaves it NULL.
     */
    int32_t (*send_wait)(const void *self, tn_task task, tn_value request, tn_value *result);
} tn_http_draft;

#ifdef __cplusplus
}
#endif
#endif
