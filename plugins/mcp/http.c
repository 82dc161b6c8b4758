/*
 * http.c - exchanges of one server: what each is for, what came, and what is to be done where it broke off.
 *
 * An exchange is one request over HTTP: a POST with a message, a GET for the server's own messages or to go on with a
 * stream, or the DELETE. Answers that are no stream are collected, bounded by tenon.http. Whoever is given an event may
 * close the transport: `closed` is looked at afterwards, and the memory goes when nobody is inside any more. One that
 * is refused for want of a token waits for a better one, and is sent again.
 *
 * The server's own stream goes first: requests wait until it is there, so that nothing which they cause is said before
 * it, and no server takes its beginning for that of a stream that is resumed.
 */
#include "http.h"
#include "buffer.h"
#include "header.h"
#include "oauth/challenge.h"
#include "oauth/hide.h"
#include "sse.h" /* of plugins/http/parse */

#define SESSION_MAX 1024     /* bytes of a session's id */
#define IDLE_MS     86400000 /* a stream may be silent for a day */
#define DELAY_MS    1000     /* before a stream is resumed, where the server does not say */
#define DELAY_MIN   100 /* though the server says none: one that ends its stream at once is not asked without rest */
#define DELAY_MAX   60000
#define OPENING_MS  500 /* waited for the head of the server's own stream, which some send with its first event */

struct http {
    struct transport transport; /* first */
    char *name, *url;
    tn_value headers;
    struct oauth *oauth;
    struct exchange *exchanges;
    char session[SESSION_MAX + 1];
    char version[16]; /* "" before it has been agreed on */
    bool modern, closed, wants_stream;
    bool opening;     /* its own stream is wanted, and is not there yet */
    uint64_t leaving; /* the exchange that says so; 0: none */
    void (*left)(void);
    uint32_t inside; /* how many of our functions are on the stack that give events */
};

enum purpose { POST, STREAM, RESUME };

struct exchange {
    struct exchange *next;
    struct http *http;
    enum purpose purpose;
    int64_t id; /* of the request whose answer it brings; 0: none */
    uint64_t token;
    uint64_t timer;  /* to be resumed, or sent after all; a posted call */
    bool put_off;    /* until the server's own stream is there */
    bool events;     /* text/event-stream */
    bool busy, dead; /* its handler runs; it is to be freed after that */
    bool had_session;
    uint32_t empty; /* reconnections in a row that brought nothing */
    struct sse sse;
    int64_t retry_ms; /* what the stream said last; -1: nothing */
    struct buffer body;
    /* What is needed to send it again. */
    tn_value message, extra;
    tn_value header; /* the token that went with it */
    struct oauth_wait wait;
    uint32_t tries; /* times that it was refused for want of a better one */
};

/* ---- Life ---- */

static void exchange_free(struct exchange *exchange) {
    if (exchange->busy) {
        exchange->dead = true;
        exchange->id = 0;
        return;
    }
    struct exchange **at = &exchange->http->exchanges;
    while (*at != NULL && *at != exchange) at = &(*at)->next;
    if (*at != NULL) *at = exchange->next;
    if (exchange->token != 0) (void)mcp_http->cancel(tn.host, exchange->token);
    if (exchange->timer != 0) (void)tn.core->unpost(tn.host, exchange->timer);
    if (exchange->http->oauth != NULL) oauth_cancel(exchange->http->oauth, &exchange->wait);
    sse_finish(&exchange->sse);
    buffer_free(&exchange->body);
    tn_release(exchange->message);
    tn_release(exchange->extra);
    tn_release(exchange->header);
    give(exchange);
}

static void leave(struct http *http) {
    if (--http->inside > 0 || !http->closed) return;
    while (http->exchanges != NULL) exchange_free(http->exchanges);
    tn_release(http->headers);
    give(http->name);
    give(http->url);
    give(http);
}

static void on_told(struct oauth_wait *wait, enum oauth_outcome outcome, const char *code, const char *why);

static struct exchange *exchange_new(struct http *http, enum purpose purpose, int64_t id) {
    struct exchange *exchange = take(sizeof *exchange);
    if (exchange == NULL) return NULL;
    exchange->http = http;
    exchange->purpose = purpose;
    exchange->id = id;
    exchange->body.limit = MCP_MESSAGE_MAX;
    exchange->sse = (struct sse)SSE_INIT;
    exchange->retry_ms = -1;
    exchange->wait.told = on_told;
    exchange->next = http->exchanges;
    http->exchanges = exchange;
    return exchange;
}

