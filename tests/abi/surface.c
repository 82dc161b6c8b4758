/*
 * surface.c - all types of the contract as objects in one shared object, for tools that compare ABIs.
 *
 * A plugin exports one function that returns `const void *`, which hides all types. Here every struct is a global, so
 * that the debug information contains each member, and through them the type of each function. abidiff.sh compares it
 * with surface.abi.
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
