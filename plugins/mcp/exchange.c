/*
 * exchange.c - the HTTP exchanges with one server: their events, and recovery when they break off.
 *
 * Answers that are not streams are collected, bounded by tenon.http. An exchange that was refused because of its token
 * waits for a better token and is sent again.
 */
#include "exchange.h"
#include "header.h"
#include "oauth/challenge.h"
#include "oauth/redact.h"

#define IDLE_MS  86400000 /* one day without data on a stream */
#define DELAY_MS 1000     /* before a stream is resumed, if the server does not state it */
#define DELAY_MIN                                                                                                      \
    100 /* also if the server states less, so that a stream that ends at once does not cause a busy loop */
#define DELAY_MAX     60000
#define REDIRECTS_MAX 5 /* in a row */

/* ---- Life ---- */

void post_exchange_free(struct exchange *exchange) {
    if (exchange->busy) {
        exchange->must_free = true;
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
    tn_text_free(&exchange->body);
    tn_release(exchange->message);
    tn_release(exchange->extra);
    tn_release(exchange->header);
    mcp_free(exchange);
}

static void on_oauth_outcome(struct oauth_wait *wait, enum oauth_outcome outcome, const char *code, const char *why);

struct exchange *post_exchange_new(struct http *http, enum purpose purpose, int64_t id) {
    struct exchange *exchange = mcp_alloc(sizeof *exchange);
    if (exchange == NULL) return NULL;
    exchange->http = http;
    exchange->purpose = purpose;
    exchange->id = id;
    exchange->body.limit = MCP_MESSAGE_MAX;
    exchange->sse = (struct sse)SSE_INIT;
    exchange->retry_ms = -1;
    exchange->wait.on_result = on_oauth_outcome;
    exchange->next = http->exchanges;
    http->exchanges = exchange;
    return exchange;
}

/* ---- Requests ---- */

void put_exchange_headers(tn_builder *builder, const struct http *http, const char *method, struct exchange *exchange) {
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
        if (tn.value->entry(http->headers, i, &key, &value) == TN_OK) tn_put_key(builder, key, value);
    }
    if (*http->version != '\0') tn_put_text(builder, "MCP-Protocol-Version", http->version);
    if (*http->session != '\0') tn_put_text(builder, "Mcp-Session-Id", http->session);
}

static void put_encoded_header(tn_builder *builder, const char *name, tn_value text) {
    uint64_t length = 0;
    const char *chars = tn_chars(text, &length);
    if (chars != NULL) tn_put_take(builder, name, header_encode(chars, length));
}

/* Headers that repeat members of the message, from 2026-07-28 on. */
static void put_mirrored_headers(tn_builder *builder, tn_value message, tn_value extra) {
    const char *method = tn_get_text(message, "method", "");
    put_encoded_header(builder, "Mcp-Method", tn_get(message, "method"));
    if (strcmp(method, "tools/call") == 0 || strcmp(method, "prompts/get") == 0)
        put_encoded_header(builder, "Mcp-Name", value_get_nested(message, "params", "name"));
    else if (strncmp(method, "tasks/", strlen("tasks/")) == 0)
        put_encoded_header(builder, "Mcp-Name", value_get_nested(message, "params", "taskId"));
    else if (strcmp(method, "resources/read") == 0)
        put_encoded_header(builder, "Mcp-Name", value_get_nested(message, "params", "uri"));
    for (uint64_t i = 0, count = tn.value->count(extra); i < count; i++) {
        tn_value key, value;
        if (tn.value->entry(extra, i, &key, &value) == TN_OK) tn_put_key(builder, key, value);
    }
}

tn_builder *start_http_request(const struct http *http, const char *method) {
    tn_builder *builder = tn_builder_new();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_text(builder, "url", http->endpoint != NULL && strcmp(method, "POST") == 0 ? http->endpoint : http->url);
    tn_put_text(builder, "method", method);
    return builder;
}

static void on_exchange_event(void *user, int32_t event, tn_value value);

static int32_t exchange_send_request(struct exchange *exchange, tn_builder *builder) {
    tn_put_text(builder, "receive", "bytes");
    tn_put_begin(builder, "timeout", TN_OBJECT);
    tn_put_int(builder, "idle_ms", IDLE_MS); /* the session enforces timeouts */
    tn.value->end(builder);
    tn.value->end(builder);
    tn_value request = tn_finish(builder);
    int32_t status = request != NULL ? mcp_http->send(tn.host, request, on_exchange_event, exchange, &exchange->token)
                                     : TN_NO_MEMORY;
    tn_release(request);
    if (status != TN_OK) exchange->token = 0;
    return status;
}

