/*
 * named_schema.h - the JSON Schemas that Tenon publishes, by name: for `tenon schema NAME` and the method
 * document/schema.
 *
 *     tn_value schema = named_schema(host_catalog(host), "manifest");
 *     if (!schema) return expected(named_schema_names());
 *     value_unref(schema);
 *
 * Thread: [loop].
 */
#ifndef TENON_HOST_SERVER_NAMED_SCHEMA_H
#define TENON_HOST_SERVER_NAMED_SCHEMA_H

#include "adl/value/value.h"

struct catalog;

/* "adl|manifest|node|…": all names. */
const char *named_schema_names(void);
/*
 * A new reference; NULL if there is no such schema. "adl" is the schema of documents with the components of `catalog`,
 * which the others do not use.
 */
tn_value named_schema(const struct catalog *catalog, const char *name);

#endif
