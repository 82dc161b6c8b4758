/*
 * memory.c - malloc for code that cannot handle an allocation failure.
 *
 * This is the only place that ends the process when memory runs out; the message contains the requested size. A size of
 * zero is rounded up to one, so that a result is never NULL.
 */
#include "adl/value/memory.h"

#include <malloc.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SMALL 1024 /* bytes */

/* Process-wide: there is one memory, and mem_exhausted has no host. */
static _Atomic(mem_handler *) exhausted_handler;
static _Atomic(void *) exhausted_user;

void mem_set_handler(mem_handler *handler, void *user) {
    atomic_store(&exhausted_handler, NULL);
    atomic_store(&exhausted_user, user);
    atomic_store(&exhausted_handler, handler);
}

_Noreturn void mem_exhausted(size_t size) {
    mem_handler *handler = atomic_load(&exhausted_handler);
    if (handler != NULL) handler(atomic_load(&exhausted_user), size == SIZE_MAX ? UINT64_MAX : size);
    if (size > 0)
        (void)fprintf(stderr, "tenon: out of memory: cannot allocate %zu bytes\n", size);
    else
        (void)fputs("tenon: out of memory\n", stderr);
    abort();
}

void *mem_alloc(size_t size) {
    void *memory = malloc(size > 0 ? size : 1);
    if (memory == NULL) mem_exhausted(size);
    return memory;
}

/*
 * glibc's malloc serves small blocks from the thread's cache, its calloc does not; large blocks from calloc may be zero
 * already.
 */
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

void *mem_array_from(void *memory, const void *inline_items, size_t count, size_t capacity, size_t size) {
    if (memory != inline_items) return mem_array(memory, capacity, size);
    void *items = mem_array(NULL, capacity, size);
    if (count > 0) memcpy(items, inline_items, count * size);
    return items;
}

char *mem_text(const char *text) { return mem_text_n(text, strlen(text)); }

char *mem_text_n(const char *text, size_t length) {
    if (length == SIZE_MAX) mem_exhausted(length);
    char *copy = mem_alloc(length + 1);
    if (length > 0) memcpy(copy, text, length);
    copy[length] = '\0';
    return copy;
}

void mem_free(void *memory) {
    if (memory) free(memory); /* most pointers that a run frees are NULL, and free() is in another library */
}

void mem_trim(void) {
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}