static int32_t exchange_send_message(struct exchange *exchange) {
    struct http *http = exchange->http;
    exchange->had_session = *http->session != '\0';
    tn_builder *builder = start_http_request(http, "POST");
    tn_put_begin(builder, "headers", TN_OBJECT);
    tn_put_text(builder, "Accept", "application/json, text/event-stream");
    tn_put_text(builder, "Content-Type", "application/json");
    put_exchange_headers(builder, http, "POST", exchange);
    if (http->modern) put_mirrored_headers(builder, exchange->message, exchange->extra);
    tn.value->end(builder);
    tn_put(builder, "json", exchange->message);
    return exchange_send_request(exchange, builder);
}

int32_t exchange_send_or_wait(struct exchange *exchange) {
    struct oauth *oauth = exchange->http->oauth;
    if (oauth == NULL || oauth_is_ready(oauth)) return exchange_send_message(exchange);
    oauth_wait(oauth, &exchange->wait);
    return TN_OK;
}

int32_t exchange_open_stream(struct exchange *exchange) {
    struct http *http = exchange->http;
    tn_builder *builder = start_http_request(http, "GET");
    tn_put_begin(builder, "headers", TN_OBJECT);
    tn_put_text(builder, "Accept", "text/event-stream");
    put_exchange_headers(builder, http, "GET", exchange);
    if (exchange->sse.id.length > 0)
        tn_put_take(builder, "Last-Event-ID", header_encode(exchange->sse.id.bytes, exchange->sse.id.length));
    tn.value->end(builder);
    return exchange_send_request(exchange, builder);
}

/* ---- Requests that wait for the server's stream ---- */

static void on_exchange_delay_over(void *argument) {
    struct exchange *exchange = argument;
    struct http *http = exchange->http;
    exchange->timer = 0;
    exchange->delayed = http->opening = false; /* the stream is open, or its time is over */
    if (exchange_send_or_wait(exchange) == TN_OK) return;
    http->active_callbacks++;
    exchange_report_failure(exchange, 0, NULL, "CONNECTION_LOST", "the request cannot be sent");
    http_release(http);
}

bool exchange_delay(struct exchange *exchange, uint64_t delay_ms) {
    exchange->timer = tn_post(delay_ms, on_exchange_delay_over, exchange);
    exchange->delayed = exchange->timer != 0;
    return exchange->delayed;
}

void http_stream_opened(struct http *http) {
    struct exchange *oldest;
    if (!http->opening) return;
    http->opening = false;
    do {
        oldest = NULL;
        for (struct exchange *at = http->exchanges; at != NULL; at = at->next)
            if (at->delayed) oldest = at;
        if (oldest == NULL) return;
        oldest->delayed = false;
        if (oldest->timer != 0) (void)tn.core->unpost(tn.host, oldest->timer);
        oldest->timer = tn_post(0, on_exchange_delay_over, oldest);
    } while (oldest->timer != 0);
}

/* ---- Messages ---- */

static bool is_answer_to_request(tn_value message, int64_t id) {
    return id != 0 && tn_get(message, "method") == NULL && tn_get_int(message, "id", 0) == id;
}

/* Parses JSON in which all tokens of this exchange are hidden: the one that was sent and the current one. */
static int32_t exchange_read_json(const struct exchange *exchange, const char *json, uint64_t length, tn_value *out) {
    const struct http *http = exchange->http;
    tn_value headers[] = {exchange->header, http->oauth != NULL ? oauth_header(http->oauth) : NULL};
    struct tn_text_buffer safe[] = {{.limit = MCP_MESSAGE_MAX}, {.limit = MCP_MESSAGE_MAX}};
    for (int i = 0; i < 2; i++)
        if (redact_token(headers[i], json, length, &safe[i])) json = safe[i].bytes, length = safe[i].length;
    int32_t status = tn.value->from_json(tn.host, json, length, out, NULL);
    for (int i = 0; i < 2; i++) tn_text_free(&safe[i]);
    return status;
}

