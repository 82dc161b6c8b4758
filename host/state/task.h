/*
 * task.h - Tasks: units of work that wait in the store until somebody claims them.
 *
 * queued -> running (claim) -> done (complete) or failed (fail); running -> queued again by an update that gives the
 * claim back; failed -> queued by an update, to have it tried again. Whatever else is INVALID_TRANSITION. A claim lasts
 * until it is finished or its time is up, and is known by its token: from then on the Task can be claimed again, and
 * whoever comes with the old token is told CLAIM_LOST, even where nobody has claimed it since. Finishing twice with one
 * token is as finishing once.
 *
 * In the store a Task has two members that nobody is shown: `claim_token`, and `claimable_ms`, the time from which it
 * may be claimed: its creation, or its claim's end; none when it is done or failed. A claim is then one take from one
 * index: what has been claimable for longest comes first, be it new or left behind by a runner that died.
 *
 * A Task of the type `notification` has a payload of this shape, kept by updates as well: {message: string, severity:
 * info | warn | error, related_task_id: string | null, artifact_refs: [string]}; info, null and [] where not given.
 */
#ifndef TENON_HOST_STATE_TASK_H
#define TENON_HOST_STATE_TASK_H

#include "host/state/request.h"

#define TASK_TYPE_MAX        128           /* bytes */
#define TASK_TYPES_MAX       64            /* in a claim's filter */
#define TASK_PAYLOAD_MAX     (1024 * 1024) /* bytes, as JSON; what is larger is an Artifact */
#define TASK_ERROR_MAX       (64 * 1024)   /* bytes, as JSON */
#define TASK_ARTIFACTS_MAX   10000         /* artifact_refs of one */
#define TASK_CLAIMER_MAX     256           /* bytes */
#define TASK_TTL_MAX_SECONDS 604800.0      /* of a claim: a week; it can be renewed */
#define TASK_LIST            100           /* Tasks of a list where no limit is given */
#define TASK_LIST_MAX        1000

operation_fn task_create, task_get, task_update, task_list;
/*
 * A filter's `task_type`, where it is an array, names types in order of preference: of the first that has one that may
 * be claimed, that which could be for longest is claimed. Of the result, `claim_token` is for the claimer alone.
 */
operation_fn task_claim;
operation_fn task_renew, task_complete, task_fail;

/* As everybody is shown it; a new reference. */
tn_value task_public(tn_value record);
/* NOT_FOUND. */
int32_t task_missing(const struct request *request, const char *id, struct error *error);
/* Their members, for filters; ends with NULL. */
extern const char *const task_members[];

#endif
