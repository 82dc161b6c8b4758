/*
 * tenon/state.h - draft: the state kernel, for plugins: Tasks, Artifacts and memories in the host's store.
 *
 * One function takes an operation's name and an object of arguments and returns the operation's result; members marked
 * ? are optional. An operation that changes something must be declared as an effect in the component's manifest:
 * `state.` and the operation's name with `_` instead of the dot ("state.task_create"). A component that only reads
 * declares "state.read", because results can differ from call to call: a replay takes them from the journal.
 *
 *   task.create     task_type payload? artifact_refs? not_before? idempotency_key?  -> Task
 *   task.get        task_id                                                         -> Task and history
 *   task.update     task_id patch claim_token?                                      -> Task
 *   task.list       filter? order? reverse? limit? after?                           -> {tasks, more}
 *   task.claim      claimer_id ttl_seconds filter? limit?  -> Task and claim_token, or null; with limit, {tasks: [..]}
 *   task.renew      task_id claim_token ttl_seconds                                 -> Task
 *   task.complete   task_id claim_token artifact_refs? user_output?                 -> Task
 *   task.fail       task_id claim_token error artifact_refs?                        -> Task
 *   task.release    task_id claim_token reason not_before? error?                   -> Task, queued again
 *   task.wake       task_id                                                         -> Task
 *   artifact.write  media_type body metadata? idempotency_key?                      -> Artifact without body
 *   artifact.open   media_type metadata?                                            -> {artifact_id}, then:
 *   artifact.append artifact_id offset data; offset: the bytes written so far      -> {size}
 *   artifact.finish artifact_id                                                     -> Artifact without body
 *   artifact.abandon artifact_id                                                    -> {}
 *   artifact.read   artifact_id offset? length?; with either, `body` is bytes       -> Artifact
 *   artifact.search query? filter? limit? after?                                    -> {artifacts, more}; no bodies
 *   artifact.linked thread_id; the Artifacts that its runs wrote or read            -> {artifact_ids}
 *   memory.put      namespace key value ttl_seconds? text? vector?                  -> Memory
 *   memory.get      namespace key                                                   -> Memory, or null
 *   memory.delete   namespace key                                                   -> {}
 *   memory.search   namespace? filter? query? | similar? | vector? exact? limit? after? -> {memories, more}
 *   memory.namespaces namespace? depth? limit?                                      -> {namespaces, more}
 *
 * Task: {task_id, task_type, payload, state, artifact_refs, created_at, updated_at, claimed_by, claim_expires_at,
 * error, attempts, not_before, waiting, user_output}, state "queued", "running", "done" or "failed"; history: up to 20
 * of {attempt, claimed_by, started_at, ended_at, outcome, error?}. A claim adds to `attempts`; a release with the
 * reason "retry" keeps that, "drain" and "wait" take it back. After "wait", the Task is `waiting`: it can be claimed
 * only at not_before, after task.wake, or after an answer was saved for the thread with its id. Artifact: {artifact_id,
 * media_type, body, metadata, created_at, size}. Memory: {namespace, key, value, created_at, updated_at, expires_at}, a
 * search's with `score`. Times are ISO 8601, UTC, with milliseconds. Filters are those of tenon/store.h, over the
 * members named here, for a memory over the members of its value; an array means {in: array}. Ids of one owner
 * sort by creation time. In a run of a user of `tenon serve`, operations reach only what belongs to this user: records
 * whose ids begin with `@OWNER:`, a prefix that arguments may leave out, and the user's memories. If the operator has
 * configured a model for embeddings, memory.put makes a `vector` of the text (false: none), and `similar` is a text
 * that is searched for by its vector.
 *
 * Errors: INVALID_INPUT (the message names the member), NOT_FOUND, INVALID_TRANSITION, CLAIM_LOST, CONFLICT, LIMIT,
 * PERMISSION_DENIED (the effect is not declared), and the errors of the store.
 */
#ifndef TENON_STATE_H
#define TENON_STATE_H

#include <tenon.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TN_STATE_DRAFT "tenon.state/1-draft.2"
/* From the host. `options` and `call` are as for task_1.call. */
typedef struct tn_state_draft {
    uint64_t size;
    /*
     * [loop] As task_1.call. If the task or the call is cancelled, the operation may still be performed. TN_NOT_FOUND:
     * the operation is unknown, and the handler is not called.
     */
    int32_t TN_FN(invoke)(tn_task task, const char *operation, uint64_t length, tn_value arguments, tn_value options,
                          tn_call_handler handler, void *user, tn_call *call);
    /* [worker] As task_1.call_wait. */
    int32_t TN_FN(invoke_wait)(tn_task task, const char *operation, uint64_t length, tn_value arguments,
                               tn_value options, tn_value *out, tn_value *error);
} tn_state_draft;

#ifdef __cplusplus
}
#endif
#endif