/* The answer ends the exchange; later events of the stream are not needed. */
static void exchange_deliver_message(struct exchange *exchange, const char *json, uint64_t length) {
    const struct transport_events *events = &exchange->http->transport.events;
    int64_t id = exchange->id;
    tn_value message = NULL;
    const char *why = NULL;
    if (exchange_read_json(exchange, json, length, &message) != TN_OK)
        why = tn_utf8_is_valid(json, length) ? "an event that is not JSON" : "an event that is not UTF-8";
    if (message != NULL && is_answer_to_request(message, id)) post_exchange_free(exchange);
    events->message(events->user, message, id, why);
    tn_release(message);
}

static bool is_event_type(const struct tn_text_buffer *type, const char *name) {
    return type->length == strlen(name) && memcmp(type->bytes, name, type->length) == 0;
}

/* Returns false if the exchange or the transport has ended. */
static bool on_sse_event(struct exchange *exchange) {
    const struct tn_text_buffer *type = &exchange->sse.event, *data = &exchange->sse.data;
    exchange->empty = 0;
    if (exchange->http->sse && is_event_type(type, "endpoint"))
        return sse_read_endpoint(exchange, data->bytes, data->length);
    if (data->length == 0) return true; /* only an id */
    if (type->length > 0 && !is_event_type(type, "message")) return true;
    exchange_deliver_message(exchange, data->bytes, data->length);
    return !exchange->http->closed && !exchange->must_free;
}

void exchange_report_failure(struct exchange *exchange, int64_t status, tn_value body, const char *code,
                             const char *why) {
    const struct transport_events *events = &exchange->http->transport.events;
    int64_t id = exchange->id;
    post_exchange_free(exchange);
    if (id != 0) events->failed(events->user, id, status, body, code, why);
}

/* ---- End of streams ---- */

static void exchange_resume_stream(void *argument) {
    struct exchange *exchange = argument;
    exchange->timer = 0;
    exchange->events = false;
    if (exchange_open_stream(exchange) == TN_OK) return;
    struct http *http = exchange->http;
    http->active_callbacks++;
    exchange_report_failure(exchange, 0, NULL, "CONNECTION_LOST", "the stream cannot be resumed");
    http_release(http);
}

/* Returns true if the stream will be resumed. */
static bool exchange_schedule_resume(struct exchange *exchange) {
    bool can = exchange->purpose == STREAM || exchange->sse.id.length > 0;
    if (!can || exchange->http->modern || exchange->empty >= MCP_RECONNECTS_MAX) return false;
    int64_t delay = exchange->retry_ms >= 0 ? exchange->retry_ms : (int64_t)DELAY_MS << exchange->empty;
    if (delay < DELAY_MIN) delay = DELAY_MIN;
    if (delay > DELAY_MAX) delay = DELAY_MAX;
    exchange->empty++;
    if (exchange->purpose == POST) exchange->purpose = RESUME;
    struct tn_text_buffer id = exchange->sse.id;
    exchange->sse.id = (struct tn_text_buffer){0};
    sse_finish(&exchange->sse);
    exchange->sse = (struct sse)SSE_INIT;
    exchange->sse.id = id;
    exchange->timer = tn_post((uint64_t)delay, exchange_resume_stream, exchange);
    return exchange->timer != 0;
}

/* The stream has ended before the answer. */
static void exchange_handle_disconnect(struct exchange *exchange, const char *code, const char *why) {
    bool wanted = (exchange->purpose == STREAM || exchange->id != 0) && !exchange->must_free;
    if (exchange->http->sse && exchange->purpose == STREAM && !exchange->must_free) {
        sse_fail(exchange, 0, code, exchange->events ? "its stream of events has ended" : why);
        return;
    }
    if (wanted && exchange->events && exchange_schedule_resume(exchange)) return;
    exchange_report_failure(exchange, 0, NULL, code, why);
}

/* ---- Authorization ---- */

static void on_oauth_outcome(struct oauth_wait *wait, enum oauth_outcome outcome, const char *code, const char *why) {
    struct exchange *exchange = (struct exchange *)(void *)((char *)wait - offsetof(struct exchange, wait));
    struct http *http = exchange->http;
    http->active_callbacks++;
    if (outcome != OAUTH_RETRY && http->sse && exchange->purpose == STREAM)
        sse_fail(exchange, 401, code, why);
    else if (outcome != OAUTH_RETRY)
        exchange_report_failure(exchange, 401, NULL, code, why);
    else if ((exchange->purpose == POST ? exchange_send_message(exchange) : exchange_open_stream(exchange)) != TN_OK)
        exchange_report_failure(exchange, 0, NULL, "CONNECTION_LOST", "the request cannot be sent again");
    http_release(http);
}

