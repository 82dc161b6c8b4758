/*
 * web_respond.c - responses: their head, their body, streams and events.
 *
 * What is written goes to the provider at once. JSON is written to a buffer of the web, which is used again; an event
 * of a stream allocates nothing.
 */
#include "adl/value/json.h"
#include "host/plugin/registry/plugin.h"
#include "host/server/web/web_internal.h"
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* ---- Headers ---- */

tn_value web_push_header(tn_value headers, const char *name, const char *text) {
    tn_value pair = value_push_take(value_array_reserve(2), value_text(name));
    return value_push_take(headers, value_push_take(pair, value_string_lossy(text, strlen(text))));
}

static bool has_header(tn_value headers, const char *name) {
    for (size_t i = 0; i < value_count(headers); i++)
        if (strcasecmp(value_chars(value_at(value_at(headers, i), 0), NULL), name) == 0) return true;
    return false;
}

/* Framing is the provider's; ids and CORS are the host's. */
static bool is_header_name(const char *name, size_t length) {
    static const char *const reserved[] = {"content-length", "transfer-encoding", "date", "keep-alive", "trailer", "te",
                                           "upgrade",        "x-request-id"};
    static const char cors[] = "access-control-";
    if (strncasecmp(name, cors, sizeof cors - 1) == 0) return false;
    for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++)
        if (strcasecmp(name, reserved[i]) == 0) return false;
    return length && length <= 256 &&
           strspn(name, "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") == length;
}

static bool header_push(tn_value *headers, tn_value name, tn_value text) {
    size_t name_length, length;
    if (!value_is(text, TN_STRING)) return false;
    const char *key = value_chars(name, &name_length), *chars = value_chars(text, &length);
    if (!is_header_name(key, name_length) || length > WEB_HEADER_MAX) return false;
    /* A protocol may require `Connection: keep-alive`; whether the connection ends is decided by the server. */
    if (strcasecmp(key, "connection") == 0 && strcasecmp(chars, "keep-alive") != 0) return false;
    for (size_t i = 0; i < length; i++)
        if (((unsigned char)chars[i] < 0x20 && chars[i] != '\t') || chars[i] == 0x7f) return false;
    tn_value pair = value_push_take(value_push_take(value_array_reserve(2), value_ref(name)), value_ref(text));
    *headers = value_push_take(*headers, pair);
    return value_count(*headers) <= WEB_HEADERS_MAX;
}

/* {name: TEXT or [TEXT, …]} as pairs. */
static bool headers_read(tn_value given, tn_value *headers) {
    if (!given) return true;
    bool valid = value_is(given, TN_OBJECT);
    for (size_t i = 0; valid && i < value_count(given); i++) {
        tn_value name = value_key_at(given, i), text = value_value_at(given, i);
        if (!value_is(text, TN_ARRAY)) valid = header_push(headers, name, text);
        for (size_t k = 0; valid && value_is(text, TN_ARRAY) && k < value_count(text); k++)
            valid = header_push(headers, name, value_at(text, k));
    }
    return valid;
}

tn_value web_add_headers(struct web_request *request, tn_value headers, bool caches) {
    headers = web_push_header(headers, "X-Request-Id", request->id);
    headers = web_push_header(headers, "X-Content-Type-Options", "nosniff");
    if (!caches && !has_header(headers, "cache-control"))
        headers = web_push_header(headers, "Cache-Control", "no-store");
    if (request->origin) {
        headers = web_push_header(headers, "Access-Control-Allow-Origin", request->origin);
        if (request->route && request->route->expose)
            headers = web_push_header(headers, "Access-Control-Expose-Headers", request->route->expose);
    }
    /* Also without `Origin`: a cache must not give a page the response for another one. */
    if (!request->route || !request->route->any_origin) headers = web_push_header(headers, "Vary", "Origin");
    return headers;
}

/* ---- Sending ---- */

/* A large response does not keep its memory. */
static void text_trim(struct web *web) {
    if (web->text.capacity <= WEB_TEXT_KEPT) return;
    buffer_finish(&web->text);
    buffer_init(&web->text, SIZE_MAX);
}

static int32_t head_send(struct web_request *request, int status, tn_value headers, const void *data, size_t length,
                         bool more) {
    const struct web_provider *provider = &request->web->provider;
    request->responded = true;
    request->status = status;
    return provider->vtable->respond(provider->self, request->number, status, headers, data, length, more);
}

void web_answer_take(struct web_request *request, int status, tn_value headers, tn_value body) {
    struct buffer *text = &request->web->text;
    tn_value whole = headers ? headers : value_array();
    buffer_clear(text);
    if (body) {
        json_write(text, body, JSON_COMPACT);
        whole = web_push_header(whole, "Content-Type", "application/json");
    }
    whole = web_add_headers(request, whole, false);
    (void)head_send(request, status, whole, text->data, text->length, false);
    request->finished = true;
    text_trim(request->web);
    value_unref(whole);
    value_unref(body);
}

