/*
 * graph_schema.h - ADL as a JSON Schema 2020-12 with its documentation: YAML editors use it for completion and checks.
 *
 * It is generated from the table of keys (keys.def) and, if a catalog is given, from the loaded components: a node's
 * `type` is one of them, and its `config` has that component's schema. The schema describes only the form of a
 * document; document_read checks the meaning of names.
 *
 *     tn_value schema = document_json_schema(&catalog);      // `tenon schema`
 *
 * In a document, write `# yaml-language-server: $schema=adl.schema.json` as the first line.
 */
#ifndef TENON_ADL_DOCUMENT_GRAPH_SCHEMA_H
#define TENON_ADL_DOCUMENT_GRAPH_SCHEMA_H

#include "adl/document/catalog.h"
#include "adl/value/value.h"
#include <stdbool.h>

/* Returns a new reference. If `catalog` is NULL, any node type and any config are allowed. */
tn_value document_json_schema(const struct catalog *catalog);

/* A new reference: the schema, with a value of the schema `reference` allowed in the place of any string. */
tn_value schema_allow_reference(tn_value schema, tn_value reference);
/* True if it contains references that depend on its location, so that it needs an `$id` inside another schema. */
bool schema_has_references(tn_value schema);

#endif
