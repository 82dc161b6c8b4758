/*
 * tenon/state.h - draft: the state kernel, for plugins: Tasks, Artifacts and memories in the host's store.
 *
 * One call, with an operation's name and an object of arguments, gives what it results in; members marked ? may be left
 * out. A component may do what its manifest's effects declare: of each operation that changes something, `state.` and
 * its name with `_` for the dot ("state.task_create"); the others are free to all, and
 * declare "state.read": what they give may be another the next time, so a replay takes it from the journal.
 *
 *   task.create     task_type payload? artifact_refs? idempotency_key?              -> Task
 *   task.get        task_id                                                         -> Task
 *   task.update     task_id patch claim_token?                                      -> Task
 *   task.list       filter? order? reverse? limit? after?                           -> {tasks, more}
 *   task.claim      claimer_id ttl_seconds filter?                                  -> Task and claim_token, or null
 *   task.renew      task_id claim_token ttl_seconds                                 -> Task
 *   task.complete   task_id claim_token artifact_refs?                              -> Task
 *   task.fail       task_id claim_token error artifact_refs?                        -> Task
 *   artifact.write  media_type body metadata? idempotency_key?                      -> Artifact without body
 *   artifact.open   media_type metadata?                                            -> {artifact_id}, then:
 *   artifact.append artifact_id offset data; offset: of bytes so far                -> {size}
 *   artifact.finish artifact_id                                                     -> Artifact without body
 *   artifact.abandon artifact_id                                                    -> {}
 *   artifact.read   artifact_id offset? length?; with either, `body` is bytes       -> Artifact
 *   artifact.search query? filter? limit? after?                                    -> {artifacts, more}; no bodies
 *   memory.put      namespace key value ttl_seconds? text? vector?                  -> Memory
 *   memory.get      namespace key                                                   -> Memory, or null
 *   memory.delete   namespace key                                                   -> {}
 *   memory.search   namespace? filter? query? vector? limit? after?                 -> {memories, more}
 *   memory.namespaces namespace? depth? limit?                                      -> {namespaces, more}
 *
 * Task: {task_id, task_type, payload, state, artifact_refs, created_at, updated_at, claimed_by, claim_expires_at,
 * error}, state "queued", "running", "done" or "failed". Artifact: {artifact_id, media_type, body, metadata,
 * created_at, size}. Memory: {namespace, key, value, created_at, updated_at, expires_at}, a search's with `score`.
 * Times are ISO 8601, UTC, with milliseconds. Filters are those of tenon/store.h, over members as named here, of a
 * memory over its value's; an array stands for {in: array}. Ids sort by the time they were made at.
 *
 * Errors: INVALID_INPUT (the message has the member), NOT_FOUND, INVALID_TRANSITION, CLAIM_LOST, CONFLICT, LIMIT,
 * PERMISSION_DENIED (an effect that is not declared), and a store's own.
 */
#ifndef TENON_STATE_H
#define TENON_STATE_H

#include <tenon.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TN_STATE_DRAFT "tenon.state/1-draft.1"
/* From the host. */
typedef struct tn_state_draft {
    uint32_t size;
    uint32_t reserved;
    /*
     * [loop] done is called exactly once, never inside invoke, as of task_1.call: the task must not end before it. When
     * the task is cancelled done comes with TN_CANCELLED, and the operation may still take place. TN_NOT_FOUND: there
     * is no such operation, and done is not called.
     */
    int32_t (*invoke)(tn_task task, const char *operation, tn_value arguments, tn_call_done done, void *user);
    /* [worker] The same, waiting. *result as for tn_call_done, but owned. On the loop: TN_WRONG_THREAD. */
    int32_t (*invoke_wait)(tn_task task, const char *operation, tn_value arguments, tn_value *result);
} tn_state_draft;

#ifdef __cplusplus
}
#endif
#endif
