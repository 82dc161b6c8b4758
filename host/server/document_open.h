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

struct diagnostics;
struct graph;
struct method_call;
struct source;

#define DOCUMENT_TEXT_MAX (4u << 20) /* bytes of the parameter `text` */

/* The text of the document; a new reference, or NULL with the error. */
struct source *document_open_source(const struct method_call *call, struct error *error);
/*
 * Checks and builds the document. Fails with IO if it cannot be read, and with INVALID_GRAPH if it has mistakes; then
 * the detail is {diagnostics: […]}, as of document/check.
 * What the graph may do is limited by the caller of the method.
 */
int32_t document_open(const struct method_call *call, struct graph **out, struct error *error);
/*
 * The same for a run that is separate from the one of the caller. PERMISSION_DENIED if a document around the caller
 * counts what its run uses, because the separate run would not be counted; LIMIT if runs start each other too deep.
 */
int32_t document_open_run(const struct method_call *call, struct graph **out, struct error *error);
/*
 * Sets INVALID_GRAPH for a document with these mistakes: the message has the first one, and the detail all of them.
 * `name` is the document's.
 */
int32_t document_refuse(const char *name, struct diagnostics *found, struct error *error);
/*
 * Replaces the error of a document by one without paths and lines, if the client has an owner: these are the
 * operator's. Returns `status`.
 */
int32_t document_hide_mistake(const struct method_call *call, int32_t status, struct error *error);

#endif
