/*
 * slot.c - chunks of slots, each twice the size of the one before; ranges of them belong to a loop's table.
 *
 * A table takes slots RANGE at a time from the process, keeps them, and gives whole free ranges back when its loop is
 * freed; a range with a slot still in use then (an abandoned task's) is lost on purpose: its token may come back.
 */
#include "host/call/slot.h"
#include "adl/value/memory.h"
#include "host/call/worker.h"
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <string.h>

#define FIRST_BITS 6u                           /* the first chunk has 64 slots */
#define CHUNKS     (33u - FIRST_BITS)           /* indices have 32 bits */
#define RANGE      16u                          /* divides every chunk */
#define SPINS      64                           /* before letting other threads run */
#define CLEARED    offsetof(struct call, state) /* from here … */
#define KEPT       offsetof(struct call, inline_writes)

struct call_table {
    struct loop *loop;
    struct call *first, **last; /* free, oldest first */
    uint32_t at, end;           /* of the newest range: slots never used by this table */
    uint32_t *ranges;           /* all of its ranges, by first index */
    uint32_t range_count, range_capacity;
};

static _Atomic(struct call *) chunks[CHUNKS]; /* set once each, under the mutex */
static _Atomic uint64_t open_count;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static uint32_t next_index; /* mutex */
static uint32_t *spares;    /* mutex: free ranges of loops that have gone */
static uint32_t spare_count, spare_capacity;

/* ---- Finding ---- */

static struct call *slot_at(uint32_t index) {
    uint64_t position = (uint64_t)index + (1u << FIRST_BITS);
    unsigned bit = 63u - (unsigned)__builtin_clzll(position);
    struct call *chunk = atomic_load_explicit(&chunks[bit - FIRST_BITS], memory_order_acquire);
    return chunk ? &chunk[position - (UINT64_C(1) << bit)] : NULL;
}

void slot_wait(struct call *call) {
    do {
        for (int i = 0; i < SPINS && atomic_load_explicit(&call->lock, memory_order_relaxed); i++) {
        }
        if (atomic_load_explicit(&call->lock, memory_order_relaxed)) sched_yield();
    } while (atomic_exchange_explicit(&call->lock, 1, memory_order_acquire));
}

struct call *slot_lock_any(uint64_t token) {
    uint32_t generation = (uint32_t)(token >> 32);
    struct call *call = generation ? slot_at((uint32_t)token) : NULL;
    if (!call) return NULL;
    slot_acquire(call);
    if (call->generation == generation) return call;
    slot_unlock(call);
    return NULL;
}

struct call *slot_lock(uint64_t token) {
    struct call *call = slot_lock_any(token);
    if (!call || call->state == SLOT_OPEN) return call;
    slot_unlock(call);
    return NULL;
}

struct call *slot_here(uint64_t token) {
    struct call *call = slot_lock(token);
    if (!call) return NULL;
    slot_unlock(call);
    /* Of this thread's loop: then nobody else can give the slot back. */
    return atomic_load_explicit(&call->thread, memory_order_relaxed) == loop_this_thread() ? call : NULL;
}

uint64_t call_open_count(void) { return atomic_load_explicit(&open_count, memory_order_relaxed); }

/* ---- Tables ---- */

static uint32_t range_new(void) {
    pthread_mutex_lock(&mutex);
    uint32_t first;
    if (spare_count) {
        first = spares[0]; /* the oldest */
        memmove(spares, spares + 1, --spare_count * sizeof *spares);
    } else {
        first = next_index;
        if (first > UINT32_MAX - 2 * RANGE) mem_exhausted(SIZE_MAX);
        next_index += RANGE;
        if (!slot_at(first)) {
            uint64_t position = (uint64_t)first + (1u << FIRST_BITS);
            unsigned bit = 63u - (unsigned)__builtin_clzll(position);
            struct call *chunk = mem_zalloc(sizeof(struct call) << bit);
            atomic_store_explicit(&chunks[bit - FIRST_BITS], chunk, memory_order_release);
        }
    }
    pthread_mutex_unlock(&mutex);
    return first;
}

