/*
 * exchange.c - the life of an exchange.
 *
 * An exchange that has something to deliver, or has work that libcurl's callbacks must not do, is in the list of
 * pending exchanges; exchanges_advance processes the list until it is empty, but at most ADVANCE_MAX exchanges in one
 * turn of the loop, because a handler can send again at each event. One posted call (tn_core_1.post) is an
 * exchange's clock. It is lazy, like the driver's timer: a later deadline only changes a number.
 */
#include "exchange.h"
#include "delivery.h"
#include "driver.h"
#include "queue.h"
#include "retry.h"
#include "transfer.h"
#include <stdlib.h>
#include <tenon/util/handles.h>

#define ADVANCE_MAX 1024u

static struct {
    struct tn_handles exchanges;
    struct exchange *pending, **last;
} table = {.exchanges = TN_HANDLES(EXCHANGES_MAX)};

/* Returns NULL if the exchange has ended or was cancelled. */
static struct exchange *exchange_lookup(uint64_t handle) {
    struct exchange *exchange = tn_handles_get(&table.exchanges, handle);
    return exchange != NULL && !exchange->cancelled && !exchange->finished ? exchange : NULL;
}

/* ---- The list of pending exchanges ---- */

static void mark_pending(struct exchange *exchange) {
    if (exchange->is_pending) return;
    exchange->is_pending = true;
    exchange->next = NULL;
    if (table.pending == NULL) table.last = &table.pending;
    *table.last = exchange;
    table.last = &exchange->next;
}

static void unmark_pending(struct exchange *exchange) {
    if (!exchange->is_pending) return;
    struct exchange **at = &table.pending;
    while (*at != exchange) at = &(*at)->next;
    *at = exchange->next;
    if (table.last == &exchange->next) table.last = at;
    exchange->is_pending = false;
}

static void on_transfer_progress(struct transfer *transfer) {
    mark_pending((struct exchange *)(void *)((char *)transfer - offsetof(struct exchange, transfer)));
}

/* ---- Deadlines ---- */

static void on_exchange_deadline(void *argument);

static int64_t earlier_deadline(int64_t a, int64_t b) { return a < b ? a : b; }

static int64_t exchange_deadline(const struct exchange *exchange) {
    const struct request *request = &exchange->request;
    const struct transfer *transfer = &exchange->transfer;
    int64_t due = INT64_MAX;
    if (exchange->outcome != OUTCOME_NONE) return due;
    if (request->total_ms > 0) due = exchange->started_ms + request->total_ms;
    if (transfer->easy == NULL) return due;
    if (!transfer->connected) return earlier_deadline(due, transfer->started_ms + request->connect_ms);
    /* No data can arrive while reading is paused. */
    if (!exchange->paused && !transfer->paused) due = earlier_deadline(due, transfer->active_ms + request->idle_ms);
    return due;
}

static void exchange_clear_deadline(struct exchange *exchange) {
    if (exchange->deadline_post != 0) (void)tn.core->unpost(tn.host, exchange->deadline_post);
    exchange->deadline_post = 0;
}

/* If the posted call runs too early, it is posted again. */
static void exchange_set_deadline(struct exchange *exchange) {
    int64_t due = exchange_deadline(exchange);
    if (due == INT64_MAX) {
        exchange_clear_deadline(exchange);
        return;
    }
    if (exchange->deadline_post != 0 && exchange->deadline_due <= due) return;
    exchange_clear_deadline(exchange);
    int64_t now = http_now_ms();
    exchange->deadline_due = due;
    exchange->deadline_post = tn_post(due > now ? (uint64_t)(due - now) : 0, on_exchange_deadline, exchange);
}

/* ---- End ---- */

static void exchange_end_transfer(struct exchange *exchange) {
    transfer_end(&exchange->transfer);
    queue_remove(&exchange->queue_entry);
}

static void exchange_end_with(struct exchange *exchange, enum outcome outcome, tn_value failure) {
    exchange_end_transfer(exchange);
    exchange->outcome = outcome;
    exchange->failure = failure;
    exchange_clear_deadline(exchange);
    mark_pending(exchange);
}

static void exchange_free(struct exchange *exchange) {
    unmark_pending(exchange);
    exchange_clear_deadline(exchange);
    if (exchange->retry_post != 0) (void)tn.core->unpost(tn.host, exchange->retry_post);
    exchange_end_transfer(exchange);
    transfer_finish(&exchange->transfer);
    delivery_finish(exchange);
    request_finish(&exchange->request);
    tn_release(exchange->failure);
    (void)tn_handles_remove(&table.exchanges, exchange->handle);
    free(exchange);
}

