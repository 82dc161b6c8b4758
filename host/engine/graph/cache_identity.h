/*
 * cache_identity.h - what the outcome of a node depends on besides its input, as a hash that other processes compute
 * too.
 *
 * Included are the component of the node and its complete configuration, the hash of the plugin's file and the plugin's
 * section of tenon.yaml; the same for every component that it calls, with the models behind roles; the documents that
 * it runs; the names of the channels that it reads; and whether rules of the operator guard what it calls. Not included
 * are the id of the node, its policies, the rest of the document, and the texts of secrets.
 *
 *     char identity[TN_SHA256_TEXT];
 *     if (cache_identity(graph, node, identity)) look_up(identity);
 *
 * Thread: loop.
 */
#ifndef TENON_HOST_ENGINE_GRAPH_CACHE_IDENTITY_H
#define TENON_HOST_ENGINE_GRAPH_CACHE_IDENTITY_H

#include <stdbool.h>
#include <stdint.h>
#include <tenon/util/sha256.h>

struct graph;

/*
 * Writes SHA-256 in hexadecimal. Returns false if something that the node uses has no file to identify its code by: a
 * component that the program has registered, or a plugin whose file was replaced.
 */
bool cache_identity(const struct graph *graph, uint32_t node, char out[TN_SHA256_TEXT]);

#endif
