/*
 * schema.h - converts Schema Objects of OpenAPI 3.0 and 3.1 to JSON Schema 2020-12, for the arguments of one tool.
 *
 * References become `$defs` of the one schema. Properties that are readOnly are left out. If a schema has more than
 * SCHEMA_NODES_MAX values, the rest becomes `true`: the service validates it.
 *
 *     struct schema_maker maker;
 *     schema_init(&maker, &documents, version_3_0);
 *     tn_value id = schema_convert(&maker, node);        // with references into defs
 *     tn_value defs = schema_make_definitions(&maker);                // NULL if there are none
 *     schema_finish(&maker);
 */
#ifndef TENON_PLUGINS_OPENAPI_SCHEMA_H
#define TENON_PLUGINS_OPENAPI_SCHEMA_H

#include "document.h"

#define SCHEMA_NODES_MAX 20000u
#define SCHEMA_DEPTH_MAX 64u
#define SCHEMA_DEFS_MAX  500u

struct schema_def {
    struct document_node node; /* the definition's schema */
    tn_value name, schema;
};

struct schema_maker {
    struct documents *documents;
    bool old; /* 3.0 */
    uint32_t nodes, depth;
    struct schema_def *defs;
    uint32_t count, done;
};

void schema_init(struct schema_maker *maker, struct documents *documents, bool old);
void schema_finish(struct schema_maker *maker);
tn_value schema_convert(struct schema_maker *maker, struct document_node node); /* a new reference, or NULL */
tn_value schema_make_definitions(struct schema_maker *maker);                   /* the same */

#endif
