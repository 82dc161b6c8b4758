/*
 * document_open.h - the document that the parameters of a method name: a file (`document`), or a text (`text`, `name`).
 *
 * A plugin may name documents of packs, and texts, which read files only below `files.roots`. Other clients have the
 * rights of the person who runs the host.
 *
 *     struct graph *graph;
 *     int32_t status = document_open(call, &graph, error);
 *     if (status != TN_OK) return status;                  // also METHOD_RETRY
 *
 * Thread: [loop].
 */
#ifndef TENON_HOST_SERVER_DOCUMENT_OPEN_H
#define TENON_HOST_SERVER_DOCUMENT_OPEN_H

#include "adl/value/error.h"

struct graph;
struct method_call;
struct source;

/* The text of the document; a new reference, or NULL with the error. */
struct source *document_open_source(const struct method_call *call, struct error *error);
/*
 * Checks and builds the document. Fails with INVALID_GRAPH; the detail is {diagnostics: […]}, as of document/check.
 * What the graph may do is limited by the caller of the method.
 */
int32_t document_open(const struct method_call *call, struct graph **out, struct error *error);

#endif