/* ---- respond ---- */

/* The body of a response, as bytes. `type` is its media type if the plugin sets none. */
struct body {
    const void *data;
    size_t length;
    const char *type;
    bool streams, events;
};

static bool body_read(struct web *web, tn_value response, struct body *out) {
    tn_value json = value_get(response, "json"), body = value_get(response, "body"),
             stream = value_get(response, "stream");
    *out = (struct body){.data = NULL};
    if ((json != NULL) + (body != NULL) + (stream != NULL) > 1) return false;
    if (json) {
        buffer_clear(&web->text);
        json_write(&web->text, json, JSON_COMPACT);
        *out = (struct body){web->text.data, web->text.length, "application/json", false, false};
    } else if (body && value_is(body, TN_STRING)) {
        out->data = value_chars(body, &out->length);
        out->type = "text/plain; charset=utf-8";
    } else if (body && value_is(body, TN_BYTES)) {
        out->data = value_data(body, &out->length);
        out->type = "application/octet-stream";
    } else if (body) {
        return false;
    } else if (stream) {
        out->streams = true;
        out->events = value_text_is(stream, "events");
        out->type = out->events ? "text/event-stream" : "application/octet-stream";
        return out->events || value_text_is(stream, "bytes");
    }
    return true;
}

/* The headers of the plugin come first; those of a refusal that it has not set follow. */
static tn_value headers_of(struct web_request *request, tn_value headers, const struct body *body, int status) {
    char seconds[24];
    for (size_t i = 0; i < value_count(request->refusal); i++) {
        tn_value pair = value_at(request->refusal, i);
        if (!has_header(headers, value_chars(value_at(pair, 0), NULL)))
            headers = value_push_take(headers, value_ref(pair));
    }
    if (body->type && !has_header(headers, "content-type"))
        headers = web_push_header(headers, "Content-Type", body->type);
    if (body->events) {
        if (!has_header(headers, "cache-control")) headers = web_push_header(headers, "Cache-Control", "no-cache");
        headers = web_push_header(headers, "X-Accel-Buffering", "no");
    }
    if ((status == 429 || status == 503) && !has_header(headers, "retry-after")) {
        int64_t wait_s = status == 429 && request->use ? key_use_retry_s(request->use) : 1;
        (void)snprintf(seconds, sizeof seconds, "%lld", (long long)wait_s);
        headers = web_push_header(headers, "Retry-After", seconds);
    }
    return web_add_headers(request, headers, false);
}

static void stream_begin(struct web_request *request, bool events) {
    struct web *web = request->web;
    request->streams = true;
    if (!events) return;
    request->last_ms = loop_now_ms(web->loop);
    request->stream_next = web->streams;
    request->stream_link = &web->streams;
    if (request->stream_next) request->stream_next->stream_link = &request->stream_next;
    web->streams = request;
}

static int32_t respond_read(struct web_request *request, tn_value response, tn_value *headers, int64_t *status,
                            struct body *body) {
    tn_value number = value_get(response, "status");
    if (request->refusing)
        *status = request->status;
    else if (!number || !value_as_int(number, status) || *status < 200 || *status > 599)
        return TN_INVALID;
    if (!headers_read(value_get(response, "headers"), headers)) return TN_INVALID;
    if (!body_read(request->web, response, body) || (request->refusing && body->streams)) return TN_INVALID;
    bool bodiless = *status == 204 || *status == 205 || *status == 304;
    return bodiless && (body->streams || body->length) ? TN_INVALID : TN_OK;
}

/*
 * The plugin has responded, but too much waits for slow clients. The client gets an error in the words of the plugin,
 * which stays the request's owner until TN_SERVER_CLOSED.
 */
static int32_t refuse_response(struct web_request *request, enum web_room room) {
    tn_server_handler handler = request->handler;
    text_trim(request->web);
    if (room == WEB_ROOM_NONE)
        web_refuse_format(request, 503, "LIMIT",
                          "too many large responses wait for clients that read slowly; try again later");
    else
        web_refuse_format(request, 429, "RATE_LIMITED",
                          "too many large responses wait for clients of this key that read slowly; try again later");
    request->handler = handler;
    return TN_LIMIT;
}

