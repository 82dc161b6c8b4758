/*
 * serve_http.c - tenon.http in a child process: the host performs the requests and sends their events back.
 *
 * The token of an exchange is its number. The host sends data events while it has credit. A paused exchange returns no
 * credit, and stores the events that still arrive.
 */
#include "adl/value/memory.h"
#include "host/base/container_of.h"
#include "host/plugin/abi/abi_view.h"
#include "host/plugin/isolate/serve_internal.h"
#include "host/plugin/registry/plugin.h"
#include <string.h>

struct served_exchange {
    struct served_exchange *next;
    int64_t number;
    tn_http_handler handler;
    void *user;
    tn_value pending;   /* events not delivered yet: an array of event, value, event, value, … */
    size_t first;       /* index of the first pending event that is not delivered */
    int64_t uncredited; /* data events delivered since the last credit */
    bool paused;
    struct loop_work work; /* delivers the pending events */
};

/* Returns the link that points to the exchange, or to NULL at the end of its list. */
static struct served_exchange **served_exchange_link(int64_t number) {
    struct served_exchange **at = &server.exchanges[(uint64_t)number % TASK_BUCKETS];
    while (*at && (*at)->number != number) at = &(*at)->next;
    return at;
}

static void served_exchange_free(struct served_exchange *exchange) {
    *served_exchange_link(exchange->number) = exchange->next;
    loop_undefer(server.loop, &exchange->work);
    value_unref(exchange->pending);
    mem_free(exchange);
    server.exchange_count--;
}

/* Returns {exchange: number}. */
static tn_value served_exchange_params(const struct served_exchange *exchange) {
    return value_set_take(value_object_reserve(2), "exchange", value_int(exchange->number));
}

/* ---- Delivering events ---- */

static void served_exchange_credit(struct served_exchange *exchange) {
    if (++exchange->uncredited < PROTOCOL_EVENTS / 4) return;
    serve_notify_take("http_credit",
                      value_set_take(served_exchange_params(exchange), "events", value_int(exchange->uncredited)));
    exchange->uncredited = 0;
}

/* Calls the handler. The exchange may be freed when this returns. */
static void served_exchange_deliver(struct served_exchange *exchange, int32_t event, tn_value value) {
    tn_http_handler handler = exchange->handler;
    void *user = exchange->user;
    if (event == TN_HTTP_DATA) served_exchange_credit(exchange);
    if (event == TN_HTTP_END || event == TN_HTTP_FAILED) served_exchange_free(exchange);
    handler(user, event, value);
}

static void served_exchange_deliver_work(struct loop_work *work) {
    struct served_exchange *exchange = CONTAINER_OF(work, struct served_exchange, work);
    int64_t number = exchange->number;
    while (*served_exchange_link(number) && !exchange->paused && exchange->first < value_count(exchange->pending)) {
        int32_t event = (int32_t)value_to_int(value_at(exchange->pending, exchange->first));
        tn_value value = value_ref(value_at(exchange->pending, exchange->first + 1));
        exchange->first += 2;
        if (exchange->first == value_count(exchange->pending)) {
            value_unref(exchange->pending);
            exchange->pending = value_array();
            exchange->first = 0;
        }
        served_exchange_deliver(exchange, event, value);
        value_unref(value);
    }
}

static void served_exchange_queue(struct served_exchange *exchange, int32_t event, tn_value value) {
    exchange->pending = value_push_take(exchange->pending, value_int(event));
    exchange->pending = value_push_take(exchange->pending, value_ref(value));
    if (!exchange->paused) loop_defer(server.loop, &exchange->work);
}

void serve_on_http_event(tn_value params) {
    static const char *const names[] = {
        [TN_HTTP_HEAD] = "head", [TN_HTTP_DATA] = "data", [TN_HTTP_END] = "end", [TN_HTTP_FAILED] = "failed"};
    struct served_exchange *exchange = *served_exchange_link(value_to_int(value_get(params, "exchange")));
    tn_value value = value_get(params, "value");
    if (!exchange) return; /* it was cancelled after the host sent the event */
    for (int32_t event = TN_HTTP_HEAD; event <= TN_HTTP_FAILED; event++) {
        if (!value_text_is(value_get(params, "event"), names[event])) continue;
        if (exchange->paused || value_count(exchange->pending))
            served_exchange_queue(exchange, event, value);
        else
            served_exchange_deliver(exchange, event, value);
        return;
    }
}

