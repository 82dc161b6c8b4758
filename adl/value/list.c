/*
 * list.c - the common part of arrays and objects: handles that share slots (see block.h).
 *
 * This file creates, grows and frees lists. Growth doubles the capacity, in place if one handle owns the slots. Freeing
 * links the dead lists that are still to be examined through their own memory: no recursion and no allocation at any
 * depth.
 */
#include <string.h>

#include "adl/value/block.h"
#include "adl/value/memory.h"

#define CAPACITY_FIRST 4
/* The number of entries that list_extend searches; if there are more, a shared list is copied. */
#define LOOK_ENTRIES_MAX 1000
#define LOOK_DEPTH_MAX   64
/* Up to this size a copy is cheaper than realloc(), which does not use the thread's cache of free blocks (glibc). */
#define COPY_MAX 1024

static size_t block_size(int kind, uint32_t capacity, uint32_t *index_mask) {
    size_t size = sizeof(struct list) + sizeof(struct slots) + (size_t)capacity * list_width(kind) * sizeof(tn_value);
    *index_mask = 0;
    if (kind == TN_OBJECT && capacity > OBJECT_LINEAR_MAX) {
        uint32_t entries = 1;
        while (entries < capacity * 2) entries *= 2;
        *index_mask = entries - 1;
        size += (size_t)entries * sizeof(uint32_t);
    }
    return size;
}

static uint32_t checked_length(size_t length) {
    if (length > LIST_LENGTH_MAX) mem_exhausted(length);
    return (uint32_t)length;
}

/* The next power of two within the bound, so that appending one by one doubles the capacity. */
static uint32_t roomy(size_t needed) {
    uint32_t length = checked_length(needed), capacity = CAPACITY_FIRST;
    while (capacity < length) capacity *= 2;
    return capacity < LIST_LENGTH_MAX ? capacity : LIST_LENGTH_MAX;
}

struct list *list_new(int kind, size_t capacity_wanted) {
    uint32_t index_mask, capacity = checked_length(capacity_wanted);
    struct list *list = block_alloc(block_size(kind, capacity, &index_mask));
    struct slots *slots = (struct slots *)(void *)(list + 1);
    block_init(&list->header, kind);
    list->offset = list->length = 0;
    list->slots = slots;
    atomic_init(&slots->references, 1);
    atomic_init(&slots->used, 0);
    slots->capacity = capacity;
    slots->index_mask = index_mask;
    if (index_mask != 0) object_index(slots, 0, 0);
    return list;
}

/* Stores the entries of a new list. */
static void list_fill(struct list *list, const tn_value *items, uint32_t count) {
    size_t width = list_width(list->header.kind);
    for (size_t i = 0; i < count * width; i++) list->slots->items[i] = items[i];
    list->length = count;
    atomic_store_explicit(&list->slots->used, count, memory_order_relaxed);
    if (list->slots->index_mask != 0) object_index(list->slots, 0, count);
}

tn_value list_make(int kind, const tn_value *items, size_t count) {
    if (count == 0) return kind == TN_ARRAY ? VALUE_IMMEDIATE_ARRAY : VALUE_IMMEDIATE_OBJECT;
    return list_make_roomy(kind, count, items, count);
}

tn_value list_make_roomy(int kind, size_t capacity, const tn_value *items, size_t count) {
    struct list *list = list_new(kind, capacity);
    list_fill(list, items, (uint32_t)count);
    return &list->header;
}

/* The block of the slots begins with the handle that was created with them. */
static struct list *home_of(struct slots *slots) { return (struct list *)(void *)slots - 1; }

static bool is_home(const struct list *list) { return (const void *)(list + 1) == (const void *)list->slots; }

/* Returns a copy with more capacity that also holds references to the items. Consumes the handle. */
static struct list *list_copy(struct list *list, uint32_t capacity) {
    struct list *fresh = list_new(list->header.kind, capacity);
    tn_value *items = list_items(list);
    size_t count = (size_t)list->length * list_width(list->header.kind);
    for (size_t i = 0; i < count; i++) (void)value_ref(items[i]);
    list_fill(fresh, items, list->length);
    value_unref(&list->header);
    return fresh;
}

/* Releases the entries [from, to) of slots that are not shared. */
static void list_drop(struct slots *slots, int kind, uint32_t from, uint32_t to) {
    size_t width = list_width(kind);
    for (size_t i = from * width; i < to * width; i++) value_unref(slots->items[i]);
}

/* Releases the entries outside a list that owns its slots, then resizes it. Consumes the handle. */
static struct list *list_resize(struct list *list, uint32_t capacity) {
    struct slots *slots = list->slots;
    int kind = list->header.kind;
    uint32_t end = list->offset + list->length;
    list_drop(slots, kind, end, atomic_load_explicit(&slots->used, memory_order_relaxed));
    atomic_store_explicit(&slots->used, end, memory_order_relaxed);
    if (list->offset > 0) {
        list_drop(slots, kind, 0, list->offset);
        memmove(slots->items, list_items(list), (size_t)list->length * list_width(kind) * sizeof *slots->items);
        list->offset = 0;
        atomic_store_explicit(&slots->used, list->length, memory_order_relaxed);
    }
    if (!is_home(list)) {
        struct list *fresh = list_new(kind, capacity);
        list_fill(fresh, slots->items, list->length);
        block_free(home_of(slots));
        block_free(list);
        return fresh;
    }
    uint32_t index_mask;
    size_t size = block_size(kind, capacity, &index_mask);
    if (size <= COPY_MAX) {
        struct list *copy = block_alloc(size);
        memcpy(copy, list, sizeof *list + sizeof *slots + (size_t)list->length * list_width(kind) * sizeof(tn_value));
        block_free(list);
        list = copy;
    } else {
        list = mem_resize(list, size);
    }
    list->slots = (struct slots *)(void *)(list + 1);
    list->slots->capacity = capacity;
    list->slots->index_mask = index_mask;
    if (index_mask != 0) object_index(list->slots, 0, list->length);
    return list;
}

