/*
 * handle.c - the handle table, hashed by number and by pointer, protected by one lock.
 *
 * The number of buckets is fixed. With HANDLES_MAX handles, a chain has sixteen entries on average.
 */
#include "handle.h"

#define BUCKETS 4096u

struct handle {
    struct handle *by_number, *by_pointer; /* next entries of the two hash chains */
    struct handle *older, *newer;
    const struct type *type;
    void *pointer;
    uint64_t number;
    uint32_t uses;
    bool exclusive;
};

static struct {
    pthread_mutex_t lock;
    struct handle *by_number[BUCKETS], *by_pointer[BUCKETS], *newest;
    uint64_t last;
    uint32_t count;
} table = {.lock = PTHREAD_MUTEX_INITIALIZER}; /* lock protects all other fields */

static uint32_t pointer_bucket(const void *pointer) {
    return (uint32_t)(((uintptr_t)pointer >> 4) * 2654435761u) % BUCKETS;
}

static void handle_unlink(struct handle *handle) {
    struct handle **at = &table.by_number[handle->number % BUCKETS];
    while (*at != handle) at = &(*at)->by_number;
    *at = handle->by_number;
    at = &table.by_pointer[pointer_bucket(handle->pointer)];
    while (*at != handle) at = &(*at)->by_pointer;
    *at = handle->by_pointer;
    if (handle->newer != NULL)
        handle->newer->older = handle->older;
    else
        table.newest = handle->older;
    if (handle->older != NULL) handle->older->newer = handle->newer;
    table.count--;
}

static struct handle *handle_lookup_pointer(const struct type *type, const void *pointer) {
    struct handle *handle = table.by_pointer[pointer_bucket(pointer)];
    while (handle != NULL && (handle->pointer != pointer || handle->type != type)) handle = handle->by_pointer;
    return handle;
}

static int32_t handle_add(const struct type *type, void *pointer, uint64_t *number) {
    if (table.count == HANDLES_MAX) return TN_LIMIT;
    struct handle *handle = tn.core->alloc(tn.host, sizeof *handle);
    if (handle == NULL) return TN_NO_MEMORY;
    uint32_t bucket = pointer_bucket(pointer);
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

int32_t handle_register(const struct type *type, void *pointer, uint64_t *number) {
    int32_t status = TN_OK;
    pthread_mutex_lock(&table.lock);
    struct handle *existing = handle_lookup_pointer(type, pointer);
    if (existing != NULL)
        *number = existing->number;
    else
        status = handle_add(type, pointer, number);
    pthread_mutex_unlock(&table.lock);
    return status;
}

bool handle_is_registered(const struct type *type, const void *pointer) {
    pthread_mutex_lock(&table.lock);
    bool registered = handle_lookup_pointer(type, pointer) != NULL;
    pthread_mutex_unlock(&table.lock);
    return registered;
}

const char *handle_acquire(const struct type *type, uint64_t number, bool exclusive, struct handle **out) {
    const char *why = NULL;
    pthread_mutex_lock(&table.lock);
    struct handle *handle = table.by_number[number % BUCKETS];
    while (handle != NULL && handle->number != number) handle = handle->by_number;
    if (handle == NULL)
        why = "no handle has this number: it was freed, or belongs to a process that has ended";
    else if (handle->type != type)
        why = "the handle with this number has another type";
    else if (handle->exclusive || (exclusive && handle->uses > 0))
        why = "another call is using the handle; wait until that call ends";
    if (why == NULL) {
        handle->uses++;
        handle->exclusive = exclusive;
        *out = handle;
    }
    pthread_mutex_unlock(&table.lock);
    return why;
}

void *handle_pointer(const struct handle *handle) { return handle->pointer; }

void handle_release(struct handle *handle, bool remove) {
    pthread_mutex_lock(&table.lock);
    handle->uses--;
    handle->exclusive = false;
    if (remove) handle_unlink(handle);
    pthread_mutex_unlock(&table.lock);
    if (remove) tn.core->release(tn.host, handle);
}

void handle_free_all(void) {
    table.last = 0;
    while (table.newest != NULL) {
        struct handle *handle = table.newest;
        handle_unlink(handle);
        if (handle->type->free != NULL) handle->type->free(handle->pointer);
        tn.core->release(tn.host, handle);
    }
}
