/*
 * abi.h - the interfaces for plugins that need only plugin/call/. A released interface is offered forever.
 *
 * A plugin reaches the host only through these vtables. assembly/abi_table.c lists all interfaces, with those of other
 * rooms; to add one, add a row there.
 *
 *     const struct registry_interface row = {TN_POLL_1, &interface_poll, false, interface_poll_ended};
 */
#ifndef TENON_HOST_PLUGIN_ABI_ABI_H
#define TENON_HOST_PLUGIN_ABI_ABI_H

#include "host/plugin/registry/registry.h"
#include <tenon.h>
#include <tenon/demand.h>
#include <tenon/eval.h>
#include <tenon/graph.h>
#include <tenon/poll.h>
#include <tenon/registry.h>
#include <tenon/tool.h>

extern const tn_value_1 interface_value;
extern const tn_core_1 interface_core;
void interface_core_ended(struct plugin *plugin); /* [loop] cancels everything that the plugin has posted */
extern const tn_task_1 interface_task;
extern const tn_eval_1 interface_eval;
extern const tn_graph_draft interface_graph;
extern const tn_poll_1 interface_poll;
void interface_poll_ended(struct plugin *plugin); /* [loop] ends all of its watches */
extern const tn_registry_1 interface_registry;
extern const tn_demand_draft interface_demand;
void interface_demand_ended(struct plugin *plugin); /* [loop] removes what the plugin has registered */
extern const tn_tool_1 interface_tool;
/* [loop] Around every callback into a plugin: they call registry_options.watch if the host is in check mode. */
void *interface_enter(const struct plugin *plugin);
void interface_leave(const struct plugin *plugin, void *before); /* `before`: what interface_enter returned */

#endif