/* ---- Requests ---- */

/* `exchange` may be NULL; it remembers the token. */
static void put_headers(tn_builder *builder, const struct http *http, const char *method, struct exchange *exchange) {
    tn_value header = http->oauth != NULL ? oauth_header(http->oauth) : NULL;
    tn_value proof = header != NULL ? oauth_proof(http->oauth, method) : NULL;
    if (header != NULL) tn_put(builder, "Authorization", header);
    if (proof != NULL) tn_put_take(builder, "DPoP", proof);
    if (exchange != NULL) {
        tn_release(exchange->header);
        exchange->header = header != NULL ? tn_retain(header) : NULL;
    }
    for (uint64_t i = 0, count = tn.value->count(http->headers); i < count; i++) {
        tn_value key, value;
        if (tn.value->entry(http->headers, i, &key, &value) == TN_OK) tn_put(builder, tn_chars(key, NULL), value);
    }
    if (*http->version != '\0') tn_put_text(builder, "MCP-Protocol-Version", http->version);
    if (*http->session != '\0') tn_put_text(builder, "Mcp-Session-Id", http->session);
}

static void put_encoded(tn_builder *builder, const char *name, tn_value text) {
    uint64_t length = 0;
    const char *chars = tn_chars(text, &length);
    if (chars != NULL) tn_put_take(builder, name, header_encode(chars, length));
}

/* What the newer era repeats of the message. */
static void put_mirrored(tn_builder *builder, tn_value message, tn_value extra) {
    const char *method = tn_get_text(message, "method", "");
    put_encoded(builder, "Mcp-Method", tn.value->get(message, "method"));
    if (strcmp(method, "tools/call") == 0 || strcmp(method, "prompts/get") == 0)
        put_encoded(builder, "Mcp-Name", value_in(message, "params", "name"));
    else if (strcmp(method, "resources/read") == 0)
        put_encoded(builder, "Mcp-Name", value_in(message, "params", "uri"));
    for (uint64_t i = 0, count = tn.value->count(extra); i < count; i++) {
        tn_value key, value;
        if (tn.value->entry(extra, i, &key, &value) == TN_OK) tn_put(builder, tn_chars(key, NULL), value);
    }
}

static tn_builder *begin_request(const struct http *http, const char *method) {
    tn_builder *builder = tn.value->builder();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_text(builder, "url", http->url);
    tn_put_text(builder, "method", method);
    return builder;
}

static void on_event(void *user, int32_t event, tn_value value);

static int32_t send_exchange(struct exchange *exchange, tn_builder *builder) {
    tn_put_text(builder, "receive", "bytes");
    tn_put_begin(builder, "timeout", TN_OBJECT);
    tn_put_int(builder, "idle_ms", IDLE_MS); /* the conversation has timeouts of its own */
    tn.value->end(builder);
    tn.value->end(builder);
    tn_value request = tn.value->finish(builder);
    int32_t status =
        request != NULL ? mcp_http->send(tn.host, request, on_event, exchange, &exchange->token) : TN_NO_MEMORY;
    tn_release(request);
    if (status != TN_OK) exchange->token = 0;
    return status;
}

static int32_t send_message(struct exchange *exchange) {
    struct http *http = exchange->http;
    exchange->had_session = *http->session != '\0';
    tn_builder *builder = begin_request(http, "POST");
    tn_put_begin(builder, "headers", TN_OBJECT);
    tn_put_text(builder, "Accept", "application/json, text/event-stream");
    tn_put_text(builder, "Content-Type", "application/json");
    put_headers(builder, http, "POST", exchange);
    if (http->modern) put_mirrored(builder, exchange->message, exchange->extra);
    tn.value->end(builder);
    tn_put(builder, "json", exchange->message);
    return send_exchange(exchange, builder);
}

/* Now, or once there is a token. */
static int32_t send_or_wait(struct exchange *exchange) {
    struct oauth *oauth = exchange->http->oauth;
    if (oauth == NULL || oauth_ready(oauth)) return send_message(exchange);
    oauth_wait(oauth, &exchange->wait);
    return TN_OK;
}

static bool put_off(struct exchange *exchange, uint64_t delay_ms);

