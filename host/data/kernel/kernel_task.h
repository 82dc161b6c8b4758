/*
 * kernel_task.h - Tasks: units of work that wait in the store until a worker claims them.
 *
 * README.md draws the states. All other transitions fail with INVALID_TRANSITION. A claim is identified by its token.
 * It ends when the Task is completed or failed, or when its time has passed; then the Task can be claimed again. A late
 * operation with the old token fails with CLAIM_LOST, even if the Task has not been claimed since. Completing or
 * failing a Task twice with the same token has the same result as doing it once.
 *
 * A Task in the store has two private members: `claim_token`, and `claimable_ms`, the time from which it may be claimed
 * (its creation, or the end of its claim; missing if it is done or failed). A claim is therefore one `take` from one
 * index, and the Task that has been claimable for the longest time comes first, whether it is new or its worker died.
 *
 * The payload of a Task of type `notification` is {message: string, severity: info | warn | error, related_task_id:
 * string | null, artifact_refs: [string]}. Updates must keep this shape. The defaults are info, null and [].
 */
#ifndef TENON_HOST_DATA_KERNEL_KERNEL_TASK_H
#define TENON_HOST_DATA_KERNEL_KERNEL_TASK_H

#include "host/data/kernel/kernel_request.h"

#define TASK_TYPE_MAX        128           /* bytes */
#define TASK_TYPES_MAX       64            /* number of types in a claim's filter */
#define TASK_PAYLOAD_MAX     (1024 * 1024) /* bytes, as JSON; larger data belongs in an Artifact */
#define TASK_ERROR_MAX       (64 * 1024)   /* bytes, as JSON */
#define TASK_ARTIFACTS_MAX   10000         /* artifact_refs of one Task */
#define TASK_CLAIMER_MAX     256           /* bytes */
#define TASK_TTL_MAX_SECONDS 604800.0      /* longest claim: one week; a claim can be renewed */
#define TASK_LIST            100           /* the default limit of task.list */
#define TASK_LIST_MAX        1000

kernel_operation_fn task_create, task_get, task_update, task_list;
/*
 * If `task_type` of the filter is an array, it lists types in order of preference: the oldest claimable Task of the
 * first type that has one is claimed. Only the claimer receives `claim_token`.
 */
kernel_operation_fn task_claim;
kernel_operation_fn task_renew, task_complete, task_fail;

/* The public members of a Task; a new reference. */
tn_value task_public(tn_value record);
/* Sets NOT_FOUND, and returns TN_NOT_FOUND. */
int32_t task_missing(const struct request *request, const char *id, struct error *error);
/* The public members, for filters; ends with NULL. */
extern const char *const task_members[];

#endif
