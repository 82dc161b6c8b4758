/*
 * nested.h - a graph as a callable: what a subgraph, and a graph offered as a tool, are. Used by graph.c's ops table.
 */
#ifndef TENON_HOST_NESTED_H
#define TENON_HOST_NESTED_H

#include "host/call/call.h"

int32_t nested_start(struct callable *callable, struct call *call, tn_value input);
void nested_cancel(struct callable *callable, struct call *call);
void nested_ready(struct callable *callable, struct call *call);

#endif
