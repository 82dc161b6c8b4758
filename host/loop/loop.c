/*
 * loop.c - turns of work: deferred work, due timers, posted work, and then libuv, which also does the waiting.
 *
 * Deferred work is a list of the loop's thread alone; posted work is a stack that any thread pushes onto, taken whole
 * and reversed. Whoever posts wakes libuv through one async handle; the loop looks at the stack again before it waits,
 * so no wake-up is lost. libuv is asked without waiting only while somebody else has handles in it: a graph that never
 * waits makes no system call here. All timers share one of libuv's, started just before the loop waits.
 */
#include "host/loop/loop.h"
#include "adl/value/memory.h"
#include "host/loop/timer.h"
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>
#include <uv.h>

#define FAKE_WALL_MS   INT64_C(1767225600000) /* 2026-01-01T00:00:00Z */
#define WAIT_MAX_MS    INT64_C(86400000)      /* a longer wait is made of several */
#define SPIN_US        50                     /* a little more than an idle processor takes to wake up */
#define SPIN_FAILS_MAX 12                     /* then every 4096th time */
#define CLOSING_TURNS  1000                   /* of libuv, for handles that others left closing */

struct loop {
    uv_loop_t uv;
    uv_async_t async;
    uv_timer_t alarm;
    _Atomic uintptr_t thread; /* 0 until entered */

    struct loop_work *first, **last; /* deferred */
    uint64_t deferred;
    _Atomic(struct loop_work *) posted; /* newest first; pushed by any thread */
    struct timers timers;

    _Atomic uint64_t holds;
    uint64_t expected, watches;
    void (*quiet)(void *user); /* NULL: nobody wants to know */
    void *quiet_user;
    int64_t quiet_ms, quiet_due_ms; /* due: 0 where it is not quiet, INT64_MAX where that has been told */
    _Atomic bool stop, woken;

    bool running, fake;
    bool asked; /* libuv, since the last turn */
    uint32_t spinners, spin_fails, spin_skips;
    int64_t now_ms; /* as of this turn */

    void *data;
    void (*detach)(void *data);
};

