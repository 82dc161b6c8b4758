/*
 * embed_node.h - registers a runnable as a node type, for tenon_add_node_runnable.
 */
#ifndef TENON_HOST_EMBED_EMBED_NODE_H
#define TENON_HOST_EMBED_EMBED_NODE_H

#include "host/embed/embed_internal.h"

struct callable;

/*
 * Registers a node type that calls `callable` with the state. *type is its id. It exists until the host ends. On
 * failure the error of the handle is set.
 */
int32_t embed_node_register(tenon *handle, struct callable *callable, const char **type);

#endif
