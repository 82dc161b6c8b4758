/*
 * guard_calls.c - wrapped interfaces through which a task calls something: their values are counted, and ends are the
 * plugin's again.
 */
#include "adl/value/memory.h"
#include "host/interface/guard_internal.h"
#include "host/interface/interface.h"

static int32_t begun(int32_t status, const char *function, void *waits) {
    if (status == TN_WRONG_THREAD) guard_wrong_thread(function);
    if (status != TN_OK) mem_free(waits);
    return status;
}

static int32_t waited(int32_t status, const char *function, const tn_value *result) {
    if (status == TN_WRONG_THREAD) guard_wrong_thread(function);
    if (result && (status == TN_OK || status == TN_FAILED)) guard_taken(*result);
    return status;
}

/* ---- tenon.state ---- */

static int32_t state_invoke(tn_task task, const char *operation, tn_value arguments, tn_call_done done, void *user) {
    guard_used(arguments, "invoke");
    void *waits = guard_waits(done, user);
    return begun(interface_state.invoke(task, operation, arguments, guard_done(done), waits), "invoke", waits);
}

static int32_t state_invoke_wait(tn_task task, const char *operation, tn_value arguments, tn_value *result) {
    guard_used(arguments, "invoke_wait");
    return waited(interface_state.invoke_wait(task, operation, arguments, result), "invoke_wait", result);
}

const tn_state_draft guard_state = {sizeof(tn_state_draft), 0, state_invoke, state_invoke_wait};

/* ---- tenon.tool ---- */

static int32_t bind_tools(tn_binder *binder, tn_value names, uint32_t *set) {
    guard_used(names, "bind_tools");
    return interface_tool.bind_tools(binder, names, set);
}

static tn_value describe(tn_task task, uint32_t set) {
    tn_value described = interface_tool.describe(task, set);
    guard_taken(described);
    return described;
}

static int32_t tool_invoke(tn_task task, uint32_t set, tn_value call, tn_call_done done, void *user) {
    guard_used(call, "invoke");
    void *waits = guard_waits(done, user);
    return begun(interface_tool.invoke(task, set, call, guard_done(done), waits), "invoke", waits);
}

static int32_t tool_invoke_wait(tn_task task, uint32_t set, tn_value call, tn_value *result) {
    guard_used(call, "invoke_wait");
    return waited(interface_tool.invoke_wait(task, set, call, result), "invoke_wait", result);
}

const tn_tool_draft guard_tool = {sizeof(tn_tool_draft), 0, bind_tools, describe, tool_invoke, tool_invoke_wait};
