/*
 * hash.h - the identity of a document's graph as text: a thread continues only on the graph that it was started with.
 *
 * Two documents have the same hash exactly if their runs are the same: nodes in their order, with ids, types, configs
 * (including the texts of their files) and policies; channels; edges; inner documents; the limits and the strategy of
 * runs; and the major version of every component. Formatting, comments, descriptions, `x-` keys, the bindings of roles,
 * and the allowed tools are ignored.
 */
#ifndef TENON_ADL_DOCUMENT_HASH_H
#define TENON_ADL_DOCUMENT_HASH_H

#include "adl/document/document.h"

/*
 * Returns 64 hexadecimal digits (SHA-256) as a string value, a new reference; NULL with error set if a file that a
 * config names cannot be read. The document must have no errors.
 */
tn_value document_hash(const struct document *document, const struct catalog *catalog, struct error *error);

#endif
