/*
 * exchange.c - the life of an exchange.
 *
 * What has something to give, or to do that libcurl's callbacks may not, is in the list of those noticed; settling goes
 * through it until nothing is left. One posted call is an exchange's clock, lazy as the driver's: what puts a deadline
 * off changes a number, and nothing else. A number of an exchange has its slot's index and how often that was used.
 */
#include "exchange.h"
#include "driver.h"
#include "give.h"
#include "queue.h"
#include "retry.h"
#include "transfer.h"
#include <stdlib.h>

struct slot {
    struct exchange *exchange;
    uint32_t uses, next_free; /* next_free: index + 1 */
};

static struct {
    struct slot *slots;
    uint32_t count, capacity, live, first_free;
    struct exchange *noticed, **last;
} table;

/* ---- Numbers ---- */

static uint64_t number_of(uint32_t index) { return (uint64_t)table.slots[index].uses << 32 | (index + 1); }

static struct exchange *find(uint64_t number) {
    uint32_t index = (uint32_t)number - 1;
    if (index >= table.count || number_of(index) != number) return NULL;
    struct exchange *exchange = table.slots[index].exchange;
    return exchange != NULL && !exchange->cancelled && !exchange->over ? exchange : NULL;
}

static bool take_slot(struct exchange *exchange) {
    if (table.first_free == 0 && table.count == table.capacity) {
        uint32_t wanted = table.capacity > 0 ? table.capacity * 2 : 16;
        struct slot *grown = realloc(table.slots, wanted * sizeof *grown);
        if (grown == NULL) return false;
        table.slots = grown;
        table.capacity = wanted;
    }
    uint32_t index = table.first_free > 0 ? table.first_free - 1 : table.count;
    struct slot *slot = &table.slots[index];
    if (index == table.count) {
        *slot = (struct slot){0};
        table.count++;
    } else {
        table.first_free = slot->next_free;
    }
    slot->uses++;
    slot->exchange = exchange;
    table.live++;
    exchange->index = index;
    return true;
}

static void give_slot(const struct exchange *exchange) {
    struct slot *slot = &table.slots[exchange->index];
    slot->exchange = NULL;
    slot->next_free = table.first_free;
    table.first_free = exchange->index + 1;
    table.live--;
}

/* ---- The list of those noticed ---- */

static void notice(struct exchange *exchange) {
    if (exchange->is_noticed) return;
    exchange->is_noticed = true;
    exchange->next = NULL;
    if (table.noticed == NULL) table.last = &table.noticed;
    *table.last = exchange;
    table.last = &exchange->next;
}

static void unnotice(struct exchange *exchange) {
    if (!exchange->is_noticed) return;
    struct exchange **at = &table.noticed;
    while (*at != exchange) at = &(*at)->next;
    *at = exchange->next;
    if (table.last == &exchange->next) table.last = at;
    exchange->is_noticed = false;
}

static void on_noticed(struct transfer *transfer) {
    notice((struct exchange *)(void *)((char *)transfer - offsetof(struct exchange, transfer)));
}

/* ---- Deadlines ---- */

static void on_deadline(void *argument);

static int64_t sooner(int64_t a, int64_t b) { return a < b ? a : b; }

static int64_t deadline_of(const struct exchange *exchange) {
    const struct request *request = &exchange->request;
    const struct transfer *transfer = &exchange->transfer;
    int64_t due = INT64_MAX;
    if (exchange->outcome != OUTCOME_NONE) return due;
    if (request->total_ms > 0) due = exchange->began_ms + request->total_ms;
    if (transfer->easy == NULL) return due;
    if (!transfer->connected) return sooner(due, transfer->began_ms + request->connect_ms);
    /* Nothing can come where nothing is taken. */
    if (!exchange->paused && !transfer->held) due = sooner(due, transfer->active_ms + request->idle_ms);
    return due;
}

static void stop_clock(struct exchange *exchange) {
    if (exchange->clock != 0) (void)tn.core->unpost(tn.host, exchange->clock);
    exchange->clock = 0;
}

/* The call that is posted may come too early: then it is posted again. */
static void set_clock(struct exchange *exchange) {
    int64_t due = deadline_of(exchange);
    if (due == INT64_MAX) {
        stop_clock(exchange);
        return;
    }
    if (exchange->clock != 0 && exchange->clock_due <= due) return;
    stop_clock(exchange);
    int64_t now = now_ms();
    exchange->clock_due = due;
    exchange->clock = tn.core->post(tn.host, due > now ? (uint64_t)(due - now) : 0, on_deadline, exchange);
}

/* ---- Being over ---- */

static void leave_the_wire(struct exchange *exchange) {
    transfer_end(&exchange->transfer);
    queue_leave(&exchange->place);
}

static void end_with(struct exchange *exchange, enum outcome outcome, tn_value failure) {
    leave_the_wire(exchange);
    exchange->outcome = outcome;
    exchange->failure = failure;
    stop_clock(exchange);
    notice(exchange);
}

