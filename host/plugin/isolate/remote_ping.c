/*
 * remote_ping.c - kills a process that does not answer while it serves requests over HTTP (tenon.server).
 *
 * A handler may take as long as a run does, so the time until its response tells nothing. But its process reads
 * messages meanwhile: while it has requests, it is asked `ping`, one after the other. Any answer counts, also an error,
 * because programs of other authors may not know the method. A process that is killed is replaced, and its requests end
 * as after any other death.
 */
#include "host/base/container_of.h"
#include "host/base/loop.h"
#include "host/plugin/isolate/process.h"
#include "host/plugin/isolate/remote_internal.h"

static void child_on_ping_answered(void *user, int64_t tag, int32_t status, tn_value result,
                                   const struct error *error) {
    struct remote_child *child = user;
    (void)tag, (void)status, (void)result, (void)error;
    child->pinging = false;
}

static void child_ping(struct remote_child *child) {
    child->pinging = true;
    child->ping_left_ms = REMOTE_PING_MS;
    (void)process_request_take(child->process, "ping", value_object(), child_on_ping_answered, child, 0);
}

static void child_on_ping_tick(struct loop_timer *timer) {
    struct remote_child *child = CONTAINER_OF(timer, struct remote_child, ping_timer);
    if (child->pinging) child->ping_left_ms -= REMOTE_PING_TICK_MS;
    if (child->pinging && child->ping_left_ms <= 0) {
        child_kill_late(child, "ping", REMOTE_PING_MS);
        return;
    }
    if (!child->pinging && child->request_count) child_ping(child);
    child->watched = child->pinging;
    if (child->watched) loop_timer_start(child->remote->host->loop, timer, REMOTE_PING_TICK_MS, child_on_ping_tick);
}

void remote_watch_requests(struct remote_child *child) {
    if (child->watched) return;
    child->watched = true;
    loop_timer_start(child->remote->host->loop, &child->ping_timer, REMOTE_PING_TICK_MS, child_on_ping_tick);
}
