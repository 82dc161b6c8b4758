/*
 * graph_reads.h - which channels a graph never reads: their saved items need not be read for a run (thread_deferred.h).
 */
#ifndef TENON_HOST_ENGINE_GRAPH_GRAPH_READS_H
#define TENON_HOST_ENGINE_GRAPH_GRAPH_READS_H

#include "adl/value/value.h"

struct graph;

/*
 * {name: true} of the channels of type `append`, and those with the reducer `messages`, that no node, no edge and no
 * `output` reads; borrowed from the graph. Thread: loop.
 */
tn_value graph_unread_channels(struct graph *graph);

#endif