/* Returns true if the server requires another token and one may be obtained: the request waits for it. */
static bool exchange_wait_for_token(struct exchange *exchange, int64_t status, tn_value end) {
    struct http *http = exchange->http;
    const char *header = tn_get_text(tn_get(end, "headers"), "www-authenticate", NULL);
    if (http->oauth == NULL || (exchange->purpose == STREAM && !http->sse) || (status != 401 && status != 403))
        return false;
    tn_value challenge = challenge_read(header);
    bool scope = challenge_needs_scope(challenge);
    tn_release(challenge);
    if (status == 403 && !scope) return false;
    if (++exchange->tries > OAUTH_TRIES_MAX) {
        exchange_report_failure(exchange, status, NULL, "AUTH",
                                "it refused several tokens for the same request; check the scopes that it requires");
        return true;
    }
    tn_text_free(&exchange->body);
    oauth_refused(http->oauth, exchange->header, status, header, &exchange->wait);
    return true;
}

/* ---- Events of tenon.http ---- */

static void on_exchange_head(struct exchange *exchange, tn_value value) {
    struct http *http = exchange->http;
    tn_value headers = tn_get(value, "headers");
    const char *type = tn_get_text(headers, "content-type", "");
    uint64_t length = 0;
    const char *session = tn_chars(tn_get(headers, "mcp-session-id"), &length);
    int64_t status = tn_get_int(value, "status", 0);
    if (http->oauth != NULL) oauth_store_nonce(http->oauth, headers);
    exchange->events = strncasecmp(type, "text/event-stream", 17) == 0;
    bool begins = exchange->purpose == POST && !http->modern && status >= 200 && status < 300 && *http->version == '\0';
    bool plain = session != NULL && length > 0 && length <= SESSION_MAX;
    for (uint64_t i = 0; plain && i < length; i++) plain = session[i] > ' ' && session[i] <= '~';
    if (begins && plain) memcpy(http->session, session, length + 1);
    if (exchange->purpose == STREAM && !http->sse) http_stream_opened(http);
}

static void on_exchange_data(struct exchange *exchange, tn_value value) {
    uint64_t length = 0;
    const char *bytes = tn.value->as_bytes(value, &length);
    if (bytes == NULL) bytes = tn_chars(value, &length);
    if (bytes == NULL) return;
    if (!exchange->events) {
        (void)tn_text_append_n(&exchange->body, bytes, length);
        return;
    }
    const char *at = bytes, *last = bytes + length;
    enum parse found;
    do {
        found = sse_next(&exchange->sse, &at, last);
        if (exchange->sse.retry >= 0) exchange->retry_ms = exchange->sse.retry;
        if (found == PARSE_FOUND && !on_sse_event(exchange)) return;
    } while (found == PARSE_FOUND);
    if (found != PARSE_MORE)
        exchange_report_failure(exchange, 0, NULL, found == PARSE_LIMIT ? "LIMIT" : "NO_MEMORY",
                                found == PARSE_LIMIT ? "it sent an event of more than 32 MiB" : "not enough memory");
}

static tn_value exchange_body_value(const struct exchange *exchange, tn_value end) {
    tn_value body = tn_get(end, "body"), value = NULL;
    uint64_t length = 0;
    const char *bytes = tn.value->as_bytes(body, &length);
    if (bytes == NULL) bytes = tn_chars(body, &length);
    if (bytes == NULL || length == 0) bytes = exchange->body.bytes, length = exchange->body.length;
    return bytes != NULL && exchange_read_json(exchange, bytes, length, &value) == TN_OK ? value : NULL;
}

/* 307 and 308 keep the method. Only the same origin is followed, because headers can contain secrets. */
static bool exchange_follow_redirect(struct exchange *exchange, int64_t status, const char *location) {
    struct http *http = exchange->http;
    bool post = exchange->purpose == POST;
    char **url = post && http->endpoint != NULL ? &http->endpoint : &http->url;
    bool may = (status == 307 || status == 308) && location != NULL && http->redirects < REDIRECTS_MAX;
    char *target = may ? resolve_same_origin(*url, location, strlen(location)) : NULL;
    if (target == NULL) return false;
    http->redirects++;
    mcp_free(*url);
    *url = target; /* also of further requests */
    tn_text_free(&exchange->body);
    exchange->events = false;
    if ((post ? exchange_send_message(exchange) : exchange_open_stream(exchange)) != TN_OK)
        exchange_report_failure(exchange, 0, NULL, "CONNECTION_LOST", "the request cannot be sent again");
    return true;
}