static void exchange_free(struct exchange *exchange) {
    unnotice(exchange);
    stop_clock(exchange);
    if (exchange->again != 0) (void)tn.core->unpost(tn.host, exchange->again);
    leave_the_wire(exchange);
    transfer_finish(&exchange->transfer);
    give_finish(exchange);
    request_finish(&exchange->redirected);
    request_finish(&exchange->request);
    tn_release(exchange->failure);
    give_slot(exchange);
    free(exchange);
}

/* ---- Attempts ---- */

static void wait_for_place(struct exchange *exchange) {
    const struct request *request = exchange->transfer.request;
    if (!queue_enter(&exchange->place, request->origin)) end_with(exchange, OUTCOME_FAILED, failure_memory());
}

static void begin(struct exchange *exchange) {
    tn_value why = transfer_begin(&exchange->transfer);
    if (why != NULL)
        end_with(exchange, OUTCOME_FAILED, why);
    else
        set_clock(exchange);
}

static void begin_all(void) {
    struct place *place;
    while ((place = queue_next()) != NULL)
        begin((struct exchange *)(void *)((char *)place - offsetof(struct exchange, place)));
}

static void on_again(void *argument) {
    struct exchange *exchange = argument;
    exchange->again = 0;
    exchange->attempt++;
    wait_for_place(exchange);
    exchanges_settle();
}

/* True: another attempt will be made. */
static bool try_again(struct exchange *exchange) {
    const struct request *request = &exchange->request;
    if (exchange->attempt >= request->attempts || exchange->head_given) return false;
    int64_t delay = retry_delay_ms(request, exchange->attempt, exchange->headers);
    if (request->total_ms > 0 && now_ms() + delay >= exchange->began_ms + request->total_ms) return false;
    uint64_t again = tn.core->post(tn.host, (uint64_t)delay, on_again, exchange);
    if (again == 0) return false;
    leave_the_wire(exchange);
    transfer_finish(&exchange->transfer);
    give_forget(exchange);
    request_finish(&exchange->redirected);
    exchange->transfer.request = request;
    exchange->again = again;
    set_clock(exchange);
    return true;
}

static void fail(struct exchange *exchange, tn_value why) {
    int32_t retryable = 0;
    (void)tn.value->as_bool(tn.value->get(why, "retryable"), &retryable);
    if (retryable != 0 && try_again(exchange))
        tn_release(why);
    else
        end_with(exchange, OUTCOME_FAILED, why);
}

/* ---- Answers ---- */

