/*
 * timer.c - a binary heap of timers that know their place in it, so that stopping one needs no search.
 */
#include "host/loop/timer.h"
#include "adl/value/memory.h"

static bool before(const struct loop_timer *a, const struct loop_timer *b) {
    return a->due_ms != b->due_ms ? a->due_ms < b->due_ms : a->order < b->order;
}

static void place(struct timers *timers, uint32_t index, struct loop_timer *timer) {
    timers->items[index] = timer;
    timer->index = index;
}

static void rise(struct timers *timers, uint32_t index, struct loop_timer *timer) {
    for (; index > 1 && before(timer, timers->items[index / 2]); index /= 2)
        place(timers, index, timers->items[index / 2]);
    place(timers, index, timer);
}

static void sink(struct timers *timers, uint32_t index, struct loop_timer *timer) {
    for (;;) {
        uint32_t child = index * 2;
        if (child > timers->count) break;
        if (child < timers->count && before(timers->items[child + 1], timers->items[child])) child++;
        if (!before(timers->items[child], timer)) break;
        place(timers, index, timers->items[child]);
        index = child;
    }
    place(timers, index, timer);
}

void timers_finish(struct timers *timers) {
    for (uint32_t i = 1; i <= timers->count; i++) timers->items[i]->index = 0;
    mem_free(timers->items);
    *timers = (struct timers){0};
}

void timers_add(struct timers *timers, struct loop_timer *timer) {
    if (timers->count + 1 >= timers->capacity) {
        timers->capacity = timers->capacity ? timers->capacity * 2 : 16;
        timers->items = mem_array(timers->items, timers->capacity, sizeof(struct loop_timer *));
    }
    timer->order = timers->order++;
    rise(timers, ++timers->count, timer);
}

void timers_remove(struct timers *timers, struct loop_timer *timer) {
    uint32_t index = timer->index;
    if (!index) return;
    timer->index = 0;
    struct loop_timer *last = timers->items[timers->count--];
    if (last == timer) return;
    if (index > 1 && before(last, timers->items[index / 2]))
        rise(timers, index, last);
    else
        sink(timers, index, last);
}

struct loop_timer *timers_first(const struct timers *timers) {
    return timers->count ? timers->items[1] : NULL;
}
