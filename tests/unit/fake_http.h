/*
 * fake_http.h - tenon.http for plugins under test: it stores requests, and the test delivers the responses.
 *
 * Extends fake_host.h. No request leaves the process. Exchanges are numbered from 0 in the order of their requests. An
 * event that the test delivers is passed to the handler at once or, if the exchange is paused, after it is resumed.
 * Streams pass through the real parser of server-sent events, in pieces of a size that the test chooses.
 *
 *     fake_http_begin();                                      // before tn_test_create
 *     tn_test_start("{…}");
 *     tn_test_is(fake_http_request(0), "{\"url\": …}");
 *     fake_http_stream(0, "data: {}\r\n\r\n", length, 1);     // HEAD, then one byte at a time
 *     fake_http_end(0, 200, NULL);
 *     fake_http_finish();                                     // before tn_test_finish
 */
#ifndef TENON_TESTS_FAKE_HTTP_H
#define TENON_TESTS_FAKE_HTTP_H

#include "plugins/http/parse/sse.h"
#include "tests/unit/fake_host.h"
#include <tenon/http.h>

#define FAKE_EXCHANGES_MAX 64

static struct fake_http {
    struct fake_exchange {
        tn_value request;
        tn_http_handler handler;
        void *user;
        bool open, paused, cancelled, headed;
        tn_value waiting[4096]; /* undelivered events while paused: {event, value} */
        uint32_t waiting_count;
    } exchanges[FAKE_EXCHANGES_MAX];
    uint32_t count;
    int32_t status; /* the status that send returns */
} fake_http;

static struct fake_exchange *fake_exchange_of(uint64_t token) {
    bool known = token > 0 && token <= fake_http.count && fake_http.exchanges[token - 1].open;
    return known ? &fake_http.exchanges[token - 1] : NULL;
}

static int32_t fake_http_send(const tn_host *self, tn_value request, tn_http_handler handler, void *user,
                              uint64_t *exchange) {
    assert_ptr_equal(self, &tn_test_the_host);
    if (fake_http.status != TN_OK) return fake_http.status;
    assert_true(fake_http.count < FAKE_EXCHANGES_MAX);
    struct fake_exchange *made = &fake_http.exchanges[fake_http.count++];
    *made = (struct fake_exchange){.request = value_ref(request), .handler = handler, .user = user, .open = true};
    *exchange = fake_http.count;
    return TN_OK;
}

/* Delivers waiting events until the exchange is paused or closed. */
static void fake_http_flush(struct fake_exchange *exchange) {
    uint32_t done = 0;
    while (done < exchange->waiting_count && exchange->open && !exchange->paused) {
        tn_value waiting = exchange->waiting[done++];
        int64_t event = 0;
        value_as_int(value_get(waiting, "event"), &event);
        if (event == TN_HTTP_END || event == TN_HTTP_FAILED) exchange->open = false;
        exchange->handler(exchange->user, (int32_t)event, value_get(waiting, "value"));
        value_unref(waiting);
    }
    memmove(exchange->waiting, exchange->waiting + done, (exchange->waiting_count - done) * sizeof(tn_value));
    exchange->waiting_count -= done;
}

static int32_t fake_http_pause(const tn_host *self, uint64_t token) {
    struct fake_exchange *exchange = fake_exchange_of(token);
    (void)self;
    if (!exchange) return TN_STALE;
    exchange->paused = true;
    return TN_OK;
}

static void fake_http_flush_posted(void *argument) { fake_http_flush(argument); }

/* Waiting events are delivered in the next loop turn, not inside resume. */
static int32_t fake_http_resume(const tn_host *self, uint64_t token) {
    struct fake_exchange *exchange = fake_exchange_of(token);
    (void)self;
    if (!exchange) return TN_STALE;
    exchange->paused = false;
    tn_test_post(NULL, 0, fake_http_flush_posted, NULL, exchange, NULL);
    return TN_OK;
}

static int32_t fake_http_cancel(const tn_host *self, uint64_t token) {
    struct fake_exchange *exchange = fake_exchange_of(token);
    (void)self;
    if (!exchange) return TN_STALE;
    exchange->open = false;
    exchange->cancelled = true;
    return TN_OK;
}

