/*
 * abi_demand.c - tenon.demand: components that a plugin adds only when someone looks for them.
 */
#include "host/plugin/abi/abi.h"
#include "host/plugin/registry/plugin.h"

static int32_t abi_demand_watch(const tn_host *host, tn_demand demand, void *user) {
    struct plugin *plugin = plugin_of(host);
    if (!plugin) return TN_INVALID;
    registry_watch_demand(plugin, demand, user);
    return TN_OK;
}

/* The function may be code that is released next. */
void interface_demand_ended(struct plugin *plugin) { registry_watch_demand(plugin, NULL, NULL); }

const tn_demand_draft interface_demand = {.size = sizeof(tn_demand_draft), .watch = abi_demand_watch};
