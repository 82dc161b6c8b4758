/*
 * named_schema.h - the JSON Schemas that Tenon publishes, by name: for `tenon schema NAME` and the method
 * document/schema.
 *
 *     tn_value schema = named_schema(host, "manifest");
 *     if (!schema) return expected(named_schema_names());
 *     value_unref(schema);
 *
 * Thread: [loop].
 */
#ifndef TENON_HOST_SERVER_NAMED_SCHEMA_H
#define TENON_HOST_SERVER_NAMED_SCHEMA_H

#include "adl/value/value.h"

struct host;

/* "adl|config|manifest|node|…": all names. */
const char *named_schema_names(void);
/*
 * A new reference; NULL if there is no such schema. "adl", the schema of documents, has the components of the host, and
 * "config", that of tenon.yaml, its names; the others do not use it, so it may be NULL.
 */
tn_value named_schema(const struct host *host, const char *name);

#endif
