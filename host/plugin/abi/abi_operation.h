/*
 * abi_operation.h - operations that a task requests by name, each as one call: for tenon.state and tenon.document.
 *
 * The interface resolves the name to a callable (operation_make). These functions call it for the task and release it.
 *
 *     static int32_t invoke(tn_task task, const char *name, uint64_t length, tn_value arguments, tn_value options,
 *                           tn_call_handler handler, void *user, tn_call *call) {
 *         const struct operation_use use = {task, name, length, arguments, options};
 *         return operation_invoke(my_operation, &use, handler, user, call);
 *     }
 */
#ifndef TENON_HOST_PLUGIN_ABI_ABI_OPERATION_H
#define TENON_HOST_PLUGIN_ABI_ABI_OPERATION_H

#include "host/plugin/abi/abi_view.h"
#include "host/plugin/call/call.h"

/* Creates a callable for one call; *out is a new reference. TN_NOT_FOUND if no operation has that name. */
typedef int32_t operation_make(const struct view *view, const char *name, struct callable **out);

/* What the functions of tenon/state.h have in common. */
struct operation_use {
    tn_task task;
    const char *name;
    uint64_t length;
    tn_value arguments, options;
};

/* [loop] and [worker]: as `invoke` and `invoke_wait` in tenon/state.h. */
int32_t operation_invoke(operation_make *make, const struct operation_use *use, tn_call_handler handler, void *user,
                         tn_call *call);
int32_t operation_invoke_wait(operation_make *make, const struct operation_use *use, tn_value *out, tn_value *error);

#endif
