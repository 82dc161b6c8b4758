/*
 * slot.c - blocks of slots; each loop's table owns ranges of them.
 *
 * A table takes RANGE slots at a time from the process and keeps them. When its loop is freed, ranges without a used
 * slot go back to the process. A range that still has one (an abandoned task's) is leaked deliberately: the plugin may
 * still use that token.
 */
#include "host/plugin/call/slot.h"
#include "adl/value/memory.h"
#include "host/plugin/call/worker.h"
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <string.h>

#define RANGE         16u                          /* divides the size of a block */
#define SPINS         64                           /* before other OS threads get the processor */
#define CLEARED_FROM  offsetof(struct call, state) /* slot_free clears from here … */
#define CLEARED_UNTIL offsetof(struct call, inline_writes)

struct call_table {
    struct loop *loop;
    struct call *first, **last; /* free, oldest first */
    uint32_t at, end;           /* the unused slots of the newest range */
    uint32_t *ranges;           /* the first index of each range */
    uint32_t range_count, range_capacity;
};

/* Process-wide: a token is resolved on any OS thread, without a host. Set under slot_ranges.mutex. */
_Atomic(struct call *) slot_blocks[SLOT_BLOCKS];

/* Process-wide, because indices are: which ranges of slot_blocks no table owns. */
static struct {
    pthread_mutex_t mutex; /* guards the rest, except open_count */
    uint32_t next_index;
    uint32_t *spares; /* free ranges of loops that no longer exist, oldest first */
    uint32_t spare_count, spare_capacity;
    _Atomic uint64_t open_count; /* slots in use */
} slot_ranges = {.mutex = PTHREAD_MUTEX_INITIALIZER};

/* ---- States ---- */

#define BIT(state) (1u << (state))

bool slot_may_move(enum slot_state from, enum slot_state to) {
    static const uint16_t next[] = {
        [SLOT_FREE] = BIT(SLOT_NEW),
        [SLOT_NEW] = BIT(SLOT_RUNNING) | BIT(SLOT_FREE),
        [SLOT_RUNNING] = BIT(SLOT_CANCELLING) | BIT(SLOT_ENDING),
        [SLOT_CANCELLING] = BIT(SLOT_ABANDONING) | BIT(SLOT_ENDING),
        [SLOT_ABANDONING] = BIT(SLOT_LINGERING) | BIT(SLOT_ENDING),
        [SLOT_ENDING] = BIT(SLOT_ENDED),
        [SLOT_ENDED] = BIT(SLOT_FREE),
        [SLOT_LINGERING] = BIT(SLOT_LATE_ENDING) | BIT(SLOT_ORPHANED),
        [SLOT_LATE_ENDING] = BIT(SLOT_ENDED) | BIT(SLOT_ORPHAN_ENDING),
        [SLOT_ORPHANED] = BIT(SLOT_ORPHAN_ENDING),
        [SLOT_ORPHAN_ENDING] = BIT(SLOT_FREE),
    };
    return (next[from] & BIT(to)) != 0;
}

/* ---- The lock ---- */

void slot_wait(struct call *call) {
    do {
        for (int i = 0; i < SPINS && atomic_load_explicit(&call->lock, memory_order_relaxed); i++) {
        }
        if (atomic_load_explicit(&call->lock, memory_order_relaxed)) sched_yield();
    } while (atomic_exchange_explicit(&call->lock, 1, memory_order_acquire));
}

uint64_t call_open_count(void) { return atomic_load_explicit(&slot_ranges.open_count, memory_order_relaxed); }

/* ---- Tables ---- */

static uint32_t range_take(void) {
    pthread_mutex_lock(&slot_ranges.mutex);
    uint32_t first;
    if (slot_ranges.spare_count) {
        first = slot_ranges.spares[0];
        memmove(slot_ranges.spares, slot_ranges.spares + 1, --slot_ranges.spare_count * sizeof *slot_ranges.spares);
    } else {
        first = slot_ranges.next_index;
        if (first >> SLOT_BLOCK_BITS >= SLOT_BLOCKS) mem_exhausted(SIZE_MAX);
        slot_ranges.next_index += RANGE;
        if (!slot_at(first))
            atomic_store_explicit(&slot_blocks[first >> SLOT_BLOCK_BITS],
                                  mem_zalloc(sizeof(struct call) << SLOT_BLOCK_BITS), memory_order_release);
    }
    pthread_mutex_unlock(&slot_ranges.mutex);
    return first;
}

