/*
 * delivery.h - the state of an exchange, and the delivery of its events to the handler.
 */
#ifndef TENON_PLUGINS_HTTP_DELIVERY_H
#define TENON_PLUGINS_HTTP_DELIVERY_H

#include "lines.h"
#include "queue.h"
#include "transfer.h"

enum outcome { OUTCOME_NONE, OUTCOME_END, OUTCOME_FAILED };

struct exchange {
    struct request request;
    struct transfer transfer;
    struct queue_entry queue_entry;
    tn_http_handler handler;
    void *user;
    uint64_t handle;
    int64_t attempt, started_ms;
    uint64_t deadline_post, retry_post; /* ids of calls that the host will make (tn_core_1.post); 0: none */
    int64_t deadline_due;               /* when deadline_post is due, as a time of http_now_ms */
    /* What is delivered. */
    tn_value headers; /* of this attempt's response; NULL before they arrive */
    struct sse events;
    struct lines lines;
    enum outcome outcome;
    tn_value failure;
    bool head_delivered, paused;
    bool delivering;       /* the handler is being called */
    bool cancelled;        /* the handler cancelled the exchange while it was called */
    bool unreadable;       /* the rest of the body cannot be parsed */
    bool finished;         /* END or FAILED was delivered */
    bool is_pending;       /* exchanges_advance has to process it */
    struct exchange *next; /* in the list of pending exchanges */
};

void delivery_init(struct exchange *exchange);
void delivery_finish(struct exchange *exchange);
void delivery_reset(struct exchange *exchange); /* discards this attempt's response before the next attempt */
/* Returns true if the body is delivered as it arrives. */
bool delivery_is_streamed(const struct exchange *exchange);
/*
 * Delivers everything that has arrived. If the exchange cannot continue, returns a failure, which the caller owns, else
 * NULL. If `cancelled` or `finished` is set afterwards, the result is NULL and the caller must free the exchange.
 */
tn_value exchange_deliver(struct exchange *exchange);
void delivery_close(void); /* frees the values that all exchanges share */

#endif
