/*
 * nested.h - a graph as a callable: what a subgraph, and a graph offered as a tool, are. Used by graph.c's ops table.
 */
#ifndef TENON_HOST_NESTED_H
#define TENON_HOST_NESTED_H

#include "adl/document/document.h"
#include "host/call/call.h"

/*
 * Runs inside runs, however they came to be. Documents that name each other are bounded when they are read; a document
 * that a task makes, or is given (document.run), may hold one that does the same.
 */
#define NESTED_DEPTH_MAX (DOCUMENT_SUBGRAPH_DEPTH_MAX + 8u)

int32_t nested_start(struct callable *callable, struct call *call, tn_value input);
void nested_cancel(struct callable *callable, struct call *call);
void nested_ready(struct callable *callable, struct call *call);

#endif
