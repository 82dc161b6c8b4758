/*
 * block.h - what heap values look like inside; for the files of adl/value alone.
 *
 * A number, string or bytes is one block. An array or object is a *list*: a handle (which part of the slots) and slots
 * shared by a family of handles, allocated together for the first of them:
 *
 *     struct list {header, offset, length, slots*} struct slots {references, used, capacity, items[] index[]}
 *                                          |       ^                      ^
 *                                          +-------+   later handles -----+
 *
 * Slots own a reference to every item below `used`, and are freed, with the first handle's memory, when the last
 * handle goes. Items below `used` never change while slots have two handles. Whoever moves `used` from its own end by
 * compare-and-swap owns the slots it claimed, and writes them before it hands out the longer handle: so handles of one
 * family may append from several threads, and one of them wins the shared slots while the others copy. Slots never hold
 * a handle of their own, directly or through others: they would keep each other for ever.
 *
 * An object's entry is two items, key and value; offset, length, used and capacity count entries. Above
 * OBJECT_LINEAR_MAX entries of capacity an open hash table of entry numbers + 1 stands behind the items; a reader
 * passes over entries at or above its own length, which belong to newer members of the family.
 */
#ifndef TENON_ADL_BLOCK_H
#define TENON_ADL_BLOCK_H

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "adl/value/memory.h"
#include "adl/value/value.h"

#define OBJECT_LINEAR_MAX 8
/* More entries than this end the process, as memory that runs out does. */
#define LIST_LENGTH_MAX   (UINT32_MAX / 8)
#define STRING_LENGTH_MAX (UINT32_MAX / 2) /* bytes; likewise */

struct number {
    struct tn_value_s header;
    union {
        int64_t integer;
        double real;
    };
};

struct string { /* and bytes; most are short, and there are many */
    struct tn_value_s header;
    _Atomic uint32_t hash; /* string_hash's, 0 until it is first asked for */
    uint32_t length;
    char chars[]; /* NUL-terminated */
};
_Static_assert(sizeof(struct string) == 16, "a key of seven bytes has a block of 24");

struct slots {
    _Atomic uint32_t references; /* handles */
    _Atomic uint32_t used;
    uint32_t capacity;
    uint32_t index_mask; /* entries of the hash table - 1; 0 where there is none */
    tn_value items[];
};

struct list {
    struct tn_value_s header;
    union {
        struct {
            uint32_t offset, length;
        };
        struct list *next; /* while it waits to be freed */
    };
    struct slots *slots;
};

static inline struct list *list_of(tn_value value) { return (struct list *)(uintptr_t)value; }
static inline struct string *string_of(tn_value value) { return (struct string *)(uintptr_t)value; }
static inline tn_value value_of(const void *block) { return (tn_value)block; }
/* Of two strings, or two of bytes. */
static inline bool string_same(tn_value a, tn_value b) {
    const struct string *x = string_of(a), *y = string_of(b);
    return x == y || (x->length == y->length && memcmp(x->chars, y->chars, x->length) == 0);
}

/* Items of an entry. */
static inline uint32_t list_width(int kind) { return kind == TN_OBJECT ? 2 : 1; }
static inline tn_value *list_items(const struct list *list) {
    return list->slots->items + (size_t)list->offset * list_width(list->header.kind);
}
/* Nobody else holds the handle; nor, for the second, another handle of the family. */
static inline bool list_is_unique(const struct list *list) {
    return atomic_load_explicit(&list->header.references, memory_order_acquire) == 1;
}
static inline bool list_owns_slots(const struct list *list) {
    return list_is_unique(list) && atomic_load_explicit(&list->slots->references, memory_order_acquire) == 1;
}

/* An empty handle with slots of its own. */
struct list *list_new(int kind, size_t capacity);
/* The same, with `count` entries of `items`, whose references it takes; none give the immediate. */
tn_value list_make(int kind, const tn_value *items, size_t count);
tn_value list_make_roomy(int kind, size_t capacity, const tn_value *items, size_t count); /* count above 0 */
/*
 * Consumes the handle, and returns one that nobody else holds and that is `more` entries longer; they are claimed, and
 * the caller fills them (and indexes them) before it hands the list on. `values` are the `more` items, or entries'
 * values, that it will put there: where one of them may hold a handle of the same slots, the list is copied.
 */
struct list *list_extend(struct list *list, size_t more, const tn_value *values);
/* Consumes the handle; returns one with the same entries that owns its slots, so that they can be changed. */
struct list *list_separate(struct list *list);
void list_free(struct list *list);

/* The hash table of an object: enters entries [from, to); from 0 clears it first. */
void object_index(struct slots *slots, uint32_t from, uint32_t to);
/* Of an object made of entries that nobody has checked: the first whose key an earlier one has as well, else the count.
 */
size_t object_duplicate(tn_value object);
/* The entries that the table has place for, in items. */
static inline _Atomic uint32_t *slots_index(struct slots *slots) {
    return (_Atomic uint32_t *)(void *)(slots->items + (size_t)slots->capacity * 2);
}

/* A string block, whose chars the caller fills. */
struct string *string_new(int kind, size_t length);
/* Hash of a key, for tables of this process only: seeded, so that nobody outside can choose keys that collide. */
uint32_t string_hash(const char *chars, size_t length);
uint32_t string_hash_of(struct string *string);
/* The hash behind both that and value_hash; the same everywhere for the same seed. */
uint64_t hash_bytes(const char *bytes, size_t length, uint64_t seed);
uint64_t hash_mix(uint64_t a, uint64_t b);

/*
 * Allocation of blocks, counted for value_live_count: by each thread in a counter of its own, which takes no locked
 * instruction, until there is one for each but the last, which all threads that come later share. A thread that ends
 * leaves its count behind; what one makes another may free, and only the sum means something.
 */
#define BLOCK_COUNTERS 64
struct block_counter {
    _Alignas(64) _Atomic int64_t live;
};
extern struct block_counter block_counters[BLOCK_COUNTERS];
extern _Thread_local struct block_counter *block_own_counter; /* NULL: not yet, or it shares the last */
void block_count_without(int64_t by);                         /* for a thread that has none */

static inline void block_count(int64_t by) {
    struct block_counter *own = block_own_counter;
    if (own == NULL) {
        block_count_without(by);
        return;
    }
    int64_t live = atomic_load_explicit(&own->live, memory_order_relaxed);
    atomic_store_explicit(&own->live, live + by, memory_order_relaxed);
}
static inline void *block_alloc(size_t size) {
    void *block = malloc(size);
    if (block == NULL) mem_exhausted(size);
    block_count(1);
    return block;
}
static inline void block_free(void *block) {
    block_count(-1);
    free(block);
}
static inline void block_init(struct tn_value_s *header, int kind) {
    atomic_init(&header->references, 1);
    header->kind = (uint8_t)kind;
}

#endif
