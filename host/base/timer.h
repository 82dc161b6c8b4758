/*
 * timer.h - the timers of a loop: a binary heap, ordered by due time and then by start. Only loop.c includes this.
 *
 * Invariant: items[i]->index == i for 1 <= i <= count; a timer outside the heap has index 0.
 */
#ifndef TENON_HOST_BASE_TIMER_H
#define TENON_HOST_BASE_TIMER_H

#include "host/base/loop.h"

struct timers {
    struct loop_timer **items; /* the first item is items[1]; items[0] is unused */
    uint32_t count, capacity;
    uint64_t order; /* order of the next timer that is started */
};

void timers_finish(struct timers *timers);
/* Adds a timer that is not in the heap, with its due_ms set. */
void timers_add(struct timers *timers, struct loop_timer *timer);
void timers_remove(struct timers *timers, struct loop_timer *timer); /* no effect if it is not in the heap */
struct loop_timer *timers_first(const struct timers *timers);        /* the timer that is due first, or NULL */

#endif
