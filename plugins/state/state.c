/*
 * state.c - the plugin `tenon.state`: the operations of the state kernel as tools.
 *
 * A tool has the name and the arguments of its operation; the kernel checks them. The tools add what a model cannot
 * know: the task's id as the idempotency key, so that a retried or resumed task creates nothing twice, and the runner
 * as the claimant.
 */
#include <tenon/easy.h>
#include <tenon/state.h>
#include <tenon/util/build.h>

TN_PLUGIN("tenon.state", "0.1.0", "Tasks, Artifacts and memories as tools")

static const tn_state_draft *state;

static int32_t state_init(void *self, tn_value config) {
    (void)self, (void)config;
    state = tn_easy_interface(tn.host, TN_STATE_DRAFT, sizeof(*state));
    return state != NULL ? TN_OK : TN_UNSUPPORTED;
}

TN_LIFECYCLE(state_init, NULL, NULL)

static int32_t state_create(tn_value config, tn_binder *binder, void **self) {
    (void)config, (void)binder;
    *self = NULL;
    return TN_OK;
}

/* The `user` of a call is the token of its task, which fits into a pointer. */
static int32_t state_done(void *user, int32_t status, tn_value result) {
    tn_task task = (tn_task)(uintptr_t)user;
    if (status == TN_OK)
        (void)tn.task->complete(task, result);
    else if (status == TN_CANCELLED)
        (void)tn_fail(task, "CANCELLED", "cancelled");
    else
        (void)tn_fail_with(task, result);
    return TN_OK;
}

static int32_t state_start(tn_task task, const char *operation, tn_value arguments) {
    return state->invoke(task, operation, TN_Z, arguments, NULL, state_done, (void *)(uintptr_t)task, NULL);
}

#define STATE_TTL_SECONDS 300 /* of a claim, if the arguments have no ttl_seconds */

/* Returns the arguments with the member added, unless they have it or the value is NULL or null. A new reference. */
static tn_value state_add_default(tn_value arguments, const char *name, tn_value value) {
    if (tn.value->kind(tn_get(arguments, name)) > TN_NULL || tn.value->kind(value) <= TN_NULL)
        return tn_retain(arguments);
    return tn_set_take(tn_retain(arguments), name, tn_retain(value));
}

/* Takes the arguments. */
static int32_t state_start_take(tn_task task, const char *operation, tn_value arguments) {
    int32_t status = arguments != NULL ? state_start(task, operation, arguments) : TN_NO_MEMORY;
    tn_release(arguments);
    return status;
}

/* Adds the task's id as idempotency_key. */
static int32_t state_start_create(tn_task task, const char *operation, tn_value arguments) {
    tn_value context = tn_context(task);
    tn_value extended = state_add_default(arguments, "idempotency_key", tn_get(context, "task_id"));
    tn_release(context);
    return state_start_take(task, operation, extended);
}

/* Adds a default for ttl_seconds. */
static int32_t state_start_renew(tn_task task, const char *operation, tn_value arguments) {
    tn_value seconds = tn_int(STATE_TTL_SECONDS), extended = state_add_default(arguments, "ttl_seconds", seconds);
    tn_release(seconds);
    return state_start_take(task, operation, extended);
}

/* Adds the runner as claimer_id, and a default for ttl_seconds. */
static int32_t state_start_claim(tn_task task, const char *operation, tn_value arguments) {
    tn_value context = tn_context(task);
    tn_value extended = state_add_default(arguments, "claimer_id", tn_get(context, "runner_id"));
    int32_t status = extended != NULL ? state_start_renew(task, operation, extended) : TN_NO_MEMORY;
    tn_release(extended);
    tn_release(context);
    return status;
}

#define STATE_TOOL(name, id, start)                                                                                    \
    static int32_t name##_begin(void *self, tn_task task, tn_value input) {                                            \
        (void)self;                                                                                                    \
        return start(task, id, input);                                                                                 \
    }                                                                                                                  \
    TN_COMPONENT(name, id, state_create, name##_begin, NULL, NULL, NULL)

STATE_TOOL(task_create, "task.create", state_start_create)
STATE_TOOL(task_get, "task.get", state_start)
STATE_TOOL(task_update, "task.update", state_start)
STATE_TOOL(task_list, "task.list", state_start)
STATE_TOOL(task_claim, "task.claim", state_start_claim)
STATE_TOOL(task_renew, "task.renew", state_start_renew)
STATE_TOOL(task_complete, "task.complete", state_start)
STATE_TOOL(task_fail, "task.fail", state_start)
STATE_TOOL(task_release, "task.release", state_start)
STATE_TOOL(task_wake, "task.wake", state_start)
STATE_TOOL(artifact_write, "artifact.write", state_start_create)
STATE_TOOL(artifact_read, "artifact.read", state_start)
STATE_TOOL(artifact_search, "artifact.search", state_start)
STATE_TOOL(memory_put, "memory.put", state_start)
STATE_TOOL(memory_get, "memory.get", state_start)
STATE_TOOL(memory_search, "memory.search", state_start)
STATE_TOOL(memory_delete, "memory.delete", state_start)
