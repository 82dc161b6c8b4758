/*
 * named_schema.c - the JSON Schemas that Tenon publishes, by name.
 */
#include "host/server/named_schema.h"
#include "adl/document/graph_schema.h"
#include "host/assembly/config_names.h"
#include "host/assembly/host.h"
#include "host/plugin/conformance/payload.h"
#include "host/plugin/registry/manifest.h"
#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* Process-wide: hosts of several threads use it. */
static char names[256];

static void names_write(void) { (void)snprintf(names, sizeof names, "adl|config|manifest|%s", payload_names()); }

const char *named_schema_names(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, names_write);
    return names;
}

tn_value named_schema(const struct host *host, const char *name) {
    if (strcmp(name, "adl") == 0) return document_json_schema(host_catalog(host));
    if (strcmp(name, "config") == 0) return config_schema_of_host(host);
    return strcmp(name, "manifest") == 0 ? manifest_schema() : payload_schema(name);
}
