/*
 * surface.c - everything of the contract, as typed objects of one shared object, for tools that compare ABIs.
 *
 * A plugin's own surface is one function that gives `const void *`: nothing behind it can be seen from outside. Here
 * every struct is a global of its type, so that the debug information has each member, and through them each function's
 * type. abidiff.sh compares it with surface.abi.
 */
#include <tenon.h>

TN_EXPORT tn_host surface_host;
TN_EXPORT tn_plugin surface_plugin;
TN_EXPORT const tn_plugin *(*surface_entry)(const tn_host *host);
TN_EXPORT tn_value surface_value;
TN_EXPORT tn_builder *surface_builder;
TN_EXPORT tn_value_1 surface_value_1;
TN_EXPORT tn_core_1 surface_core_1;
TN_EXPORT tn_lifecycle_1 surface_lifecycle_1;
TN_EXPORT tn_task surface_task;
TN_EXPORT tn_binder *surface_binder;
TN_EXPORT tn_component_1 surface_component_1;
TN_EXPORT tn_call_done surface_call_done;
TN_EXPORT tn_task_1 surface_task_1;
