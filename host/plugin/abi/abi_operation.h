/*
 * abi_operation.h - operations that a task requests by name, each as one call: for tenon.state and tenon.document.
 *
 * The interface resolves the name to a callable (operation_make). These functions call it for the task and release it.
 *
 *     static int32_t invoke(tn_task task, const char *name, tn_value arguments, tn_call_done done, void *user) {
 *         return operation_invoke(my_operation, task, name, arguments, done, user);
 *     }
 */
#ifndef TENON_HOST_PLUGIN_ABI_ABI_OPERATION_H
#define TENON_HOST_PLUGIN_ABI_ABI_OPERATION_H

#include "host/plugin/abi/abi_view.h"
#include "host/plugin/call/call.h"

/* Creates a callable for one call; *out is a new reference. TN_NOT_FOUND if no operation has that name. */
typedef int32_t operation_make(const struct view *view, const char *name, struct callable **out);

/* [loop] and [worker]: as `invoke` and `invoke_wait` in tenon/state.h. */
int32_t operation_invoke(operation_make *make, tn_task task, const char *name, tn_value arguments, tn_call_done done,
                         void *user);
int32_t operation_invoke_wait(operation_make *make, tn_task task, const char *name, tn_value arguments,
                              tn_value *result);

#endif