/* ---- Attempts ---- */

static void exchange_enqueue(struct exchange *exchange) {
    const struct request *request = exchange->transfer.request;
    if (!queue_add(&exchange->queue_entry, request->origin))
        exchange_end_with(exchange, OUTCOME_FAILED, http_failure_memory());
}

static void exchange_start_attempt(struct exchange *exchange) {
    tn_value why = transfer_begin(&exchange->transfer);
    if (why != NULL)
        exchange_end_with(exchange, OUTCOME_FAILED, why);
    else
        exchange_set_deadline(exchange);
}

static void start_queued_attempts(void) {
    struct queue_entry *entry;
    while ((entry = queue_start_next()) != NULL)
        exchange_start_attempt((struct exchange *)(void *)((char *)entry - offsetof(struct exchange, queue_entry)));
}

static void on_retry_delay_over(void *argument) {
    struct exchange *exchange = argument;
    exchange->retry_post = 0;
    exchange->attempt++;
    exchange_enqueue(exchange);
    exchanges_advance();
}

/* Returns true if another attempt is scheduled. */
static bool exchange_schedule_retry(struct exchange *exchange) {
    const struct request *request = &exchange->request;
    if (exchange->attempt >= request->attempts || exchange->head_delivered) return false;
    int64_t delay = retry_delay_ms(request, exchange->attempt, exchange->headers);
    if (request->total_ms > 0 && http_now_ms() + delay >= exchange->started_ms + request->total_ms) return false;
    uint64_t retry_post = tn_post((uint64_t)delay, on_retry_delay_over, exchange);
    if (retry_post == 0) return false;
    exchange_end_transfer(exchange);
    transfer_finish(&exchange->transfer);
    delivery_reset(exchange);
    exchange->transfer.request = request;
    exchange->retry_post = retry_post;
    exchange_set_deadline(exchange);
    return true;
}

static void exchange_fail_attempt(struct exchange *exchange, tn_value why) {
    int32_t retryable = 0;
    (void)tn.value->as_bool(tn_get(why, "retryable"), &retryable);
    if (retryable != 0 && exchange_schedule_retry(exchange))
        tn_release(why);
    else
        exchange_end_with(exchange, OUTCOME_FAILED, why);
}

/* ---- Responses ---- */

/* The headers are complete: decide what happens to the body. */
static void exchange_read_head(struct exchange *exchange) {
    struct transfer *transfer = &exchange->transfer;
    if (!transfer->has_head || exchange->headers != NULL) return;
    exchange->headers = transfer_headers(transfer);
    tn_text_free(&transfer->head);
    transfer->head_read = true;
    transfer->streamed = delivery_is_streamed(exchange);
}

static void on_transfer_ended(struct exchange *exchange, CURLcode code) {
    struct transfer *transfer = &exchange->transfer;
    exchange_read_head(exchange);
    /* For libcurl, a response that ends within its headers is a success. */
    if (code == CURLE_OK && !transfer->has_head) code = CURLE_GOT_NOTHING;
    if (code == CURLE_OK && transfer->why != NULL) code = CURLE_WRITE_ERROR;
    if (code != CURLE_OK) {
        tn_value why = transfer_failure(transfer, code);
        exchange_end_transfer(exchange);
        exchange_fail_attempt(exchange, why);
        return;
    }
    exchange_end_transfer(exchange);
    if (exchange->headers == NULL) {
        exchange_end_with(exchange, OUTCOME_FAILED, http_failure_memory());
        return;
    }
    if (retry_status_is_transient(transfer->status) && exchange_schedule_retry(exchange)) return;
    exchange_end_with(exchange, OUTCOME_END, NULL);
}

static void on_exchange_deadline(void *argument) {
    struct exchange *exchange = argument;
    const struct request *request = &exchange->request;
    struct transfer *transfer = &exchange->transfer;
    int64_t now = http_now_ms();
    exchange->deadline_post = 0;
    if (transfer_check_sent(transfer)) transfer->active_ms = now;
    if (exchange_deadline(exchange) > now)
        exchange_set_deadline(exchange);
    else if (request->total_ms > 0 && now >= exchange->started_ms + request->total_ms)
        exchange_end_with(exchange, OUTCOME_FAILED,
                          http_failure_timeout("total", "the exchange did not end", request->total_ms));
    else if (!transfer->connected)
        exchange_fail_attempt(exchange,
                              http_failure_timeout("connect", "no connection was established", request->connect_ms));
    else
        exchange_fail_attempt(exchange, http_failure_timeout("idle", "no byte was sent or received", request->idle_ms));
    exchanges_advance();
}

