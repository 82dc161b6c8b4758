/*
 * runnable_node.h - a runnable as a node type: what tenon_add_node_runnable registers.
 */
#ifndef TENON_HOST_RUNNABLE_NODE_H
#define TENON_HOST_RUNNABLE_NODE_H

#include "adl/value/error.h"
#include "host/embed/internal.h"

struct callable;

#define RUNNABLE_NODE_PREFIX "embed.node."

/* Registers a node type that calls `callable` with the state; its id goes to `type`. Lives as long as the host. */
int32_t runnable_node_register(tenon *host, struct callable *callable, char *type, size_t size, struct error *error);

/* Around the host's end: what the types call is let go before it, the types themselves after. */
void runnable_nodes_release(tenon *host);
void runnable_nodes_free(tenon *host);

#endif
