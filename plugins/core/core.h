/*
 * core.h - what the nodes of `tenon.core` share: memory, refusals, and lists of open tasks.
 *
 * Instances are made in create and live as long as their graph; any number of tasks of one instance may be open at
 * once, all on the loop's thread, so nothing here locks.
 */
#ifndef TENON_PLUGINS_CORE_H
#define TENON_PLUGINS_CORE_H

#include <tenon/easy.h>

/* TN_OK, or refuses to create: `interface` is NULL and the node cannot do without. */
int32_t core_needs(const void *interface, tn_binder *binder, const char *id);
/* Refuses to create; returns what create returns. */
int32_t core_refuse(tn_binder *binder, const char *message);

/* Zeroed; NULL where there is no memory. */
void *core_alloc(uint64_t size);
void core_free(void *memory);

/* Ends the task with an error object that an interface or a called component gave; returns TN_FAILED. */
int32_t core_fail_with(tn_task task, int32_t status, tn_value error, const char *code);
/* Ends a task that was asked to end; returns TN_FAILED. */
int32_t core_cancelled(tn_task task);

#endif