static int32_t fake_http_wait(const tn_host *self, tn_task task, tn_value request, tn_value *result, tn_value *error) {
    (void)self, (void)task, (void)request, (void)result, (void)error;
    return TN_WRONG_THREAD;
}

static const void *fake_http_interface(const char *id) {
    static const tn_http_1 http = {sizeof(tn_http_1), fake_http_send,   fake_http_pause,
                                   fake_http_resume,  fake_http_cancel, fake_http_wait};
    return strcmp(id, TN_HTTP_1) == 0 ? &http : NULL;
}

static inline void fake_http_begin(void) { tn_test.more = fake_http_interface; }

static inline tn_value fake_http_request(uint32_t index) {
    assert_true(index < fake_http.count);
    return fake_http.exchanges[index].request;
}

/* Delivers an event, or queues it while the exchange is paused. Takes the reference of `value`. */
static void fake_http_deliver(uint32_t index, int32_t event, tn_value value) {
    struct fake_exchange *exchange = &fake_http.exchanges[index];
    assert_true(index < fake_http.count && exchange->waiting_count < 4096);
    tn_value waiting = value_set_take(value_object(), "event", value_int(event));
    exchange->waiting[exchange->waiting_count++] = value_set_take(waiting, "value", value);
    fake_http_flush(exchange);
}

static tn_value fake_http_head_value(int64_t status, const char *type) {
    tn_value headers = value_set_take(value_object(), "content-type", value_text(type));
    tn_value head = value_set_take(value_object(), "status", value_int(status));
    return value_set_take(value_set_take(head, "headers", headers), "attempt", value_int(1));
}

static inline void fake_http_head(uint32_t index, int64_t status, const char *type) {
    fake_http.exchanges[index].headed = true;
    fake_http_deliver(index, TN_HTTP_HEAD, fake_http_head_value(status, type));
}

/* Parses `bytes` in pieces of `step` bytes. An incomplete event at the end is dropped, as at the end of a stream. */
static inline void fake_http_stream(uint32_t index, const char *bytes, size_t length, size_t step) {
    struct sse sse = SSE_INIT;
    fake_http_head(index, 200, "text/event-stream");
    for (size_t from = 0; from < length; from += step) {
        const char *at = bytes + from, *end = bytes + (length - from < step ? length : from + step);
        while (sse_next(&sse, &at, end) == PARSE_FOUND) {
            const char *name = sse.event.length > 0 ? tn_text_chars(&sse.event) : "message";
            tn_value event = value_set_take(value_object(), "event", value_text(name));
            tn_value data = value_string_lossy(sse.data.bytes ? sse.data.bytes : "", sse.data.length);
            fake_http_deliver(index, TN_HTTP_DATA, value_set_take(event, "data", data));
        }
    }
    sse_finish(&sse);
}

/* Pass NULL as `body` if the body was delivered as a stream. */
static inline void fake_http_end(uint32_t index, int64_t status, const char *body) {
    if (!fake_http.exchanges[index].headed) fake_http_head(index, status, "application/json");
    tn_value end = fake_http_head_value(status, body ? "application/json" : "text/event-stream");
    if (body) end = value_set_take(end, "body", value_bytes(body, strlen(body)));
    fake_http_deliver(index, TN_HTTP_END, value_set_take(end, "ms", value_int(1)));
}

static inline void fake_http_fail(uint32_t index, const char *code, bool retryable) {
    tn_value error = value_set_take(value_object(), "code", value_text(code));
    error = value_set_take(error, "message", value_text("failed by the test"));
    fake_http_deliver(index, TN_HTTP_FAILED, value_set_take(error, "retryable", value_bool(retryable)));
}

/* Resets the state. Every exchange must have ended or been cancelled. */
static inline void fake_http_finish(void) {
    for (uint32_t i = 0; i < fake_http.count; i++) {
        struct fake_exchange *exchange = &fake_http.exchanges[i];
        assert_false(exchange->open);
        for (uint32_t k = 0; k < exchange->waiting_count; k++) value_unref(exchange->waiting[k]);
        value_unref(exchange->request);
    }
    memset(&fake_http, 0, sizeof fake_http);
}

#endif
