/*
 * hash.h - what a document's graph is, as one text: a thread that was started on a graph goes on only with the same
 * one.
 *
 * Two documents have the same hash exactly where their runs would be the same: nodes in their order, with ids, types,
 * configs (the texts of files in them included), and what is said about running them; channels; edges; inner documents;
 * the bounds and the strategy of runs; and the major version of every component. Formatting, comments, descriptions,
 * `x-` keys, what roles are bound to, and which tools are allowed do not count.
 */
#ifndef TENON_ADL_DOCUMENT_HASH_H
#define TENON_ADL_DOCUMENT_HASH_H

#include "adl/document/document.h"

/*
 * 64 hexadecimal digits (SHA-256), as a string value; a new reference. NULL with error set where a file that a config
 * names cannot be read. The document must have no errors.
 */
tn_value document_hash(const struct document *document, const struct catalog *catalog, struct error *error);
/* What is hashed, an object: for telling two graphs' differences. Inner documents are in it by their hash. */
tn_value document_identity(const struct document *document, const struct catalog *catalog, struct error *error);

#endif