int32_t web_respond(struct web_request *request, tn_value response) {
    tn_value headers = value_array();
    struct body body;
    int64_t status = 0;
    bool first = !request->responded && !request->upgraded;
    if (!first || !value_is(response, TN_OBJECT) ||
        respond_read(request, response, &headers, &status, &body) != TN_OK) {
        value_unref(headers);
        if (first && !request->refusing) web_request_fail(request, "the plugin's response is malformed");
        return TN_INVALID;
    }
    enum web_room room = request->refusing ? WEB_ROOM : web_waiting_add(request, body.length);
    if (room != WEB_ROOM) {
        value_unref(headers);
        return refuse_response(request, room);
    }
    headers = headers_of(request, headers, &body, (int)status);
    bool more = body.streams && !request->head_only;
    int32_t sent = head_send(request, (int)status, headers, body.data, body.length, more);
    value_unref(headers);
    text_trim(request->web);
    if (more)
        stream_begin(request, body.events);
    else if (!body.streams)
        request->finished = true;
    if (request->web->draining && more) loop_defer(request->web->loop, &request->later);
    return sent;
}

/* ---- Streams ---- */

int32_t web_write(struct web_request *request, const char *data, size_t length) {
    const struct web_provider *provider = &request->web->provider;
    if (request->responded && request->head_only && !request->finished) return TN_OK;
    if (!request->streams || request->finished) return TN_INVALID;
    if (request->aborted) return TN_STALE;
    if (!length) return request->full ? TN_SERVER_FULL : TN_OK;
    int32_t status = provider->vtable->write(provider->self, request->number, data, length);
    if (status == TN_HTTP_SERVER_FULL) request->full = true;
    if (status != TN_OK && status != TN_HTTP_SERVER_FULL) return TN_STALE;
    if (!web_note_unread(request, length)) return TN_STALE;
    return request->full ? TN_SERVER_FULL : TN_OK;
}

static bool is_line(tn_value text) {
    size_t length;
    const char *chars = value_is(text, TN_STRING) ? value_chars(text, &length) : NULL;
    return chars && strcspn(chars, "\r\n") == length; /* also no NUL */
}

/* Each line of the text becomes a `data:` line; CR, LF and CRLF end a line. */
static void data_write(struct buffer *out, const char *text, size_t length) {
    const char *end = text + length, *at = text;
    for (;;) {
        const char *line = at;
        while (at < end && *at != '\n' && *at != '\r') at++;
        buffer_append(out, "data: ", 6);
        buffer_append(out, line, (size_t)(at - line));
        buffer_char(out, '\n');
        if (at == end) return;
        at += 1 + (*at == '\r' && at + 1 < end && at[1] == '\n');
    }
}

static bool event_write(struct buffer *out, tn_value event) {
    tn_value data = value_get(event, "data"), name = value_get(event, "event"), id = value_get(event, "id");
    tn_value retry = value_get(event, "retry");
    int64_t wait_ms = 0;
    buffer_clear(out);
    if (!value_is(event, TN_OBJECT) || (name && !is_line(name)) || (id && !is_line(id))) return false;
    if (retry && (!value_as_int(retry, &wait_ms) || wait_ms < 0)) return false;
    if (!data && !id && !retry) return false;
    if (name) buffer_format(out, "event: %s\n", value_chars(name, NULL));
    if (id) buffer_format(out, "id: %s\n", value_chars(id, NULL));
    if (retry) buffer_format(out, "retry: %lld\n", (long long)wait_ms);
    if (data && value_is(data, TN_STRING)) {
        size_t length;
        const char *text = value_chars(data, &length);
        data_write(out, text, length);
    } else if (data) {
        buffer_append(out, "data: ", 6);
        json_write(out, data, JSON_COMPACT);
        buffer_char(out, '\n');
    }
    buffer_char(out, '\n');
    return true;
}

int32_t web_event(struct web_request *request, tn_value event) {
    struct web *web = request->web;
    if (!event_write(&web->text, event)) return TN_INVALID;
    if (request->responded && request->head_only && !request->finished) return TN_OK;
    if (!request->stream_link) return TN_INVALID;
    request->last_ms = loop_now_ms(web->loop);
    int32_t status = web_write(request, web->text.data, web->text.length);
    text_trim(web);
    return status;
}

void web_keep_streams_alive(struct web *web) {
    int64_t now_ms = loop_now_ms(web->loop);
    for (struct web_request *at = web->streams, *next; at; at = next) {
        next = at->stream_next;
        if (at->full || at->finished || at->aborted || now_ms - at->last_ms < WEB_KEEP_ALIVE_MS) continue;
        at->last_ms = now_ms;
        (void)web_write(at, ":\n\n", 3);
    }
}

int32_t web_finish(struct web_request *request) {
    const struct web_provider *provider = &request->web->provider;
    if (request->responded && request->head_only && !request->finished) {
        request->finished = true;
        return TN_OK;
    }
    if (!request->streams || request->finished) return TN_INVALID;
    if (request->aborted) return TN_STALE;
    request->finished = true;
    return provider->vtable->finish(provider->self, request->number);
}

int32_t web_flow(struct web_request *request, bool on) {
    const struct web_provider *provider = &request->web->provider;
    return on ? provider->vtable->resume(provider->self, request->number)
              : provider->vtable->pause(provider->self, request->number);
}
