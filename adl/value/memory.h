/*
 * memory.h - allocation that does not fail: where memory runs out the process ends, in one place, with one message.
 *
 * What an outsider can enlarge goes through a bounded buffer (buffer.h) and gives LIMIT long before that.
 */
#ifndef TENON_ADL_MEMORY_H
#define TENON_ADL_MEMORY_H

#include <stddef.h>

void *mem_alloc(size_t size) __attribute__((malloc, returns_nonnull));
void *mem_zalloc(size_t size) __attribute__((malloc, returns_nonnull));
void *mem_resize(void *memory, size_t size) __attribute__((returns_nonnull));
/* An array of `count` items of `size`; overflow ends the process as well. */
void *mem_array(void *memory, size_t count, size_t size) __attribute__((returns_nonnull));
char *mem_text(const char *text) __attribute__((malloc, returns_nonnull));
char *mem_text_n(const char *text, size_t length) __attribute__((malloc, returns_nonnull));
void mem_free(void *memory); /* NULL is allowed */
/* Ends the process as the others do; for sizes that cannot be asked for. */
_Noreturn void mem_exhausted(size_t size);

#endif
