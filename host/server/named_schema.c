/*
 * named_schema.c - the JSON Schemas that Tenon publishes, by name.
 */
#include "host/server/named_schema.h"
#include "adl/document/graph_schema.h"
#include "host/plugin/conformance/payload.h"
#include "host/plugin/registry/manifest.h"
#include <stdio.h>
#include <string.h>

const char *named_schema_names(void) {
    static char names[256];
    if (!*names) (void)snprintf(names, sizeof names, "adl|manifest|%s", payload_names());
    return names;
}

tn_value named_schema(const struct catalog *catalog, const char *name) {
    if (strcmp(name, "adl") == 0) return document_json_schema(catalog);
    return strcmp(name, "manifest") == 0 ? manifest_schema() : payload_schema(name);
}
