/*
 * graph_schema.h - ADL as a JSON Schema 2020-12, with its documentation in it: what YAML editors complete and check by.
 *
 * Made from the table of keys (keys.def) and, where a catalog is given, from the components that are loaded: a node's
 * `type` is one of them, and its `config` is what that one publishes. It says what shape a document has; what names
 * mean is checked by document_read.
 *
 *     tn_value schema = document_json_schema(&catalog);      // `tenon schema`
 *
 * In a document: `# yaml-language-server: $schema=adl.schema.json` as its first line.
 */
#ifndef TENON_ADL_DOCUMENT_GRAPH_SCHEMA_H
#define TENON_ADL_DOCUMENT_GRAPH_SCHEMA_H

#include "adl/document/catalog.h"
#include "adl/value/value.h"

/* `catalog` may be NULL: any node type, any config. A new reference. */
tn_value document_json_schema(const struct catalog *catalog);

#endif