static void range_give(uint32_t first) {
    pthread_mutex_lock(&mutex);
    if (spare_count == spare_capacity) {
        spare_capacity = spare_capacity ? spare_capacity * 2 : 16;
        spares = mem_array(spares, spare_capacity, sizeof *spares);
    }
    spares[spare_count++] = first;
    pthread_mutex_unlock(&mutex);
}

/* The loop is being freed: nothing of it may be posted to from now on, and tokens that are left lead nowhere. */
static void table_detach(void *data) {
    struct call_table *table = data;
    workers_detach(table->loop);
    for (uint32_t r = 0; r < table->range_count; r++) {
        bool free = true;
        for (uint32_t i = 0; i < RANGE; i++) {
            struct call *call = slot_at(table->ranges[r] + i);
            slot_acquire(call);
            struct worker *emitter = call->emitter;
            if (call->state != SLOT_FREE) {
                free = false;
                call->emitter = NULL;
                call->state = SLOT_FREE;
                call->generation++;
                atomic_fetch_sub_explicit(&open_count, 1, memory_order_relaxed);
            }
            slot_unlock(call);
            if (emitter) worker_wake(emitter);
        }
        if (free) range_give(table->ranges[r]);
    }
    mem_free(table->ranges);
    mem_free(table);
}

static struct call_table *table_of(struct loop *loop) {
    struct call_table *table = loop_attached(loop);
    if (table) return table;
    loop_enter(loop);
    table = mem_zalloc(sizeof *table);
    table->loop = loop;
    table->last = &table->first;
    loop_attach(loop, table, table_detach);
    return table;
}

static struct call *table_grow(struct call_table *table) {
    if (table->at == table->end) {
        if (table->range_count == table->range_capacity) {
            table->range_capacity = table->range_capacity ? table->range_capacity * 2 : 4;
            table->ranges = mem_array(table->ranges, table->range_capacity, sizeof *table->ranges);
        }
        table->at = table->ranges[table->range_count++] = range_new();
        table->end = table->at + RANGE;
    }
    struct call *call = slot_at(table->at);
    slot_acquire(call); /* somebody may be trying a token that never was */
    call->index = table->at++;
    bool retired = call->table && !call->generation;
    if (!call->table) call->generation = 1;
    slot_unlock(call);
    return retired ? NULL : call;
}

struct call *slot_take(struct loop *loop) {
    struct call_table *table = table_of(loop);
    struct call *call = table->first;
    if (call) {
        table->first = call->next;
        if (!table->first) table->last = &table->first;
    } else {
        while (!(call = table_grow(table))) {
        }
    }
    memset((char *)call + CLEARED, 0, KEPT - CLEARED);
    call->loop = loop;
    atomic_store_explicit(&call->thread, loop_thread(loop), memory_order_relaxed);
    call->table = table;
    atomic_fetch_add_explicit(&open_count, 1, memory_order_relaxed);
    return call;
}

void slot_give(struct call *call) {
    struct call_table *table = call->table;
    slot_acquire(call);
    call->state = SLOT_FREE;
    bool retired = ++call->generation == 0;
    slot_unlock(call);
    atomic_fetch_sub_explicit(&open_count, 1, memory_order_relaxed);
    if (retired) return;
    call->next = NULL;
    *table->last = call;
    table->last = &call->next;
}

void slot_each(struct loop *loop, void (*visit)(void *user, struct call *call), void *user) {
    const struct call_table *table = loop_attached(loop);
    for (uint32_t r = 0; table && r < table->range_count; r++) {
        for (uint32_t i = 0; i < RANGE; i++) {
            struct call *call = slot_at(table->ranges[r] + i);
            slot_acquire(call);
            bool used = call->state != SLOT_FREE;
            slot_unlock(call);
            if (used) visit(user, call);
        }
    }
}

void slot_set_generation(struct call *call, uint32_t generation) {
    slot_acquire(call);
    call->generation = generation;
    slot_unlock(call);
}
