/*
 * graph_report.h - reports what is wrong with the nodes of a graph that is built to be checked, at the user's text.
 */
#ifndef TENON_HOST_ENGINE_GRAPH_GRAPH_REPORT_H
#define TENON_HOST_ENGINE_GRAPH_GRAPH_REPORT_H

#include "adl/value/error.h"
#include <stddef.h>
#include <stdint.h>

struct diagnostics;
struct graph;
struct source;

/* Where the component that refuses its config says that the mistake is (tn_core_1.refuse), or the whole config. */
struct span graph_place_of_refusal(struct graph *graph, uint32_t node, const struct error *error);
/* The component of the node was not created. Names the member of the config that the message is about, if it does. */
void graph_report_node(struct graph *graph, uint32_t node, const struct error *error);
/* The nested graph of the node must not be repeated: reports the node's own `retry`, which has no effect. */
void graph_report_retry(struct graph *graph, uint32_t node);
/* The node that is being built has made the document `made`, which has the errors in `found`. */
void graph_report_made(struct graph *graph, struct source *made, const struct diagnostics *found);

#endif
