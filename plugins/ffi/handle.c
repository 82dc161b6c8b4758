/*
 * handle.c - the table: by number and by pointer, in one lock.
 *
 * Buckets are fixed: with as many handles as there may be, a chain has sixteen.
 */
#include "handle.h"

#define BUCKETS 4096u

struct handle {
    struct handle *by_number, *by_pointer; /* next in its chains */
    struct handle *older, *newer;
    const struct type *type;
    void *pointer;
    uint64_t number;
    uint32_t uses;
    bool alone;
};

static struct {
    pthread_mutex_t lock;
    struct handle *by_number[BUCKETS], *by_pointer[BUCKETS], *newest;
    uint64_t last;
    uint32_t count;
} table = {.lock = PTHREAD_MUTEX_INITIALIZER}; /* all of it guarded by lock */

static uint32_t bucket_of(const void *pointer) { return (uint32_t)(((uintptr_t)pointer >> 4) * 2654435761u) % BUCKETS; }

static void unlink_from(struct handle *handle) {
    struct handle **at = &table.by_number[handle->number % BUCKETS];
    while (*at != handle) at = &(*at)->by_number;
    *at = handle->by_number;
    at = &table.by_pointer[bucket_of(handle->pointer)];
    while (*at != handle) at = &(*at)->by_pointer;
    *at = handle->by_pointer;
    if (handle->newer != NULL)
        handle->newer->older = handle->older;
    else
        table.newest = handle->older;
    if (handle->older != NULL) handle->older->newer = handle->newer;
    table.count--;
}

static struct handle *find_pointer(const struct type *type, const void *pointer) {
    struct handle *handle = table.by_pointer[bucket_of(pointer)];
    while (handle != NULL && (handle->pointer != pointer || handle->type != type)) handle = handle->by_pointer;
    return handle;
}

static int32_t add(const struct type *type, void *pointer, uint64_t *number) {
    if (table.count == HANDLES_MAX) return TN_LIMIT;
    struct handle *handle = tn.core->alloc(tn.host, sizeof *handle);
    if (handle == NULL) return TN_NO_MEMORY;
    uint32_t bucket = bucket_of(pointer);
    *handle = (struct handle){.type = type, .pointer = pointer, .number = ++table.last};
    handle->by_number = table.by_number[handle->number % BUCKETS];
    table.by_number[handle->number % BUCKETS] = handle;
    handle->by_pointer = table.by_pointer[bucket];
    table.by_pointer[bucket] = handle;
    handle->older = table.newest;
    if (table.newest != NULL) table.newest->newer = handle;
    table.newest = handle;
    table.count++;
    *number = handle->number;
    return TN_OK;
}

int32_t handle_keep(const struct type *type, void *pointer, uint64_t *number) {
    int32_t status = TN_OK;
    pthread_mutex_lock(&table.lock);
    struct handle *there = find_pointer(type, pointer);
    if (there != NULL)
        *number = there->number;
    else
        status = add(type, pointer, number);
    pthread_mutex_unlock(&table.lock);
    return status;
}

bool handle_is_kept(const struct type *type, const void *pointer) {
    pthread_mutex_lock(&table.lock);
    bool kept = find_pointer(type, pointer) != NULL;
    pthread_mutex_unlock(&table.lock);
    return kept;
}

const char *handle_hold(const struct type *type, uint64_t number, bool alone, struct handle **out) {
    const char *why = NULL;
    pthread_mutex_lock(&table.lock);
    struct handle *handle = table.by_number[number % BUCKETS];
    while (handle != NULL && handle->number != number) handle = handle->by_number;
    if (handle == NULL)
        why = "there is none of that number: it was freed, or belongs to a process that has ended";
    else if (handle->type != type)
        why = "that number is a handle of another type";
    else if (handle->alone || (alone && handle->uses > 0))
        why = "another call is using it; let that end first";
    if (why == NULL) {
        handle->uses++;
        handle->alone = alone;
        *out = handle;
    }
    pthread_mutex_unlock(&table.lock);
    return why;
}

void *handle_pointer(const struct handle *handle) { return handle->pointer; }

void handle_release(struct handle *handle, bool gone) {
    pthread_mutex_lock(&table.lock);
    handle->uses--;
    handle->alone = false;
    if (gone) unlink_from(handle);
    pthread_mutex_unlock(&table.lock);
    if (gone) tn.core->release(tn.host, handle);
}

void handle_free_all(void) {
    table.last = 0;
    while (table.newest != NULL) {
        struct handle *handle = table.newest;
        unlink_from(handle);
        if (handle->type->free != NULL) handle->type->free(handle->pointer);
        tn.core->release(tn.host, handle);
    }
}

uint32_t handle_count(void) {
    pthread_mutex_lock(&table.lock);
    uint32_t count = table.count;
    pthread_mutex_unlock(&table.lock);
    return count;
}