static bool is_redirect(int64_t status) {
    return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

static const char *redirect_of(const struct exchange *exchange) {
    const char *location = tn_get_text(exchange->headers, "location", NULL);
    bool wanted = exchange->request.redirects > 0 && is_redirect(exchange->transfer.status);
    return wanted ? location : NULL;
}

/* True: it goes on elsewhere, or has failed. False: the redirect is the answer. */
static bool follow(struct exchange *exchange, const char *location) {
    struct request next = {0};
    bool may = false;
    if (exchange->transfer.request->redirects == 0) {
        end_with(exchange, OUTCOME_FAILED,
                 failure("PROTOCOL", "%s: it redirects more than the %lld times of `redirects`",
                         exchange->request.origin, (long long)exchange->request.redirects));
        return true;
    }
    tn_value why = request_redirect(exchange->transfer.request, exchange->transfer.status, location, &next, &may);
    if (why != NULL || !may) {
        request_finish(&next);
        if (why != NULL) end_with(exchange, OUTCOME_FAILED, why);
        return why != NULL;
    }
    leave_the_wire(exchange);
    transfer_finish(&exchange->transfer);
    give_forget(exchange);
    request_finish(&exchange->redirected);
    exchange->redirected = next;
    exchange->transfer.request = &exchange->redirected;
    wait_for_place(exchange);
    return true;
}

/* The head is there: what becomes of the body? */
static void take_head(struct exchange *exchange) {
    struct transfer *transfer = &exchange->transfer;
    if (!transfer->headed || exchange->headers != NULL) return;
    exchange->headers = transfer_headers(transfer);
    bytes_finish(&transfer->head);
    transfer->judged = true;
    transfer->piecemeal = give_is_piecemeal(exchange);
    if (redirect_of(exchange) != NULL && transfer->request->redirects > 0) transfer->discard = true;
}

static void on_ended(struct exchange *exchange, CURLcode code) {
    struct transfer *transfer = &exchange->transfer;
    take_head(exchange);
    bool discarded = code == CURLE_WRITE_ERROR && transfer->discard && transfer->why == NULL;
    /* To libcurl an answer that is cut within its headers has ended well. */
    if (code == CURLE_OK && !transfer->headed) code = CURLE_GOT_NOTHING;
    if (code == CURLE_OK && transfer->why != NULL) code = CURLE_WRITE_ERROR;
    if (code != CURLE_OK && !discarded) {
        tn_value why = transfer_failure(transfer, code);
        leave_the_wire(exchange);
        fail(exchange, why);
        return;
    }
    leave_the_wire(exchange);
    if (exchange->headers == NULL) {
        end_with(exchange, OUTCOME_FAILED, failure_memory());
        return;
    }
    const char *location = redirect_of(exchange);
    if (location != NULL && follow(exchange, location)) return;
    if (retry_status(transfer->status) && try_again(exchange)) return;
    end_with(exchange, OUTCOME_END, NULL);
}

static void on_deadline(void *argument) {
    struct exchange *exchange = argument;
    const struct request *request = &exchange->request;
    struct transfer *transfer = &exchange->transfer;
    int64_t now = now_ms();
    exchange->clock = 0;
    if (transfer_is_sending(transfer)) transfer->active_ms = now;
    if (deadline_of(exchange) > now)
        set_clock(exchange);
    else if (request->total_ms > 0 && now >= exchange->began_ms + request->total_ms)
        end_with(exchange, OUTCOME_FAILED,
                 failure_timeout("total", "the exchange has not come to its end", request->total_ms));
    else if (!transfer->connected)
        fail(exchange, failure_timeout("connect", "no connection could be made", request->connect_ms));
    else
        fail(exchange, failure_timeout("idle", "not a byte has gone or come", request->idle_ms));
    exchanges_settle();
}

/* ---- Settling ---- */

/* Everything that an exchange can do now. It may be gone afterwards. */
static void go_on(struct exchange *exchange) {
    struct transfer *transfer = &exchange->transfer;
    take_head(exchange);
    if (transfer->broken && exchange->outcome == OUTCOME_NONE)
        end_with(exchange, OUTCOME_FAILED, transfer_failure(transfer, CURLE_OK));
    tn_value why = give(exchange);
    if (exchange->cancelled || exchange->over) {
        exchange_free(exchange);
        return;
    }
    if (why != NULL) {
        exchange->unreadable = true;
        tn_release(exchange->failure);
        end_with(exchange, OUTCOME_FAILED, why);
        return;
    }
    CURLcode code = exchange->paused ? CURLE_OK : transfer_go_on(transfer);
    if (code != CURLE_OK)
        on_ended(exchange, code);
    else if (transfer->easy != NULL)
        set_clock(exchange);
}

void exchanges_settle(void) {
    struct exchange *exchange;
    CURL *easy;
    CURLcode code;
    do {
        while ((easy = driver_ended(&code)) != NULL) {
            struct transfer *transfer = transfer_of(easy);
            on_ended((struct exchange *)(void *)((char *)transfer - offsetof(struct exchange, transfer)), code);
        }
        exchange = table.noticed;
        if (exchange != NULL) {
            table.noticed = exchange->next;
            exchange->is_noticed = false;
            go_on(exchange);
        }
        begin_all();
    } while (exchange != NULL);
}

/* ---- For those who ask ---- */

int32_t exchange_send(tn_value request, tn_http_handler handler, void *user, uint64_t *number) {
    if (request == NULL || handler == NULL || number == NULL) return TN_INVALID;
    if (table.live == EXCHANGES_MAX) return TN_LIMIT;
    struct exchange *exchange = calloc(1, sizeof *exchange);
    if (exchange == NULL) return TN_NO_MEMORY;
    if (!take_slot(exchange)) {
        free(exchange);
        return TN_NO_MEMORY;
    }
    exchange->handler = handler;
    exchange->user = user;
    exchange->attempt = 1;
    exchange->began_ms = now_ms();
    exchange->transfer.request = &exchange->request;
    exchange->transfer.noticed = on_noticed;
    give_begin(exchange);
    *number = number_of(exchange->index);
    tn_value why = request_read(request, &exchange->request);
    if (why != NULL) {
        end_with(exchange, OUTCOME_FAILED, why);
    } else {
        wait_for_place(exchange);
        set_clock(exchange);
        begin_all();
    }
    if (exchange->is_noticed) driver_wake();
    return TN_OK;
}

int32_t exchange_pause(uint64_t number) {
    struct exchange *exchange = find(number);
    if (exchange == NULL) return TN_STALE;
    exchange->paused = exchange->transfer.hold = true;
    return TN_OK;
}

int32_t exchange_resume(uint64_t number) {
    struct exchange *exchange = find(number);
    if (exchange == NULL) return TN_STALE;
    if (!exchange->paused) return TN_OK;
    exchange->paused = exchange->transfer.hold = false;
    exchange->transfer.active_ms = now_ms();
    notice(exchange);
    driver_wake();
    return TN_OK;
}

int32_t exchange_cancel(uint64_t number) {
    struct exchange *exchange = find(number);
    if (exchange == NULL) return TN_STALE;
    exchange->cancelled = true;
    if (exchange->giving) return TN_OK; /* it is freed when its handler has returned */
    exchange_free(exchange);
    begin_all();
    if (table.noticed != NULL) driver_wake();
    return TN_OK;
}

void exchanges_close(void) {
    for (uint32_t i = 0; i < table.count; i++)
        if (table.slots[i].exchange != NULL) exchange_free(table.slots[i].exchange);
    give_close();
    free(table.slots);
    table.slots = NULL;
    table.count = table.capacity = table.live = table.first_free = 0;
}