static int32_t http_send(struct transport *transport, tn_value message, int64_t id, tn_value extra) {
    struct http *http = (struct http *)transport;
    struct exchange *exchange = exchange_new(http, POST, id);
    if (exchange == NULL) return TN_NO_MEMORY;
    /* A session begins with `initialize`, which belongs to none. */
    if (value_is(tn.value->get(message, "method"), "initialize")) {
        *http->session = *http->version = '\0';
        http->modern = false;
    }
    exchange->message = tn_retain(message);
    exchange->extra = extra != NULL ? tn_retain(extra) : NULL;
    if (http->opening && id != 0 && put_off(exchange, OPENING_MS)) return TN_OK;
    int32_t status = send_or_wait(exchange);
    if (status != TN_OK) exchange_free(exchange);
    return status;
}

/* The server's own stream, or one that broke off. */
static int32_t get_stream(struct exchange *exchange) {
    struct http *http = exchange->http;
    tn_builder *builder = begin_request(http, "GET");
    tn_put_begin(builder, "headers", TN_OBJECT);
    tn_put_text(builder, "Accept", "text/event-stream");
    put_headers(builder, http, "GET", exchange);
    if (exchange->sse.id.length > 0)
        tn_put_take(builder, "Last-Event-ID", header_encode(exchange->sse.id.data, exchange->sse.id.length));
    tn.value->end(builder);
    return send_exchange(exchange, builder);
}

/* ---- Messages ---- */

static bool is_answer_to(tn_value message, int64_t id) {
    return id != 0 && tn.value->get(message, "method") == NULL && tn_get_int(message, "id", 0) == id;
}

/* JSON as it came, but for the token that went there, and the one that goes there now. */
static int32_t read_json(const struct exchange *exchange, const char *json, uint64_t length, tn_value *out) {
    const struct http *http = exchange->http;
    tn_value headers[] = {exchange->header, http->oauth != NULL ? oauth_header(http->oauth) : NULL};
    struct buffer safe[] = {{.limit = MCP_MESSAGE_MAX}, {.limit = MCP_MESSAGE_MAX}};
    for (int i = 0; i < 2; i++)
        if (hide_token(headers[i], json, length, &safe[i])) json = safe[i].bytes, length = safe[i].length;
    int32_t status = tn.value->from_json(json, length, out);
    for (int i = 0; i < 2; i++) buffer_free(&safe[i]);
    return status;
}

/* The answer ends the exchange: what a server says after it is no loss. */
static void give_message(struct exchange *exchange, const char *json, uint64_t length) {
    const struct transport_events *events = &exchange->http->transport.events;
    int64_t id = exchange->id;
    tn_value message = NULL;
    const char *why = read_json(exchange, json, length, &message) != TN_OK ? "an event that is not JSON" : NULL;
    if (message != NULL && is_answer_to(message, id)) exchange_free(exchange);
    events->message(events->user, message, id, why);
    tn_release(message);
}

/* False: the exchange is over, or the transport. */
static bool on_sse(struct exchange *exchange) {
    const struct bytes *type = &exchange->sse.event, *data = &exchange->sse.data;
    exchange->empty = 0;
    if (data->length == 0) return true; /* it only has an id */
    if (type->length > 0 && (type->length != 7 || memcmp(type->data, "message", 7) != 0)) return true;
    give_message(exchange, data->data, data->length);
    return !exchange->http->closed && !exchange->dead;
}

static void fail_exchange(struct exchange *exchange, int64_t status, tn_value body, const char *code, const char *why) {
    const struct transport_events *events = &exchange->http->transport.events;
    int64_t id = exchange->id;
    exchange_free(exchange);
    if (id != 0) events->failed(events->user, id, status, body, code, why);
}

/* ---- Streams that begin ---- */

static void send_after_all(void *argument) {
    struct exchange *exchange = argument;
    struct http *http = exchange->http;
    exchange->timer = 0;
    exchange->put_off = http->opening = false; /* the stream has come, or had its time */
    if (send_or_wait(exchange) == TN_OK) return;
    http->inside++;
    fail_exchange(exchange, 0, NULL, "CONNECTION_LOST", "its request cannot be sent");
    leave(http);
}

static bool put_off(struct exchange *exchange, uint64_t delay_ms) {
    exchange->timer = tn.core->post(tn.host, delay_ms, send_after_all, exchange);
    exchange->put_off = exchange->timer != 0;
    return exchange->put_off;
}

