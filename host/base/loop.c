/*
 * loop.c - runs turns: deferred work, due timers, posted work, then libuv, which also waits. README.md draws a
 * turn.
 *
 * Deferred work is a list that only the loop's thread uses. Posted work is a stack that any thread pushes onto; the
 * loop takes the whole stack and reverses it. Posting wakes libuv through one async handle, and the loop checks the
 * stack again before it waits, so no wake-up is lost. libuv is polled without waiting only while other code has handles
 * in it, so a graph that never waits makes no system call here. All timers share one libuv timer, which is started just
 * before the loop waits.
 */
#include "host/base/loop.h"
#include "adl/value/memory.h"
#include "host/base/log.h"
#include "host/base/timer.h"
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>
#include <uv.h>

#define FAKE_WALL_MS   INT64_C(1767225600000) /* 2026-01-01T00:00:00Z */
#define WAIT_MAX_MS    INT64_C(86400000)      /* a longer wait is split */
#define SPIN_US        50                     /* slightly longer than an idle processor takes to wake up */
#define SPIN_FAILS_MAX 12                     /* after so many failures in a row, spin every 4096th time */
#define CLOSING_TURNS  1000                   /* maximum number of libuv turns until all handles are closed */

struct loop {
    /* Used only by the loop's thread. */
    uv_loop_t uv;
    uv_timer_t alarm; /* ends a wait of libuv when the next timer is due */
    bool running;     /* inside loop_run */
    bool polled;      /* libuv was polled since the last turn */

    struct loop_work *first, **last; /* deferred work, oldest first */
    uint64_t deferred;               /* its number of items */
    struct timers timers;

    uint64_t expected;         /* loop_expect */
    uint64_t watches;          /* loop_watch */
    void (*quiet)(void *user); /* may be NULL */
    void *quiet_user;
    int64_t quiet_ms, quiet_due_ms; /* due: 0 if not quiet, INT64_MAX after quiet was called */

    uint32_t spinners;   /* loop_spin */
    uint32_t spin_fails; /* spins since the last one that saw work; at most SPIN_FAILS_MAX */
    uint32_t spin_skips; /* waits before the next spin */

    /* Used by any thread. */
    uv_async_t async;                   /* wakes libuv */
    _Atomic uintptr_t thread;           /* loop_this_thread of the loop's thread; 0 until entered */
    _Atomic(struct loop_work *) posted; /* posted work, newest first */
    _Atomic uint64_t holds;             /* loop_hold */
    _Atomic bool stop;                  /* loop_stop was called; loop_run resets it */
    _Atomic bool woken;                 /* loop_wake was called; loop_idle resets it */

    /* Written by the loop's thread, and read by any thread under the condition given. */
    struct log *log;              /* set before other threads start; NULL for the log of the process */
    bool fake;                    /* the clock is a fake one; set before other threads start */
    _Atomic int64_t fake_wall_ms; /* the wall clock of a fake clock */
    int64_t now_ms;               /* at the start of this turn */

    struct secrets *secrets;  /* loop_set_secrets */
    struct trace_sink *trace; /* loop_set_trace */
    void *data;               /* loop_attach */
    void (*detach)(void *data);
    void (*freed)(struct loop *loop); /* loop_at_free */
};

/* In functions that are [loop]: while the loop runs, only its thread may call them. */
#define ASSERT_LOOP_THREAD(loop) assert(!(loop)->running || loop_here(loop))

