/*
 * slot.c - the process's slots: the one table that loops share.
 */
#include "host/call/slot.h"
#include "adl/value/memory.h"
#include <stdio.h>
#include <stdlib.h>

static _Atomic(struct call *) chunks[SLOTS_CHUNKS_MAX];
static _Atomic uint64_t open_count;

/* The free slots, oldest first, under a lock of their own. */
static _Atomic uint32_t free_lock;
static struct call *free_first, *free_last;
static uint32_t chunk_count;

static void lock_free_list(void) {
    while (atomic_exchange_explicit(&free_lock, 1, memory_order_acquire)) {}
}
static void unlock_free_list(void) { atomic_store_explicit(&free_lock, 0, memory_order_release); }

static void append_free(struct call *call) {
    call->next_free = NULL;
    if (free_last)
        free_last->next_free = call;
    else
        free_first = call;
    free_last = call;
}

static void add_chunk(void) {
    if (chunk_count == SLOTS_CHUNKS_MAX) {
        fprintf(stderr, "tenon: more than %u tasks are open at once\n", SLOTS_CHUNK * SLOTS_CHUNKS_MAX);
        abort();
    }
    struct call *chunk = mem_zalloc(SLOTS_CHUNK * sizeof *chunk);
    for (uint32_t i = 0; i < SLOTS_CHUNK; i++) {
        chunk[i].number = chunk_count * SLOTS_CHUNK + i;
        chunk[i].generation = 1;
        append_free(&chunk[i]);
    }
    atomic_store_explicit(&chunks[chunk_count++], chunk, memory_order_release);
}

struct call *slot_take(void) {
    lock_free_list();
    if (!free_first) add_chunk();
    struct call *call = free_first;
    free_first = call->next_free;
    if (!free_first) free_last = NULL;
    unlock_free_list();
    atomic_fetch_add_explicit(&open_count, 1, memory_order_relaxed);
    return call;
}

void slot_give(struct call *call) {
    slot_lock(call);
    bool retired = ++call->generation == 0;
    slot_unlock(call);
    atomic_fetch_sub_explicit(&open_count, 1, memory_order_relaxed);
    if (retired) return;
    lock_free_list();
    append_free(call);
    unlock_free_list();
}

struct call *slot_open(uint64_t token) {
    uint32_t number = (uint32_t)token - 1, generation = (uint32_t)(token >> 32);
    if (number / SLOTS_CHUNK >= SLOTS_CHUNKS_MAX) return NULL;
    struct call *chunk = atomic_load_explicit(&chunks[number / SLOTS_CHUNK], memory_order_acquire);
    if (!chunk) return NULL;
    struct call *call = &chunk[number % SLOTS_CHUNK];
    slot_lock(call);
    if (call->generation == generation && call->open) return call;
    slot_unlock(call);
    return NULL;
}

uint64_t call_open_count(void) { return atomic_load_explicit(&open_count, memory_order_relaxed); }
