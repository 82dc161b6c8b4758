/*
 * give.c - HEAD, DATA, END or FAILED, in that order and once, to a handler that may do anything meanwhile.
 *
 * What a parser gives is given before it is asked for the next: who pauses at an event gets the rest of the bytes,
 * still unread, when it resumes. A handler is not called again once it has cancelled.
 */
#include "give.h"

#define KEEP 16384 /* bytes of memory that an exchange keeps between two pieces of a body */

static tn_value empty_message; /* made when it is first needed */

void give_begin(struct exchange *exchange) {
    exchange->events = (struct sse)SSE_INIT;
    exchange->lines = (struct lines)LINES_INIT;
}

void give_forget(struct exchange *exchange) {
    tn_release(exchange->headers);
    exchange->headers = NULL;
}

void give_finish(struct exchange *exchange) {
    give_forget(exchange);
    sse_finish(&exchange->events);
    lines_finish(&exchange->lines);
}

void give_close(void) {
    tn_release(empty_message);
    empty_message = NULL;
}

static bool is_event_stream(tn_value headers) {
    static const char wanted[] = "text/event-stream";
    const char *type = tn_get_text(headers, "content-type", NULL);
    if (type == NULL) return true;
    size_t length = sizeof wanted - 1;
    return strncasecmp(type, wanted, length) == 0 && (type[length] == '\0' || strchr("; \t,", type[length]) != NULL);
}

bool give_is_piecemeal(const struct exchange *exchange) {
    int64_t status = exchange->transfer.status;
    enum receive receive = exchange->request.receive;
    if (status < 200 || status > 299 || receive == RECEIVE_WHOLE) return false;
    return receive != RECEIVE_EVENTS || is_event_stream(exchange->headers);
}

/* Takes the value. False: give no more for now. */
static bool hand(struct exchange *exchange, int32_t event, tn_value value) {
    exchange->handler(exchange->user, event, value);
    tn_release(value);
    return !exchange->cancelled && !exchange->paused;
}

/* ---- Values ---- */

static tn_value head_value(const struct exchange *exchange) {
    tn_builder *builder = tn.value->builder();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_int(builder, "status", exchange->transfer.status);
    tn_put(builder, "headers", exchange->headers);
    tn_put_int(builder, "attempt", exchange->attempt);
    tn.value->end(builder);
    return tn.value->finish(builder);
}

static tn_value end_value(const struct exchange *exchange) {
    const struct transfer *transfer = &exchange->transfer;
    tn_builder *builder = tn.value->builder();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_int(builder, "status", transfer->status);
    tn_put(builder, "headers", exchange->headers);
    if (!transfer->piecemeal)
        tn_put_take(
            builder, "body",
            tn.value->make_bytes(transfer->body.data != NULL ? transfer->body.data : "", transfer->body.length));
    tn_put_int(builder, "attempts", exchange->attempt);
    tn_put_int(builder, "ms", now_ms() - exchange->began_ms);
    tn.value->end(builder);
    return tn.value->finish(builder);
}

/* Most are a message without an id: with other data, and for the rest the same as the one before. */
static tn_value message_value(const struct sse *events) {
    if (empty_message == NULL) {
        tn_builder *builder = tn.value->builder();
        tn.value->begin(builder, TN_OBJECT);
        tn_put_text(builder, "event", "message");
        tn_put_text(builder, "data", "");
        tn.value->end(builder);
        empty_message = tn.value->finish(builder);
    }
    tn_value data = text_lossy(events->data.data, events->data.length);
    tn_value made = data != NULL ? tn.value->set(empty_message, "data", data) : NULL;
    tn_release(data);
    return made;
}

static tn_value event_value(const struct sse *events) {
    if (events->event.length == 0 && events->id.length == 0 && events->retry < 0) return message_value(events);
    tn_builder *builder = tn.value->builder();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_take(builder, "event",
                events->event.length > 0 ? text_lossy(events->event.data, events->event.length) : tn_text("message"));
    tn_put_take(builder, "data", text_lossy(events->data.data, events->data.length));
    if (events->id.length > 0) tn_put_take(builder, "id", text_lossy(events->id.data, events->id.length));
    if (events->retry >= 0) tn_put_int(builder, "retry", events->retry);
    tn.value->end(builder);
    return tn.value->finish(builder);
}

/* ---- The body ---- */

static tn_value is_too_long(const struct exchange *exchange, const char *what) {
    return failure("LIMIT", "%s: %s has more than %d bytes", exchange->transfer.request->origin, what, SSE_MAX);
}

/* One piece; false: there is none for now. */
static bool next_piece(struct exchange *exchange, tn_value *piece, tn_value *why) {
    struct transfer *transfer = &exchange->transfer;
    enum receive receive = exchange->request.receive;
    enum parse parse;
    *piece = *why = NULL;
    if (transfer->body.data == NULL) return false;
    const char *at = transfer->body.data + transfer->taken, *end = transfer->body.data + transfer->body.length;
    if (receive == RECEIVE_BYTES) {
        if (at == end) return false;
        *piece = tn.value->make_bytes(at, (uint64_t)(end - at));
        transfer->taken = transfer->body.length;
        return true;
    }
    bool events = receive == RECEIVE_EVENTS;
    parse = events ? sse_next(&exchange->events, &at, end) : lines_next(&exchange->lines, &at, end);
    transfer->taken = (size_t)(at - transfer->body.data);
    if (parse == PARSE_LIMIT) *why = is_too_long(exchange, events ? "an event" : "a line");
    if (parse == PARSE_MEMORY) *why = failure_memory();
    if (parse != PARSE_FOUND) return false;
    *piece = events ? event_value(&exchange->events) : text_lossy(exchange->lines.text, exchange->lines.length);
    return true;
}

/* False: no more may be given for now. */
static bool give_body(struct exchange *exchange, tn_value *why) {
    struct transfer *transfer = &exchange->transfer;
    tn_value piece;
    while (next_piece(exchange, &piece, why)) {
        if (piece == NULL) *why = failure_memory();
        if (piece == NULL || !hand(exchange, TN_HTTP_DATA, piece)) return false;
    }
    if (*why != NULL) return false;
    transfer->taken = 0;
    bytes_clear(&transfer->body, KEEP);
    if (exchange->outcome == OUTCOME_END && exchange->request.receive == RECEIVE_LINES && lines_last(&exchange->lines))
        return hand(exchange, TN_HTTP_DATA, text_lossy(exchange->lines.text, exchange->lines.length));
    return true;
}

/* ---- All of it ---- */

static tn_value give_all(struct exchange *exchange) {
    struct transfer *transfer = &exchange->transfer;
    bool ended = exchange->outcome == OUTCOME_END;
    tn_value why = NULL;
    if (!exchange->head_given && exchange->headers != NULL && (transfer->piecemeal || (ended && !exchange->paused))) {
        exchange->head_given = true;
        if (!hand(exchange, TN_HTTP_HEAD, head_value(exchange))) return NULL;
    }
    if (exchange->paused) return NULL;
    if (transfer->piecemeal && !exchange->unreadable && !give_body(exchange, &why)) return why;
    if (exchange->outcome == OUTCOME_NONE) return NULL;
    exchange->over = true;
    if (ended)
        (void)hand(exchange, TN_HTTP_END, end_value(exchange));
    else
        (void)hand(exchange, TN_HTTP_FAILED, tn_retain(exchange->failure));
    return NULL;
}

tn_value give(struct exchange *exchange) {
    exchange->giving = true;
    tn_value why = give_all(exchange);
    exchange->giving = false;
    return why;
}
