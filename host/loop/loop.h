/*
 * loop.h - one thread's event loop: work to do soon, work posted from other threads, timers.
 *
 * A loop owns the runs started on it; everything about them happens on its thread, so none of it is locked. It is libuv
 * underneath; a process may have several. Nothing here allocates per item: work and timers are embedded in what owns
 * them.
 *
 *     struct loop *loop = loop_new(&error);
 *     loop_defer(loop, &run->work);              // on the loop's thread: run->work.run(&run->work), soon, in order
 *     loop_post(loop, &message->work);           // from any thread
 *     loop_run(loop, run_is_done, run);          // until that says true, or nothing is left that could happen
 *     loop_free(loop);
 *
 * The thread that first calls loop_run (or loop_enter) is the loop's thread.
 */
#ifndef TENON_HOST_LOOP_H
#define TENON_HOST_LOOP_H

#include "adl/value/error.h"
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct loop;
struct uv_loop_s;

/* Work: queued at most once at a time; `run` may queue it again or free it. */
struct loop_work {
    struct loop_work *next;
    void (*run)(struct loop_work *work);
    bool queued;
};

/* A timer in the loop's heap; `index` is the heap's, 0 while stopped. All zero to begin with. */
struct loop_timer {
    int64_t due_ms;
    void (*fire)(struct loop_timer *timer);
    uint64_t order; /* timers due together fire in the order they were started */
    uint32_t index;
};

struct loop *loop_new(struct error *error);
void loop_forked(struct loop *loop); /* in a child of fork, before all else: no event of the parent's is the child's */
void loop_free(struct loop *loop);   /* [its thread, or any when it is not running] NULL is allowed */
struct uv_loop_s *loop_uv(struct loop *loop);
/* Makes the calling thread the loop's. loop_run does it by itself. */
void loop_enter(struct loop *loop);
bool loop_here(const struct loop *loop); /* [any] is this the loop's thread? */

/*
 * Runs until done(user) is true (checked after each turn) and returns true; or false when nothing is left that could
 * ever make it so (no work, no timer, no hold, no active handle). NULL done: until loop_stop, or nothing is left.
 */
bool loop_run(struct loop *loop, bool (*done)(void *user), void *user);
bool loop_running(const struct loop *loop); /* [loop] inside loop_run, or what it calls */
void loop_wake(struct loop *loop);          /* [any] makes loop_run look at done() soon */
void loop_stop(struct loop *loop);          /* [any] makes loop_run return false soon */

void loop_defer(struct loop *loop, struct loop_work *work);   /* [loop] queued already: nothing */
void loop_undefer(struct loop *loop, struct loop_work *work); /* [loop] takes deferred work back; not queued: nothing */
/* [any] The work must not be queued anywhere. The loop must not be freed meanwhile: post under a lock that says so. */
void loop_post(struct loop *loop, struct loop_work *work);
void loop_run_posted(struct loop *loop); /* [loop] runs what has been posted by now: for who is about to free it */
/* [any] While held, an idle loop waits rather than ends: a task of another thread will post. */
void loop_hold(struct loop *loop);
void loop_release(struct loop *loop);
/*
 * [loop] While something is expected, an idle loop waits rather than ends, but a fake clock still jumps: a plugin's
 * task may be ended from anywhere, at any time, or by a timer.
 */
void loop_expect(struct loop *loop);
void loop_unexpect(struct loop *loop);

/*
 * [loop] `quiet` is called from the loop once it has waited so long, without work in between, for nothing but what is
 * expected: no timer, no hold and no handle is left, so that only what the host does not see can bring it on. Once for
 * each such time. NULL: nobody is told.
 */
void loop_on_quiet(struct loop *loop, int64_t after_ms, void (*quiet)(void *user), void *user);

/*
 * [loop] Counted: while on, libuv has handles that keep nothing from ending, and are looked at all the same: by a busy
 * loop as well, and a loop that waits for them is not quiet.
 */
void loop_watch(struct loop *loop, bool on);

/* [loop] Counted: while on, an idle loop looks for a moment before it waits, for answers of other processes. */
void loop_spin(struct loop *loop, bool on);

void loop_timer_start(struct loop *loop, struct loop_timer *timer, int64_t delay_ms, void (*fire)(struct loop_timer *));
void loop_timer_stop(struct loop *loop, struct loop_timer *timer); /* stopped already: nothing */
int64_t loop_now_ms(struct loop *loop);                            /* [loop] monotonic, as of this turn */
int64_t loop_clock_us(struct loop *loop); /* [loop] monotonic, and now: for measuring what goes on within a turn */
int64_t loop_wall_ms(struct loop *loop);  /* [any] since 1970 UTC */
/*
 * For tests: time stands still at 0 (wall: 2026-01-01T00:00:00Z) and jumps to the next timer whenever nothing else is
 * left to do and no hold is taken.
 */
void loop_fake_clock(struct loop *loop);
void loop_fake_advance(struct loop *loop, int64_t ms); /* [loop] moves a fake clock, hold or no hold */

/* One pointer for whoever keeps state per loop (slot.c), and what is called with it when the loop is freed. [loop] */
void *loop_attached(const struct loop *loop);
void loop_attach(struct loop *loop, void *data, void (*detach)(void *data));
/* [any] A number of the loop's thread, as loop_this_thread gives it there; 0 before there is one. */
uintptr_t loop_thread(const struct loop *loop);
static inline uintptr_t loop_this_thread(void) { return (uintptr_t)pthread_self(); } /* [any] */

#endif
