/*
 * abi_operation.c - calls operations by name for a task.
 */
#include "host/plugin/abi/abi_operation.h"
#include "adl/value/memory.h"
#include "host/plugin/abi/abi_name.h"
#include "host/plugin/call/slot.h"

/* The operation that the plugin names. */
static int32_t operation_find(operation_make *make, const struct view *view, const char *name, uint64_t length,
                              struct callable **out) {
    char *text = abi_name(name, length);
    int32_t status = make(view, text, out);
    mem_free(text);
    return status;
}

int32_t operation_invoke(operation_make *make, const struct operation_use *use, tn_call_handler handler, void *user,
                         tn_call *call) {
    struct view view;
    struct callable *operation;
    struct call_options options;
    if (!use->name || !handler || call_options_read(use->options, &options) != TN_OK) return TN_INVALID;
    int32_t status = view_open_to_start(&view, use->task);
    if (status == TN_OK) status = operation_find(make, &view, use->name, use->length, &operation);
    if (status != TN_OK) return status;
    status = call_child_with(use->task, operation, false, use->arguments, &options, handler, user, call);
    callable_unref(operation);
    return status;
}

int32_t operation_invoke_wait(operation_make *make, const struct operation_use *use, tn_value *out, tn_value *error) {
    struct view view;
    struct job *job;
    struct callable *operation;
    struct call_options options;
    if (!use->name || !out || call_options_read_to_wait(use->options, &options) != TN_OK) return TN_INVALID;
    int32_t status = view_open_to_wait(&view, use->task, &job);
    if (status == TN_OK) status = operation_find(make, &view, use->name, use->length, &operation);
    if (status != TN_OK) return status;
    status = view_wait(job, operation, false, &options, use->arguments, out, error);
    callable_unref(operation);
    return status;
}
