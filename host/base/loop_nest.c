/*
 * loop_nest.c - polls the descriptor of the inner loop, and starts a timer for its next turn.
 */
#include "host/base/loop_nest.h"
#include "adl/value/memory.h"
#include "host/base/container_of.h"
#include "host/base/log.h"
#include "host/base/loop.h"
#include <uv.h>

struct loop_nest {
    struct loop *outer, *inner;
    uv_poll_t poll; /* readable after an event of the inner loop */
    struct loop_timer timer;
    struct loop_work work;
};

static void nest_on_timer(struct loop_timer *timer) { loop_nest_wake(CONTAINER_OF(timer, struct loop_nest, timer)); }

static void nest_on_readable(uv_poll_t *poll, int status, int events) {
    (void)status, (void)events;
    loop_nest_wake(poll->data);
}

/* The log of this thread is that of the inner host meanwhile. */
static void nest_turn(struct loop_work *work) {
    struct loop_nest *nest = CONTAINER_OF(work, struct loop_nest, work);
    struct log *log = log_ref(log_current());
    loop_run_turn(nest->inner);
    log_enter(log);
    log_unref(log);
    int64_t due_ms = loop_timeout_ms(nest->inner);
    if (due_ms >= 0) loop_timer_start(nest->outer, &nest->timer, due_ms, nest_on_timer);
}

void loop_nest_wake(struct loop_nest *nest) {
    loop_timer_stop(nest->outer, &nest->timer);
    loop_defer(nest->outer, &nest->work);
}

struct loop_nest *loop_nest_new(struct loop *outer, struct loop *inner) {
    struct loop_nest *nest = mem_zalloc(sizeof *nest);
    nest->outer = outer;
    nest->inner = inner;
    nest->work.run = nest_turn;
    (void)uv_poll_init(loop_uv(outer), &nest->poll, loop_descriptor(inner));
    nest->poll.data = nest;
    (void)uv_poll_start(&nest->poll, UV_READABLE, nest_on_readable);
    uv_unref((uv_handle_t *)&nest->poll);
    loop_watch(outer, true);
    loop_nest_wake(nest);
    return nest;
}

static void nest_on_closed(uv_handle_t *handle) { mem_free(handle->data); }

void loop_nest_free(struct loop_nest *nest) {
    if (!nest) return;
    loop_timer_stop(nest->outer, &nest->timer);
    loop_undefer(nest->outer, &nest->work);
    loop_watch(nest->outer, false);
    uv_close((uv_handle_t *)&nest->poll, nest_on_closed);
}