static void exchange_handle_refusal(struct exchange *exchange, int64_t status, tn_value end) {
    struct http *http = exchange->http;
    const struct transport_events *events = &http->transport.events;
    const char *location = tn_get_text(tn_get(end, "headers"), "location", NULL);
    bool redirects = status >= 300 && status < 400 && location != NULL;
    char why[400];
    if (exchange_follow_redirect(exchange, status, location)) return;
    (void)snprintf(why, sizeof why, "HTTP status %lld%s%.200s%s", (long long)status,
                   status == 401   ? ": it requires authentication; set `headers`"
                   : status == 403 ? ": it forbids the request"
                   : redirects     ? ": a redirect to `"
                                   : "",
                   redirects ? location : "", redirects ? "`, which is not followed; set `url`" : "");
    if (status == 404 && exchange->had_session && *http->session != '\0') {
        *http->session = '\0';
        exchange_report_failure(exchange, 0, NULL, MCP_SESSION_ENDED, "the server has ended the session");
        if (!http->closed) events->closed(events->user, "it has ended the session");
        return;
    }
    if (exchange_wait_for_token(exchange, status, end)) return;
    if (exchange->purpose == STREAM && http->sse) {
        sse_fail(exchange, status, status == 401 || status == 403 ? "AUTH" : "SERVER_ERROR", why);
        return;
    }
    if (exchange->purpose == STREAM) { /* 405: the server has no stream */
        post_exchange_free(exchange);
        return;
    }
    tn_value body = exchange_body_value(exchange, end);
    exchange_report_failure(exchange, status, body, status == 401 || status == 403 ? "AUTH" : "SERVER_ERROR", why);
    tn_release(body);
}

static void on_exchange_end(struct exchange *exchange, tn_value end) {
    int64_t status = tn_get_int(end, "status", 0), id = exchange->id;
    if (exchange->must_free) return;
    if (status >= 200 && status < 300) exchange->http->redirects = 0;
    if (exchange->header != NULL && status >= 200 && status < 300) oauth_accepted(exchange->http->oauth);
    if (status < 200 || status >= 300) {
        exchange_handle_refusal(exchange, status, end);
    } else if (exchange->events) {
        exchange_handle_disconnect(exchange, "CONNECTION_LOST", "the stream ended before the answer");
    } else if (exchange->http->sse && exchange->purpose == STREAM) {
        sse_fail(exchange, status, "PROTOCOL", "it does not answer with a stream of events");
    } else if (exchange->purpose != POST || id == 0 || exchange->http->sse) {
        post_exchange_free(exchange); /* 202: accepted; with `sse`, the answer comes in the stream */
    } else {
        tn_value message = exchange_body_value(exchange, end);
        if (message == NULL) {
            exchange_report_failure(exchange, status, NULL, "SERVER_ERROR", "the answer is not JSON in UTF-8");
            return;
        }
        const struct transport_events *events = &exchange->http->transport.events;
        struct http *http = exchange->http;
        post_exchange_free(exchange);
        events->message(events->user, message, id, NULL);
        tn_release(message);
        /* An answer with another id does not answer this request. */
        if (!http->closed) events->failed(events->user, id, 0, NULL, "SERVER_ERROR", "the answer has another id");
    }
}

static void on_exchange_event(void *user, int32_t event, tn_value value) {
    struct exchange *exchange = user;
    struct http *http = exchange->http;
    http->active_callbacks++;
    exchange->busy = true;
    if (event == TN_HTTP_HEAD) {
        on_exchange_head(exchange, value);
    } else if (event == TN_HTTP_DATA) {
        on_exchange_data(exchange, value);
    } else {
        exchange->token = 0;
        if (exchange->purpose == STREAM && !http->sse) http_stream_opened(http);
        if (http->stream_due && value_is(tn_get(exchange->message, "method"), "notifications/initialized"))
            http_start_stream(http);
        if (event == TN_HTTP_END)
            on_exchange_end(exchange, value);
        else
            exchange_handle_disconnect(exchange, tn_get_text(value, "code", "CONNECTION_LOST"),
                                       tn_get_text(value, "message", "the connection failed"));
    }
    exchange->busy = false;
    if (exchange->must_free) post_exchange_free(exchange);
    http_release(http);
}