static int64_t clock_ms(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static int64_t clock_now(const struct loop *loop) { return loop->fake ? loop->now_ms : clock_ms(CLOCK_MONOTONIC); }

/* A fake clock moves by itself alone, and is not written here: stores read it on threads of their own. */
static void look_at_clock(struct loop *loop) {
    if (!loop->fake) loop->now_ms = clock_ms(CLOCK_MONOTONIC);
}

/* Waking up is all they are for; the turn does the rest. */
static void on_async(uv_async_t *async) { (void)async; }
/* It may be due before libuv has begun to wait, which then would find no timer, and wait for ever: it is told not to.
 */
static void on_alarm(uv_timer_t *alarm) { uv_stop(alarm->loop); }

/* ---- Making and freeing ---- */

struct loop *loop_new(struct error *error) {
    struct loop *loop = mem_zalloc(sizeof *loop);
    int failed = uv_loop_init(&loop->uv);
    if (!failed) {
        failed = uv_async_init(&loop->uv, &loop->async, on_async);
        if (failed) uv_loop_close(&loop->uv);
    }
    if (failed) {
        error_set(error, TN_ERROR, "LIMIT", "an event loop cannot be made: %s", uv_strerror(failed));
        mem_free(loop);
        return NULL;
    }
    uv_timer_init(&loop->uv, &loop->alarm);
    /* Unreferenced: uv_loop_alive then says whether anybody else waits for something. */
    uv_unref((uv_handle_t *)&loop->async);
    uv_unref((uv_handle_t *)&loop->alarm);
    loop->last = &loop->first;
    loop->now_ms = clock_ms(CLOCK_MONOTONIC);
    return loop;
}

void loop_forked(struct loop *loop) { (void)uv_loop_fork(&loop->uv); }

void loop_free(struct loop *loop) {
    if (!loop) return;
    if (loop->detach) loop->detach(loop->data);
    uv_close((uv_handle_t *)&loop->async, NULL);
    uv_close((uv_handle_t *)&loop->alarm, NULL);
    for (int i = 0; i < CLOSING_TURNS; i++) {
        uv_run(&loop->uv, UV_RUN_NOWAIT);
        if (uv_loop_close(&loop->uv) == 0) break;
    }
    timers_finish(&loop->timers);
    mem_free(loop);
}

struct uv_loop_s *loop_uv(struct loop *loop) {
    return &loop->uv;
}

void *loop_attached(const struct loop *loop) { return loop->data; }

void loop_attach(struct loop *loop, void *data, void (*detach)(void *data)) {
    loop->data = data;
    loop->detach = detach;
}

void loop_enter(struct loop *loop) {
    uintptr_t nobody = 0;
    atomic_compare_exchange_strong(&loop->thread, &nobody, loop_this_thread());
}

uintptr_t loop_thread(const struct loop *loop) { return atomic_load_explicit(&loop->thread, memory_order_relaxed); }

bool loop_here(const struct loop *loop) { return loop_thread(loop) == loop_this_thread(); }

/* ---- Work ---- */

void loop_defer(struct loop *loop, struct loop_work *work) {
    if (work->queued) return;
    work->queued = true;
    work->next = NULL;
    *loop->last = work;
    loop->last = &work->next;
    loop->deferred++;
}

void loop_undefer(struct loop *loop, struct loop_work *work) {
    if (!work->queued) return;
    for (struct loop_work **at = &loop->first; *at; at = &(*at)->next) {
        if (*at != work) continue;
        *at = work->next;
        if (loop->last == &work->next) loop->last = at;
        loop->deferred--;
        work->queued = false;
        return;
    }
}

void loop_post(struct loop *loop, struct loop_work *work) {
    work->queued = true;
    struct loop_work *newest = atomic_load_explicit(&loop->posted, memory_order_relaxed);
    do work->next = newest;
    while (!atomic_compare_exchange_weak(&loop->posted, &newest, work));
    /* Not the first on the stack: whoever was, has sent the wake-up, and the whole stack is taken at once. */
    if (!newest && !loop_here(loop)) uv_async_send(&loop->async);
}

static bool run_deferred(struct loop *loop) {
    /* What is deferred meanwhile waits for the next turn: work that defers itself starves nobody. */
    uint64_t count = loop->deferred;
    bool any = count > 0;
    for (; count && loop->first; count--) {
        struct loop_work *work = loop->first;
        loop->first = work->next;
        if (!loop->first) loop->last = &loop->first;
        loop->deferred--;
        work->queued = false;
        work->run(work);
    }
    return any;
}

static bool run_posted(struct loop *loop) {
    if (!atomic_load_explicit(&loop->posted, memory_order_relaxed)) return false;
    struct loop_work *work = atomic_exchange(&loop->posted, NULL), *oldest = NULL;
    while (work) {
        struct loop_work *next = work->next;
        work->next = oldest;
        oldest = work;
        work = next;
    }
    while (oldest) {
        struct loop_work *next = oldest->next;
        oldest->queued = false;
        oldest->run(oldest);
        oldest = next;
    }
    return true;
}

void loop_run_posted(struct loop *loop) { (void)run_posted(loop); }

/* ---- Holding, waking, stopping ---- */

void loop_wake(struct loop *loop) {
    atomic_store(&loop->woken, true);
    uv_async_send(&loop->async);
}

void loop_stop(struct loop *loop) {
    atomic_store(&loop->stop, true);
    uv_async_send(&loop->async);
}

void loop_hold(struct loop *loop) { atomic_fetch_add(&loop->holds, 1); }

void loop_release(struct loop *loop) {
    if (atomic_fetch_sub(&loop->holds, 1) == 1 && !loop_here(loop)) loop_wake(loop);
}

void loop_expect(struct loop *loop) { loop->expected++; }

void loop_unexpect(struct loop *loop) { loop->expected--; }

void loop_watch(struct loop *loop, bool on) {
    if (on)
        loop->watches++;
    else
        loop->watches--;
}

void loop_on_quiet(struct loop *loop, int64_t after_ms, void (*quiet)(void *user), void *user) {
    loop->quiet = quiet;
    loop->quiet_user = user;
    loop->quiet_ms = after_ms;
    loop->quiet_due_ms = 0;
}

/* ---- Timers and clocks ---- */

void loop_timer_start(struct loop *loop, struct loop_timer *timer, int64_t delay_ms,
                      void (*fire)(struct loop_timer *)) {
    timers_remove(&loop->timers, timer);
    /* From now, not from when the turn began: a slow turn must not shorten a delay. */
    int64_t now = clock_now(loop);
    if (delay_ms < 0) delay_ms = 0;
    timer->due_ms = delay_ms > INT64_MAX - now ? INT64_MAX : now + delay_ms;
    timer->fire = fire;
    timers_add(&loop->timers, timer);
}

void loop_timer_stop(struct loop *loop, struct loop_timer *timer) { timers_remove(&loop->timers, timer); }

static bool run_timers(struct loop *loop) {
    /* Those started meanwhile wait for the next turn. */
    uint64_t before = loop->timers.order;
    bool any = false;
    struct loop_timer *timer;
    while ((timer = timers_first(&loop->timers)) && timer->due_ms <= loop->now_ms && timer->order < before) {
        timers_remove(&loop->timers, timer);
        timer->fire(timer);
        any = true;
    }
    return any;
}

int64_t loop_now_ms(struct loop *loop) {
    if (!loop->running) look_at_clock(loop);
    return loop->now_ms;
}

int64_t loop_clock_us(struct loop *loop) {
    if (loop->fake) return loop->now_ms * 1000;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

int64_t loop_wall_ms(struct loop *loop) { return loop->fake ? FAKE_WALL_MS + loop->now_ms : clock_ms(CLOCK_REALTIME); }

void loop_fake_clock(struct loop *loop) {
    loop->fake = true;
    loop->now_ms = 0;
}

void loop_fake_advance(struct loop *loop, int64_t ms) { loop->now_ms += ms; }

/* ---- Turns ---- */

/* With nothing referenced, libuv would look at nothing, and wait for nothing. */
static void ask(struct loop *loop, uv_run_mode mode) {
    uv_ref((uv_handle_t *)&loop->async);
    uv_run(&loop->uv, mode);
    uv_unref((uv_handle_t *)&loop->async);
}

/*
 * Looks for SPIN_US before it waits, where another process answers this one: waking up a sleeping processor takes
 * longer than most answers do. Where looking was in vain (one processor, a slow answer) it is done less and less often.
 */
static bool spin(struct loop *loop) {
    if (!loop->spinners || loop->fake) return false;
    if (loop->spin_skips > 0) {
        loop->spin_skips--;
        return false;
    }
    int64_t end = loop_clock_us(loop) + SPIN_US;
    do {
        ask(loop, UV_RUN_NOWAIT);
        if (loop->first || atomic_load_explicit(&loop->posted, memory_order_relaxed)) {
            loop->spin_fails = 0;
            return true;
        }
    } while (loop_clock_us(loop) < end);
    if (loop->spin_fails < SPIN_FAILS_MAX) loop->spin_fails++;
    loop->spin_skips = 1u << loop->spin_fails;
    /* What has come may have been dealt with on the spot, and be what somebody waits for: `done` is asked first. */
    return true;
}

void loop_spin(struct loop *loop, bool on) {
    if (on)
        loop->spinners++;
    else
        loop->spinners--;
}

static void wait_until(struct loop *loop, int64_t due_ms) {
    loop->asked = true;
    if (spin(loop)) return;
    if (due_ms != INT64_MAX && !loop->fake) {
        int64_t wait = due_ms - clock_ms(CLOCK_MONOTONIC);
        if (wait < 0) wait = 0;
        if (wait > WAIT_MAX_MS) wait = WAIT_MAX_MS;
        uv_update_time(&loop->uv);
        uv_timer_start(&loop->alarm, on_alarm, (uint64_t)wait, 0);
    }
    ask(loop, UV_RUN_ONCE);
    uv_timer_stop(&loop->alarm);
}

/* Nothing but the unseen is left. */
static void wait_quietly(struct loop *loop) {
    if (!loop->quiet_due_ms) loop->quiet_due_ms = loop->now_ms + loop->quiet_ms;
    if (loop->fake) loop->now_ms = loop->quiet_due_ms;
    if (loop->now_ms < loop->quiet_due_ms) {
        wait_until(loop, loop->quiet_due_ms);
        return;
    }
    loop->quiet_due_ms = INT64_MAX;
    loop->quiet(loop->quiet_user);
}

/* One turn's work; false: there was none. */
static bool turn(struct loop *loop) {
    bool any = run_deferred(loop);
    any |= run_timers(loop);
    any |= run_posted(loop);
    /* Not where libuv was just asked, or will be by waiting: a message in and a message out is one system call for it.
     */
    bool look = (any && !loop->asked) || loop->fake;
    loop->asked = false;
    if (look && (loop->watches || uv_loop_alive(&loop->uv))) ask(loop, UV_RUN_NOWAIT);
    return any;
}

/* Nothing to do: waits, or lets a fake clock jump. False: nothing will ever come. */
static bool idle(struct loop *loop) {
    /* Holds first: whoever posts and then releases is then seen by one of the two. */
    bool held = atomic_load(&loop->holds) != 0;
    if (loop->first || atomic_load(&loop->posted) || atomic_load(&loop->stop)) return true;
    if (atomic_exchange(&loop->woken, false)) return true;
    struct loop_timer *timer = timers_first(&loop->timers);
    if (timer && loop->fake && !held) {
        if (timer->due_ms > loop->now_ms) loop->now_ms = timer->due_ms;
        return true;
    }
    bool unseen = !timer && !held && !uv_loop_alive(&loop->uv);
    if (unseen && !loop->expected) return false;
    if (unseen && !loop->watches && loop->quiet && loop->quiet_due_ms != INT64_MAX)
        wait_quietly(loop);
    else
        wait_until(loop, timer ? timer->due_ms : INT64_MAX);
    return true;
}

bool loop_running(const struct loop *loop) { return loop->running; }

bool loop_run(struct loop *loop, bool (*done)(void *user), void *user) {
    loop_enter(loop);
    bool outer = loop->running, is_done;
    loop->running = true;
    for (;;) {
        look_at_clock(loop);
        is_done = done && done(user);
        if (is_done || atomic_exchange(&loop->stop, false)) break;
        if (turn(loop))
            loop->quiet_due_ms = 0;
        else if (!idle(loop))
            break;
    }
    loop->running = outer;
    return is_done;
}
