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

struct ag_ui {
    struct serving serving;
    struct serving_exchanges exchanges;
};

extern const struct serving_protocol ag_ui_protocol; /* of a struct ag_ui */

#endif