/* It is there, or will not be: whoever waits goes on, the oldest first. */
static void opened(struct http *http) {
    struct exchange *oldest;
    if (!http->opening) return;
    http->opening = false;
    do {
        oldest = NULL;
        for (struct exchange *at = http->exchanges; at != NULL; at = at->next)
            if (at->put_off) oldest = at;
        if (oldest == NULL) return;
        oldest->put_off = false;
        (void)tn.core->unpost(tn.host, oldest->timer);
        oldest->timer = tn.core->post(tn.host, 0, send_after_all, oldest);
    } while (oldest->timer != 0);
}

/* The server knows that the handshake is over: now it may be asked for its own stream. */
static void begin_stream(struct http *http) {
    struct exchange *exchange = exchange_new(http, STREAM, 0);
    if (exchange != NULL) {
        exchange->had_session = *http->session != '\0';
        if (get_stream(exchange) == TN_OK) return;
        exchange_free(exchange);
    }
    opened(http);
}

/* ---- Streams that end ---- */

static void resume(void *argument) {
    struct exchange *exchange = argument;
    exchange->timer = 0;
    exchange->events = false;
    if (get_stream(exchange) == TN_OK) return;
    struct http *http = exchange->http;
    http->inside++;
    fail_exchange(exchange, 0, NULL, "CONNECTION_LOST", "its stream cannot be resumed");
    leave(http);
}

/* True: it will go on. */
static bool resume_later(struct exchange *exchange) {
    bool can = exchange->purpose == STREAM || exchange->sse.id.length > 0;
    if (!can || exchange->http->modern || exchange->empty >= MCP_RECONNECTS_MAX) return false;
    int64_t delay = exchange->retry_ms >= 0 ? exchange->retry_ms : (int64_t)DELAY_MS << exchange->empty;
    if (delay < DELAY_MIN) delay = DELAY_MIN;
    if (delay > DELAY_MAX) delay = DELAY_MAX;
    exchange->empty++;
    if (exchange->purpose == POST) exchange->purpose = RESUME;
    struct bytes id = exchange->sse.id;
    exchange->sse.id = (struct bytes)BYTES_INIT;
    sse_finish(&exchange->sse);
    exchange->sse = (struct sse)SSE_INIT;
    exchange->sse.id = id;
    exchange->timer = tn.core->post(tn.host, (uint64_t)delay, resume, exchange);
    return exchange->timer != 0;
}

/* The stream is at its end, and what it was for has not come. */
static void broken_off(struct exchange *exchange, const char *code, const char *why) {
    bool wanted = (exchange->purpose == STREAM || exchange->id != 0) && !exchange->dead;
    if (wanted && exchange->events && resume_later(exchange)) return;
    fail_exchange(exchange, 0, NULL, code, why);
}

/* ---- Who asks ---- */

static void on_told(struct oauth_wait *wait, enum oauth_outcome outcome, const char *code, const char *why) {
    struct exchange *exchange = (struct exchange *)(void *)((char *)wait - offsetof(struct exchange, wait));
    struct http *http = exchange->http;
    http->inside++;
    if (outcome != OAUTH_GO)
        fail_exchange(exchange, 401, NULL, code, why);
    else if ((exchange->purpose == POST ? send_message(exchange) : get_stream(exchange)) != TN_OK)
        fail_exchange(exchange, 0, NULL, "CONNECTION_LOST", "its request cannot be sent again");
    leave(http);
}

/* The server wants another token, and one may be got: the request waits for it. */
static bool wants_token(struct exchange *exchange, int64_t status, tn_value end) {
    struct http *http = exchange->http;
    const char *header = tn_get_text(tn.value->get(end, "headers"), "www-authenticate", NULL);
    if (http->oauth == NULL || exchange->purpose == STREAM || (status != 401 && status != 403)) return false;
    tn_value challenge = challenge_read(header);
    bool scope = challenge_wants_scope(challenge);
    tn_release(challenge);
    if (status == 403 && !scope) return false;
    if (++exchange->tries > OAUTH_TRIES_MAX) {
        fail_exchange(exchange, status, NULL, "AUTH",
                      "it refused one token after the other for the same request; look at what it wants to see");
        return true;
    }
    buffer_free(&exchange->body);
    oauth_refused(http->oauth, exchange->header, status, header, &exchange->wait);
    return true;
}

