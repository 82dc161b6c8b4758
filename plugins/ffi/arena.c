/*
 * arena.c - blocks of the host's memory in a list.
 *
 * Small pieces share a block; a large one gets its own. Each block begins with a header as large as the strictest
 * alignment, so that what follows it is aligned.
 */
#include "arena.h"
#include <stdint.h>
#include <tenon/easy.h>

#define BLOCK_SIZE 4000u

struct arena_block {
    struct arena_block *next;
    size_t size, used;
};

#define ALIGNMENT   _Alignof(max_align_t)
#define HEADER_SIZE ((sizeof(struct arena_block) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT)

static struct arena_block *block_new(size_t size) {
    if (size > SIZE_MAX / 2) return NULL;
    struct arena_block *block = tn.core->alloc(tn.host, HEADER_SIZE + size);
    if (block == NULL) return NULL;
    memset(block, 0, HEADER_SIZE + size);
    block->size = size;
    return block;
}

void *arena_take(struct arena *arena, size_t size) {
    if (size == 0) size = 1;
    if (size > SIZE_MAX / 2) return NULL;
    size = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    struct arena_block *block = arena->blocks;
    if (block == NULL || block->size - block->used < size) {
        block = block_new(size > BLOCK_SIZE / 4 ? size : BLOCK_SIZE);
        if (block == NULL) return NULL;
        if (size > BLOCK_SIZE / 4 && arena->blocks != NULL) { /* the one with room left stays first */
            block->next = arena->blocks->next;
            arena->blocks->next = block;
        } else {
            block->next = arena->blocks;
            arena->blocks = block;
        }
    }
    void *memory = (char *)block + HEADER_SIZE + block->used;
    block->used += size;
    return memory;
}

void arena_finish(struct arena *arena) {
    while (arena->blocks != NULL) {
        struct arena_block *block = arena->blocks;
        arena->blocks = block->next;
        tn.core->release(tn.host, block);
    }
}

char *arena_text(struct arena *arena, const char *text, size_t length) {
    char *copy = arena_take(arena, length + 1);
    if (copy != NULL && length > 0) memcpy(copy, text, length);
    return copy;
}

char *arena_vformat(struct arena *arena, const char *format, va_list arguments) {
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, again);
    va_end(again);
    char *text = length >= 0 ? arena_take(arena, (size_t)length + 1) : NULL;
    if (text != NULL) (void)vsnprintf(text, (size_t)length + 1, format, arguments);
    return text;
}

char *arena_format(struct arena *arena, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    char *text = arena_vformat(arena, format, arguments);
    va_end(arguments);
    return text;
}
