/*
 * slot.h - the table of calls: slots that never move and are never freed, found by token from any thread.
 *
 * A token is generation << 32 | index. Each loop has its own list of free slots, oldest first, so that making a call
 * takes no lock; a slot's generation moves on when it is given back, and a slot whose generation would wrap is retired.
 * The table and the struct are for this folder and host/interface/ alone.
 *
 *     struct call *call = slot_lock(token);      // [any] NULL: the task has ended, or never was
 *     if (!call) return TN_STALE;
 *     ...                                        // what is marked "lock" below
 *     slot_unlock(call);
 *
 * The lock is a word, held for a few instructions, never while calling out. Posting to the call's loop happens under
 * it; the table of a loop that is being freed takes it too, so a loop is never posted to when it has gone.
 */
#ifndef TENON_HOST_CALL_SLOT_H
#define TENON_HOST_CALL_SLOT_H

#include "host/call/call.h"
#include "host/loop/loop.h"
#include <stdatomic.h>

#define CALL_WRITES_INLINE 4u

struct worker;

enum slot_state {
    SLOT_FREE,
    SLOT_NEW,       /* made, not started */
    SLOT_OPEN,      /* started */
    SLOT_ENDING,    /* has an outcome, of which its owner has not been told */
    SLOT_ENDED,     /* its owner knows */
    SLOT_LINGERING, /* its owner knows: it was abandoned, and its callable has yet to end it */
};

struct call {
    /* Never cleared. */
    _Atomic uint32_t lock;
    uint32_t generation; /* lock; changed by the loop */
    uint32_t index;
    struct loop *loop;
    _Atomic uintptr_t thread; /* the loop's */
    struct call_table *table;

    /* lock; slot_take clears all from here on */
    uint8_t state;   /* slot_state */
    uint8_t outcome; /* call_outcome */
    bool starting;   /* inside the callable's start */
    bool asked;      /* the end has been asked for; written by the loop */
    bool timed_out;  /* … because time was up; written by the loop */
    bool again;      /* emit has said AGAIN: `ready` is owed */
    bool pumping;    /* `work` is queued */
    bool retrieved;  /* lingering: the callable has ended it at last */
    uint32_t write_count, write_capacity;
    uint32_t chunk_first, chunk_count, chunk_capacity;
    struct call_write *writes; /* NULL: inline_writes */
    tn_value *chunks;          /* a ring */
    tn_value output;           /* or the interrupt's value */
    struct error error;
    struct worker *emitter; /* a worker that waits for room */
    struct loop_work work;  /* chunks, or the end, are to be delivered */

    /* loop */
    struct callable *callable;
    const struct call_ops *ops;
    void *owner, *data;
    tn_value input;
    struct call *parent, *children;
    struct call *next, *previous; /* among the parent's children; next alone: among the free */
    struct worker *on_worker;     /* where a blocking callee of call_wait is to run */
    int64_t total_ms, idle_ms;    /* 0: none */
    struct loop_timer total, idle, grace;
    uint32_t depth;
    bool paused;      /* the owner wants no chunk */
    bool expected;    /* the loop was told to expect its end */
    bool cancel_owed; /* asked while starting */
    bool give_up;     /* its owner waits no longer than for its children */
    bool hung;        /* grace has passed */
    bool freed;       /* lingering: the owner has given it back */

    struct call_write inline_writes[CALL_WRITES_INLINE]; /* not cleared */
};

static inline uint64_t slot_token(const struct call *call) { return (uint64_t)call->generation << 32 | call->index; }

void slot_wait(struct call *call); /* somebody has the lock: takes it when they give it back */

static inline void slot_acquire(struct call *call) {
    if (atomic_exchange_explicit(&call->lock, 1, memory_order_acquire)) slot_wait(call);
}

static inline void slot_unlock(struct call *call) { atomic_store_explicit(&call->lock, 0, memory_order_release); }

/* [any] The slot of a token, locked, whatever became of it; NULL where the generation has moved on. */
struct call *slot_lock_any(uint64_t token);
/* [any] The same of a task that is open: neither ended nor abandoned. */
struct call *slot_lock(uint64_t token);
/* [any] The open call of a token that belongs to the calling thread, not locked; else NULL. */
struct call *slot_here(uint64_t token);

/* [loop] A free slot: SLOT_FREE still, and clear. */
struct call *slot_take(struct loop *loop);
/* [loop] Moves the generation on. Everything in it has been released; it is not locked. */
void slot_give(struct call *call);
/* [loop] Every slot of the loop that is in use. */
void slot_each(struct loop *loop, void (*visit)(void *user, struct call *call), void *user);
/* [loop] For tests: the generation of a slot that is free. */
void slot_set_generation(struct call *call, uint32_t generation);

/* ---- call.c's, for the rest of the folder and for host/interface/ ---- */

/* [any] locked; unlocks. Has `work` done on the loop: chunks, the end, what is owed. */
void slot_pump_unlock(struct call *call);
/*
 * [any] As tn_task_1.emit for tasks that are not on a worker: TN_AGAIN takes nothing; TN_CANCELLED after the end was
 * asked for. `emitter` (may be NULL) is woken when there is room.
 */
int32_t slot_emit(uint64_t token, tn_value chunk, struct worker *emitter);
/*
 * [any] The one way for a callable to end a task. `output` and `error` are taken if it returns TN_OK; `what` is for the
 * log. `plugins`: tasks of the host's own callables are stale.
 */
int32_t slot_end_take(uint64_t token, enum call_outcome outcome, tn_value output, struct error *error, const char *what,
                      bool plugins);
/* What call_interrupt_value gives; a new reference. */
tn_value slot_interrupt_value(tn_value payload, tn_value schema, tn_value continuation);
/* [any] A write of the callable's own numbering has been translated: appends it. TN_LIMIT past CALL_WRITES_MAX. */
int32_t slot_write(struct call *locked, uint32_t channel, tn_value value);
/* [loop] The callable has nothing left that could end the task: as if it had, where the end has been asked for. */
void call_returned(uint64_t token);
/* [any] As if start had returned that status. */
void call_fail_status(uint64_t token, int32_t status);
/* call_child, where a blocking callee is to run on the worker that waits for it. */
int32_t call_child_on(uint64_t token, struct callable *callee, bool model, tn_value input, tn_call_done done,
                      void *user, struct worker *on);

#endif