static void range_give(uint32_t first) {
    pthread_mutex_lock(&slot_ranges.mutex);
    MEM_GROW(slot_ranges.spares, slot_ranges.spare_count, slot_ranges.spare_capacity);
    slot_ranges.spares[slot_ranges.spare_count++] = first;
    pthread_mutex_unlock(&slot_ranges.mutex);
}

/* The loop is being freed: makes all of its tokens stale, so that nothing is posted to it any more. */
static void table_detach(void *data) {
    struct call_table *table = data;
    workers_detach(table->loop);
    for (uint32_t r = 0; r < table->range_count; r++) {
        bool unused = true;
        for (uint32_t i = 0; i < RANGE; i++) {
            struct call *call = slot_at(table->ranges[r] + i);
            slot_lock(call);
            struct worker *waiting_worker = call->waiting_worker;
            if (slot_state(call) != SLOT_FREE) {
                unused = false;
                call->waiting_worker = NULL;
                /* Not slot_set_state: this transition is legal from every state. */
                atomic_store_explicit(&call->state, SLOT_FREE, memory_order_relaxed);
                call->generation++;
                atomic_fetch_sub_explicit(&slot_ranges.open_count, 1, memory_order_relaxed);
            }
            slot_unlock(call);
            if (waiting_worker) worker_wake(waiting_worker);
        }
        if (unused) range_give(table->ranges[r]);
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

/* A slot that this table has not used before; NULL if that one is retired. */
static struct call *table_next(struct call_table *table) {
    if (table->at == table->end) {
        MEM_GROW(table->ranges, table->range_count, table->range_capacity);
        table->at = table->ranges[table->range_count++] = range_take();
        table->end = table->at + RANGE;
    }
    struct call *call = slot_at(table->at);
    slot_lock(call); /* another OS thread may be looking up a token that was never valid */
    call->index = table->at++;
    bool retired = call->table && !call->generation;
    if (!call->table) call->generation = 1;
    slot_unlock(call);
    return retired ? NULL : call;
}

static struct call *slot_take_unused(struct loop *loop) {
    struct call_table *table = table_of(loop);
    struct call *call;
    while (!(call = table_next(table))) {
    }
    call->loop = loop;
    call->table = table;
    atomic_store_explicit(&call->loop_thread, loop_thread(loop), memory_order_relaxed);
    return call;
}

struct call *slot_alloc(struct loop *loop) {
    struct call_table *table = loop_attached(loop);
    struct call *call = table ? table->first : NULL;
    atomic_fetch_add_explicit(&slot_ranges.open_count, 1, memory_order_relaxed);
    if (!call) return slot_take_unused(loop);
    table->first = call->next;
    if (!table->first) table->last = &table->first;
    call->next = NULL;
    return call;
}

void slot_free(struct call *call) {
    struct call_table *table = call->table;
    slot_lock(call);
    bool retired = ++call->generation == 0;
    slot_set_state(call, SLOT_FREE);
    if (slot_extent(call) == EXTENT_ALL) {
        memset((char *)call + CLEARED_FROM, 0, CLEARED_UNTIL - CLEARED_FROM);
    } else {
        call->outcome = 0;
        call->write_count = 0;
        call->output = NULL;
        call->input = NULL;
    }
    slot_unlock(call);
    atomic_fetch_sub_explicit(&slot_ranges.open_count, 1, memory_order_relaxed);
    if (retired) return;
    call->next = NULL;
    *table->last = call;
    table->last = &call->next;
}

void slot_set_generation(struct call *call, uint32_t generation) {
    slot_lock(call);
    call->generation = generation;
    slot_unlock(call);
}
