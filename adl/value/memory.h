/*
 * memory.h - allocation that cannot fail: when memory runs out, the process ends with a message, or as its handler
 * says.
 *
 * Data that an outsider can enlarge must go through a bounded buffer (buffer.h), which reports LIMIT long before that.
 *
 *     struct names { char **items; size_t count, capacity; } names = {0};
 *     MEM_GROW(names.items, names.count, names.capacity);   // now there is room for one more
 *     names.items[names.count++] = mem_text("researcher");
 *
 * Every function may be called from any thread. The caller owns each result and frees it with mem_free.
 */
#ifndef TENON_ADL_MEMORY_H
#define TENON_ADL_MEMORY_H

#include <stddef.h>
#include <stdint.h>

void *mem_alloc(size_t size) __attribute__((malloc, returns_nonnull));
void *mem_zalloc(size_t size) __attribute__((malloc, returns_nonnull));
void *mem_resize(void *memory, size_t size) __attribute__((returns_nonnull));
/* Resizes an array to `count` items of `size` bytes. `memory` may be NULL. An overflow ends the process. */
void *mem_array(void *memory, size_t count, size_t size) __attribute__((returns_nonnull));
/* Like mem_array, but copies the first `count` items if `memory` is `inline_items`, which is not on the heap. */
void *mem_array_from(void *memory, const void *inline_items, size_t count, size_t capacity, size_t size)
    __attribute__((returns_nonnull));
char *mem_text(const char *text) __attribute__((malloc, returns_nonnull));
char *mem_text_n(const char *text, size_t length) __attribute__((malloc, returns_nonnull));
void mem_free(void *memory); /* NULL is allowed */
/* Returns memory that is not used to the system, if the C library can. Takes about a millisecond for 50 MiB. */
void mem_trim(void);
/*
 * Ends the process because `size` bytes cannot be allocated; SIZE_MAX if the size itself overflowed, 0 if it is
 * unknown. Calls the handler first, if there is one.
 */
_Noreturn void mem_exhausted(size_t size);
/*
 * Sets the handler of the process, before other threads allocate memory; NULL removes it. mem_exhausted calls it on the
 * thread that needs memory, possibly on several threads at once. It should end the process. If it returns,
 * mem_exhausted writes its message and aborts.
 */
typedef void mem_handler(void *user, uint64_t size); /* UINT64_MAX if the size itself overflowed */
void mem_set_handler(mem_handler *handler, void *user);

/* Doubles `capacity`, an integer variable of any type; an empty array gets 8 items. */
#define MEM_DOUBLE(capacity)                                                                                           \
    do {                                                                                                               \
        if (__builtin_mul_overflow((capacity) ? (capacity) : 4, 2, &(capacity))) mem_exhausted(SIZE_MAX);              \
    } while (0)

/* Makes room for one item more than `count`. The arguments are variables and are evaluated more than once. */
#define MEM_GROW(items, count, capacity)                                                                               \
    do {                                                                                                               \
        if ((count) >= (capacity)) {                                                                                   \
            MEM_DOUBLE(capacity);                                                                                      \
            (items) = mem_array((void *)(items), (capacity), sizeof *(items));                                         \
        }                                                                                                              \
    } while (0)

/* MEM_GROW for an array whose first items are stored in `inline_items`, outside the heap. */
#define MEM_GROW_FROM(items, inline_items, count, capacity)                                                            \
    do {                                                                                                               \
        if ((count) >= (capacity)) {                                                                                   \
            MEM_DOUBLE(capacity);                                                                                      \
            (items) = mem_array_from((void *)(items), (inline_items), (count), (capacity), sizeof *(items));           \
        }                                                                                                              \
    } while (0)

/*
 * MEM_GROW for an array that stores no capacity: its capacity is the smallest power of two that holds `count` items.
 * Use it only for arrays that always grow through this macro.
 */
#define MEM_EXTEND(items, count)                                                                                       \
    do {                                                                                                               \
        if (((count) & ((count)-1)) == 0)                                                                              \
            (items) = mem_array((void *)(items), (count) ? (size_t)(count)*2 : 1, sizeof *(items));                    \
    } while (0)

#endif
