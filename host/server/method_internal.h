/*
 * method_internal.h - the tables of handlers, one for each file of methods/. Each ends with a row without a name.
 */
#ifndef TENON_HOST_SERVER_METHOD_INTERNAL_H
#define TENON_HOST_SERVER_METHOD_INTERNAL_H

#include "host/server/method.h"

extern const struct method_handler host_methods[], plugin_methods[], document_methods[], run_methods[],
    thread_methods[], task_methods[], artifact_methods[], memory_methods[], tool_methods[], model_methods[],
    pack_methods[];

#endif
