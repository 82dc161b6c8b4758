/*
 * nested.h - a graph as a callable: the functions of graph.c's callable_ops. A subgraph is called this way, and so is a
 * graph that is used as a tool.
 */
#ifndef TENON_HOST_ENGINE_GRAPH_NESTED_H
#define TENON_HOST_ENGINE_GRAPH_NESTED_H

#include "adl/document/document.h"
#include "host/plugin/call/call.h"

/*
 * The limit of runs inside runs. Documents that name each other are bounded when they are read. A document that a node
 * creates or receives (document.run) can contain one that does the same, so the depth is checked here again.
 */
#define NESTED_DEPTH_MAX (DOCUMENT_SUBGRAPH_DEPTH_MAX + 8u)

struct activation;

/* The activation of a node that the call belongs to, directly or through other calls. NULL if no run made the call. */
struct activation *nested_activation_around(const struct call *call);

int32_t nested_start(struct callable *callable, struct call *call, tn_value input);
void nested_cancel(struct callable *callable, struct call *call);

#endif
