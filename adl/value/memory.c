/*
 * memory.c - malloc and its kin, for code that has no use for a failure it cannot handle.
 *
 * Running out of memory ends the process here and nowhere else, with the size asked for. Sizes of zero are rounded up
 * to one, so that a result is never NULL. Whatever the outside can make grow is bounded long before this (buffer.h).
 */
#include "adl/value/memory.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SMALL 1024 /* bytes */

_Noreturn void mem_exhausted(size_t size) {
    (void)fprintf(stderr, "tenon: out of memory: %zu bytes were asked for\n", size);
    abort();
}

void *mem_alloc(size_t size) {
    void *memory = malloc(size > 0 ? size : 1);
    if (memory == NULL) mem_exhausted(size);
    return memory;
}

/* What is small comes from the thread's own cache in glibc, which its calloc passes by; what is large may be zero. */
void *mem_zalloc(size_t size) {
    if (size <= SMALL) return memset(mem_alloc(size), 0, size);
    void *memory = calloc(1, size);
    if (memory == NULL) mem_exhausted(size);
    return memory;
}

void *mem_resize(void *memory, size_t size) {
    void *resized = realloc(memory, size > 0 ? size : 1);
    if (resized == NULL) mem_exhausted(size);
    return resized;
}

void *mem_array(void *memory, size_t count, size_t size) {
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) mem_exhausted(SIZE_MAX);
    return mem_resize(memory, bytes);
}

char *mem_text(const char *text) { return mem_text_n(text, strlen(text)); }

char *mem_text_n(const char *text, size_t length) {
    if (length == SIZE_MAX) mem_exhausted(length);
    char *copy = mem_alloc(length + 1);
    if (length > 0) memcpy(copy, text, length);
    copy[length] = '\0';
    return copy;
}

void mem_free(void *memory) { free(memory); }
