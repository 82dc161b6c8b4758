/*
 * arena.c - the memory of one evaluation: allocated by moving a pointer, freed all at once.
 *
 * The first ARENA_FIRST bytes are inside the arena, on the stack of expr_eval, so that small results need no
 * allocation. `taken` counts the requested bytes and never exceeds `limit`; this bounds the memory of an expression.
 */
#include "adl/expr/cell.h"
#include "adl/value/memory.h"
#include <string.h>

#define ARENA_BLOCK 16384u

struct arena_block {
    struct arena_block *next;
    _Alignas(16) char bytes[];
};

void arena_init(struct arena *arena, uint64_t limit) {
    arena->at = arena->first;
    arena->end = arena->first + sizeof arena->first;
    arena->blocks = NULL;
    arena->taken = arena->block_count = 0;
    arena->limit = limit;
}

void arena_finish(struct arena *arena) {
    while (arena->blocks) {
        struct arena_block *block = arena->blocks;
        arena->blocks = block->next;
        mem_free(block);
    }
}

static bool arena_charge(struct arena *arena, uint64_t size) {
    if (size > arena->limit - arena->taken) return false;
    arena->taken += size;
    return true;
}

void *arena_take(struct arena *arena, uint64_t size) {
    if (!arena_charge(arena, size)) return NULL;
    size_t padding = (16 - ((uintptr_t)arena->at & 15)) & 15;
    if (padding + size > (size_t)(arena->end - arena->at)) {
        size_t room = size > ARENA_BLOCK ? (size_t)size : ARENA_BLOCK;
        struct arena_block *block = mem_alloc(sizeof *block + room);
        block->next = arena->blocks;
        arena->blocks = block;
        arena->block_count++;
        arena->at = block->bytes;
        arena->end = block->bytes + room;
        padding = 0;
    }
    char *taken = arena->at + padding;
    arena->at = taken + size;
    return taken;
}

bool arena_extend(struct arena *arena, const char *end, uint64_t more) {
    if (end != arena->at || more > (uint64_t)(arena->end - arena->at) || !arena_charge(arena, more)) return false;
    arena->at += more;
    return true;
}
