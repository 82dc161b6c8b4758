/*
 * block.h - the memory layout of heap values; private to adl/value.
 *
 * A number, string or bytes is one block. An array or object is a *list*: a handle (which part of the slots it shows)
 * and slots that a family of handles shares. The slots are allocated together with the first handle:
 *
 *     struct list {header, offset, length, slots*} struct slots {references, used, capacity, items[] index[]}
 *                                          |       ^                      ^
 *                                          +-------+   later handles -----+
 *
 * Slots own a reference to every item below `used`. They are freed, together with the first handle's memory, when the
 * last handle is freed. Items below `used` never change while the slots have two handles. A handle that ends at `used`
 * may claim slots by moving `used` with compare-and-swap; it writes the claimed slots before it publishes the longer
 * handle. Handles of one family can therefore append from several threads: one of them wins the shared slots and the
 * others copy. Slots never contain one of their own handles, directly or indirectly, because they would then keep each
 * other alive forever.
 *
 * An object's entry is two items, key and value; offset, length, used and capacity count entries. If the capacity is
 * above OBJECT_LINEAR_MAX, an open hash table of entry numbers + 1 follows the items. A reader ignores entries at or
 * above its own length: they belong to newer handles of the family.
 */
#ifndef TENON_ADL_BLOCK_H
#define TENON_ADL_BLOCK_H

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "adl/value/memory.h"
#include "adl/value/value.h"

#define OBJECT_LINEAR_MAX 8
/* A list with more entries ends the process, as if memory had run out. */
#define LIST_LENGTH_MAX   (UINT32_MAX / 8)
#define STRING_LENGTH_MAX (UINT32_MAX / 2) /* bytes; a longer string ends the process */

struct number {
    struct tn_value_s header;
    union {
        int64_t integer;
        double real;
    };
};

struct string { /* also used for bytes */
    struct tn_value_s header;
    _Atomic uint32_t hash; /* string_hash of chars; 0 until the first use */
    uint32_t length;
    char chars[]; /* NUL-terminated */
};
_Static_assert(sizeof(struct string) == 16, "a key of seven bytes has a block of 24");

struct slots {
    _Atomic uint32_t references; /* handles */
    _Atomic uint32_t used;
    uint32_t capacity;
    uint32_t index_mask; /* entries of the hash table - 1; 0 without a table */
    tn_value items[];
};

struct list {
    struct tn_value_s header;
    union {
        struct {
            uint32_t offset, length;
        };
        struct list *next; /* used while the list waits to be freed */
    };
    struct slots *slots;
};

static inline struct list *list_of(tn_value value) { return (struct list *)(uintptr_t)value; }
static inline struct string *string_of(tn_value value) { return (struct string *)(uintptr_t)value; }
static inline tn_value value_of(const void *block) { return (tn_value)block; }
/* Compares two strings, or two bytes values. */
static inline bool string_same(tn_value a, tn_value b) {
    const struct string *x = string_of(a), *y = string_of(b);
    return x == y || (x->length == y->length && memcmp(x->chars, y->chars, x->length) == 0);
}

/* Number of items in one entry. */
static inline uint32_t list_width(int kind) { return kind == TN_OBJECT ? 2 : 1; }
static inline tn_value *list_items(const struct list *list) {
    return list->slots->items + (size_t)list->offset * list_width(list->header.kind);
}
/*
 * list_is_unique: the caller holds the only reference to the handle. list_owns_slots: in addition, the slots have no
 * other handle.
 */
static inline bool list_is_unique(const struct list *list) {
    return atomic_load_explicit(&list->header.references, memory_order_acquire) == 1;
}
static inline bool list_owns_slots(const struct list *list) {
    return list_is_unique(list) && atomic_load_explicit(&list->slots->references, memory_order_acquire) == 1;
}

/*
 * Slots with this capacity belong to a deferred array (deferred.c) and have no items. Only these functions may look at
 * such an array; the others use the complete items, which deferred_items returns, borrowed.
 */
#define LIST_DEFERRED 0
static inline bool list_is_deferred(const struct list *list) { return list->slots->capacity == LIST_DEFERRED; }
void deferred_free(struct slots *slots);
tn_value deferred_items(tn_value array);
tn_value deferred_at(tn_value array, size_t index);
tn_value deferred_concat_take(tn_value array, tn_value more);
size_t deferred_common_prefix(tn_value array, tn_value other);
tn_value deferred_slice(tn_value array, size_t from, size_t to);
int64_t deferred_weight(tn_value array);

/* Returns an empty handle with new slots. */
struct list *list_new(int kind, size_t capacity);
/* Returns a list with `count` entries of `items`, and takes their references; the empty immediate if count is 0. */
tn_value list_make(int kind, const tn_value *items, size_t count);
tn_value list_make_roomy(int kind, size_t capacity, const tn_value *items, size_t count); /* count must be above 0 */
/*
 * Consumes the handle and returns an unshared one that is `more` entries longer. The new entries are claimed: the
 * caller fills (and indexes) them before it publishes the list. `values` are the `more` items, or entry values, that
 * the caller is going to store. If one of them may contain a handle of the same slots, the list is copied.
 */
struct list *list_extend(struct list *list, size_t more, const tn_value *values);
/*
 * Consumes the handle and returns one with the same entries that is the only owner of its slots, so that they can be
 * changed.
 */
struct list *list_separate(struct list *list);
void list_free(struct list *list);

/* Enters the entries [from, to) in the hash table of an object; `from` 0 clears the table first. */
void object_index(struct slots *slots, uint32_t from, uint32_t to);
/*
 * Finds a duplicate key in an object whose entries are not checked yet. Returns the index of the first entry whose key
 * occurred before, or the number of entries.
 */
size_t object_duplicate(tn_value object);
/* The hash table, which is stored behind the items. */
static inline _Atomic uint32_t *slots_index(struct slots *slots) {
    return (_Atomic uint32_t *)(void *)(slots->items + (size_t)slots->capacity * 2);
}

/* Returns a string block; the caller fills its chars. */
struct string *string_new(int kind, size_t length);
/* Hash of a key for tables of this process only. It is seeded, so that an outsider cannot choose keys that collide. */
uint32_t string_hash(const char *chars, size_t length);
uint32_t string_hash_of(struct string *string);

/*
 * Allocation of blocks, counted for value_live_count. Each thread counts in its own counter without a locked
 * instruction; when only one counter is left, all later threads share it. The counter of a thread that has ended keeps
 * its count. One thread may free what another allocated, so only the sum is meaningful.
 */
#define BLOCK_COUNTERS 64
struct block_counter {
    _Alignas(64) _Atomic int64_t live;
};

extern _Thread_local struct block_counter
    *block_own_counter;               /* NULL before the first allocation, or if the thread shares the last counter */
void block_count_without(int64_t by); /* for a thread without a counter */

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
