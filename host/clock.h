/*
 * clock.h - time that only goes on: for measuring, and for how long somebody waits without a loop.
 *
 *     int64_t until_ms = clock_now_ms() + 1000;
 *
 * What belongs to a loop asks the loop, whose clock tests stop. [any]
 */
#ifndef TENON_HOST_CLOCK_H
#define TENON_HOST_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline int64_t clock_now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

#endif
