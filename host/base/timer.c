/*
 * timer.c - a binary heap of timers. Each timer stores its place in the heap, so stopping it needs no search.
 */
#include "host/base/timer.h"
#include "adl/value/memory.h"

static bool timer_is_before(const struct loop_timer *a, const struct loop_timer *b) {
    return a->due_ms != b->due_ms ? a->due_ms < b->due_ms : a->order < b->order;
}

static void timers_place(struct timers *timers, uint32_t index, struct loop_timer *timer) {
    timers->items[index] = timer;
    timer->index = index;
}

static void timers_sift_up(struct timers *timers, uint32_t index, struct loop_timer *timer) {
    for (; index > 1 && timer_is_before(timer, timers->items[index / 2]); index /= 2)
        timers_place(timers, index, timers->items[index / 2]);
    timers_place(timers, index, timer);
}

static void timers_sift_down(struct timers *timers, uint32_t index, struct loop_timer *timer) {
    for (;;) {
        uint32_t child = index * 2;
        if (child > timers->count) break;
        if (child < timers->count && timer_is_before(timers->items[child + 1], timers->items[child])) child++;
        if (!timer_is_before(timers->items[child], timer)) break;
        timers_place(timers, index, timers->items[child]);
        index = child;
    }
    timers_place(timers, index, timer);
}

void timers_finish(struct timers *timers) {
    for (uint32_t i = 1; i <= timers->count; i++) timers->items[i]->index = 0;
    mem_free(timers->items);
    *timers = (struct timers){0};
}

void timers_add(struct timers *timers, struct loop_timer *timer) {
    MEM_GROW(timers->items, timers->count + 1, timers->capacity);
    timer->order = timers->order++;
    timers_sift_up(timers, ++timers->count, timer);
}

void timers_remove(struct timers *timers, struct loop_timer *timer) {
    uint32_t index = timer->index;
    if (!index) return;
    timer->index = 0;
    struct loop_timer *last = timers->items[timers->count--];
    if (last == timer) return;
    if (index > 1 && timer_is_before(last, timers->items[index / 2]))
        timers_sift_up(timers, index, last);
    else
        timers_sift_down(timers, index, last);
}

struct loop_timer *timers_first(const struct timers *timers) {
    return timers->count ? timers->items[1] : NULL;
}
