/*
 * slot.c - chunks of slots; ranges of them belong to a loop's table.
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

#define RANGE   16u                          /* divides every chunk */
#define SPINS   64                           /* before letting other threads run */
#define CLEARED offsetof(struct call, state) /* from here … */
#define KEPT    offsetof(struct call, inline_writes)

struct call_table {
    struct loop *loop;
    struct call *first, **last; /* free, oldest first */
    uint32_t at, end;           /* of the newest range: slots never used by this table */
    uint32_t *ranges;           /* all of its ranges, by first index */
    uint32_t range_count, range_capacity;
};

_Atomic(struct call *) slot_chunks[SLOT_CHUNKS]; /* set under the mutex */
static _Atomic uint64_t open_count;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static uint32_t next_index; /* mutex */
static uint32_t *spares;    /* mutex: free ranges of loops that have gone */
static uint32_t spare_count, spare_capacity;

/* ---- Finding ---- */

void slot_wait(struct call *call) {
    do {
        for (int i = 0; i < SPINS && atomic_load_explicit(&call->lock, memory_order_relaxed); i++) {
        }
        if (atomic_load_explicit(&call->lock, memory_order_relaxed)) sched_yield();
    } while (atomic_exchange_explicit(&call->lock, 1, memory_order_acquire));
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
        if (first >> SLOT_CHUNK_BITS >= SLOT_CHUNKS) mem_exhausted(SIZE_MAX);
        next_index += RANGE;
        if (!slot_at(first))
            atomic_store_explicit(&slot_chunks[first >> SLOT_CHUNK_BITS],
                                  mem_zalloc(sizeof(struct call) << SLOT_CHUNK_BITS), memory_order_release);
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
            if (slot_state(call) != SLOT_FREE) {
                free = false;
                call->emitter = NULL;
                slot_set_state(call, SLOT_FREE);
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

static struct call *take_new(struct loop *loop) {
    struct call_table *table = table_of(loop);
    struct call *call;
    while (!(call = table_grow(table))) {
    }
    call->loop = loop;
    call->table = table;
    atomic_store_explicit(&call->thread, loop_thread(loop), memory_order_relaxed);
    return call;
}

struct call *slot_take(struct loop *loop) {
    struct call_table *table = loop_attached(loop);
    struct call *call = table ? table->first : NULL;
    atomic_fetch_add_explicit(&open_count, 1, memory_order_relaxed);
    if (!call) return take_new(loop);
    table->first = call->next;
    if (!table->first) table->last = &table->first;
    call->next = NULL;
    return call;
}

void slot_give(struct call *call) {
    struct call_table *table = call->table;
    slot_acquire(call);
    bool retired = ++call->generation == 0;
    if (call->touched) {
        memset((char *)call + CLEARED, 0, KEPT - CLEARED);
    } else {
        call->outcome = 0;
        call->write_count = 0;
        call->output = NULL;
        call->input = NULL;
    }
    slot_set_state(call, SLOT_FREE);
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
            bool used = slot_state(call) != SLOT_FREE;
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
