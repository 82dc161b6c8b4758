/*
 * slot.h - the table of calls by token, for the files of this folder.
 *
 * A token is the slot's number plus one (low 32 bits) and its generation (high 32 bits). Slots are made in chunks that
 * are never freed, the one that has been free longest is used first, and one whose generation is used up is retired:
 * so any token ever given can be looked at, from any thread, for ever, and tells whether its task is still open.
 */
#ifndef TENON_HOST_SLOT_H
#define TENON_HOST_SLOT_H

#include "adl/value/error.h"
#include "host/call/call.h"
#include "host/loop/loop.h"
#include <stdatomic.h>

#define CALL_INLINE_WRITES 4u
#define SLOTS_CHUNK        256u
#define SLOTS_CHUNKS_MAX   32768u /* 8 million calls open at once in one process */

struct job;
struct plugin;
struct child;

struct call {
    /* Read and written by any thread, under `lock`. */
    _Atomic uint32_t lock;
    uint32_t number, generation;
    bool open;      /* the token's task has not ended */
    bool in_start;  /* call_start is running: it looks after itself what happens meanwhile */
    bool settled;   /* an outcome is here, not yet told */
    bool scheduled; /* `work` is queued */
    bool wants_ready, cancel_asked, timed_out;
    uint8_t outcome;
    uint32_t write_count, write_capacity;
    struct call_write few_writes[CALL_INLINE_WRITES];
    struct call_write *writes; /* few_writes, or allocated */
    tn_value output, interrupt;
    struct error error;
    tn_value *chunks; /* a ring of CALL_CHUNKS_HIGH, made when first needed */
    uint32_t chunk_first, chunk_count;
    struct loop *loop;
    struct plugin *plugin; /* of the component, for accounting; NULL where the host's own */
    struct job *job;       /* on a worker: to wake it */

    /* The loop's alone. */
    struct call *next_free;
    struct callable *callable;
    const struct call_ops *ops;
    void *owner, *data;
    tn_value input;
    uint64_t parent; /* token, or 0 */
    uint32_t depth;
    bool paused, ended;
    int64_t total_ms, idle_ms;
    struct loop_work work;
    struct loop_timer total, idle, grace;
    struct child *children;
};

/* Spins: what it guards is a few instructions long. */
static inline void slot_lock(struct call *call) {
    while (atomic_exchange_explicit(&call->lock, 1, memory_order_acquire))
        while (atomic_load_explicit(&call->lock, memory_order_relaxed)) {}
}
static inline void slot_unlock(struct call *call) { atomic_store_explicit(&call->lock, 0, memory_order_release); }

struct call *slot_take(void);
void slot_give(struct call *call);
/* The slot of a token, locked, if its task is open; else NULL. [any] */
struct call *slot_open(uint64_t token);

/* call.c, for the files of this folder */
void call_schedule(struct call *call); /* under its lock */
/* Under the lock of an open call: ends it. The values are taken. */
void call_settle_locked(struct call *call, enum call_outcome outcome, tn_value output);

/* child.c: calls that a task makes */
void children_cancel(struct call *call);

#endif
