/*
 * serve_operation.c - tenon.state and tenon.document in a child process: the host performs the operations.
 */
#include "host/plugin/abi/abi_operation.h"
#include "host/plugin/isolate/serve.h"
#include "host/plugin/isolate/serve_internal.h"
#include <string.h>

static int32_t serve_make_state_operation(const struct view *view, const char *name, struct callable **out) {
    (void)view;
    if (!server.options->is_operation(name)) return TN_NOT_FOUND;
    *out = serve_operation(name);
    return TN_OK;
}

static int32_t serve_make_document_operation(const struct view *view, const char *name, struct callable **out) {
    (void)view;
    if (strcmp(name, "document.run") != 0 && strcmp(name, "document.check") != 0) return TN_NOT_FOUND;
    *out = serve_operation(name);
    return TN_OK;
}

static int32_t serve_state_invoke(tn_task task, const char *name, tn_value arguments, tn_call_done done, void *user) {
    return operation_invoke(serve_make_state_operation, task, name, arguments, done, user);
}

static int32_t serve_state_invoke_wait(tn_task task, const char *name, tn_value arguments, tn_value *result) {
    return operation_invoke_wait(serve_make_state_operation, task, name, arguments, result);
}

const tn_state_draft serve_state = {sizeof(tn_state_draft), 0, serve_state_invoke, serve_state_invoke_wait};

static int32_t serve_document_invoke(tn_task task, const char *name, tn_value arguments, tn_call_done done,
                                     void *user) {
    return operation_invoke(serve_make_document_operation, task, name, arguments, done, user);
}

static int32_t serve_document_invoke_wait(tn_task task, const char *name, tn_value arguments, tn_value *result) {
    return operation_invoke_wait(serve_make_document_operation, task, name, arguments, result);
}

const tn_document_draft serve_document = {sizeof(tn_document_draft), 0, serve_document_invoke,
                                          serve_document_invoke_wait};
