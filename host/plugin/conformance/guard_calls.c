/*
 * guard_calls.c - wrapped interfaces with which a task calls something (tenon.state, tenon.document, tenon.tool), and
 * callbacks.
 */
#include "adl/value/memory.h"
#include "host/plugin/abi/abi.h"
#include "host/plugin/conformance/guard_internal.h"

/* ---- Callbacks ---- */

struct guard_callback {
    struct guarded *guarded;
    tn_call_handler handler;
    void *user;
};

static int32_t guard_on_call(void *user, int32_t status, tn_value value) {
    struct guard_callback *callback = user;
    struct guarded *before = guard_enter(callback->guarded);
    int32_t result = callback->handler(callback->user, status, value);
    guard_leave(before);
    if (status != TN_CHUNK) mem_free(callback);
    return result;
}

tn_call_handler guard_callback_handler(tn_call_handler handler) { return handler ? guard_on_call : NULL; }

void *guard_callback_new(tn_call_handler handler, void *user) {
    if (!handler) return NULL;
    struct guard_callback *callback = mem_alloc(sizeof *callback);
    *callback = (struct guard_callback){guard_current(), handler, user};
    return callback;
}

int32_t guard_check_call(int32_t status, const char *function, void *callback) {
    if (status == TN_WRONG_THREAD) guard_report_wrong_thread(function);
    if (status != TN_OK) mem_free(callback);
    return status;
}

int32_t guard_check_wait(int32_t status, const char *function, const tn_value *out, const tn_value *error) {
    if (status == TN_WRONG_THREAD) guard_report_wrong_thread(function);
    return guard_take_result(status, out, error);
}

/* ---- tenon.state ---- */

const tn_state_draft *guard_wrapped_state;

static int32_t guard_state_invoke(tn_task task, const char *operation, uint64_t length, tn_value arguments,
                                  tn_value options, tn_call_handler handler, void *user, tn_call *call) {
    guard_check_value(arguments, "invoke");
    void *callback = guard_callback_new(handler, user);
    return guard_check_call(guard_wrapped_state->invoke(task, operation, length, arguments, options,
                                                        guard_callback_handler(handler), callback, call),
                            "invoke", callback);
}

static int32_t guard_state_invoke_wait(tn_task task, const char *operation, uint64_t length, tn_value arguments,
                                       tn_value options, tn_value *out, tn_value *error) {
    guard_check_value(arguments, "invoke_wait");
    return guard_check_wait(guard_wrapped_state->invoke_wait(task, operation, length, arguments, options, out, error),
                            "invoke_wait", out, error);
}

const tn_state_draft guard_state = {
    .size = sizeof(tn_state_draft), .invoke = guard_state_invoke, .invoke_wait = guard_state_invoke_wait};

/* ---- tenon.document ---- */

const tn_document_draft *guard_wrapped_document;

static int32_t guard_document_invoke(tn_task task, const char *operation, uint64_t length, tn_value arguments,
                                     tn_value options, tn_call_handler handler, void *user, tn_call *call) {
    guard_check_value(arguments, "invoke");
    void *callback = guard_callback_new(handler, user);
    return guard_check_call(guard_wrapped_document->invoke(task, operation, length, arguments, options,
                                                           guard_callback_handler(handler), callback, call),
                            "invoke", callback);
}

static int32_t guard_document_invoke_wait(tn_task task, const char *operation, uint64_t length, tn_value arguments,
                                          tn_value options, tn_value *out, tn_value *error) {
    guard_check_value(arguments, "invoke_wait");
    return guard_check_wait(
        guard_wrapped_document->invoke_wait(task, operation, length, arguments, options, out, error), "invoke_wait",
        out, error);
}

const tn_document_draft guard_document = {
    .size = sizeof(tn_document_draft), .invoke = guard_document_invoke, .invoke_wait = guard_document_invoke_wait};

/* ---- tenon.tool ---- */

static int32_t guard_bind_tools(tn_binder *binder, tn_value names, uint32_t *set) {
    guard_check_value(names, "bind_tools");
    return interface_tool.bind_tools(binder, names, set);
}

static int32_t guard_describe_tools(tn_task task, uint32_t set, tn_value *out) {
    return guard_take_result(interface_tool.describe(task, set, out), out, NULL);
}

static int32_t guard_tool_invoke(tn_task task, uint32_t set, tn_value use, tn_value options, tn_call_handler handler,
                                 void *user, tn_call *call) {
    guard_check_value(use, "invoke");
    void *callback = guard_callback_new(handler, user);
    return guard_check_call(
        interface_tool.invoke(task, set, use, options, guard_callback_handler(handler), callback, call), "invoke",
        callback);
}

static int32_t guard_tool_invoke_wait(tn_task task, uint32_t set, tn_value use, tn_value options, tn_value *out,
                                      tn_value *error) {
    guard_check_value(use, "invoke_wait");
    return guard_check_wait(interface_tool.invoke_wait(task, set, use, options, out, error), "invoke_wait", out, error);
}

const tn_tool_1 guard_tool = {.size = sizeof(tn_tool_1),
                              .bind_tools = guard_bind_tools,
                              .describe = guard_describe_tools,
                              .invoke = guard_tool_invoke,
                              .invoke_wait = guard_tool_invoke_wait};
