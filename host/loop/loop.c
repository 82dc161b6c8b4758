/*
 * loop.c - the loop over libuv: deferred work, posted work, timers in one heap over one uv_timer.
 *
 * A turn: what was deferred (only what was there when the turn began, so that work which defers itself cannot starve
 * the rest), timers that are due, what other threads posted, then libuv's poll, which sleeps only if nothing is left
 * to do here. Posted work goes through a lock-free stack that is turned round when taken: posting never blocks.
 */
#include "host/loop/loop.h"
#include "adl/value/memory.h"
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>
#include <uv.h>

#define POLL_EVERY   64u           /* busy turns after which descriptors are looked at all the same */
#define FAKE_WALL_MS 1767225600000 /* 2026-01-01T00:00:00Z */

struct loop {
    uv_loop_t uv;
    uv_async_t wake;
    uv_timer_t alarm; /* for the first timer of the heap */
    pthread_t thread;
    bool entered, fake, alarm_set;
    _Atomic bool stopping;
    _Atomic int64_t holds;
    _Atomic(struct loop_work *) posted; /* newest first */
    struct loop_work *first, *last;     /* deferred, in order */
    struct loop_timer **heap;           /* [1, heap_count] */
    uint32_t heap_count, heap_capacity;
    uint64_t timer_order;
    int64_t fake_ms, alarm_due;
    uint64_t expected; /* open calls that some thread may still complete */
    uint32_t busy;     /* turns since libuv was last looked at */
};

static void on_wake(uv_async_t *handle) { (void)handle; }
static void on_alarm(uv_timer_t *handle) { ((struct loop *)handle->data)->alarm_set = false; }

struct loop *loop_new(struct error *error) {
    struct loop *loop = mem_zalloc(sizeof *loop);
    int failure = uv_loop_init(&loop->uv);
    if (!failure) {
        failure = uv_async_init(&loop->uv, &loop->wake, on_wake);
        if (failure) uv_loop_close(&loop->uv);
    }
    if (failure) {
        error_set(error, TN_ERROR, "IO", "the event loop cannot be started: %s", uv_strerror(failure));
        mem_free(loop);
        return NULL;
    }
    uv_timer_init(&loop->uv, &loop->alarm);
    loop->alarm.data = loop;
    uv_unref((uv_handle_t *)&loop->wake);
    return loop;
}

void loop_free(struct loop *loop) {
    if (!loop) return;
    uv_close((uv_handle_t *)&loop->wake, NULL);
    uv_close((uv_handle_t *)&loop->alarm, NULL);
    uv_run(&loop->uv, UV_RUN_DEFAULT);
    uv_loop_close(&loop->uv);
    mem_free(loop->heap);
    mem_free(loop);
}

struct uv_loop_s *loop_uv(struct loop *loop) { return &loop->uv; }

void loop_enter(struct loop *loop) {
    loop->thread = pthread_self();
    loop->entered = true;
}

bool loop_here(const struct loop *loop) { return loop->entered && pthread_equal(loop->thread, pthread_self()); }

/* ---- Work ---- */

void loop_defer(struct loop *loop, struct loop_work *work) {
    if (work->queued) return;
    work->queued = true;
    work->next = NULL;
    if (loop->last)
        loop->last->next = work;
    else
        loop->first = work;
    loop->last = work;
}

void loop_undefer(struct loop *loop, struct loop_work *work) {
    if (!work->queued) return;
    struct loop_work *before = NULL;
    for (struct loop_work *at = loop->first; at; before = at, at = at->next) {
        if (at != work) continue;
        if (before)
            before->next = work->next;
        else
            loop->first = work->next;
        if (loop->last == work) loop->last = before;
        work->queued = false;
        return;
    }
}

void loop_post(struct loop *loop, struct loop_work *work) {
    work->queued = true;
    struct loop_work *head = atomic_load_explicit(&loop->posted, memory_order_relaxed);
    do {
        work->next = head;
    } while (!atomic_compare_exchange_weak_explicit(&loop->posted, &head, work, memory_order_release,
                                                    memory_order_relaxed));
    /* Whoever finds the stack empty wakes the loop; the others ride along. */
    if (!head) uv_async_send(&loop->wake);
}

static bool run_deferred(struct loop *loop) {
    struct loop_work *last = loop->last;
    if (!last) return false;
    for (;;) {
        struct loop_work *work = loop->first;
        bool end = !work || work == last;
        if (!work) break;
        loop->first = work->next;
        if (!loop->first) loop->last = NULL;
        work->queued = false;
        work->run(work);
        if (end) break;
    }
    return true;
}

/* Everything posted so far, oldest first. */
static bool run_posted(struct loop *loop) {
    struct loop_work *stack = atomic_exchange_explicit(&loop->posted, NULL, memory_order_acquire), *queue = NULL;
    if (!stack) return false;
    while (stack) {
        struct loop_work *next = stack->next;
        stack->next = queue;
        queue = stack;
        stack = next;
    }
    while (queue) {
        struct loop_work *work = queue;
        queue = work->next;
        work->queued = false;
        work->run(work);
    }
    return true;
}

void loop_hold(struct loop *loop) { atomic_fetch_add(&loop->holds, 1); }

void loop_release(struct loop *loop) {
    if (atomic_fetch_sub(&loop->holds, 1) == 1) uv_async_send(&loop->wake);
}

void loop_expect(struct loop *loop) { loop->expected++; }
void loop_unexpect(struct loop *loop) { loop->expected--; }

