/*
 * handle.h - names like "db:7" for opaque pointers that functions returned.
 *
 * A number is never reused. A pointer of one type always has the same name. A handle that a call uses cannot be freed
 * by another call. Thread: any.
 *
 *     if (handle_register(type, pointer, &number) != TN_OK) …                    // "TYPE:number"
 *     struct handle *handle; const char *why = handle_acquire(type, number, false, &handle);
 *     … handle_pointer(handle) …
 *     handle_release(handle, false);
 */
#ifndef TENON_PLUGINS_FFI_HANDLE_H
#define TENON_PLUGINS_FFI_HANDLE_H

#include "describe.h"

#define HANDLES_MAX 65536u /* at the same time */

struct handle;

/* Returns TN_OK, TN_LIMIT or TN_NO_MEMORY. */
int32_t handle_register(const struct type *type, void *pointer, uint64_t *number);
/* True if the pointer has a name. */
bool handle_is_registered(const struct type *type, const void *pointer);
/* Returns NULL and *out, or the reason for the failure. With `exclusive`, no other call holds the handle until it is
 * released. */
const char *handle_acquire(const struct type *type, uint64_t number, bool exclusive, struct handle **out);
void *handle_pointer(const struct handle *handle);
/* With `remove`, removes it from the table; only if it was held exclusively. */
void handle_release(struct handle *handle, bool remove);
/* Frees the remaining handles of every library, newest first. Thread: the loop; no call is in progress. */
void handle_free_all(void);

#endif
