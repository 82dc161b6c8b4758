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
    static const char *const names[] = {"document.check", "document.run", "document.run_file"};
    bool known = false;
    (void)view;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) known |= strcmp(name, names[i]) == 0;
    if (!known) return TN_NOT_FOUND;
    *out = serve_operation(name);
    return TN_OK;
}

static int32_t serve_state_invoke(tn_task task, const char *name, uint64_t length, tn_value arguments, tn_value options,
                                  tn_call_handler handler, void *user, tn_call *call) {
    const struct operation_use use = {task, name, length, arguments, options};
    return operation_invoke(serve_make_state_operation, &use, handler, user, call);
}

static int32_t serve_state_invoke_wait(tn_task task, const char *name, uint64_t length, tn_value arguments,
                                       tn_value options, tn_value *out, tn_value *error) {
    const struct operation_use use = {task, name, length, arguments, options};
    return operation_invoke_wait(serve_make_state_operation, &use, out, error);
}

const tn_state_draft serve_state = {
    .size = sizeof(tn_state_draft), .invoke = serve_state_invoke, .invoke_wait = serve_state_invoke_wait};

static int32_t serve_document_invoke(tn_task task, const char *name, uint64_t length, tn_value arguments,
                                     tn_value options, tn_call_handler handler, void *user, tn_call *call) {
    const struct operation_use use = {task, name, length, arguments, options};
    return operation_invoke(serve_make_document_operation, &use, handler, user, call);
}

static int32_t serve_document_invoke_wait(tn_task task, const char *name, uint64_t length, tn_value arguments,
                                          tn_value options, tn_value *out, tn_value *error) {
    const struct operation_use use = {task, name, length, arguments, options};
    return operation_invoke_wait(serve_make_document_operation, &use, out, error);
}

const tn_document_draft serve_document = {
    .size = sizeof(tn_document_draft), .invoke = serve_document_invoke, .invoke_wait = serve_document_invoke_wait};
