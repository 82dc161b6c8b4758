/*
 * kernel.c - the table of operations, and their way to the store's thread and back.
 */
#include "host/data/kernel/kernel.h"
#include "adl/value/memory.h"
#include "adl/value/nearest.h"
#include "host/base/log.h"
#include "host/base/loop.h"
#include "host/data/kernel/kernel_artifact.h"
#include "host/data/kernel/kernel_memory.h"
#include "host/data/kernel/kernel_owner.h"
#include "host/data/kernel/kernel_task.h"
#include <string.h>

struct kernel_operation {
    const char *name;
    kernel_operation_fn *run;
    const char *effect;
};

static const struct kernel_operation operations[] = {
    {"task.create", task_create, "state.task_create"},
    {"task.get", task_get, NULL},
    {"task.update", task_update, "state.task_update"},
    {"task.list", task_list, NULL},
    {"task.claim", task_claim, "state.task_claim"},
    {"task.renew", task_renew, "state.task_renew"},
    {"task.complete", task_complete, "state.task_complete"},
    {"task.fail", task_fail, "state.task_fail"},
    {"task.release", task_release, "state.task_release"},
    {"task.wake", task_wake, "state.task_wake"},
    {"artifact.write", artifact_write, "state.artifact_write"},
    {"artifact.open", artifact_open, "state.artifact_write"},
    {"artifact.append", artifact_append, "state.artifact_write"},
    {"artifact.finish", artifact_finish, "state.artifact_write"},
    {"artifact.abandon", artifact_abandon, "state.artifact_write"},
    {"artifact.read", artifact_read, NULL},
    {"artifact.search", artifact_search, NULL},
    {"artifact.linked", artifact_linked, NULL},
    {"memory.put", memory_put, "state.memory_put"},
    {"memory.get", memory_get, NULL},
    {"memory.delete", memory_delete, "state.memory_delete"},
    {"memory.search", memory_search, NULL},
    {"memory.namespaces", memory_namespaces, NULL},
};

static const struct kernel_operation maintain_operation = {"maintain", artifact_sweep, NULL};

int32_t kernel_open(const struct kernel_source *source, struct kernel *out, struct error *error) {
    struct store *store = source->store(source->user, error);
    if (!store) return TN_NOT_FOUND;
    *out = (struct kernel){source->loop, store};
    return TN_OK;
}

/* ---- The table ---- */

const struct kernel_operation *kernel_operation_at(size_t index) {
    return index < sizeof operations / sizeof *operations ? &operations[index] : NULL;
}

const struct kernel_operation *kernel_find_operation(const char *name) {
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++)
        if (strcmp(operations[i].name, name) == 0) return &operations[i];
    return NULL;
}

const char *kernel_operation_name(const struct kernel_operation *operation) { return operation->name; }
const char *kernel_operation_effect(const struct kernel_operation *operation) { return operation->effect; }

int32_t kernel_refuse_unknown(const char *name, struct error *error) {
    struct nearest nearest;
    nearest_init(&nearest, name, strlen(name));
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++)
        nearest_add_candidate(&nearest, operations[i].name, strlen(operations[i].name));
    const char *near = nearest_result(&nearest);
    return error_set(error, TN_NOT_FOUND, "NOT_FOUND", "the state kernel has no operation `%.80s`%s", name,
                     near ? nearest_hint(&nearest).text : "; tenon/state.h lists the operations");
}

/* ---- Calls ---- */

struct kernel_job {
    struct loop *loop;
    const struct kernel_operation *operation;
    tn_value arguments;
    char *thread_id, *owner; /* owned; or NULL */
    store_done *done;
    void *user;
};

/* Thread: the store's. */
static int32_t kernel_run_job(struct session *session, void *user, tn_value *result, struct error *error) {
    const struct kernel_job *job = user;
    struct request request = {.operation = job->operation->name,
                              .session = session,
                              .arguments = job->arguments,
                              .now_ms = loop_wall_ms(job->loop),
                              .thread_id = job->thread_id,
                              .owner = job->owner};
    if (!value_is(job->arguments, TN_OBJECT))
        return error_set(error, TN_INVALID, "INVALID_INPUT", "%s: found %s, expected an object with the arguments",
                         job->operation->name, value_kind_name(value_kind(job->arguments)));
    (void)session_wall_ms(session, &request.now_ms); /* claims of all hosts use the same clock */
    if (!job->owner) return job->operation->run(&request, result, error);
    request.arguments = kernel_owner_confine(&request);
    int32_t status = job->operation->run(&request, result, error);
    if (status == TN_OK) *result = kernel_owner_show_take(&request, *result);
    value_unref(request.arguments);
    return status;
}

static void on_kernel_job_done(void *user, int32_t status, tn_value result, const struct error *error) {
    struct kernel_job *job = user;
    if (job->done) job->done(job->user, status, result, error);
    value_unref(job->arguments);
    mem_free(job->thread_id);
    mem_free(job->owner);
    mem_free(job);
}

void kernel_call_for(const struct kernel *kernel, const struct kernel_operation *operation,
                     const struct kernel_caller *caller, tn_value arguments, store_done *done, void *user) {
    struct kernel_job *job = mem_alloc(sizeof *job);
    *job = (struct kernel_job){.loop = kernel->loop,
                               .operation = operation,
                               .arguments = arguments ? value_ref(arguments) : value_object(),
                               .thread_id = caller->thread_id ? mem_text(caller->thread_id) : NULL,
                               .owner = caller->owner ? mem_text(caller->owner) : NULL,
                               .done = done,
                               .user = user};
    if (operation == &maintain_operation)
        store_perform(kernel->store, kernel_run_job, job, on_kernel_job_done, job);
    else
        store_perform_grouped(kernel->store, kernel_run_job, job, on_kernel_job_done, job);
}

void kernel_call(const struct kernel *kernel, const struct kernel_operation *operation, tn_value arguments,
                 store_done *done, void *user) {
    kernel_call_for(kernel, operation, &(const struct kernel_caller){NULL, NULL}, arguments, done, user);
}

int32_t kernel_call_wait(const struct kernel *kernel, const char *operation, tn_value arguments_take, tn_value *out,
                         struct error *error) {
    struct kernel_job job = {
        .loop = kernel->loop, .operation = kernel_find_operation(operation), .arguments = arguments_take};
    int32_t status = job.operation ? store_perform_wait(kernel->store, kernel_run_job, &job, out, error)
                                   : kernel_refuse_unknown(operation, error);
    value_unref(arguments_take);
    return status;
}

/* ---- Maintenance ---- */

static void on_uploads_swept(void *user, int32_t status, tn_value result, const struct error *error) {
    (void)user, (void)result;
    if (status != TN_OK)
        log_write(LOG_WARN, NULL, "cannot remove abandoned uploads from the store: %s", error->message);
}

/* Submit both at once: the store keeps their order, and may be closed before the first result is reported. */
void kernel_maintain(const struct kernel *kernel, store_done *done, void *user) {
    kernel_call(kernel, &maintain_operation, NULL, on_uploads_swept, NULL);
    store_maintain(kernel->store, done, user);
}
