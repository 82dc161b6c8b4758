/*
 * tenon/util/arena.h - memory that is freed all at once: for one call, one request, one parsed description.
 *
 * What an arena returns is zeroed, aligned for every type, and valid until tn_arena_free.
 *
 *     struct tn_arena arena = TN_ARENA;
 *     char *copy = tn_arena_copy(&arena, text, length);
 *     if (copy == NULL) return TN_NO_MEMORY;
 *     tn_arena_free(&arena);
 *
 * An arena belongs to one thread at a time.
 */
#ifndef TENON_UTIL_ARENA_H
#define TENON_UTIL_ARENA_H

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <tenon/util/cast.h>
#include <tenon/util/memory.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TN_ARENA_ALIGNMENT 16u
#define TN_ARENA_FIRST     4080u    /* bytes of the first block; each further one is twice as large, */
#define TN_ARENA_MOST      1048576u /* up to this */

struct tn_arena_block {
    struct tn_arena_block *next;
    uint64_t used, size;
    uint64_t pad; /* makes the header a multiple of the alignment */
};

struct tn_arena {
    struct tn_arena_block *blocks; /* the newest first */
};
#define TN_ARENA                                                                                                       \
    { NULL }

/* NULL if memory runs out. A size of 0 returns memory too. */
static inline void *tn_arena_alloc(struct tn_arena *arena, uint64_t size) {
    struct tn_arena_block *block = arena->blocks;
    char *memory;
    if (size > INT64_MAX / 4) return NULL;
    size = (size + (size == 0) + TN_ARENA_ALIGNMENT - 1) / TN_ARENA_ALIGNMENT * TN_ARENA_ALIGNMENT;
    if (block == NULL || block->size - block->used < size) {
        uint64_t room = block == NULL ? TN_ARENA_FIRST : block->size < TN_ARENA_MOST ? block->size * 2 : block->size;
        if (room < size) room = size;
        block = TN_UTIL_CAST(struct tn_arena_block *, TN_UTIL_RESIZE(NULL, sizeof(*block) + room));
        if (block == NULL) return NULL;
        memset(block, 0, sizeof(*block));
        block->size = room;
        block->next = arena->blocks;
        arena->blocks = block;
    }
    memory = TN_UTIL_CAST(char *, TN_UTIL_CAST(void *, block + 1)) + block->used;
    block->used += size;
    memset(memory, 0, size);
    return memory;
}

/* A copy of `length` bytes, followed by a NUL. */
static inline char *tn_arena_copy(struct tn_arena *arena, const void *bytes, uint64_t length) {
    char *copy = length < UINT64_MAX ? TN_UTIL_CAST(char *, tn_arena_alloc(arena, length + 1)) : NULL;
    if (copy != NULL && length > 0) memcpy(copy, bytes, length);
    return copy;
}

/* A text as by printf. NULL if memory runs out. */
static inline char *tn_arena_vformat(struct tn_arena *arena, const char *format, va_list arguments)
    __attribute__((format(printf, 2, 0)));
static inline char *tn_arena_vformat(struct tn_arena *arena, const char *format, va_list arguments) {
    va_list again;
    char *text = NULL;
    int length;
    va_copy(again, arguments);
    length = vsnprintf(NULL, 0, format, again);
    va_end(again);
    if (length >= 0) text = TN_UTIL_CAST(char *, tn_arena_alloc(arena, TN_UTIL_CAST(uint64_t, length) + 1));
    if (text != NULL) (void)vsnprintf(text, TN_UTIL_CAST(size_t, length) + 1, format, arguments);
    return text;
}

static inline char *tn_arena_format(struct tn_arena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static inline char *tn_arena_format(struct tn_arena *arena, const char *format, ...) {
    char *text;
    va_list arguments;
    va_start(arguments, format);
    text = tn_arena_vformat(arena, format, arguments);
    va_end(arguments);
    return text;
}

/* Frees everything. The arena is empty and can be used again. */
static inline void tn_arena_free(struct tn_arena *arena) {
    while (arena->blocks != NULL) {
        struct tn_arena_block *block = arena->blocks;
        arena->blocks = block->next;
        TN_UTIL_RELEASE(block);
    }
}

#ifdef __cplusplus
}
#endif
#endif
