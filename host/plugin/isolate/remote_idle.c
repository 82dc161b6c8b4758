/*
 * remote_idle.c - ends the processes of a remote plugin's pool that have been idle for REMOTE_IDLE_MS.
 *
 * The last used one stays: a caller that makes one call after the other needs it again.
 */
#include "adl/value/memory.h"
#include "host/base/clock.h"
#include "host/plugin/isolate/process.h"
#include "host/plugin/isolate/remote_internal.h"
#include <uv.h>

/* Allocated apart, because libuv closes it later than the remote is freed. */
struct remote_idle_timer {
    uv_timer_t timer;
    struct remote *remote;
};

void remote_end_idle(struct remote *remote, int64_t now_ms) {
    for (struct remote_child *child = remote->pool, *next; child; child = next) {
        next = child->next;
        if (child->state == CHILD_STOPPING && now_ms - child->used_ms > REMOTE_CREATE_MS) {
            child_free(child);
            continue;
        }
        bool idle = child_takes_tasks(child) && !child->open && !child->creating && !child->exchange_count;
        if (idle && child != remote->pool && now_ms - child->used_ms >= REMOTE_IDLE_MS) child_stop(child);
    }
}

static void remote_on_idle_timer(uv_timer_t *timer) {
    struct remote_idle_timer *idle = timer->data;
    remote_end_idle(idle->remote, clock_now_ms());
}

/* In real time, and not counted by the loop: neither a fake clock nor the end of a run waits for it. */
void remote_watch_idle(struct remote *remote) {
    if (remote->idle_timer) return;
    struct remote_idle_timer *idle = remote->idle_timer = mem_zalloc(sizeof *idle);
    idle->remote = remote;
    uv_timer_init(loop_uv(remote->host->loop), &idle->timer);
    idle->timer.data = idle;
    uv_timer_start(&idle->timer, remote_on_idle_timer, REMOTE_IDLE_MS / 4, REMOTE_IDLE_MS / 4);
    uv_unref((uv_handle_t *)&idle->timer);
}

static void on_idle_timer_closed(uv_handle_t *handle) { mem_free(handle->data); }

void remote_unwatch_idle(struct remote *remote) {
    if (remote->idle_timer) uv_close((uv_handle_t *)&remote->idle_timer->timer, on_idle_timer_closed);
    remote->idle_timer = NULL;
}
