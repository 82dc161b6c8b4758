/*
 * kernel_task.h - Tasks: units of work that wait in the store until a worker claims them.
 *
 * README.md draws the states. All other transitions fail with INVALID_TRANSITION. A claim is identified by its token.
 * It ends when the Task is completed, failed or released, or when its time has passed; then the Task can be claimed
 * again. A late operation with the old token fails with CLAIM_LOST, even if the Task has not been claimed since.
 * Completing, failing or releasing a Task twice with the same token has the same result as doing it once.
 *
 * A Task in the store has private members: `claim_token`; `claimable_ms`, the time from which it may be claimed (its
 * creation, its `not_before`, or the end of its claim; missing if it is done, failed, or waits without a time);
 * `history` (kernel_history.h); and TASK_WOKEN. A claim is therefore a `take` from one index, and the Task that has
 * been claimable for the longest time comes first, whether it is new or its worker died.
 *
 * The payload of a Task of type `notification` is {message: string, severity: info | warn | error, related_task_id:
 * string | null, interrupt_id: string | null, artifact_refs: [string]}. Updates must keep this shape. The defaults are
 * info, null and [].
 */
#ifndef TENON_HOST_DATA_KERNEL_KERNEL_TASK_H
#define TENON_HOST_DATA_KERNEL_KERNEL_TASK_H

#include "host/data/kernel/kernel_request.h"

#define TASK_TYPE_MAX        128           /* bytes */
#define TASK_TYPES_MAX       64            /* number of types in a claim's filter */
#define TASK_PAYLOAD_MAX     (1024 * 1024) /* bytes, as JSON; larger data belongs in an Artifact */
#define TASK_OUTPUT_MAX      (1024 * 1024) /* bytes of user_output, as JSON */
#define TASK_ERROR_MAX       (64 * 1024)   /* bytes, as JSON */
#define TASK_ARTIFACTS_MAX   10000         /* artifact_refs of one Task */
#define TASK_CLAIMS_MAX      100           /* Tasks of one claim */
#define TASK_CLAIMER_MAX     256           /* bytes */
#define TASK_TTL_MAX_SECONDS 604800.0      /* longest claim: one week; a claim can be renewed */
#define TASK_LIST            100           /* the default limit of task.list */
#define TASK_LIST_MAX        1000

/* Present if a claimed Task was woken: a release that would wait queues the Task at once. A claim removes it. */
#define TASK_WOKEN "woken"

kernel_operation_fn task_create, task_get, task_update, task_list;
/*
 * If `task_type` of the filter is an array, it lists types in order of preference: all claimable Tasks of the first
 * type come before those of the second. Only the claimer receives `claim_token`.
 */
kernel_operation_fn task_claim;
kernel_operation_fn task_renew, task_complete, task_fail, task_release;
/* Ends the waiting of a queued Task (kernel_wake.h). */
kernel_operation_fn task_wake;

/* The public members of a Task; a new reference. */
tn_value task_public(tn_value record);
/*
 * Replaces the members of the record in `patch`; a null removes a member. `found` is the result of request_find.
 * CONFLICT if the record has changed since. *result is the Task.
 */
int32_t task_put_patched(struct request *request, tn_value found, tn_value patch, tn_value *result,
                         struct error *error);
/* Sets NOT_FOUND, and returns TN_NOT_FOUND. */
int32_t task_missing(const struct request *request, const char *id, struct error *error);
/* The public members, for filters; ends with NULL. */
extern const char *const task_members[];

/* ---- For kernel_claim.c, kernel_end.c and kernel_task.c ---- */

/* What an operation with a claim does. */
struct claim_use {
    const char *verb;  /* for messages: "only a claimed Task can be renewed" */
    const char *state; /* the new state, or NULL if it does not change */
};
/* True if the claim with this token holds the Task at the time of the request. */
bool task_claim_is_valid(const struct request *request, tn_value record, tn_value token);
/* Sets the reason why a claim is not valid. TN_OK and *result if the operation has already succeeded with this token.
 */
int32_t task_claim_lost(struct request *request, const char *id, const char *token, const struct claim_use *use,
                        tn_value *result, struct error *error);

#endif
