/*
 * guard_calls.c - wrapped interfaces with which a task calls something (tenon.state, tenon.tool), and callbacks.
 */
#include "adl/value/memory.h"
#include "host/plugin/abi/abi.h"
#include "host/plugin/conformance/guard_internal.h"

/* ---- Callbacks ---- */

struct guard_callback {
    struct guarded *guarded;
    tn_call_done done;
    void *user;
};

static void guard_on_done(void *user, int32_t status, tn_value result) {
    struct guard_callback *callback = user;
    struct guarded *before = guard_enter(callback->guarded);
    callback->done(callback->user, status, result);
    guard_leave(before);
    mem_free(callback);
}

tn_call_done guard_callback_done(tn_call_done done) { return done ? guard_on_done : NULL; }

void *guard_callback_new(tn_call_done done, void *user) {
    if (!done) return NULL;
    struct guard_callback *callback = mem_alloc(sizeof *callback);
    *callback = (struct guard_callback){guard_current(), done, user};
    return callback;
}

static int32_t guard_check_call(int32_t status, const char *function, void *callback) {
    if (status == TN_WRONG_THREAD) guard_report_wrong_thread(function);
    if (status != TN_OK) mem_free(callback);
    return status;
}

static int32_t guard_check_call_wait(int32_t status, const char *function, const tn_value *result) {
    if (status == TN_WRONG_THREAD) guard_report_wrong_thread(function);
    if (result && (status == TN_OK || status == TN_FAILED)) (void)guard_take_reference(*result);
    return status;
}

/* ---- tenon.state ---- */

const tn_state_draft *guard_wrapped_state;

static int32_t guard_state_invoke(tn_task task, const char *operation, tn_value arguments, tn_call_done done,
                                  void *user) {
    guard_check_value(arguments, "invoke");
    void *callback = guard_callback_new(done, user);
    return guard_check_call(
        guard_wrapped_state->invoke(task, operation, arguments, guard_callback_done(done), callback), "invoke",
        callback);
}

static int32_t guard_state_invoke_wait(tn_task task, const char *operation, tn_value arguments, tn_value *result) {
    guard_check_value(arguments, "invoke_wait");
    return guard_check_call_wait(guard_wrapped_state->invoke_wait(task, operation, arguments, result), "invoke_wait",
                                 result);
}

const tn_state_draft guard_state = {sizeof(tn_state_draft), 0, guard_state_invoke, guard_state_invoke_wait};

/* ---- tenon.tool ---- */

static int32_t guard_bind_tools(tn_binder *binder, tn_value names, uint32_t *set) {
    guard_check_value(names, "bind_tools");
    return interface_tool.bind_tools(binder, names, set);
}

static tn_value guard_describe_tools(tn_task task, uint32_t set) {
    tn_value described = interface_tool.describe(task, set);
    (void)guard_take_reference(described);
    return described;
}

static int32_t guard_tool_invoke(tn_task task, uint32_t set, tn_value call, tn_call_done done, void *user) {
    guard_check_value(call, "invoke");
    void *callback = guard_callback_new(done, user);
    return guard_check_call(interface_tool.invoke(task, set, call, guard_callback_done(done), callback), "invoke",
                            callback);
}

static int32_t guard_tool_invoke_wait(tn_task task, uint32_t set, tn_value call, tn_value *result) {
    guard_check_value(call, "invoke_wait");
    return guard_check_call_wait(interface_tool.invoke_wait(task, set, call, result), "invoke_wait", result);
}

const tn_tool_draft guard_tool = {sizeof(tn_tool_draft), 0, guard_bind_tools, guard_describe_tools, guard_tool_invoke,
                                  guard_tool_invoke_wait};
