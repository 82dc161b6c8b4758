/*
 * container_of.h - from a member to the struct that contains it.
 *
 * Work items, timers and waiters are embedded in the object that they belong to; their callbacks get a pointer to the
 * member only.
 *
 *     static void run_on_timeout(struct loop_timer *timer) {
 *         struct run *run = CONTAINER_OF(timer, struct run, timeout);
 *         …
 *     }
 *
 * The compiler checks that `pointer` has the type of the member. The pointer must not be NULL.
 */
#ifndef TENON_HOST_BASE_CONTAINER_OF_H
#define TENON_HOST_BASE_CONTAINER_OF_H

#include <stddef.h>

#define CONTAINER_OF(pointer, type, member)                                                                            \
    (__extension__({                                                                                                   \
        __typeof__(((type *)0)->member) *container_member = (pointer);                                                 \
        (type *)(void *)((char *)container_member - offsetof(type, member));                                           \
    }))

#endif
