/*
 * graph_identity.h - a hash of everything in a graph that matters to a saved thread.
 *
 * Included: nodes with their types, complete configurations, policies and the major versions of their components;
 * channels; edges in order; nested graphs, also those that components created. Not included: formatting, the models
 * behind roles, minor versions.
 *
 *     if (strcmp(pinned, graph_identity(graph)) != 0) print(graph_differences(before, graph_description(graph)));
 */
#ifndef TENON_HOST_ENGINE_GRAPH_GRAPH_IDENTITY_H
#define TENON_HOST_ENGINE_GRAPH_GRAPH_IDENTITY_H

#include "adl/value/value.h"

struct graph;

/* SHA-256 of the description, in hexadecimal; computed once, borrowed from the graph. */
const char *graph_identity(struct graph *graph);
/* {nodes: {id: {…}}, channels: {name: {…}}, edges: […], …}; a new reference. */
tn_value graph_description(struct graph *graph);
/* The differences, as lines for people: ["node `judge`: `config` has changed", …]; empty if the graphs are equal. */
tn_value graph_differences(tn_value before, tn_value after);

#endif