/* ---- What tenon.http tells ---- */

static void on_head(struct exchange *exchange, tn_value value) {
    struct http *http = exchange->http;
    tn_value headers = tn.value->get(value, "headers");
    const char *type = tn_get_text(headers, "content-type", "");
    uint64_t length = 0;
    const char *session = tn_chars(tn.value->get(headers, "mcp-session-id"), &length);
    int64_t status = tn_get_int(value, "status", 0);
    if (http->oauth != NULL) oauth_heard(http->oauth, headers);
    exchange->events = strncasecmp(type, "text/event-stream", 17) == 0;
    bool begins = exchange->purpose == POST && !http->modern && status >= 200 && status < 300 && *http->version == '\0';
    bool plain = session != NULL && length > 0 && length <= SESSION_MAX;
    for (uint64_t i = 0; plain && i < length; i++) plain = session[i] > ' ' && session[i] <= '~';
    if (begins && plain) memcpy(http->session, session, length + 1);
    if (exchange->purpose == STREAM) opened(http);
}

static void on_data(struct exchange *exchange, tn_value value) {
    uint64_t length = 0;
    const char *bytes = tn.value->as_bytes(value, &length);
    if (bytes == NULL) bytes = tn_chars(value, &length);
    if (bytes == NULL) return;
    if (!exchange->events) {
        (void)buffer_add(&exchange->body, bytes, length);
        return;
    }
    const char *at = bytes, *last = bytes + length;
    enum parse found;
    do {
        found = sse_next(&exchange->sse, &at, last);
        if (exchange->sse.retry >= 0) exchange->retry_ms = exchange->sse.retry;
        if (found == PARSE_FOUND && !on_sse(exchange)) return;
    } while (found == PARSE_FOUND);
    if (found != PARSE_MORE)
        fail_exchange(exchange, 0, NULL, found == PARSE_LIMIT ? "LIMIT" : "NO_MEMORY",
                      found == PARSE_LIMIT ? "it sent an event of more than 32 MiB" : "there is no memory left");
}

static tn_value body_value(const struct exchange *exchange, tn_value end) {
    tn_value body = tn.value->get(end, "body"), value = NULL;
    uint64_t length = 0;
    const char *bytes = tn.value->as_bytes(body, &length);
    if (bytes == NULL) bytes = tn_chars(body, &length);
    if (bytes == NULL || length == 0) bytes = exchange->body.bytes, length = exchange->body.length;
    return bytes != NULL && read_json(exchange, bytes, length, &value) == TN_OK ? value : NULL;
}

static void refused(struct exchange *exchange, int64_t status, tn_value end) {
    struct http *http = exchange->http;
    const struct transport_events *events = &http->transport.events;
    char why[128];
    (void)snprintf(why, sizeof why, "HTTP status %lld%s", (long long)status,
                   status == 401   ? ": it wants to know who asks; give it `headers`"
                   : status == 403 ? ": it does not allow that"
                                   : "");
    if (status == 404 && exchange->had_session && *http->session != '\0') {
        *http->session = '\0';
        fail_exchange(exchange, 0, NULL, MCP_SESSION_ENDED, "the server has ended the session");
        if (!http->closed) events->closed(events->user, "it has ended the session");
        return;
    }
    if (wants_token(exchange, status, end)) return;
    if (exchange->purpose == STREAM) { /* 405: it has no stream of its own, and that is that */
        exchange_free(exchange);
        return;
    }
    tn_value body = body_value(exchange, end);
    fail_exchange(exchange, status, body, status == 401 || status == 403 ? "AUTH" : "SERVER_ERROR", why);
    tn_release(body);
}

static void on_end(struct exchange *exchange, tn_value end) {
    int64_t status = tn_get_int(end, "status", 0), id = exchange->id;
    if (exchange->dead) return;
    if (exchange->header != NULL && status >= 200 && status < 300) oauth_accepted(exchange->http->oauth);
    if (status < 200 || status >= 300) {
        refused(exchange, status, end);
    } else if (exchange->events) {
        broken_off(exchange, "CONNECTION_LOST", "its stream ended before the answer");
    } else if (exchange->purpose != POST || id == 0) {
        exchange_free(exchange); /* 202: it was taken */
    } else {
        tn_value message = body_value(exchange, end);
        if (message == NULL) {
            fail_exchange(exchange, status, NULL, "SERVER_ERROR", "its answer is not JSON");
            return;
        }
        const struct transport_events *events = &exchange->http->transport.events;
        struct http *http = exchange->http;
        exchange_free(exchange);
        events->message(events->user, message, id, NULL);
        tn_release(message);
        /* An answer to something else is none to this. */
        if (!http->closed) events->failed(events->user, id, 0, NULL, "SERVER_ERROR", "its answer has another id");
    }
}

