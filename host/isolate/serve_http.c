/*
 * serve_http.c - tenon.http in a process of its own: requests are told to the host, and what comes of them is told
 * here.
 *
 * An exchange's token is its number, which is never used again. The host sends so much data as it has been given room
 * for; an exchange that is paused gives none back, and keeps what was on the way.
 */
#include "adl/value/memory.h"
#include "host/isolate/serve_internal.h"
#include <stddef.h>
#include <string.h>

struct exchange {
    struct exchange *next;
    int64_t number;
    tn_http_handler handler;
    void *user;
    tn_value waiting; /* an array: an event, its value, and so on */
    size_t first;     /* of those that have not been given */
    int64_t taken;    /* data that the host has not been told of as taken */
    bool paused;
    struct loop_work work; /* what waits is to be given */
};

static struct exchange *exchanges[TASK_BUCKETS];
static int64_t last_number;
static uint32_t open_count;

static struct exchange **find(int64_t number) {
    struct exchange **at = &exchanges[(uint64_t)number % TASK_BUCKETS];
    while (*at && (*at)->number != number) at = &(*at)->next;
    return at;
}

static void forget(struct exchange *exchange) {
    *find(exchange->number) = exchange->next;
    loop_undefer(server.host.loop, &exchange->work);
    value_unref(exchange->waiting);
    mem_free(exchange);
    open_count--;
}

static tn_value of_exchange(const struct exchange *exchange) {
    return value_set_take(value_object_reserve(2), "exchange", value_int(exchange->number));
}

/* ---- Giving ---- */

static void give_room(struct exchange *exchange) {
    if (++exchange->taken < PROTOCOL_EVENTS / 4) return;
    serve_notify_take("http_credit", value_set_take(of_exchange(exchange), "events", value_int(exchange->taken)));
    exchange->taken = 0;
}

/* The exchange may be gone afterwards. */
static void give(struct exchange *exchange, int32_t event, tn_value value) {
    tn_http_handler handler = exchange->handler;
    void *user = exchange->user;
    if (event == TN_HTTP_DATA) give_room(exchange);
    if (event == TN_HTTP_END || event == TN_HTTP_FAILED) forget(exchange);
    handler(user, event, value);
}

static void give_waiting(struct loop_work *work) {
    struct exchange *exchange = (struct exchange *)(void *)((char *)work - offsetof(struct exchange, work));
    int64_t number = exchange->number;
    while (*find(number) && !exchange->paused && exchange->first < value_count(exchange->waiting)) {
        int32_t event = (int32_t)value_to_int(value_at(exchange->waiting, exchange->first));
        tn_value value = value_ref(value_at(exchange->waiting, exchange->first + 1));
        exchange->first += 2;
        if (exchange->first == value_count(exchange->waiting)) {
            value_unref(exchange->waiting);
            exchange->waiting = value_array();
            exchange->first = 0;
        }
        give(exchange, event, value);
        value_unref(value);
    }
}

static void wait_with(struct exchange *exchange, int32_t event, tn_value value) {
    exchange->waiting = value_push_take(exchange->waiting, value_int(event));
    exchange->waiting = value_push_take(exchange->waiting, value_ref(value));
    if (!exchange->paused) loop_defer(server.host.loop, &exchange->work);
}

void serve_http_event(tn_value params) {
    static const char *const names[] = {
        [TN_HTTP_HEAD] = "head", [TN_HTTP_DATA] = "data", [TN_HTTP_END] = "end", [TN_HTTP_FAILED] = "failed"};
    struct exchange *exchange = *find(value_to_int(value_get(params, "exchange")));
    tn_value value = value_get(params, "value");
    if (!exchange) return; /* cancelled here, while it was on the way */
    for (int32_t event = TN_HTTP_HEAD; event <= TN_HTTP_FAILED; event++) {
        if (!value_text_is(value_get(params, "event"), names[event])) continue;
        if (exchange->paused || value_count(exchange->waiting))
            wait_with(exchange, event, value);
        else
            give(exchange, event, value);
        return;
    }
}

void serve_http_end(void) {
    for (uint32_t i = 0; i < TASK_BUCKETS; i++)
        while (exchanges[i]) forget(exchanges[i]);
}

/* ---- The interface ---- */

static int32_t exchange_send(const void *self, tn_value request, tn_http_handler handler, void *user, uint64_t *out) {
    (void)self;
    if (!request || !handler || !out) return TN_INVALID;
    if (open_count == PROTOCOL_EXCHANGES) return TN_LIMIT;
    struct exchange *exchange = mem_zalloc(sizeof *exchange);
    exchange->number = ++last_number;
    exchange->handler = handler;
    exchange->user = user;
    exchange->waiting = value_array();
    exchange->work.run = give_waiting;
    *find(exchange->number) = exchange;
    open_count++;
    *out = (uint64_t)exchange->number;
    if (serve_notify_take("http_send", value_set_take(of_exchange(exchange), "request", value_ref(request))))
        return TN_OK;
    struct error error = ERROR_INIT;
    serve_set_too_long(&error, "a request");
    tn_value why = error_to_value(&error);
    wait_with(exchange, TN_HTTP_FAILED, why);
    value_unref(why);
    error_finish(&error);
    return TN_OK;
}

static struct exchange *known(uint64_t number) {
    return number > 0 && number <= (uint64_t)last_number ? *find((int64_t)number) : NULL;
}

static int32_t exchange_pause(const void *self, uint64_t number) {
    struct exchange *exchange = known(number);
    (void)self;
    if (!exchange) return TN_STALE;
    exchange->paused = true;
    return TN_OK;
}

static int32_t exchange_resume(const void *self, uint64_t number) {
    struct exchange *exchange = known(number);
    (void)self;
    if (!exchange) return TN_STALE;
    exchange->paused = false;
    if (value_count(exchange->waiting)) loop_defer(server.host.loop, &exchange->work);
    return TN_OK;
}

static int32_t exchange_cancel(const void *self, uint64_t number) {
    struct exchange *exchange = known(number);
    (void)self;
    if (!exchange) return TN_STALE;
    serve_notify_take("http_cancel", of_exchange(exchange));
    forget(exchange);
    return TN_OK;
}

const tn_http_draft serve_http = {sizeof(tn_http_draft), 0,   exchange_send, exchange_pause, exchange_resume,
                                  exchange_cancel,       NULL};
