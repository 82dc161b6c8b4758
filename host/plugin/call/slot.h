/*
 * slot.h - struct call, and the table of calls. A slot never moves and is never freed; any OS thread can look it up by
 * token.
 *
 * A token is generation << 32 | index. Each loop keeps its own list of free slots, oldest first, so creating a call
 * takes no lock. Freeing a slot increments its generation; a slot whose generation would wrap is retired. Only
 * host/plugin/ includes this header.
 *
 *     struct call *call = slot_lookup_lock(token);   // [any] NULL if the token is stale
 *     if (!call) return TN_STALE;
 *     ...                                            // read and write the fields below "Guarded by the lock"
 *     slot_unlock(call);
 *
 * The lock is a spin lock of one word. It is held briefly and never while the owner or the callable is called. It is
 * usually held for a few instructions; a growing ring of chunks, dropped chunks and the error of a timeout allocate or
 * free memory under it. Posting to the call's loop happens under the lock, and freeing a loop takes the lock of each of
 * its slots; a freed loop is therefore never posted to.
 */
#ifndef TENON_HOST_PLUGIN_CALL_SLOT_H
#define TENON_HOST_PLUGIN_CALL_SLOT_H

#include "host/base/loop.h"
#include "host/plugin/call/call.h"
#include <assert.h>
#include <stdatomic.h>

#define CALL_WRITES_INLINE 4u

struct worker;

/*
 * The life of a call:
 *
 *     FREE -> NEW -> RUNNING -> ENDING -> ENDED -> FREE    started, ended by the callable, reported, freed
 *     RUNNING -> CANCELLING -> ENDING                      the end was requested, and the callable ends the task
 *     CANCELLING -> ABANDONING -> ENDING or LINGERING      not ended in time; the report waits for child calls only
 *     LINGERING -> LATE_ENDING -> ENDED                    abandoned; the callable ends the task late
 *     LINGERING -> ORPHANED -> ORPHAN_ENDING -> FREE       the same, but the owner frees the call before that
 *     LATE_ENDING -> ORPHAN_ENDING                         the owner frees the call while the late end is queued
 *     NEW -> FREE                                          freed, never started
 *
 * The order of the enum matters: slot_is_open and slot_is_reported compare ranges. README.md has the details.
 */
enum slot_state {
    SLOT_FREE,          /* not in use */
    SLOT_NEW,           /* created, not started */
    SLOT_ENDING,        /* has an outcome; the owner does not know it yet */
    SLOT_ENDED,         /* the owner knows the outcome, and the callable has ended the task */
    SLOT_LINGERING,     /* abandoned: the owner knows the outcome, but the callable has not ended the task */
    SLOT_LATE_ENDING,   /* abandoned, then ended by the callable; the loop has to handle that */
    SLOT_ORPHANED,      /* LINGERING, and the owner has freed the call */
    SLOT_ORPHAN_ENDING, /* LATE_ENDING, and the owner has freed the call */
    SLOT_RUNNING,       /* started */
    SLOT_CANCELLING,    /* started; the end was requested, by call_cancel or a time limit */
    SLOT_ABANDONING,    /* CANCELLING, and only child calls still delay the end; the callable is not waited for */
};

/* Who delivers chunks and the end to the owner. */
enum slot_delivery {
    DELIVERY_IDLE,     /* no delivery is pending: a change of the slot must queue `work` */
    DELIVERY_BY_START, /* call_start, when the callable's start has returned */
    DELIVERY_QUEUED,   /* `work` is queued on the loop */
};

/* Backpressure of chunks. The callable and the owner stop independently, so there are four values. */
enum slot_flow {
    FLOW_RUNNING,
    FLOW_READY_OWED, /* emit returned TN_AGAIN: `ready` must be called when there is room */
    FLOW_PAUSED,     /* the owner's chunk() returned false: no more until call_resume */
    FLOW_PAUSED_READY_OWED,
};

/* Why the end was requested. */
enum slot_cause { CAUSE_CANCEL, CAUSE_TOTAL_TIMEOUT, CAUSE_IDLE_TIMEOUT };