static int64_t read_clock_ms(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static int64_t loop_clock_ms(const struct loop *loop) {
    return loop->fake ? loop->now_ms : read_clock_ms(CLOCK_MONOTONIC);
}

static void loop_read_clock(struct loop *loop) {
    if (!loop->fake) loop->now_ms = read_clock_ms(CLOCK_MONOTONIC);
}

/* Only wakes libuv; the turn does the rest. */
static void loop_on_async(uv_async_t *async) { (void)async; }
/* The alarm can fire before libuv starts to wait. Without uv_stop, libuv would then wait forever, without a timer. */
static void loop_on_alarm(uv_timer_t *alarm) { uv_stop(alarm->loop); }

/* ---- Creating and freeing ---- */

struct loop *loop_new(struct error *error) {
    struct loop *loop = mem_zalloc(sizeof *loop);
    int failed = uv_loop_init(&loop->uv);
    if (!failed) {
        failed = uv_async_init(&loop->uv, &loop->async, loop_on_async);
        if (failed) uv_loop_close(&loop->uv);
    }
    if (failed) {
        error_set(error, TN_ERROR, "LIMIT", "cannot create an event loop: %s", uv_strerror(failed));
        mem_free(loop);
        return NULL;
    }
    uv_timer_init(&loop->uv, &loop->alarm);
    /* Unreferenced, so that uv_loop_alive is true only if other code has active handles. */
    uv_unref((uv_handle_t *)&loop->async);
    uv_unref((uv_handle_t *)&loop->alarm);
    loop->last = &loop->first;
    loop->now_ms = read_clock_ms(CLOCK_MONOTONIC);
    return loop;
}

void loop_forked(struct loop *loop) { (void)uv_loop_fork(&loop->uv); }

void loop_free(struct loop *loop) {
    if (!loop) return;
    assert(!loop->running);
    if (loop->freed) loop->freed(loop);
    if (loop->detach) loop->detach(loop->data);
    uv_close((uv_handle_t *)&loop->async, NULL);
    uv_close((uv_handle_t *)&loop->alarm, NULL);
    for (int i = 0; i < CLOSING_TURNS; i++) {
        uv_run(&loop->uv, UV_RUN_NOWAIT);
        if (uv_loop_close(&loop->uv) == 0) break;
    }
    timers_finish(&loop->timers);
    log_unref(loop->log);
    mem_free(loop);
}

struct uv_loop_s *loop_uv(struct loop *loop) {
    return &loop->uv;
}

void *loop_attached(const struct loop *loop) { return loop->data; }

void loop_at_free(struct loop *loop, void (*freed)(struct loop *loop)) { loop->freed = freed; }

void loop_attach(struct loop *loop, void *data, void (*detach)(void *data)) {
    loop->data = data;
    loop->detach = detach;
}

void loop_enter(struct loop *loop) {
    uintptr_t none = 0;
    if (!loop_here(loop)) atomic_compare_exchange_strong(&loop->thread, &none, loop_this_thread());
    log_enter(loop->log);
}

void loop_set_log(struct loop *loop, struct log *log) {
    log_ref(log);
    log_unref(loop->log);
    loop->log = log;
}

atomic_bool loop_any_secrets;

void loop_set_secrets(struct loop *loop, struct secrets *secrets) {
    loop->secrets = secrets;
    if (secrets) atomic_store_explicit(&loop_any_secrets, true, memory_order_relaxed);
}

struct secrets *loop_secrets(const struct loop *loop) {
    return loop->secrets;
}

atomic_bool loop_any_trace;

void loop_set_trace(struct loop *loop, struct trace_sink *sink) {
    loop->trace = sink;
    if (sink) atomic_store_explicit(&loop_any_trace, true, memory_order_relaxed);
}

struct trace_sink *loop_trace(const struct loop *loop) {
    return loop->trace;
}

struct log *loop_log(const struct loop *loop) {
    return loop->log;
}

uintptr_t loop_thread(const struct loop *loop) { return atomic_load_explicit(&loop->thread, memory_order_relaxed); }

bool loop_here(const struct loop *loop) { return loop_thread(loop) == loop_this_thread(); }

/* ---- Work ---- */

void loop_defer(struct loop *loop, struct loop_work *work) {
    ASSERT_LOOP_THREAD(loop);
    if (work->queued) return;
    work->queued = true;
    work->next = NULL;
    *loop->last = work;
    loop->last = &work->next;
    loop->deferred++;
}

void loop_undefer(struct loop *loop, struct loop_work *work) {
    ASSERT_LOOP_THREAD(loop);
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
    assert(!work->queued);
    work->queued = true;
    struct loop_work *newest = atomic_load_explicit(&loop->posted, memory_order_relaxed);
    do work->next = newest;
    while (!atomic_compare_exchange_weak(&loop->posted, &newest, work));
    /* If the stack was not empty, its first item has sent the wake-up, and the loop takes the whole stack at once. */
    if (!newest && !loop_here(loop)) uv_async_send(&loop->async);
}

/* Returns false if there was no work. */
static bool loop_run_deferred(struct loop *loop) {
    /* Work that is deferred during this turn waits for the next one, so work that defers itself starves nothing. */
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

/* Runs the posted work, oldest first. Returns false if there was none. */
static bool loop_take_posted(struct loop *loop) {
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

void loop_run_posted(struct loop *loop) { (void)loop_take_posted(loop); }

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
    uint64_t before = atomic_fetch_sub(&loop->holds, 1);
    assert(before > 0);
    if (before == 1 && !loop_here(loop)) loop_wake(loop);
}

void loop_expect(struct loop *loop) {
    ASSERT_LOOP_THREAD(loop);
    loop->expected++;
}

void loop_unexpect(struct loop *loop) {
    ASSERT_LOOP_THREAD(loop);
    assert(loop->expected > 0);
    loop->expected--;
}

void loop_watch(struct loop *loop, bool on) {
    assert(on || loop->watches > 0);
    if (on)
        loop->watches++;
    else
        loop->watches--;
}

void loop_on_stall(struct loop *loop, int64_t after_ms, void (*quiet)(void *user), void *user) {
    loop->quiet = quiet;
    loop->quiet_user = user;
    loop->quiet_ms = after_ms;
    loop->quiet_due_ms = 0;
}

/* ---- Timers and clocks ---- */

void loop_timer_start(struct loop *loop, struct loop_timer *timer, int64_t delay_ms,
                      void (*fire)(struct loop_timer *)) {
    ASSERT_LOOP_THREAD(loop);
    timers_remove(&loop->timers, timer);
    /* From now, not from the start of the turn: a slow turn must not shorten a delay. */
    int64_t now = loop_clock_ms(loop);
    if (delay_ms < 0) delay_ms = 0;
    timer->due_ms = delay_ms > INT64_MAX - now ? INT64_MAX : now + delay_ms;
    timer->fire = fire;
    timers_add(&loop->timers, timer);
}

void loop_timer_stop(struct loop *loop, struct loop_timer *timer) {
    ASSERT_LOOP_THREAD(loop);
    timers_remove(&loop->timers, timer);
}

/* Fires the timers that are due. Returns false if there was none. */
static bool loop_run_timers(struct loop *loop) {
    /* Timers that are started during this turn wait for the next one. */
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
    if (!loop->running) loop_read_clock(loop);
    return loop->now_ms;
}

int64_t loop_clock_us(struct loop *loop) {
    if (loop->fake) return loop->now_ms * 1000;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

int64_t loop_wall_ms(struct loop *loop) {
    return loop->fake ? atomic_load(&loop->fake_wall_ms) : read_clock_ms(CLOCK_REALTIME);
}

void loop_fake_clock(struct loop *loop) {
    loop->fake = true;
    loop->now_ms = 0;
    atomic_store(&loop->fake_wall_ms, FAKE_WALL_MS);
}

void loop_fake_advance(struct loop *loop, int64_t ms) {
    loop->now_ms += ms;
    loop_fake_move_wall(loop, ms);
}

void loop_fake_move_wall(struct loop *loop, int64_t ms) { atomic_fetch_add(&loop->fake_wall_ms, ms); }

/* ---- Turns ---- */

/* libuv polls and waits only if a handle is referenced. */
static void loop_poll_uv(struct loop *loop, uv_run_mode mode) {
    uv_ref((uv_handle_t *)&loop->async);
    uv_run(&loop->uv, mode);
    uv_unref((uv_handle_t *)&loop->async);
}

/*
 * Polls for SPIN_US before the loop waits for the answer of another process, because waking a sleeping processor takes
 * longer than most answers. After each unsuccessful spin (one processor, a slow answer) it spins less often.
 * Returns false if it did not spin.
 */
static bool loop_spin_once(struct loop *loop) {
    if (!loop->spinners || loop->fake) return false;
    if (loop->spin_skips > 0) {
        loop->spin_skips--;
        return false;
    }
    int64_t end = loop_clock_us(loop) + SPIN_US;
    do {
        loop_poll_uv(loop, UV_RUN_NOWAIT);
        if (loop->first || atomic_load_explicit(&loop->posted, memory_order_relaxed)) {
            loop->spin_fails = 0;
            return true;
        }
    } while (loop_clock_us(loop) < end);
    if (loop->spin_fails < SPIN_FAILS_MAX) loop->spin_fails++;
    loop->spin_skips = 1u << loop->spin_fails;
    /* A libuv callback may have made `done` true, so the loop must check `done` before it waits. */
    return true;
}

void loop_spin(struct loop *loop, bool on) {
    assert(on || loop->spinners > 0);
    if (on)
        loop->spinners++;
    else
        loop->spinners--;
}

/* Waits in libuv for an event, but not longer than until `due_ms`; INT64_MAX means without a limit. */
static void loop_wait_until(struct loop *loop, int64_t due_ms) {
    loop->polled = true;
    if (loop_spin_once(loop)) return;
    if (due_ms != INT64_MAX && !loop->fake) {
        int64_t wait = due_ms - read_clock_ms(CLOCK_MONOTONIC);
        if (wait < 0) wait = 0;
        if (wait > WAIT_MAX_MS) wait = WAIT_MAX_MS;
        uv_update_time(&loop->uv);
        uv_timer_start(&loop->alarm, loop_on_alarm, (uint64_t)wait, 0);
    }
    loop_poll_uv(loop, UV_RUN_ONCE);
    uv_timer_stop(&loop->alarm);
}

/* Waits while only expected events are left: sleeps until the quiet time is over, then calls `quiet`. */
static void loop_wait_quiet(struct loop *loop) {
    if (!loop->quiet_due_ms) loop->quiet_due_ms = loop->now_ms + loop->quiet_ms;
    if (loop->fake) loop_fake_advance(loop, loop->quiet_due_ms - loop->now_ms);
    if (loop->now_ms < loop->quiet_due_ms) {
        loop_wait_until(loop, loop->quiet_due_ms);
        return;
    }
    loop->quiet_due_ms = INT64_MAX;
    loop->quiet(loop->quiet_user);
}

/* Does the work of one turn. Returns false if there was none. */
static bool loop_turn(struct loop *loop) {
    bool any = loop_run_deferred(loop);
    any |= loop_run_timers(loop);
    any |= loop_take_posted(loop);
    /* Skipped if libuv was just polled, or will be polled by waiting: one message in and out costs one system call. */
    bool poll = (any && !loop->polled) || loop->fake;
    loop->polled = false;
    if (poll && (loop->watches || uv_loop_alive(&loop->uv))) loop_poll_uv(loop, UV_RUN_NOWAIT);
    return any;
}

/* Waits, or lets a fake clock jump. Returns false if no event can occur any more. */
static bool loop_idle(struct loop *loop) {
    /* Read holds first: a thread that posts and then releases is then seen by one of the two checks. */
    bool held = atomic_load(&loop->holds) != 0;
    if (loop->first || atomic_load(&loop->posted) || atomic_load(&loop->stop)) return true;
    if (atomic_exchange(&loop->woken, false)) return true;
    struct loop_timer *timer = timers_first(&loop->timers);
    if (timer && loop->fake && !held) {
        if (timer->due_ms > loop->now_ms) loop_fake_advance(loop, timer->due_ms - loop->now_ms);
        return true;
    }
    bool only_expected = !timer && !held && !uv_loop_alive(&loop->uv);
    if (only_expected && !loop->expected) return false;
    if (only_expected && !loop->watches && loop->quiet && loop->quiet_due_ms != INT64_MAX)
        loop_wait_quiet(loop);
    else
        loop_wait_until(loop, timer ? timer->due_ms : INT64_MAX);
    return true;
}

bool loop_running(const struct loop *loop) { return loop->running; }

bool loop_run(struct loop *loop, bool (*done)(void *user), void *user) {
    loop_enter(loop);
    assert(loop_here(loop));
    bool was_running = loop->running, is_done;
    loop->running = true;
    for (;;) {
        loop_read_clock(loop);
        is_done = done && done(user);
        if (is_done || atomic_exchange(&loop->stop, false)) break;
        if (loop_turn(loop))
            loop->quiet_due_ms = 0;
        else if (!loop_idle(loop))
            break;
    }
    loop->running = was_running;
    return is_done;
}

/* ---- As a part of another loop ---- */

int loop_descriptor(const struct loop *loop) { return uv_backend_fd(&loop->uv); }

void loop_run_turn(struct loop *loop) {
    loop_enter(loop);
    assert(loop_here(loop) && !loop->running);
    loop->running = true;
    atomic_store(&loop->woken, false);
    loop_poll_uv(loop, UV_RUN_NOWAIT);
    loop_read_clock(loop);
    loop->polled = true; /* loop_turn does not poll */
    (void)loop_turn(loop);
    /* Handles that were started in this turn become part of the descriptor when libuv polls. */
    loop_poll_uv(loop, UV_RUN_NOWAIT);
    loop->running = false;
}

int64_t loop_timeout_ms(struct loop *loop) {
    ASSERT_LOOP_THREAD(loop);
    if (loop->first || atomic_load(&loop->posted) || atomic_load(&loop->woken)) return 0;
    uv_ref((uv_handle_t *)&loop->async); /* libuv's own timers count only while a handle is referenced */
    int64_t timeout = uv_backend_timeout(&loop->uv);
    uv_unref((uv_handle_t *)&loop->async);
    const struct loop_timer *timer = timers_first(&loop->timers);
    if (!timer) return timeout;
    int64_t due = timer->due_ms - loop_clock_ms(loop);
    if (due < 0) due = 0;
    if (due > WAIT_MAX_MS) due = WAIT_MAX_MS; /* an int of poll can hold it */
    return timeout < 0 || due < timeout ? due : timeout;
}
