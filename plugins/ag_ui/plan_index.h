/*
 * plan_index.h - where the messages and calls of a thread are, so that a plan takes time in proportion to the messages
 * of the thread and of the request, not to their product.
 */
#ifndef AG_UI_PLAN_INDEX_H
#define AG_UI_PLAN_INDEX_H

#include "ag_ui.h"

#define PLAN_INDEX_CALLS INT64_C(0x100000000)

struct plan_index {
    tn_value messages; /* {id: the first message with it} */
    tn_value calls;    /* {id of a call: the last message with it, times PLAN_INDEX_CALLS, plus its number there} */
    tn_value results;  /* {id of a call: its last result} */
    int64_t last_user; /* the last message of the user; -1: none */
};

/* `messages` may be NULL. What memory does not suffice for is not found. */
void plan_index_make(struct plan_index *index, tn_value messages);
void plan_index_free(struct plan_index *index);
/* What the table has; -1 if it is not there. `id` may be NULL. */
int64_t plan_index_find(tn_value table, tn_value id);

#endif