/* ---- Advancing ---- */

/* Does everything that is possible for an exchange now. The exchange may be freed afterwards. */
static void exchange_advance(struct exchange *exchange) {
    struct transfer *transfer = &exchange->transfer;
    exchange_read_head(exchange);
    if (transfer->broken && exchange->outcome == OUTCOME_NONE)
        exchange_end_with(exchange, OUTCOME_FAILED, transfer_failure(transfer, CURLE_OK));
    tn_value why = exchange_deliver(exchange);
    if (exchange->cancelled || exchange->finished) {
        exchange_free(exchange);
        return;
    }
    if (why != NULL) {
        exchange->unreadable = true;
        tn_release(exchange->failure);
        exchange_end_with(exchange, OUTCOME_FAILED, why);
        return;
    }
    CURLcode code = exchange->paused ? CURLE_OK : transfer_resume(transfer);
    if (code != CURLE_OK)
        on_transfer_ended(exchange, code);
    else if (transfer->easy != NULL)
        exchange_set_deadline(exchange);
}

void exchanges_advance(void) {
    uint32_t left = ADVANCE_MAX;
    struct exchange *exchange;
    CURL *easy;
    CURLcode code;
    do {
        while ((easy = driver_next_ended(&code)) != NULL) {
            struct transfer *transfer = transfer_from_handle(easy);
            on_transfer_ended((struct exchange *)(void *)((char *)transfer - offsetof(struct exchange, transfer)),
                              code);
        }
        exchange = table.pending;
        if (exchange != NULL) {
            table.pending = exchange->next;
            exchange->is_pending = false;
            exchange_advance(exchange);
            left--;
        }
        start_queued_attempts();
    } while (exchange != NULL && left > 0);
    if (exchange != NULL) driver_wake();
}

/* ---- Public functions ---- */

int32_t exchange_send(tn_value request, tn_http_handler handler, void *user, uint64_t *handle) {
    if (request == NULL || handler == NULL || handle == NULL) return TN_INVALID;
    struct exchange *exchange = calloc(1, sizeof *exchange);
    if (exchange == NULL) return TN_NO_MEMORY;
    int32_t status = tn_handles_add(&table.exchanges, exchange, &exchange->handle);
    if (status != TN_OK) {
        free(exchange);
        return status;
    }
    exchange->handler = handler;
    exchange->user = user;
    exchange->attempt = 1;
    exchange->started_ms = http_now_ms();
    exchange->transfer.request = &exchange->request;
    exchange->transfer.on_progress = on_transfer_progress;
    delivery_init(exchange);
    *handle = exchange->handle;
    tn_value why = request_read(request, &exchange->request);
    if (why != NULL) {
        exchange_end_with(exchange, OUTCOME_FAILED, why);
    } else {
        exchange_enqueue(exchange);
        exchange_set_deadline(exchange);
        start_queued_attempts();
    }
    if (exchange->is_pending) driver_wake();
    return TN_OK;
}

int32_t exchange_pause(uint64_t handle) {
    struct exchange *exchange = exchange_lookup(handle);
    if (exchange == NULL) return TN_STALE;
    exchange->paused = exchange->transfer.pause_requested = true;
    return TN_OK;
}

int32_t exchange_resume(uint64_t handle) {
    struct exchange *exchange = exchange_lookup(handle);
    if (exchange == NULL) return TN_STALE;
    if (!exchange->paused) return TN_OK;
    exchange->paused = exchange->transfer.pause_requested = false;
    exchange->transfer.active_ms = http_now_ms();
    mark_pending(exchange);
    driver_wake();
    return TN_OK;
}

int32_t exchange_cancel(uint64_t handle) {
    struct exchange *exchange = exchange_lookup(handle);
    if (exchange == NULL) return TN_STALE;
    exchange->cancelled = true;
    if (exchange->delivering) return TN_OK; /* it is freed when its handler has returned */
    exchange_free(exchange);
    start_queued_attempts();
    if (table.pending != NULL) driver_wake();
    return TN_OK;
}

void exchanges_close(void) {
    for (uint32_t i = 0; i < table.exchanges.used; i++)
        if (table.exchanges.slots[i].object != NULL) exchange_free(table.exchanges.slots[i].object);
    delivery_close();
    tn_handles_free(&table.exchanges);
}