/* ---- Timers: a binary heap, by time and then by order of starting ---- */

static bool earlier(const struct loop_timer *a, const struct loop_timer *b) {
    return a->due_ms != b->due_ms ? a->due_ms < b->due_ms : a->order < b->order;
}

static void place(struct loop *loop, uint32_t at, struct loop_timer *timer) {
    loop->heap[at] = timer;
    timer->index = at;
}

static void sift_up(struct loop *loop, uint32_t at, struct loop_timer *timer) {
    for (; at > 1 && earlier(timer, loop->heap[at / 2]); at /= 2) place(loop, at, loop->heap[at / 2]);
    place(loop, at, timer);
}

static void sift_down(struct loop *loop, uint32_t at, struct loop_timer *timer) {
    for (uint32_t child; (child = at * 2) <= loop->heap_count; at = child) {
        if (child < loop->heap_count && earlier(loop->heap[child + 1], loop->heap[child])) child++;
        if (!earlier(loop->heap[child], timer)) break;
        place(loop, at, loop->heap[child]);
    }
    place(loop, at, timer);
}

void loop_timer_stop(struct loop *loop, struct loop_timer *timer) {
    uint32_t at = timer->index;
    if (!at) return;
    timer->index = 0;
    struct loop_timer *last = loop->heap[loop->heap_count--];
    if (last == timer) return;
    if (at > 1 && earlier(last, loop->heap[at / 2]))
        sift_up(loop, at, last);
    else
        sift_down(loop, at, last);
}

void loop_timer_start(struct loop *loop, struct loop_timer *timer, int64_t delay_ms,
                      void (*fire)(struct loop_timer *)) {
    loop_timer_stop(loop, timer);
    int64_t now = loop_now_ms(loop);
    timer->due_ms = delay_ms > INT64_MAX - now ? INT64_MAX : now + (delay_ms > 0 ? delay_ms : 0);
    timer->order = ++loop->timer_order;
    timer->fire = fire;
    if (loop->heap_count + 1 >= loop->heap_capacity) {
        loop->heap_capacity = loop->heap_capacity ? loop->heap_capacity * 2 : 16;
        loop->heap = mem_array(loop->heap, loop->heap_capacity, sizeof(struct loop_timer *));
    }
    sift_up(loop, ++loop->heap_count, timer);
}

static bool fire_timers(struct loop *loop) {
    bool fired = false;
    int64_t now = loop_now_ms(loop);
    uint64_t newest = loop->timer_order; /* one started by a timer waits for the next turn */
    while (loop->heap_count && loop->heap[1]->due_ms <= now && loop->heap[1]->order <= newest) {
        struct loop_timer *timer = loop->heap[1];
        loop_timer_stop(loop, timer);
        timer->fire(timer);
        fired = true;
    }
    return fired;
}

static int64_t clock_ms(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int64_t loop_now_ms(struct loop *loop) { return loop->fake ? loop->fake_ms : clock_ms(CLOCK_MONOTONIC); }
int64_t loop_wall_ms(struct loop *loop) {
    return loop->fake ? FAKE_WALL_MS + loop->fake_ms : clock_ms(CLOCK_REALTIME);
}
void loop_fake_clock(struct loop *loop) { loop->fake = true; }

/* ---- Running ---- */

/* Waits in libuv for what other threads, descriptors or the first timer bring. False: nothing could ever come. */
static bool wait_for_more(struct loop *loop) {
    bool held = atomic_load(&loop->holds) > 0;
    if (loop->fake) {
        if (!held && loop->heap_count) {
            loop->fake_ms = loop->heap[1]->due_ms;
            return true;
        }
    } else if (loop->heap_count && (!loop->alarm_set || loop->alarm_due != loop->heap[1]->due_ms)) {
        int64_t wait = loop->heap[1]->due_ms - loop_now_ms(loop);
        loop->alarm_set = true;
        loop->alarm_due = loop->heap[1]->due_ms;
        uv_update_time(&loop->uv);
        uv_timer_start(&loop->alarm, on_alarm, wait > 0 ? (uint64_t)wait : 0, 0);
    } else if (!loop->heap_count && loop->alarm_set) {
        uv_timer_stop(&loop->alarm);
        loop->alarm_set = false;
    }
    held |= loop->expected > 0;
    if (held) uv_ref((uv_handle_t *)&loop->wake);
    bool alive = uv_loop_alive(&loop->uv) != 0;
    if (alive) uv_run(&loop->uv, UV_RUN_ONCE);
    if (held) uv_unref((uv_handle_t *)&loop->wake);
    return alive || atomic_load(&loop->posted) != NULL;
}

bool loop_run(struct loop *loop, bool (*done)(void *user), void *user) {
    loop_enter(loop);
    for (;;) {
        if (done && done(user)) return true;
        if (atomic_exchange(&loop->stopping, false)) return false;
        bool worked = run_deferred(loop);
        if (loop->heap_count) worked |= fire_timers(loop);
        worked |= run_posted(loop);
        if (worked) {
            if (++loop->busy % POLL_EVERY == 0) uv_run(&loop->uv, UV_RUN_NOWAIT);
            continue;
        }
        if (!wait_for_more(loop)) return done && done(user);
    }
}

void loop_wake(struct loop *loop) { uv_async_send(&loop->wake); }

void loop_stop(struct loop *loop) {
    atomic_store(&loop->stopping, true);
    loop_wake(loop);
}
