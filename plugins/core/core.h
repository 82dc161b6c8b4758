/*
 * core.h - functions that the nodes of `tenon.core` share: memory, and errors of create and of tasks.
 *
 * An instance is allocated in create and is freed with its graph. Any number of tasks of one instance may be open at
 * the same time. All of them run on the loop's thread, so no locks are needed.
 */
#ifndef TENON_PLUGINS_CORE_H
#define TENON_PLUGINS_CORE_H

#include <tenon/easy.h>
#include <tenon/util/build.h>

/* Refuses to create the node with INVALID_CONFIG. Returns the status that create must return. */
int32_t core_refuse(const char *message);

/* Returns zeroed memory. NULL if allocation fails. */
void *core_alloc_zeroed(uint64_t size);
void core_release(void *memory);

/* Ends a cancelled task. Returns TN_FAILED. */
int32_t core_fail_cancelled(tn_task task);

#endif
