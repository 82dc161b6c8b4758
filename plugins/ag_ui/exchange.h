/*
 * exchange.h - a request from its arrival until its last event: graph/list, thread/get, thread/state, the plan, a run.
 *
 * AG-UI has no way to read the events of a run again: a client that goes ends its run, and the next request continues
 * the thread. [loop]
 */
#ifndef AG_UI_EXCHANGE_H
#define AG_UI_EXCHANGE_H

#include "ag_ui.h"

#define AG_UI_OPEN_MAX 4096 /* requests; further ones get 503 */

struct exchange;

struct exchanges {
    struct serving serving;
    struct exchange *first;
    uint64_t count;
};

void exchange_begin(struct exchanges *all, uint64_t request, tn_value value);
void exchange_on_room(struct exchanges *all, uint64_t request);
/* `reason` of TN_SERVER_CLOSED: the run of a client that has gone is cancelled. */
void exchange_on_closed(struct exchanges *all, uint64_t request, const char *reason);
void exchanges_finish(struct exchanges *all);

/* A refusal: RUN_ERROR as JSON. */
void exchange_refuse(const struct serving *serving, uint64_t request, int32_t status, const char *message,
                     const char *code);

#endif