static void on_event(void *user, int32_t event, tn_value value) {
    struct exchange *exchange = user;
    struct http *http = exchange->http;
    http->inside++;
    exchange->busy = true;
    if (event == TN_HTTP_HEAD) {
        on_head(exchange, value);
    } else if (event == TN_HTTP_DATA) {
        on_data(exchange, value);
    } else {
        exchange->token = 0;
        if (exchange->purpose == STREAM) opened(http);
        if (http->opening && value_is(tn.value->get(exchange->message, "method"), "notifications/initialized"))
            begin_stream(http);
        if (event == TN_HTTP_END)
            on_end(exchange, value);
        else
            broken_off(exchange, tn_get_text(value, "code", "CONNECTION_LOST"),
                       tn_get_text(value, "message", "the connection failed"));
    }
    exchange->busy = false;
    if (exchange->dead) exchange_free(exchange);
    leave(http);
}

/* ---- The rest of a transport ---- */

/* Closing the stream tells a server of the newer era; one of the older is told by a message, and the stream goes too:
 * its answer, if it comes, is nobody's. */
static bool http_abort(struct transport *transport, int64_t id, bool modern) {
    struct http *http = (struct http *)transport;
    struct exchange *exchange = http->exchanges;
    while (exchange != NULL && (id == 0 || exchange->id != id)) exchange = exchange->next;
    if (exchange != NULL) exchange_free(exchange);
    return modern;
}

static void http_agreed(struct transport *transport, const char *version, bool modern) {
    struct http *http = (struct http *)transport;
    (void)snprintf(http->version, sizeof http->version, "%s", version);
    http->modern = modern;
    if (modern || http->wants_stream) return;
    http->wants_stream = http->opening = true; /* after notifications/initialized */
}

static void on_leave(void *user, int32_t event, tn_value value) {
    struct http *http = user;
    (void)value;
    if (event != TN_HTTP_END && event != TN_HTTP_FAILED) return; /* 405: it keeps its sessions, and that is fine */
    http->leaving = 0;
    http->left();
}

static bool http_leave(struct transport *transport, void (*left)(void)) {
    struct http *http = (struct http *)transport;
    if (http->modern || *http->session == '\0' || http->leaving != 0) return false;
    tn_builder *builder = begin_request(http, "DELETE");
    tn_put_begin(builder, "headers", TN_OBJECT);
    put_headers(builder, http, "DELETE", NULL);
    tn.value->end(builder);
    tn.value->end(builder);
    tn_value request = tn.value->finish(builder);
    http->left = left;
    bool sent = request != NULL && mcp_http->send(tn.host, request, on_leave, http, &http->leaving) == TN_OK;
    tn_release(request);
    *http->session = '\0';
    return sent;
}

static void http_close(struct transport *transport) {
    struct http *http = (struct http *)transport;
    if (http->leaving != 0) (void)mcp_http->cancel(tn.host, http->leaving);
    http->closed = true;
    http->inside++;
    leave(http);
}

static const struct transport_class http_class = {"http", http_send, http_abort, http_agreed, http_leave, http_close};

bool http_host(const char *url, char *host, size_t size) {
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
    struct http *http = mcp_http != NULL ? take(sizeof *http) : NULL;
    if (http == NULL) {
        (void)snprintf(why, size,
                       mcp_http == NULL ? "the host does not offer " TN_HTTP_DRAFT : "there is no memory left");
        return NULL;
    }
    http->transport = (struct transport){&http_class, *events};
    http->name = copy_text(options->name);
    http->url = copy_text(options->url);
    http->headers = options->headers != NULL ? tn_retain(options->headers) : NULL;
    http->oauth = options->oauth;
    if (http->name != NULL && http->url != NULL) return &http->transport;
    (void)snprintf(why, size, "there is no memory left");
    http->closed = true;
    http->inside++;
    leave(http);
    return NULL;
}
