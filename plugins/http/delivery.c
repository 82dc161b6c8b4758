/*
 * delivery.c - delivers HEAD, DATA, and END or FAILED to a handler, which may call any function meanwhile.
 *
 * One parsed piece is delivered before the next is parsed. If the handler pauses at an event, the remaining bytes are
 * parsed when it resumes. After the handler has cancelled, it is not called again.
 */
#include "delivery.h"

#define KEEP 16384 /* bytes of memory that an exchange keeps between two pieces of a body */

static tn_value empty_message; /* made at the first use */

void delivery_init(struct exchange *exchange) {
    exchange->events = (struct sse)SSE_INIT;
    exchange->lines = (struct lines)LINES_INIT;
}

void delivery_reset(struct exchange *exchange) {
    tn_release(exchange->headers);
    exchange->headers = NULL;
}

void delivery_finish(struct exchange *exchange) {
    delivery_reset(exchange);
    sse_finish(&exchange->events);
    lines_finish(&exchange->lines);
}

void delivery_close(void) {
    tn_release(empty_message);
    empty_message = NULL;
}

static bool has_event_stream_type(tn_value headers) {
    static const char wanted[] = "text/event-stream";
    const char *type = tn_get_text(headers, "content-type", NULL);
    if (type == NULL) return true;
    size_t length = sizeof wanted - 1;
    return strncasecmp(type, wanted, length) == 0 && (type[length] == '\0' || strchr("; \t,", type[length]) != NULL);
}

bool delivery_is_streamed(const struct exchange *exchange) {
    int64_t status = exchange->transfer.status;
    enum receive receive = exchange->request.receive;
    if (status < 200 || status > 299 || receive == RECEIVE_WHOLE) return false;
    return receive != RECEIVE_EVENTS || has_event_stream_type(exchange->headers);
}

/* Takes `value`. Returns false if nothing more may be delivered for now. */
static bool call_handler(struct exchange *exchange, int32_t event, tn_value value) {
    exchange->handler(exchange->user, event, value);
    tn_release(value);
    return !exchange->cancelled && !exchange->paused;
}

/* ---- Values ---- */

static tn_value make_head_value(const struct exchange *exchange) {
    return tn_build("{s:I,s:v,s:I}", "status", (int64_t)exchange->transfer.status, "headers", exchange->headers,
                    "attempt", (int64_t)exchange->attempt);
}

static tn_value make_end_value(const struct exchange *exchange) {
    const struct transfer *transfer = &exchange->transfer;
    tn_builder *builder = tn_builder_new();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_int(builder, "status", transfer->status);
    tn_put(builder, "headers", exchange->headers);
    if (!transfer->streamed)
        tn_put_take(builder, "body",
                    tn_bytes(transfer->body.bytes != NULL ? transfer->body.bytes : "", transfer->body.length));
    tn_put_int(builder, "attempts", exchange->attempt);
    tn_put_int(builder, "ms", http_now_ms() - exchange->started_ms);
    tn.value->end(builder);
    return tn_finish(builder);
}

/* Most messages have no id and differ only in their data: start from a shared value. */
static tn_value make_message_value(const struct sse *events) {
    if (empty_message == NULL) {
        empty_message = tn_build("{s:s,s:s}", "event", "message", "data", "");
    }
    tn_value data = tn_text_lossy(events->data.bytes, events->data.length);
    return tn_set_take(tn_retain(empty_message), "data", data);
}

static tn_value make_event_value(const struct sse *events) {
    if (events->event.length == 0 && events->id.length == 0 && events->retry < 0) return make_message_value(events);
    tn_builder *builder = tn_builder_new();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_take(builder, "event",
                events->event.length > 0 ? tn_text_lossy(events->event.bytes, events->event.length)
                                         : tn_text("message"));
    tn_put_take(builder, "data", tn_text_lossy(events->data.bytes, events->data.length));
    if (events->id.length > 0) tn_put_take(builder, "id", tn_text_lossy(events->id.bytes, events->id.length));
    if (events->retry >= 0) tn_put_int(builder, "retry", events->retry);
    tn.value->end(builder);
    return tn_finish(builder);
}

/* ---- The body ---- */

static tn_value fail_oversized_piece(const struct exchange *exchange, const char *what) {
    return http_failure("LIMIT", "%s: %s has more than %d bytes", exchange->transfer.request->origin, what, SSE_MAX);
}

/* Reads one piece. Returns false if no piece is complete. */
static bool deliver_next_piece(struct exchange *exchange, tn_value *piece, tn_value *why) {
    struct transfer *transfer = &exchange->transfer;
    enum receive receive = exchange->request.receive;
    enum parse parse;
    *piece = *why = NULL;
    if (transfer->body.bytes == NULL) return false;
    const char *at = transfer->body.bytes + transfer->consumed, *end = transfer->body.bytes + transfer->body.length;
    if (receive == RECEIVE_BYTES) {
        if (at == end) return false;
        *piece = tn_bytes(at, (uint64_t)(end - at));
        transfer->consumed = transfer->body.length;
        return true;
    }
    bool events = receive == RECEIVE_EVENTS;
    parse = events ? sse_next(&exchange->events, &at, end) : lines_next(&exchange->lines, &at, end);
    transfer->consumed = (size_t)(at - transfer->body.bytes);
    if (parse == PARSE_LIMIT) *why = fail_oversized_piece(exchange, events ? "an event" : "a line");
    if (parse == PARSE_MEMORY) *why = http_failure_memory();
    if (parse != PARSE_FOUND) return false;
    *piece = events ? make_event_value(&exchange->events) : tn_text_lossy(exchange->lines.text, exchange->lines.length);
    return true;
}

/* Returns false if nothing more may be delivered for now. */
static bool deliver_body(struct exchange *exchange, tn_value *why) {
    struct transfer *transfer = &exchange->transfer;
    tn_value piece;
    while (deliver_next_piece(exchange, &piece, why)) {
        if (piece == NULL) *why = http_failure_memory();
        if (piece == NULL || !call_handler(exchange, TN_HTTP_DATA, piece)) return false;
    }
    if (*why != NULL) return false;
    transfer->consumed = 0;
    tn_text_clear(&transfer->body, KEEP);
    if (exchange->outcome == OUTCOME_END && exchange->request.receive == RECEIVE_LINES && lines_last(&exchange->lines))
        return call_handler(exchange, TN_HTTP_DATA, tn_text_lossy(exchange->lines.text, exchange->lines.length));
    return true;
}

/* ---- Delivery ---- */

static tn_value deliver_available(struct exchange *exchange) {
    struct transfer *transfer = &exchange->transfer;
    bool ended = exchange->outcome == OUTCOME_END;
    tn_value why = NULL;
    if (!exchange->head_delivered && exchange->headers != NULL &&
        (transfer->streamed || (ended && !exchange->paused))) {
        exchange->head_delivered = true;
        if (!call_handler(exchange, TN_HTTP_HEAD, make_head_value(exchange))) return NULL;
    }
    if (exchange->paused) return NULL;
    if (transfer->streamed && !exchange->unreadable && !deliver_body(exchange, &why)) return why;
    if (exchange->outcome == OUTCOME_NONE) return NULL;
    exchange->finished = true;
    if (ended)
        (void)call_handler(exchange, TN_HTTP_END, make_end_value(exchange));
    else
        (void)call_handler(exchange, TN_HTTP_FAILED, tn_retain(exchange->failure));
    return NULL;
}

tn_value exchange_deliver(struct exchange *exchange) {
    exchange->delivering = true;
    tn_value why = deliver_available(exchange);
    exchange->delivering = false;
    return why;
}
