/*
 * embed_node.h - registers a runnable as a node type, for tenon_add_node_runnable.
 */
#ifndef TENON_HOST_EMBED_EMBED_NODE_H
#define TENON_HOST_EMBED_EMBED_NODE_H

#include "adl/value/error.h"
#include "host/embed/embed_internal.h"

struct callable;

#define EMBED_NODE_PREFIX "embed.node."

/* Registers a node type that calls `callable` with the state, and writes its id to `type`. It exists until the host
 * ends. */
int32_t embed_node_register(tenon *host, struct callable *callable, char *type, size_t size, struct error *error);

/* Called before and after host_free: releases the callables of the types, then frees the types. */
void embed_nodes_release(tenon *host);
void embed_nodes_free(tenon *host);

#endif
