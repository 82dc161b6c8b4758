/*
 * method_internal.h - the tables of handlers, one for each file of methods/. Each ends with a row without a name. It
 * also declares the handlers that several of them share.
 */
#ifndef TENON_HOST_SERVER_METHOD_INTERNAL_H
#define TENON_HOST_SERVER_METHOD_INTERNAL_H

#include "host/server/method.h"

extern const struct method_handler host_methods[], plugin_methods[], document_methods[], run_methods[],
    thread_methods[], task_methods[], work_methods[], schedule_methods[], artifact_methods[], memory_methods[],
    tool_methods[], model_methods[], pack_methods[], graph_methods[], key_methods[];

/*
 * The operation of the state kernel with the name of the method and a dot: `task.create` for `task/create`. The
 * parameters are its arguments, and its result is the result.
 */
method_start_fn method_kernel_start;
/* Makes the subscription of event/subscribe or run/subscribe, and returns its number. */
method_start_fn method_subscribe_start;
method_start_fn method_metrics_start; /* host/metrics */

#endif
