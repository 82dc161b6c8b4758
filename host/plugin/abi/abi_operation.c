/*
 * abi_operation.c - calls operations by name for a task.
 */
#include "host/plugin/abi/abi_operation.h"
#include "host/plugin/call/slot.h"

int32_t operation_invoke(operation_make *make, tn_task task, const char *name, tn_value arguments, tn_call_done done,
                         void *user) {
    struct view view;
    struct callable *operation;
    if (!name || !done) return TN_INVALID;
    int32_t status = view_open_to_start(&view, task);
    if (status == TN_OK) status = make(&view, name, &operation);
    if (status != TN_OK) return status;
    status = call_child(task, operation, false, arguments, done, user);
    callable_unref(operation);
    return status;
}

int32_t operation_invoke_wait(operation_make *make, tn_task task, const char *name, tn_value arguments,
                              tn_value *result) {
    struct view view;
    struct job *job;
    struct callable *operation;
    if (!name || !result) return TN_INVALID;
    int32_t status = view_open_to_wait(&view, task, &job);
    if (status == TN_OK) status = make(&view, name, &operation);
    if (status != TN_OK) return status;
    status = view_wait(job, operation, false, arguments, result);
    callable_unref(operation);
    return status;
}
