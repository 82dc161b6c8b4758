/*
 * kernel_wake.h - wakes a Task that waits: it becomes claimable at once.
 *
 * A queued Task waits if it was released with the reason `wait`, or if its `not_before` is in the future. If a worker
 * has it, waking is remembered until the claim ends, so that a release with `wait` queues the Task at once: what it
 * would wait for may happen before the release.
 */
#ifndef TENON_HOST_DATA_KERNEL_KERNEL_WAKE_H
#define TENON_HOST_DATA_KERNEL_KERNEL_WAKE_H

#include "adl/value/error.h"
#include "adl/value/value.h"

struct session;

/*
 * The operation that wakes the Task, for a batch of the caller: *operation is a new reference, or NULL if there is no
 * such Task or it does not wait. The batch fails with CONFLICT if the Task has changed since; then the caller calls
 * this again. `task_id` can be any text. Thread: the store's.
 */
int32_t task_wake_operation(struct session *session, const char *task_id, int64_t now_ms, tn_value *operation,
                            struct error *error);

#endif
