/*
 * delay.c - `delay`: waits without blocking a thread, and writes nothing.
 *
 * A waiting task is a small block and a posted timer. The waiting tasks of an instance are in a list, the oldest first.
 * If the host cancels all of them, it starts with the oldest or with the newest. The list is searched from both ends,
 * so that each is found at once.
 */
#include "core.h"

struct waiting {
    struct waiting *previous, *next;
    struct delay *owner;
    tn_task task;
    uint64_t post;
};

struct delay {
    uint64_t ms;
    struct waiting *oldest, *newest;
};

static void delay_free_waiting(struct waiting *waiting) {
    struct delay *delay = waiting->owner;
    *(waiting->previous != NULL ? &waiting->previous->next : &delay->oldest) = waiting->next;
    *(waiting->next != NULL ? &waiting->next->previous : &delay->newest) = waiting->previous;
    core_release(waiting);
}

static void delay_on_timer(void *argument) {
    struct waiting *waiting = argument;
    tn_task task = waiting->task;
    delay_free_waiting(waiting);
    (void)tn_done(task);
}

static int32_t delay_create(tn_value config, tn_binder *binder, void **self) {
    struct delay *delay = core_alloc_zeroed(sizeof(*delay));
    (void)binder;
    if (delay == NULL) return TN_NO_MEMORY;
    delay->ms = (uint64_t)tn_get_int(config, "ms", 0);
    *self = delay;
    return TN_OK;
}

static int32_t delay_start(void *self, tn_task task, tn_value input) {
    struct delay *delay = self;
    (void)input;
    struct waiting *waiting = core_alloc_zeroed(sizeof(*waiting));
    if (waiting == NULL) return TN_NO_MEMORY;
    waiting->owner = delay;
    waiting->task = task;
    waiting->previous = delay->newest;
    *(delay->newest != NULL ? &delay->newest->next : &delay->oldest) = waiting;
    delay->newest = waiting;
    waiting->post = tn_post(delay->ms, delay_on_timer, waiting);
    if (waiting->post != 0) return TN_OK;
    delay_free_waiting(waiting);
    return TN_NO_MEMORY;
}

static struct waiting *delay_find_waiting(const struct delay *delay, tn_task task) {
    struct waiting *old = delay->oldest, *new = delay->newest;
    for (; old != NULL && new != NULL; old = old->next, new = new->previous) {
        if (old->task == task) return old;
        if (new->task == task) return new;
    }
    return NULL;
}

static void delay_cancel(void *self, tn_task task) {
    struct waiting *waiting = delay_find_waiting(self, task);
    if (waiting == NULL || tn.core->unpost(tn.host, waiting->post) != TN_OK)
        return; /* the timer already runs, and ends the task */
    delay_free_waiting(waiting);
    (void)core_fail_cancelled(task);
}

TN_COMPONENT(delay, "delay", delay_create, delay_start, delay_cancel, NULL, core_release)