/*
 * True if the value may contain a handle of `wanted`. True also if the answer would take too long, if other threads are
 * appending, or if a handle does not show all of its slots (the slots contain more than can be examined here).
 */
static bool may_reach(tn_value value, const struct slots *wanted, uint32_t depth, uint32_t *budget) {
    if (!value_is_block(value) || value->kind < TN_ARRAY) return false;
    const struct list *list = list_of(value);
    if (list->slots == wanted || depth == LOOK_DEPTH_MAX || list->offset != 0) return true;
    if (atomic_load_explicit(&list->slots->used, memory_order_seq_cst) != list->length) return true;
    uint32_t width = list_width(list->header.kind);
    if (list->length > *budget) return true;
    *budget -= list->length;
    /* Only the last item of an entry: keys are strings. */
    for (size_t i = width - 1; i < (size_t)list->length * width; i += width)
        if (may_reach(list->slots->items[i], wanted, depth + 1, budget)) return true;
    return false;
}

static bool any_may_reach(const tn_value *values, size_t count, const struct slots *wanted) {
    for (size_t i = 0; i < count; i++) {
        uint32_t budget = LOOK_ENTRIES_MAX;
        if (may_reach(values[i], wanted, 0, &budget)) return true;
    }
    return false;
}

/* Clears entries that were claimed but are not used; older handles do not see them. */
static void leave_empty(struct slots *slots, int kind, uint32_t from, uint32_t to) {
    size_t width = list_width(kind);
    for (size_t i = from * width; i < to * width; i++) slots->items[i] = VALUE_IMMEDIATE_NULL;
}

/*
 * Slots that contain one of their own handles would never be freed. If this handle is the only one, no value can
 * contain another one and no other thread can claim entries. Otherwise the new values are searched, after the claim: if
 * two threads append to each other's lists at once, the later search sees the other's claim.
 */
struct list *list_extend(struct list *list, size_t more, const tn_value *values) {
    struct slots *slots = list->slots;
    int kind = list->header.kind;
    uint32_t end = list->offset + list->length, expected = end;
    size_t length = (size_t)list->length + more;
    bool owns = list_owns_slots(list);
    if (owns && more <= slots->capacity - end && atomic_load_explicit(&slots->used, memory_order_relaxed) == end) {
        atomic_store_explicit(&slots->used, end + (uint32_t)more, memory_order_relaxed);
        list->length = (uint32_t)length;
        return list;
    }
    if (!owns && more <= slots->capacity - end &&
        atomic_compare_exchange_strong_explicit(&slots->used, &expected, end + (uint32_t)more, memory_order_seq_cst,
                                                memory_order_relaxed)) {
        if (!any_may_reach(values, more, slots)) {
            if (list_is_unique(list)) {
                list->length = (uint32_t)length;
                return list;
            }
            struct list *longer = block_alloc(sizeof *longer);
            block_init(&longer->header, kind);
            longer->offset = list->offset;
            longer->length = (uint32_t)length;
            longer->slots = slots;
            (void)atomic_fetch_add_explicit(&slots->references, 1, memory_order_relaxed);
            value_unref(&list->header);
            return longer;
        }
        leave_empty(slots, kind, end, end + (uint32_t)more);
    }
    uint32_t capacity = roomy(length);
    list = owns ? list_resize(list, capacity) : list_copy(list, capacity);
    list->length = (uint32_t)length;
    atomic_store_explicit(&list->slots->used, (uint32_t)length, memory_order_relaxed);
    return list;
}

struct list *list_separate(struct list *list) {
    return list_owns_slots(list) ? list : list_copy(list, list->length);
}

/* Releases one handle of the slots; returns true if it was the last one. */
static bool release_slots(struct slots *slots) {
    return atomic_load_explicit(&slots->references, memory_order_acquire) == 1 ||
           atomic_fetch_sub_explicit(&slots->references, 1, memory_order_acq_rel) == 1;
}

/* Releases one reference; returns true if it was the last one and the caller must free the block. */
static bool block_release(struct tn_value_s *block) {
    return atomic_load_explicit(&block->references, memory_order_acquire) == 1 ||
           atomic_fetch_sub_explicit(&block->references, 1, memory_order_acq_rel) == 1;
}

void list_free(struct list *list) {
    list->next = NULL;
    while (list != NULL) {
        struct list *pending = list->next;
        struct slots *slots = list->slots;
        int kind = list->header.kind;
        if (!is_home(list)) block_free(list);
        bool last = release_slots(slots);
        if (last && slots->capacity == LIST_DEFERRED) {
            deferred_free(slots);
        } else if (last) {
            size_t count = (size_t)atomic_load_explicit(&slots->used, memory_order_relaxed) * list_width(kind);
            for (size_t i = 0; i < count; i++) {
                if (!value_is_block(slots->items[i])) continue;
                struct tn_value_s *block = (struct tn_value_s *)(uintptr_t)slots->items[i];
                if (!block_release(block)) continue;
                if (block->kind < TN_ARRAY) {
                    block_free(block);
                } else {
                    struct list *child = (struct list *)(void *)block;
                    child->next = pending;
                    pending = child;
                }
            }
            block_free(home_of(slots));
        }
        list = pending;
    }
}
