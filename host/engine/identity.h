/*
 * identity.h - what a graph is, apart from how it is written: for pinning threads to it.
 *
 * Nodes with their types, configurations (files in place), policies and their components' major versions; channels;
 * edges in order; graphs inside, those that components have made as well. Not formatting, not names of roles' models,
 * not minor versions.
 */
#ifndef TENON_HOST_IDENTITY_H
#define TENON_HOST_IDENTITY_H

#include "adl/value/value.h"

struct graph;

/* SHA-256 of the description, in hexadecimal; made when first asked for, borrowed from the graph. */
const char *graph_identity(struct graph *graph);
/* {nodes: {id: {…}}, channels: {name: {…}}, edges: […], …}; a new reference. */
tn_value graph_description(struct graph *graph);
/* What is different, a line each, for people: ["node `judge`: `config` has changed", …]; empty where nothing is. */
tn_value graph_differences(tn_value before, tn_value after);

#endif
