/*
 * clock.h - the monotonic clock, for measuring and for timeouts of code that has no loop, and the time of day for it.
 * Thread: any.
 *
 *     int64_t until_ms = clock_now_ms() + 1000;
 *
 * Code that has a loop uses loop_now_ms and loop_wall_ms, because tests can fake the clock of a loop.
 */
#ifndef TENON_HOST_BASE_CLOCK_H
#define TENON_HOST_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline int64_t clock_now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Since 1970 UTC. */
static inline int64_t clock_wall_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

#endif
