/*
 * schema.h - Schema Objects of OpenAPI 3.0 and 3.1 as JSON Schema 2020-12, for the arguments of one tool.
 *
 * References become `$defs` of that one schema, as far as they are reached from it. What is only read (readOnly) is
 * left out. A schema with more than SCHEMA_NODES_MAX values ends in `true` where it is too long: the service checks the
 * rest.
 *
 *     struct schema_maker maker;
 *     schema_init(&maker, &documents, version_3_0);
 *     tn_value id = schema_convert(&maker, place);        // with references into defs
 *     tn_value defs = schema_defs(&maker);                // NULL where there are none
 *     schema_finish(&maker);
 */
#ifndef TENON_PLUGINS_OPENAPI_SCHEMA_H
#define TENON_PLUGINS_OPENAPI_SCHEMA_H

#include "document.h"

#define SCHEMA_NODES_MAX 20000u
#define SCHEMA_DEPTH_MAX 64u
#define SCHEMA_DEFS_MAX  500u

struct schema_def {
    struct place place; /* what is defined */
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
tn_value schema_convert(struct schema_maker *maker, struct place place); /* a new reference, or NULL */
tn_value schema_defs(struct schema_maker *maker);                        /* the same */

#endif
