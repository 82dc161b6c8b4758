/*
 * timer.h - the loop's timers: a binary heap by time, and by order of starting where times are equal.
 *
 * Invariant: items[i]->index == i for 1 <= i <= count; a timer that is not in the heap has index 0. For loop.c alone.
 */
#ifndef TENON_HOST_LOOP_TIMER_H
#define TENON_HOST_LOOP_TIMER_H

#include "host/loop/loop.h"

struct timers {
    struct loop_timer **items; /* from 1; items[0] is unused */
    uint32_t count, capacity;
    uint64_t order; /* of the next one started */
};

void timers_finish(struct timers *timers);
/* Adds a timer that is not in the heap, with its due_ms set. */
void timers_add(struct timers *timers, struct loop_timer *timer);
void timers_remove(struct timers *timers, struct loop_timer *timer); /* not in the heap: nothing */
struct loop_timer *timers_first(const struct timers *timers);        /* the one due first, or NULL */

#endif