void serve_discard_exchanges(void) {
    for (uint32_t i = 0; i < TASK_BUCKETS; i++)
        while (server.exchanges[i]) served_exchange_free(server.exchanges[i]);
}

/* ---- The interface ---- */

int32_t serve_check_loop(const tn_host *self) {
    if (!plugin_of(self)) return TN_INVALID;
    return loop_here(server.loop) ? TN_OK : TN_WRONG_THREAD;
}

static int32_t serve_http_send(const tn_host *self, tn_value request, tn_http_handler handler, void *user,
                               uint64_t *out) {
    int32_t status = serve_check_loop(self);
    if (status != TN_OK) return status;
    if (!request || !handler || !out) return TN_INVALID;
    if (server.exchange_count == PROTOCOL_EXCHANGES) return TN_LIMIT;
    struct served_exchange *exchange = mem_zalloc(sizeof *exchange);
    exchange->number = ++server.last_exchange;
    exchange->handler = handler;
    exchange->user = user;
    exchange->pending = value_array();
    exchange->work.run = served_exchange_deliver_work;
    *served_exchange_link(exchange->number) = exchange;
    server.exchange_count++;
    *out = (uint64_t)exchange->number;
    tn_value params = value_set_take(served_exchange_params(exchange), "request", value_ref(request));
    enum frame_fit fit = serve_notify_take("http_send", params);
    if (fit == FRAME_FITS) return TN_OK;
    struct error error = ERROR_INIT;
    serve_set_unsendable(&error, "a request", fit);
    tn_value why = error_to_value(&error);
    served_exchange_queue(exchange, TN_HTTP_FAILED, why);
    value_unref(why);
    error_finish(&error);
    return TN_OK;
}

static struct served_exchange *served_exchange_lookup(uint64_t number) {
    return number > 0 && number <= (uint64_t)server.last_exchange ? *served_exchange_link((int64_t)number) : NULL;
}

static int32_t serve_http_pause(const tn_host *self, uint64_t number) {
    struct served_exchange *exchange = served_exchange_lookup(number);
    int32_t status = serve_check_loop(self);
    if (status != TN_OK) return status;
    if (!exchange) return TN_STALE;
    exchange->paused = true;
    return TN_OK;
}

static int32_t serve_http_resume(const tn_host *self, uint64_t number) {
    struct served_exchange *exchange = served_exchange_lookup(number);
    int32_t status = serve_check_loop(self);
    if (status != TN_OK) return status;
    if (!exchange) return TN_STALE;
    exchange->paused = false;
    if (value_count(exchange->pending)) loop_defer(server.loop, &exchange->work);
    return TN_OK;
}

static int32_t serve_http_cancel(const tn_host *self, uint64_t number) {
    struct served_exchange *exchange = served_exchange_lookup(number);
    int32_t status = serve_check_loop(self);
    if (status != TN_OK) return status;
    if (!exchange) return TN_STALE;
    serve_notify_take("http_cancel", served_exchange_params(exchange));
    served_exchange_free(exchange);
    return TN_OK;
}

static int32_t serve_http_send_wait(const tn_host *self, tn_task task, tn_value request, tn_value *out,
                                    tn_value *error) {
    struct view view;
    struct job *job;
    if (!plugin_of(self) || !request || !out) return TN_INVALID;
    int32_t status = view_open_to_wait(&view, task, &job);
    if (status != TN_OK) return status;
    struct callable *call = serve_operation(PROTOCOL_HTTP_SEND);
    status = view_wait(job, call, false, NULL, request, out, error);
    callable_unref(call);
    return status;
}

const tn_http_1 serve_http = {.size = sizeof(tn_http_1),
                              .send = serve_http_send,
                              .pause = serve_http_pause,
                              .resume = serve_http_resume,
                              .cancel = serve_http_cancel,
                              .send_wait = serve_http_send_wait};
