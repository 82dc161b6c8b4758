/*
 * tenon/util/handles.h - numbers that stand for objects and stop doing so when the object ends.
 *
 * A handle is a slot and the slot's generation. Removing an object raises the generation, so that an old handle is
 * detected even after its slot is used again. 0 is never a handle.
 *
 *     struct tn_handles sessions = TN_HANDLES(1024);
 *     uint64_t handle;
 *     if (tn_handles_add(&sessions, session, &handle) != TN_OK) ...  // TN_LIMIT, TN_NO_MEMORY
 *     session = tn_handles_get(&sessions, handle);                   // NULL if it was removed
 *     tn_handles_remove(&sessions, handle);
 *
 * A table belongs to one thread at a time. The objects remain the caller's.
 */
#ifndef TENON_UTIL_HANDLES_H
#define TENON_UTIL_HANDLES_H

#include <stdint.h>
#include <stdlib.h>
#include <tenon.h>
#include <tenon/util/cast.h>
#include <tenon/util/memory.h>

#ifdef __cplusplus
extern "C" {
#endif

struct tn_handle_slot {
    void *object; /* NULL: free */
    uint32_t generation;
    uint32_t next_free; /* index + 1; 0: none */
};

struct tn_handles {
    struct tn_handle_slot *slots;
    uint32_t limit; /* objects at once */
    uint32_t count; /* objects now */
    uint32_t used, capacity, first_free;
};
/* An empty table, as an initializer. `limit` is at most 2^31. */
#define TN_HANDLES(limit)                                                                                              \
    { NULL, limit, 0, 0, 0, 0 }

static inline int32_t tn_handles_add(struct tn_handles *handles, void *object, uint64_t *handle) {
    struct tn_handle_slot *slot;
    uint32_t index;
    if (object == NULL) return TN_INVALID;
    if (handles->count >= handles->limit) return TN_LIMIT;
    if (handles->first_free > 0) {
        index = handles->first_free - 1;
        handles->first_free = handles->slots[index].next_free;
    } else {
        if (handles->used == UINT32_MAX / 2) return TN_LIMIT; /* slots whose generations are used up */
        if (handles->used == handles->capacity) {
            uint32_t capacity = handles->capacity + handles->capacity / 2 + 16;
            void *grown = TN_UTIL_RESIZE(handles->slots, sizeof(*handles->slots) * capacity);
            if (grown == NULL) return TN_NO_MEMORY;
            handles->slots = TN_UTIL_CAST(struct tn_handle_slot *, grown);
            handles->capacity = capacity;
        }
        index = handles->used++;
        handles->slots[index].generation = 1;
    }
    slot = &handles->slots[index];
    slot->object = object;
    slot->next_free = 0;
    handles->count++;
    *handle = TN_UTIL_CAST(uint64_t, slot->generation) << 32 | index;
    return TN_OK;
}

static inline struct tn_handle_slot *tn_handles_slot(const struct tn_handles *handles, uint64_t handle) {
    uint32_t index = TN_UTIL_CAST(uint32_t, handle & UINT32_MAX);
    struct tn_handle_slot *slot = index < handles->used ? &handles->slots[index] : NULL;
    return slot != NULL && slot->object != NULL && slot->generation == handle >> 32 ? slot : NULL;
}

/* NULL if the handle is stale or never was one. */
static inline void *tn_handles_get(const struct tn_handles *handles, uint64_t handle) {
    struct tn_handle_slot *slot = tn_handles_slot(handles, handle);
    return slot != NULL ? slot->object : NULL;
}

/* Returns the object, which stays the caller's; NULL if the handle is stale or never was one. */
static inline void *tn_handles_remove(struct tn_handles *handles, uint64_t handle) {
    struct tn_handle_slot *slot = tn_handles_slot(handles, handle);
    void *object;
    if (slot == NULL) return NULL;
    object = slot->object;
    slot->object = NULL;
    handles->count--;
    if (slot->generation < UINT32_MAX) { /* else it is never used again */
        slot->generation++;
        slot->next_free = handles->first_free;
        handles->first_free = TN_UTIL_CAST(uint32_t, handle & UINT32_MAX) + 1;
    }
    return object;
}

/* Frees the table, not the objects. Afterwards handles of the table are not detected as stale. */
static inline void tn_handles_free(struct tn_handles *handles) {
    if (handles->slots != NULL) TN_UTIL_RELEASE(handles->slots);
    handles->slots = NULL;
    handles->count = handles->used = handles->capacity = handles->first_free = 0;
}

#ifdef __cplusplus
}
#endif
#endif
