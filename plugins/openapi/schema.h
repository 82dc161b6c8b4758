/*
 * schema.h - converts Schema Objects of OpenAPI 3.0 and 3.1 to JSON Schema 2020-12, for the arguments of one tool.
 *
 * References become `$defs` of the one schema. Properties that are readOnly are left out. If a schema has more than
 * SCHEMA_NODES_MAX values, the rest becomes `true`: the service validates it.
 *
 * A library has the definitions of one service. Each is converted once, when the first schema refers to it, and the
 * `$defs` of all tools share it: a description with a thousand operations needs no copies.
 *
 *     struct schema_library library = {.documents = &documents, .old = version_3_0};
 *     struct schema_maker maker = {.library = &library};
 *     tn_value id = schema_convert(&maker, node);        // with references into $defs
 *     tn_value defs = schema_make_definitions(&maker);   // NULL if there are none
 *     schema_finish(&maker);
 *     schema_library_finish(&library);                   // the schemas stay valid
 */
#ifndef TENON_PLUGINS_OPENAPI_SCHEMA_H
#define TENON_PLUGINS_OPENAPI_SCHEMA_H

#include "document.h"

#define SCHEMA_NODES_MAX 20000u /* of a tool; of each definition */
#define SCHEMA_DEPTH_MAX 64u
#define SCHEMA_DEFS_MAX  500u /* of a tool */

/* Indices of definitions. */
struct schema_uses {
    uint32_t *items;
    uint32_t count, capacity;
};

struct schema_def {
    struct document_node node; /* the definition's schema */
    tn_value name, schema;     /* schema: NULL until it is converted */
    struct schema_uses uses;   /* the definitions that it refers to */
    uint32_t nodes;
    uint32_t stamp; /* the last maker that has listed it */
};

struct schema_library {
    struct documents *documents;
    bool old; /* 3.0 */
    struct schema_def *defs;
    uint32_t count, capacity;
    uint32_t *by_node, *by_name; /* open hash tables of indices + 1; 0: a free slot */
    uint32_t slots;              /* of both: a power of two, or 0 */
    uint32_t stamp;
};

struct schema_maker {
    struct schema_library *library;
    uint32_t nodes, depth;
    struct schema_uses uses;
};

void schema_library_finish(struct schema_library *library);
void schema_finish(struct schema_maker *maker);
tn_value schema_convert(struct schema_maker *maker, struct document_node node); /* a new reference, or NULL */
/* Puts one keyword of a schema, converted; nothing if it is dropped. */
void schema_put_keyword(struct schema_maker *maker, tn_builder *out, struct document_node schema, const char *key,
                        tn_value value);
/* The definitions that the schemas of this maker refer to, also indirectly. A new reference, or NULL. */
tn_value schema_make_definitions(struct schema_maker *maker);
/* True if a property is readOnly: it is left out. `schema` is not resolved. */
bool schema_is_read_only(struct schema_maker *maker, struct document_node schema);

#endif
