/*
 * line_wait.c - the wait for input on the loop.
 *
 * libuv makes the descriptors that it watches non-blocking. This would change a terminal for all processes that share
 * it, so libuv watches an epoll descriptor instead, which becomes readable when the input does.
 */
#include "host/program/line_wait.h"
#include "adl/value/memory.h"
#include "host/base/loop.h"
#include <sys/epoll.h>
#include <unistd.h>
#include <uv.h>

struct line_wait {
    uv_poll_t poll; /* first: on_wait_closed frees it */
    bool readable;
    bool (*stopped)(void);
};

static void on_wait_closed(uv_handle_t *handle) { mem_free(handle); }

static void on_wait_readable(uv_poll_t *poll, int status, int events) {
    (void)status, (void)events;
    ((struct line_wait *)poll)->readable = true;
}

static bool wait_is_done(void *user) {
    const struct line_wait *wait = user;
    return wait->readable || wait->stopped();
}

/* Returns the epoll descriptor; -1 if the input cannot be watched. */
static int watch_input(int descriptor) {
    struct epoll_event event = {.events = EPOLLIN};
    int watcher = epoll_create1(EPOLL_CLOEXEC);
    if (watcher < 0 || epoll_ctl(watcher, EPOLL_CTL_ADD, descriptor, &event) == 0) return watcher;
    close(watcher);
    return -1;
}

void line_wait(struct loop *loop, int descriptor, bool (*stopped)(void)) {
    int watcher = watch_input(descriptor);
    if (watcher < 0) return;
    struct line_wait *wait = mem_zalloc(sizeof *wait);
    wait->stopped = stopped;
    if (uv_poll_init(loop_uv(loop), &wait->poll, watcher) != 0) {
        mem_free(wait);
        close(watcher);
        return;
    }
    uv_poll_start(&wait->poll, UV_READABLE, on_wait_readable);
    (void)loop_run(loop, wait_is_done, wait);
    uv_poll_stop(&wait->poll);
    uv_close((uv_handle_t *)&wait->poll, on_wait_closed);
    close(watcher);
}
