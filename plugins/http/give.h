/*
 * give.h - an exchange's state, and what its handler is given of it.
 */
#ifndef TENON_PLUGINS_HTTP_GIVE_H
#define TENON_PLUGINS_HTTP_GIVE_H

#include "lines.h"
#include "queue.h"
#include "transfer.h"

enum outcome { OUTCOME_NONE, OUTCOME_END, OUTCOME_FAILED };

struct exchange {
    struct request request, redirected; /* redirected: all zero where it was not */
    struct transfer transfer;
    struct place place;
    tn_http_handler handler;
    void *user;
    uint32_t index;
    int64_t attempt, began_ms;
    uint64_t clock, again; /* posted calls; 0: none */
    int64_t clock_due;
    /* What is given. */
    tn_value headers; /* of this attempt's answer; NULL until they have come */
    struct sse events;
    struct lines lines;
    enum outcome outcome;
    tn_value failure;
    bool head_given, paused;
    bool giving;     /* its handler is being called */
    bool cancelled;  /* meanwhile */
    bool unreadable; /* what has come of the body cannot be gone on with */
    bool over;       /* END or FAILED was given */
    bool is_noticed;
    struct exchange *next; /* of those noticed */
};

void give_begin(struct exchange *exchange);
void give_finish(struct exchange *exchange);
void give_forget(struct exchange *exchange); /* of this attempt; another comes */
/* Its body is given on as it comes. */
bool give_is_piecemeal(const struct exchange *exchange);
/*
 * Calls the handler with everything that has come and may be given. A failure, to be released, where it cannot be gone
 * on with. Look at `cancelled` and `over` first.
 */
tn_value give(struct exchange *exchange);
void give_close(void); /* what is kept for all of them */

#endif