/* How much of the slot has been written: slot_free clears only that. */
enum slot_extent {
    EXTENT_RESULT, /* only the outcome: outcome, write_count, output, input (and what call_new sets each time) */
    EXTENT_ALL,
};

struct call {
    /* Never cleared. */
    _Atomic uint32_t lock;
    uint32_t generation; /* lock; changed only by the loop */
    uint32_t index;
    struct loop *loop;
    _Atomic uintptr_t loop_thread; /* the loop's thread, as loop_this_thread returns it */
    struct call_table *table;

    /* Guarded by the lock. From here on everything is zero while the slot is free. */
    _Atomic uint8_t state;  /* slot_state; written under the lock, read anywhere (relaxed) */
    uint8_t outcome;        /* call_outcome */
    uint8_t delivery;       /* slot_delivery */
    uint8_t flow;           /* slot_flow */
    uint8_t cause;          /* slot_cause; valid from CANCELLING on; written only by the loop */
    _Atomic uint8_t extent; /* slot_extent; set by any thread (relaxed) */
    uint32_t write_count, write_capacity;
    uint32_t chunk_first, chunk_count, chunk_capacity;
    struct call_write *writes; /* NULL while inline_writes is used */
    tn_value *chunks;          /* ring buffer */
    tn_value output;           /* the output, or the value of the interrupt */
    struct error error;
    struct worker *waiting_worker; /* sleeps until there is room for a chunk, whether `ready` is owed or not; or NULL */
    struct loop_work work;         /* delivers chunks and the end */

    /* Set before the start; then any OS thread may read them. */
    struct callable *callable;
    const struct call_ops *ops;
    int64_t total_ms, idle_ms; /* 0 means unlimited */

    /* Used only by the loop. */
    void *owner, *data;
    tn_value input;
    struct call *parent, *children;
    struct call *next, *previous; /* siblings; `next` also links free slots */
    struct worker *on_worker;     /* the worker that waits for this call (call_wait); a blocking callee runs on it */
    int64_t children_ms;          /* total_ms of the calls that the task makes; 0 means unlimited */
    struct loop_timer limit_or_grace_timer; /* times total_ms; after the end was requested, times the grace period */
    struct loop_timer idle_timer;           /* times idle_ms */
    uint32_t depth;
    uint32_t made;    /* number of calls that the task has made */
    uint32_t ordinal; /* index of this call among its parent's */
    bool resumed;     /* the input is a saved one (call_resumed); set before the start */
    bool by_caller;   /* its caller has cancelled it alone */

    struct call_write inline_writes[CALL_WRITES_INLINE]; /* not cleared */
};

/*
 * Slots are allocated in blocks. The array is process-wide because a token is resolved on any OS thread without a host.
 */
#define SLOT_BLOCK_BITS 10u        /* a block has 1024 slots; the kernel provides its pages when they are used */
#define SLOT_BLOCKS     (1u << 16) /* 67 million calls at once in one process; more end the process as out of memory */
extern _Atomic(struct call *) slot_blocks[SLOT_BLOCKS]; /* each is set once */

static inline uint64_t slot_token(const struct call *call) { return (uint64_t)call->generation << 32 | call->index; }

void slot_wait(struct call *call); /* the contended case of slot_lock */

static inline void slot_lock(struct call *call) {
    if (atomic_exchange_explicit(&call->lock, 1, memory_order_acquire)) slot_wait(call);
}

static inline void slot_unlock(struct call *call) { atomic_store_explicit(&call->lock, 0, memory_order_release); }

/* [any] The slot of a token, which may be stale. NULL if there has never been such a slot. */
static inline struct call *slot_at(uint64_t token) {
    uint32_t index = (uint32_t)token;
    if (index >> SLOT_BLOCK_BITS >= SLOT_BLOCKS) return NULL;
    struct call *block = atomic_load_explicit(&slot_blocks[index >> SLOT_BLOCK_BITS], memory_order_acquire);
    return block ? &block[index & ((1u << SLOT_BLOCK_BITS) - 1)] : NULL;
}

/* ---- States: one setter each, so that one breakpoint and one assertion see every transition ---- */

