/*
 * http.c - the transport over HTTP: which exchanges with a server there are, and when they start.
 *
 * The server's own stream is opened first. Requests wait for it, so that no message that they cause is lost, and so
 * that no server confuses the new stream with a resumed one.
 */
#include "exchange.h"

void http_release(struct http *http) {
    if (--http->active_callbacks > 0 || !http->closed) return;
    while (http->exchanges != NULL) post_exchange_free(http->exchanges);
    tn_release(http->headers);
    mcp_free(http->name);
    mcp_free(http->url);
    mcp_free(http->endpoint);
    mcp_free(http);
}

static int32_t http_transport_send(struct transport *transport, tn_value message, int64_t id, tn_value extra) {
    struct http *http = (struct http *)transport;
    struct exchange *exchange = post_exchange_new(http, POST, id);
    if (exchange == NULL) return TN_NO_MEMORY;
    /* `initialize` starts a new session and has no session id */
    if (value_is(tn_get(message, "method"), "initialize")) {
        *http->session = *http->version = '\0';
        http->modern = false;
    }
    exchange->message = tn_retain(message);
    exchange->extra = extra != NULL ? tn_retain(extra) : NULL;
    if (http->sse && http->endpoint == NULL) return sse_send(http, exchange);
    if (http->opening && id != 0 && exchange_delay(exchange, OPENING_MS)) return TN_OK;
    int32_t status = exchange_send_or_wait(exchange);
    if (status != TN_OK) post_exchange_free(exchange);
    return status;
}

/* ---- The stream of the server ---- */

void http_start_stream(struct http *http) {
    http->stream_due = false;
    struct exchange *exchange = post_exchange_new(http, STREAM, 0);
    if (exchange != NULL) {
        exchange->had_session = *http->session != '\0';
        if (exchange_open_stream(exchange) == TN_OK) return;
        post_exchange_free(exchange);
    }
    http_stream_opened(http);
}

/* ---- Other functions of the transport ---- */

/* From 2026-07-28 on, closing the stream cancels the request. An older server gets a message instead, and the stream is
 * closed too, because its answer is no longer needed. */
static bool http_abort(struct transport *transport, int64_t id, bool modern) {
    struct http *http = (struct http *)transport;
    struct exchange *exchange = http->exchanges;
    while (exchange != NULL && (id == 0 || exchange->id != id)) exchange = exchange->next;
    if (exchange != NULL) post_exchange_free(exchange);
    return modern;
}

static void http_set_version(struct transport *transport, const char *version, bool modern) {
    struct http *http = (struct http *)transport;
    (void)snprintf(http->version, sizeof http->version, "%s", version);
    http->modern = modern;
    if (modern || http->wants_stream || http->sse) return;
    http->wants_stream = http->stream_due = http->opening = true;
}

static void on_delete_event(void *user, int32_t event, tn_value value) {
    struct http *http = user;
    (void)value;
    if (event != TN_HTTP_END && event != TN_HTTP_FAILED) return; /* 405: the server does not support DELETE */
    http->delete_exchange = 0;
    http->session_ended();
}

static bool http_end_session(struct transport *transport, void (*ended)(void)) {
    struct http *http = (struct http *)transport;
    if (http->modern || *http->session == '\0' || http->delete_exchange != 0) return false;
    tn_builder *builder = start_http_request(http, "DELETE");
    tn_put_begin(builder, "headers", TN_OBJECT);
    put_exchange_headers(builder, http, "DELETE", NULL);
    tn.value->end(builder);
    tn.value->end(builder);
    tn_value request = tn_finish(builder);
    http->session_ended = ended;
    bool sent =
        request != NULL && mcp_http->send(tn.host, request, on_delete_event, http, &http->delete_exchange) == TN_OK;
    tn_release(request);
    *http->session = '\0';
    return sent;
}

static void http_close(struct transport *transport) {
    struct http *http = (struct http *)transport;
    if (http->delete_exchange != 0) (void)mcp_http->cancel(tn.host, http->delete_exchange);
    http->closed = true;
    http->active_callbacks++;
    http_release(http);
}

static const struct transport_class http_class = {"http",           http_transport_send, http_abort,
                                                  http_set_version, http_end_session,    http_close};

bool http_copy_host(const char *url, char *host, size_t size) {
    const char *start = strncmp(url, "https://", 8) == 0 ? url + 8 : strncmp(url, "http://", 7) == 0 ? url + 7 : NULL;
    if (start == NULL) return false;
    size_t length = strcspn(start, "/?#");
    for (const char *at = memchr(start, '@', length); at != NULL; at = memchr(start, '@', length))
        length -= (size_t)(at + 1 - start), start = at + 1;
    const char *port = *start == '[' ? NULL : memchr(start, ':', length);
    if (port != NULL) length = (size_t)(port - start);
    if (length == 0 || length >= size) return false;
    memcpy(host, start, length);
    host[length] = '\0';
    return true;
}

struct transport *http_new(const struct http_options *options, const struct transport_events *events, char *why,
                           size_t size) {
    struct http *http = mcp_http != NULL ? mcp_alloc(sizeof *http) : NULL;
    if (http == NULL) {
        (void)snprintf(why, size, mcp_http == NULL ? "the host does not offer " TN_HTTP_1 : "not enough memory");
        return NULL;
    }
    http->transport = (struct transport){&http_class, *events};
    http->name = copy_text(options->name);
    http->url = copy_text(options->url);
    http->headers = options->headers != NULL ? tn_retain(options->headers) : NULL;
    http->oauth = options->oauth;
    http->sse = options->sse;
    if (http->name != NULL && http->url != NULL) return &http->transport;
    (void)snprintf(why, size, "not enough memory");
    http->closed = true;
    http->active_callbacks++;
    http_release(http);
    return NULL;
}
