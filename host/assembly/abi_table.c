/*
 * abi_table.c - the table of interfaces.
 */
#include "host/assembly/abi_table.h"
#include "host/data/kernel/kernel_abi.h"
#include "host/engine/graph/graph_abi.h"
#include "host/net/http_abi.h"
#include "host/plugin/abi/abi.h"
#include "host/plugin/abi/abi_host.h"
#include "host/plugin/abi/abi_server.h"
#include "host/plugin/isolate/launch_program.h"
#include <string.h>

const struct registry_interface interface_table[] = {
    {TN_CORE_1, &interface_core, false, interface_core_ended},
    {TN_VALUE_1, &interface_value, false, NULL},
    {TN_TASK_1, &interface_task, false, NULL},
    {TN_EVAL_1, &interface_eval, false, NULL},
    {TN_HOST_1, &interface_host, false, interface_host_ended},
    {TN_HTTP_1, &interface_http, false, interface_http_ended},
    {TN_POLL_1, &interface_poll, false, interface_poll_ended},
    {TN_REGISTRY_1, &interface_registry, false, NULL},
    {TN_TOOL_1, &interface_tool, false, NULL},
    /* Drafts. */
    {TN_DEMAND_DRAFT, &interface_demand, true, interface_demand_ended},
    {TN_DOCUMENT_DRAFT, &interface_document, true, NULL},
    {TN_GRAPH_DRAFT, &interface_graph, true, NULL},
    {TN_LAUNCH_DRAFT, &interface_launch, true, NULL},
    {TN_SERVER_DRAFT, &interface_server, true, interface_server_ended},
    {TN_STATE_DRAFT, &interface_state, true, NULL},
    {NULL, NULL, false, NULL},
};

const void *interface_find(const char *id) {
    for (const struct registry_interface *row = interface_table; row->id; row++)
        if (strcmp(row->id, id) == 0) return row->vtable;
    return NULL;
}