static inline enum slot_state slot_state(const struct call *call) {
    return (enum slot_state)atomic_load_explicit(&call->state, memory_order_relaxed);
}

bool slot_may_move(enum slot_state from, enum slot_state to);

/* [any] Requires the lock, except for a new call whose token no other OS thread knows yet. */
static inline void slot_set_state(struct call *call, enum slot_state state) {
    assert(slot_may_move(slot_state(call), state));
    atomic_store_explicit(&call->state, (uint8_t)state, memory_order_relaxed);
}

/* [any] Requires the lock, as above. */
static inline void slot_set_delivery(struct call *call, enum slot_delivery delivery) {
    assert(call->delivery != DELIVERY_BY_START || delivery == DELIVERY_IDLE);
    call->delivery = (uint8_t)delivery;
}

/* [any] Requires the lock. */
static inline void slot_set_flow(struct call *call, enum slot_flow flow) { call->flow = (uint8_t)flow; }

static inline enum slot_extent slot_extent(const struct call *call) {
    return (enum slot_extent)atomic_load_explicit(&call->extent, memory_order_relaxed);
}

/* [any] Makes slot_free clear all fields. Call it before a write to a field that EXTENT_RESULT does not include. */
static inline void slot_clear_all_later(struct call *call) {
    atomic_store_explicit(&call->extent, EXTENT_ALL, memory_order_relaxed);
}

/* True from the start to the end: the callable may emit, write and end the task. */
static inline bool slot_is_open(const struct call *call) { return slot_state(call) >= SLOT_RUNNING; }

/* The owner knows the outcome. */
static inline bool slot_is_reported(const struct call *call) {
    enum slot_state state = slot_state(call);
    return state >= SLOT_ENDED && state <= SLOT_ORPHAN_ENDING;
}

/* LINGERING or ORPHANED: the call was reported as ended, and the callable has not ended the task. */
static inline bool slot_is_abandoned(const struct call *call) {
    enum slot_state state = slot_state(call);
    return state == SLOT_LINGERING || state == SLOT_ORPHANED;
}

/* The end was requested, by call_cancel or a time limit, and the task has not ended. */
static inline bool slot_end_requested(const struct call *call) { return slot_state(call) >= SLOT_CANCELLING; }

static inline bool slot_owes_ready(const struct call *call) { return (call->flow & FLOW_READY_OWED) != 0; }
static inline bool slot_is_paused(const struct call *call) { return (call->flow & FLOW_PAUSED) != 0; }

/* ---- Looking up ---- */

/* [any] The slot of a token, locked, in any state. NULL if the token is stale. */
static inline struct call *slot_lookup_lock_any(uint64_t token) {
    uint32_t generation = (uint32_t)(token >> 32);
    struct call *call = slot_at(token);
    if (!call || !generation) return NULL;
    slot_lock(call);
    if (call->generation == generation) return call;
    slot_unlock(call);
    return NULL;
}

/* [any] Like slot_lookup_lock_any, but returns NULL unless the task is open (neither ended nor abandoned). */
static inline struct call *slot_lookup_lock(uint64_t token) {
    struct call *call = slot_lookup_lock_any(token);
    if (!call || slot_is_open(call)) return call;
    slot_unlock(call);
    return NULL;
}

/* [any] The open call of a token if it belongs to the calling thread's loop, not locked; else NULL. */
static inline struct call *slot_lookup_open(uint64_t token) {
    struct call *call = slot_at(token);
    /* Only the loop's thread changes the generation, so it needs no lock to read it. A retired slot is never open. */
    if (!call || atomic_load_explicit(&call->loop_thread, memory_order_relaxed) != loop_this_thread()) return NULL;
    return call->generation == (uint32_t)(token >> 32) && slot_is_open(call) ? call : NULL;
}

/* ---- The table ---- */

/* [loop] A free slot, cleared; its state is SLOT_FREE. */
struct call *slot_alloc(struct loop *loop);
/* [loop] Increments the generation and returns the slot to its table. The caller has released all that it refers to. */
void slot_free(struct call *call);
/* [loop] For tests: sets the generation of a free slot. */
void slot_set_generation(struct call *call, uint32_t generation);

#endif
