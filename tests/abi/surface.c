/*
 * surface.c - all types of the contract as objects in one shared object, for tools that compare ABIs.
 *
 * A plugin exports one function that returns `const void *`, which hides all types. Here every struct is a global, so
 * that the debug information contains each member, and through them the type of each function. abidiff.sh compares it
 * with surface.abi.
 */
#include <tenon.h>
#include <tenon/eval.h>
#include <tenon/host.h>
#include <tenon/http.h>
#include <tenon/poll.h>
#include <tenon/registry.h>
#include <tenon/tool.h>

TN_EXPORT tn_host surface_host;
TN_EXPORT tn_plugin surface_plugin;
TN_EXPORT const tn_plugin *TN_FN(surface_entry)(const tn_host *host);
TN_EXPORT tn_value surface_value;
TN_EXPORT tn_builder *surface_builder;
TN_EXPORT tn_value_1 surface_value_1;
TN_EXPORT tn_core_1 surface_core_1;
TN_EXPORT tn_lifecycle_1 surface_lifecycle_1;
TN_EXPORT tn_task surface_task;
TN_EXPORT tn_call surface_call;
TN_EXPORT tn_binder *surface_binder;
TN_EXPORT tn_component_1 surface_component_1;
TN_EXPORT tn_call_handler surface_call_handler;
TN_EXPORT tn_task_1 surface_task_1;
TN_EXPORT tn_eval_1 surface_eval_1;
TN_EXPORT tn_host_handler surface_host_handler;
TN_EXPORT tn_host_1 surface_host_1;
TN_EXPORT tn_http_handler surface_http_handler;
TN_EXPORT tn_http_1 surface_http_1;
TN_EXPORT tn_poll_ready surface_poll_ready;
TN_EXPORT tn_poll_1 surface_poll_1;
TN_EXPORT tn_registry_1 surface_registry_1;
TN_EXPORT tn_tool_1 surface_tool_1;
