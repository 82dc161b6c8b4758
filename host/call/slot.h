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

enum slot_time { SLOT_TIME_LEFT, SLOT_TIME_TOTAL, SLOT_TIME_IDLE };

struct call {
    /* Never cleared. */
    _Atomic uint32_t lock;
    uint32_t generation; /* lock; changed by the loop */
    uint32_t index;
    struct loop *loop;
    _Atomic uintptr_t thread; /* the loop's */
    struct call_table *table;

    /* lock; from here on all is zero while the slot is free */
    _Atomic uint8_t state; /* slot_state; relaxed, for those who need no lock to read it */
    uint8_t outcome;       /* call_outcome */
    bool starting;         /* inside the callable's start */
    bool asked;            /* the end has been asked for; written by the loop */
    uint8_t timed_out;     /* … because this time was up; written by the loop */
    bool again;            /* emit has said AGAIN: `ready` is owed */
    bool pumping;          /* `work` is queued */
    bool retrieved;        /* lingering: the callable has ended it at last */
    bool touched;          /* more is in use than an end inside start needs: slot_give clears all */
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
    int64_t children_ms;          /* the total_ms of calls that its task makes; 0: none */
    struct loop_timer limit;      /* of total_ms; once it has been asked to end, of its grace */
    struct loop_timer idle;
    uint32_t depth;
    uint32_t made;    /* calls that its task has made */
    uint32_t ordinal; /* among those of its parent */
    bool resumed;     /* started with what was known of it */
    bool paused;      /* the owner wants no chunk */
    bool expected;    /* the loop was told to expect its end */
    bool cancel_owed; /* asked while starting */
    bool give_up;     /* its owner waits no longer than for its children */
    bool hung;        /* grace has passed */
    bool freed;       /* lingering: the owner has given it back */

    struct call_write inline_writes[CALL_WRITES_INLINE]; /* not cleared */
};

/* Chunks of slots; each is set once. */
#define SLOT_CHUNK_BITS 10u        /* a chunk has 1024 slots; memory is used as they are */
#define SLOT_CHUNKS     (1u << 16) /* 67 million calls at once in one process; beyond that it ends, as out of memory */
extern _Atomic(struct call *) slot_chunks[SLOT_CHUNKS];

static inline uint64_t slot_token(const struct call *call) { return (uint64_t)call->generation << 32 | call->index; }

void slot_wait(struct call *call); /* somebody has the lock: takes it when they give it back */

static inline void slot_acquire(struct call *call) {
    if (atomic_exchange_explicit(&call->lock, 1, memory_order_acquire)) slot_wait(call);
}

static inline void slot_unlock(struct call *call) { atomic_store_explicit(&call->lock, 0, memory_order_release); }

/* [any] The slot of a token, be it right or wrong; NULL where there has never been one. */
static inline struct call *slot_at(uint64_t token) {
    uint32_t index = (uint32_t)token;
    if (index >> SLOT_CHUNK_BITS >= SLOT_CHUNKS) return NULL;
    struct call *chunk = atomic_load_explicit(&slot_chunks[index >> SLOT_CHUNK_BITS], memory_order_acquire);
    return chunk ? &chunk[index & ((1u << SLOT_CHUNK_BITS) - 1)] : NULL;
}

static inline enum slot_state slot_state(const struct call *call) {
    return (enum slot_state)atomic_load_explicit(&call->state, memory_order_relaxed);
}

static inline void slot_set_state(struct call *call, enum slot_state state) {
    atomic_store_explicit(&call->state, (uint8_t)state, memory_order_relaxed);
}

/* [any] The slot of a token, locked, whatever became of it; NULL where the generation has moved on. */
static inline struct call *slot_lock_any(uint64_t token) {
    uint32_t generation = (uint32_t)(token >> 32);
    struct call *call = slot_at(token);
    if (!call || !generation) return NULL;
    slot_acquire(call);
    if (call->generation == generation) return call;
    slot_unlock(call);
    return NULL;
}

/* [any] The same of a task that is open: neither ended nor abandoned. */
static inline struct call *slot_lock(uint64_t token) {
    struct call *call = slot_lock_any(token);
    if (!call || slot_state(call) == SLOT_OPEN) return call;
    slot_unlock(call);
    return NULL;
}

/* [any] The open call of a token that belongs to the calling thread, not locked; else NULL. */
static inline struct call *slot_here(uint64_t token) {
    struct call *call = slot_at(token);
    /* Of this thread's loop: then nobody else changes the generation. A retired slot is never open. */
    if (!call || atomic_load_explicit(&call->thread, memory_order_relaxed) != loop_this_thread()) return NULL;
    return call->generation == (uint32_t)(token >> 32) && slot_state(call) == SLOT_OPEN ? call : NULL;
}

/* [loop] A free slot: SLOT_FREE still, and clear. */
struct call *slot_take(struct loop *loop);
/* [loop] Moves the generation on. Everything in it has been released; it is not locked. */
void slot_give(struct call *call);
/* [loop] Every slot of the loop that is in use. */
void slot_each(struct loop *loop, void (*visit)(void *user, struct call *call), void *user);
/* [loop] For tests: the generation of a slot that is free. */
void slot_set_generation(struct call *call, uint32_t generation);

/* ---- call.c's, for the rest of the folder and for host/interface/ ---- */

/* [any] locked. Has `work` done on the loop: chunks, the end, what is owed. */
void slot_pump_later(struct call *call);
/* … unless it will be anyway; and unlocks. */
static inline void slot_pump_unlock(struct call *call) {
    if (!call->starting && !call->pumping) slot_pump_later(call);
    slot_unlock(call);
}
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
/* [any] Of a locked slot: room for one more write is made. TN_LIMIT past CALL_WRITES_MAX. */
int32_t slot_write_more(struct call *locked);
/* [any] A write of the callable's own numbering has been translated: appends it. */
static inline int32_t slot_write(struct call *locked, uint32_t channel, tn_value value) {
    uint32_t at = locked->write_count;
    if (at >= CALL_WRITES_INLINE || locked->writes) {
        int32_t status = slot_write_more(locked);
        if (status != TN_OK) return status;
    }
    struct call_write *writes = locked->writes ? locked->writes : locked->inline_writes;
    writes[at].channel = channel;
    writes[at].value = value_ref(value);
    locked->write_count = at + 1;
    return TN_OK;
}
/* [loop] The callable has nothing left that could end the task: as if it had, where the end has been asked for. */
void call_returned(uint64_t token);
/* [any] As if start had returned that status. */
void call_fail_status(uint64_t token, int32_t status);
/* call_child, where a blocking callee is to run on the worker that waits for it. */
int32_t call_child_on(uint64_t token, struct callable *callee, bool model, tn_value input, tn_call_done done,
                      void *user, struct worker *on);

#endif
