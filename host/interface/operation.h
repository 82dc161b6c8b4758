/*
 * operation.h - what a task asks for by name, as one call of its own: tenon.state's and tenon.document's way.
 *
 * The interface says what the callable of a name is; here it is called, for the task, and let go.
 */
#ifndef TENON_HOST_INTERFACE_OPERATION_H
#define TENON_HOST_INTERFACE_OPERATION_H

#include "host/interface/view.h"

/* A callable for one call, owned by whoever asked; TN_NOT_FOUND where there is no operation of that name. */
typedef int32_t operation_make(const struct view *view, const char *name, struct callable **out);

/* [loop] [worker] As `invoke` and `invoke_wait` of tenon/state.h say. */
int32_t operation_invoke(operation_make *make, tn_task task, const char *name, tn_value arguments, tn_call_done done,
                         void *user);
int32_t operation_invoke_wait(operation_make *make, tn_task task, const char *name, tn_value arguments,
                              tn_value *result);

#endif
