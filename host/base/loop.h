/*
 * loop.h - the event loop of one thread: deferred work, work posted by other threads, timers, and libuv.
 *
 * Everything about a run happens on the thread of its loop, so it needs no lock. A process can have several loops.
 * Nothing here allocates per item: work and timers are members of the objects that own them. README.md draws a turn.
 *
 *     struct loop *loop = loop_new(&error);
 *     loop_defer(loop, &run->work);              // on the loop's thread: run->work.run(&run->work), soon, in order
 *     loop_post(loop, &message->work);           // from any thread
 *     loop_run(loop, run_is_done, run);          // until it returns true, or no event can occur any more
 *     loop_free(loop);
 *
 * The thread that first calls loop_run (or loop_enter) is the loop's thread. [loop]: only this thread may call the
 * function; [any]: any thread may.
 */
#ifndef TENON_HOST_BASE_LOOP_H
#define TENON_HOST_BASE_LOOP_H

#include "adl/value/error.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct log;
struct secrets;
struct trace_sink;
struct loop;
struct uv_loop_s;

/* One piece of work. It can be queued once at a time; `run` may queue it again or free it. */
struct loop_work {
    struct loop_work *next;
    void (*run)(struct loop_work *work);
    bool queued;
};

/* A timer in the loop's heap. `index` is its place there; 0: not running. Initialise all members with zero. */
struct loop_timer {
    int64_t due_ms;
    void (*fire)(struct loop_timer *timer);
    uint64_t order; /* timers due together fire in the order they were started */
    uint32_t index;
};

struct loop *loop_new(struct error *error); /* NULL with LIMIT if the system has no more descriptors */
void loop_forked(struct loop *loop); /* call it first in a child of fork, which must not receive events of the parent */
void loop_free(struct loop *loop);   /* [loop; any thread if the loop does not run] NULL is allowed */
struct uv_loop_s *loop_uv(struct loop *loop);
/*
 * Makes the calling thread the loop's thread, if the loop has none, and the loop's log the current log of the calling
 * thread. loop_run does this, too.
 */
void loop_enter(struct loop *loop);
/* The log of the host that owns the loop; a loop without a host has none and uses the log of the process (NULL). */
void loop_set_log(struct loop *loop, struct log *log); /* [loop] takes a reference */
struct log *loop_log(const struct loop *loop);         /* [any] borrowed; set once, before other threads start */
/* [loop] The secrets that results of components must not contain; NULL as long as no secret is known. Borrowed. */
void loop_set_secrets(struct loop *loop, struct secrets *secrets);
struct secrets *loop_secrets(const struct loop *loop);
/* False as long as no loop of the process has secrets: a check that costs nothing before loop_secrets is called. */
extern atomic_bool loop_any_secrets;
/* [loop] Receives spans (trace.h) of this loop; NULL: no client is subscribed to them. Borrowed. */
void loop_set_trace(struct loop *loop, struct trace_sink *sink);
struct trace_sink *loop_trace(const struct loop *loop);
/* False as long as no loop of the process had a sink. */
extern atomic_bool loop_any_trace;
bool loop_here(const struct loop *loop); /* [any] true if the calling thread is the loop's thread */

/*
 * Runs until done(user) is true, which is checked before each turn, and returns true. Returns false after loop_stop, or
 * if no event can occur any more: no work, no timer, no hold, no expected event, no active handle. `done` may be NULL.
 */
bool loop_run(struct loop *loop, bool (*done)(void *user), void *user);
bool loop_running(const struct loop *loop); /* [loop] true inside loop_run, loop_run_turn and their callbacks */
void loop_wake(struct loop *loop);          /* [any] makes loop_run check done() soon */
void loop_stop(struct loop *loop);          /* [any] makes loop_run return false soon */

/*
 * For a thread that has another loop, which waits for both. loop_run_turn does what is due, without waiting.
 * loop_timeout_ms returns in how many milliseconds the next turn is due: 0 for now, at most a day, -1 if only an event
 * can make it due. loop_descriptor can be polled: it is readable after an event. [loop]
 */
void loop_run_turn(struct loop *loop);
int64_t loop_timeout_ms(struct loop *loop);
int loop_descriptor(const struct loop *loop);

void loop_defer(struct loop *loop, struct loop_work *work); /* [loop] no effect if already queued */
void loop_undefer(struct loop *loop,
                  struct loop_work *work); /* [loop] removes deferred work; no effect if not queued */
/* [any] The work must not be queued. The caller must prevent the loop from being freed during the call. */
void loop_post(struct loop *loop, struct loop_work *work);
void loop_run_posted(struct loop *loop); /* [loop] runs the work posted so far: call it before freeing its owner */
/* [any] Counted. While held, an idle loop waits instead of ending, because another thread will post. */
void loop_hold(struct loop *loop);
void loop_release(struct loop *loop);
/*
 * [loop] Counted. While an event is expected, an idle loop waits instead of ending, but a fake clock still jumps: any
 * thread, or a timer, may end a plugin's task.
 */
void loop_expect(struct loop *loop);
void loop_unexpect(struct loop *loop);

/*
 * [loop] Calls `quiet` from the loop after it has waited for `after_ms` while only expected events are left: no work,
 * timer, hold or handle. Called once for each such period. NULL removes the callback.
 */
void loop_on_stall(struct loop *loop, int64_t after_ms, void (*quiet)(void *user), void *user);

/*
 * [loop] Counted. While on, libuv has unreferenced handles: they do not keep the loop running, but the loop polls them
 * even while it is busy, and a loop that waits for them is not quiet.
 */
void loop_watch(struct loop *loop, bool on);

/* [loop] Counted. While on, an idle loop polls for some microseconds before it sleeps: processes answer fast. */
void loop_spin(struct loop *loop, bool on);

void loop_timer_start(struct loop *loop, struct loop_timer *timer, int64_t delay_ms, void (*fire)(struct loop_timer *));
void loop_timer_stop(struct loop *loop, struct loop_timer *timer); /* no effect if it is not running */
/* [loop] True from loop_timer_start until the timer fires or is stopped. */
static inline bool loop_timer_is_running(const struct loop_timer *timer) { return timer->index != 0; }
int64_t loop_now_ms(struct loop *loop);   /* [loop] monotonic, at the start of this turn */
int64_t loop_clock_us(struct loop *loop); /* [loop] monotonic, read at each call: for measuring within a turn */
int64_t loop_wall_ms(struct loop *loop);  /* [any] since 1970 UTC */
/*
 * For tests: time stands still at 0 (wall clock: 2026-01-01T00:00:00Z), and jumps to the next timer when the loop is
 * idle and not held.
 */
void loop_fake_clock(struct loop *loop);
void loop_fake_advance(struct loop *loop, int64_t ms); /* [loop] moves a fake clock, even while the loop is held */
/* [loop] Sets the wall clock of a fake clock forward, or back if `ms` is negative; timers do not move. */
void loop_fake_move_wall(struct loop *loop, int64_t ms);

/* [loop] loop_free calls freed(loop) first: for a signal handler that wakes the loop. One function for each loop. */
void loop_at_free(struct loop *loop, void (*freed)(struct loop *loop));

/* [loop] One pointer for state per loop (used by slot.c). loop_free calls detach(data). */
void *loop_attached(const struct loop *loop);
void loop_attach(struct loop *loop, void *data, void (*detach)(void *data));
/* [any] The loop_this_thread of the loop's thread; 0 if the loop has none yet. */
uintptr_t loop_thread(const struct loop *loop);
static inline uintptr_t loop_this_thread(void) { return (uintptr_t)pthread_self(); } /* [any] */

#endif
