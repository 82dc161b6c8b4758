/*
 * handle.h - opaque pointers that functions gave, under names that a caller may have: "db:7".
 *
 * A number is never used again. One pointer of one type has one name, however often it is given. A handle that is used
 * in a call cannot be freed by another. [any]
 *
 *     if (handle_keep(type, pointer, &number) != TN_OK) …                    // "TYPE:number"
 *     struct handle *handle; const char *why = handle_hold(type, number, false, &handle);
 *     … handle_pointer(handle) …
 *     handle_release(handle, false);
 */
#ifndef TENON_PLUGINS_FFI_HANDLE_H
#define TENON_PLUGINS_FFI_HANDLE_H

#include "describe.h"

#define HANDLES_MAX 65536u /* there at once */

struct handle;

/* TN_OK, TN_LIMIT, TN_NO_MEMORY. */
int32_t handle_keep(const struct type *type, void *pointer, uint64_t *number);
/* Whether the pointer has a name. */
bool handle_is_kept(const struct type *type, const void *pointer);
/* NULL and *out; or why not. `alone`: nobody else has it, or gets it before it is released. */
const char *handle_hold(const struct type *type, uint64_t number, bool alone, struct handle **out);
void *handle_pointer(const struct handle *handle);
/* `gone`: it is taken from the table; only where it was held alone. */
void handle_release(struct handle *handle, bool gone);
/* Frees what is left of every library, the newest first. [loop] No call is under way. */
void handle_free_all(void);
uint32_t handle_count(void);

#endif
