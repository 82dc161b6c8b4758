/*
 * steady.c - what makes counts of instructions repeatable; preloaded (LD_PRELOAD) by the check of the budgets, and
 * never used otherwise.
 *
 * An allocator: what malloc of glibc does depends on the whole history of the heap, and the same run needs up to 3 %
 * more instructions after an unrelated change elsewhere. Here a block is taken from and returned to a list of its size
 * class, always in the same number of instructions. Memory is not given back to the kernel, and nothing is checked.
 *
 * Random numbers that are always the same: they seed hash tables.
 *
 * A slow clock: under callgrind a program is about 50 times slower. A run that yields to the loop after a millisecond
 * would yield 50 times as often, and not always at the same place.
 */
#include <errno.h>
#include <malloc.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* ---- The allocator ---- */

#define UNIT       16u
#define SMALL_MAX  1024u /* up to here a class for each 16 bytes, above one for each power of two */
#define SMALL      (SMALL_MAX / UNIT)
#define CLASSES    (SMALL + 54u)
#define CHUNK_SIZE ((size_t)4 << 20)

/* In front of each block. */
struct block {
    union {
        struct block *next; /* of a free block */
        void *start;        /* of a block in use: what was allocated, before it was aligned */
    };
    size_t class;
};

static atomic_flag lock = ATOMIC_FLAG_INIT; /* guards the rest */
static struct block *released[CLASSES];
static unsigned char *chunk;
static size_t chunk_left;

static size_t class_of(size_t size) {
    if (size <= SMALL_MAX) return size == 0 ? 0 : (size - 1) / UNIT;
    return SMALL + (size_t)(64 - __builtin_clzll(size - 1)) - 11;
}

static size_t class_size(size_t class) { return class < SMALL ? (class + 1) * UNIT : (size_t)2048 << (class - SMALL); }

static void *map(size_t size) {
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

/* A block that was never used, so it is zero. */
static struct block *carve(size_t size) {
    size_t whole = size + sizeof(struct block);
    if (whole > CHUNK_SIZE / 4) return map(whole);
    if (whole > chunk_left) {
        chunk = map(CHUNK_SIZE);
        chunk_left = chunk ? CHUNK_SIZE : 0;
        if (!chunk) return NULL;
    }
    struct block *block = (struct block *)(void *)chunk;
    chunk += whole;
    chunk_left -= whole;
    return block;
}

static void *allocate(size_t size, int *fresh) {
    if (size > PTRDIFF_MAX) {
        errno = ENOMEM;
        return NULL;
    }
    size_t class = class_of(size);
    while (atomic_flag_test_and_set_explicit(&lock, memory_order_acquire)) sched_yield();
    struct block *block = released[class];
    *fresh = block == NULL;
    if (block)
        released[class] = block->next;
    else
        block = carve(class_size(class));
    atomic_flag_clear_explicit(&lock, memory_order_release);
    if (!block) {
        errno = ENOMEM;
        return NULL;
    }
    block->start = block;
    block->class = class;
    return block + 1;
}

void *malloc(size_t size) {
    int fresh;
    return allocate(size, &fresh);
}

void free(void *memory) {
    if (!memory) return;
    struct block *block = ((struct block *)memory)[-1].start;
    size_t class = ((struct block *)memory)[-1].class;
    while (atomic_flag_test_and_set_explicit(&lock, memory_order_acquire)) sched_yield();
    block->next = released[class];
    released[class] = block;
    atomic_flag_clear_explicit(&lock, memory_order_release);
}

void *calloc(size_t count, size_t size) {
    size_t whole;
    int fresh;
    if (__builtin_mul_overflow(count, size, &whole)) {
        errno = ENOMEM;
        return NULL;
    }
    void *memory = allocate(whole, &fresh);
    if (memory && !fresh) memset(memory, 0, whole);
    return memory;
}

/* Bytes from `memory` to the end of its block. */
size_t malloc_usable_size(void *memory) {
    if (!memory) return 0;
    const struct block *block = (struct block *)memory - 1;
    return class_size(block->class) - (size_t)((char *)memory - (char *)((struct block *)block->start + 1));
}

void *realloc(void *memory, size_t size) {
    size_t have = malloc_usable_size(memory);
    if (memory && size <= have && class_of(size) == class_of(have)) return memory;
    void *moved = malloc(size);
    if (moved && memory) {
        memcpy(moved, memory, have < size ? have : size);
        free(memory);
    }
    return moved;
}

void *memalign(size_t alignment, size_t size) {
    int fresh;
    if (size > PTRDIFF_MAX - alignment - sizeof(struct block)) return NULL;
    struct block *block = allocate(size + alignment + sizeof(struct block), &fresh);
    if (!block || ((uintptr_t)block & (alignment - 1)) == 0) return block;
    uintptr_t at = ((uintptr_t)(block + 1) + alignment - 1) & ~(uintptr_t)(alignment - 1);
    ((struct block *)at)[-1] = block[-1];
    return (void *)at;
}

int posix_memalign(void **out, size_t alignment, size_t size) {
    *out = memalign(alignment, size);
    return *out ? 0 : ENOMEM;
}

void *aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }

/* ---- Random numbers: always the same ---- */

static uint64_t random_next(void) {
    static _Atomic uint64_t state;
    uint64_t mixed = atomic_fetch_add(&state, 0x9e3779b97f4a7c15u) + 0x9e3779b97f4a7c15u;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9u;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
    return mixed ^ (mixed >> 31);
}

ssize_t getrandom(void *out, size_t length, unsigned flags) {
    (void)flags;
    for (size_t i = 0; i < length; i++) ((unsigned char *)out)[i] = (unsigned char)random_next();
    return (ssize_t)length;
}

int getentropy(void *out, size_t length) {
    (void)getrandom(out, length, 0);
    return 0;
}

/* ---- The clock ---- */

#define SLOWER 64

int clock_gettime(clockid_t clock, struct timespec *out) {
    int result = (int)syscall(SYS_clock_gettime, clock, out);
    if (result != 0 || clock != CLOCK_MONOTONIC) return result;
    int64_t ns = ((int64_t)out->tv_sec * 1000000000 + out->tv_nsec) / SLOWER;
    *out = (struct timespec){ns / 1000000000, ns % 1000000000};
    return 0;
}
