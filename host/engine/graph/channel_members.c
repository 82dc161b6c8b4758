/*
 * channel_members.c - a hash table with linear probing. It doubles at three quarters full. Nothing is ever removed:
 * the index is freed with its array, or when positions change.
 */
#include "host/engine/graph/channel_members.h"
#include "adl/value/memory.h"

struct member_slot {
    uint64_t hash;
    uint32_t position; /* position + 1, or 0 if the slot is empty */
};

struct member_index {
    struct member_slot *slots;
    uint32_t capacity, count; /* capacity: a power of two */
};

struct member_index *member_index_new(void) {
    struct member_index *index = mem_zalloc(sizeof *index);
    index->capacity = 32;
    index->slots = mem_zalloc(index->capacity * sizeof *index->slots);
    return index;
}

void member_index_free(struct member_index *index) {
    if (!index) return;
    mem_free(index->slots);
    mem_free(index);
}

static void member_index_insert(struct member_index *index, uint64_t hash, uint32_t position) {
    uint32_t mask = index->capacity - 1, at = (uint32_t)hash & mask;
    while (index->slots[at].position) at = (at + 1) & mask;
    index->slots[at] = (struct member_slot){hash, position + 1};
}

void member_index_add(struct member_index *index, uint64_t hash, uint32_t position) {
    if (index->count >= index->capacity / 4 * 3) {
        struct member_slot *old = index->slots;
        uint32_t old_capacity = index->capacity;
        index->capacity *= 2;
        index->slots = mem_zalloc(index->capacity * sizeof *index->slots);
        for (uint32_t i = 0; i < old_capacity; i++)
            if (old[i].position) member_index_insert(index, old[i].hash, old[i].position - 1);
        mem_free(old);
    }
    member_index_insert(index, hash, position);
    index->count++;
}

uint32_t member_index_next(const struct member_index *index, uint64_t hash, uint32_t *cursor) {
    uint32_t mask = index->capacity - 1;
    for (;; (*cursor)++) {
        const struct member_slot *slot = &index->slots[((uint32_t)hash + *cursor) & mask];
        if (!slot->position) return UINT32_MAX;
        if (slot->hash == hash) {
            (*cursor)++;
            return slot->position - 1;
        }
    }
}
