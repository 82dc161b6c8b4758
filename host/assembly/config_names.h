/*
 * config_names.h - the JSON Schema of tenon.yaml with the names that a host knows: its plugins and the schemas of their
 * sections, providers of models and their options, stores, tools.
 *
 *     tn_value schema = config_schema_of_host(host);      // `tenon schema config`
 *
 * A name that is not known stays valid, because several machines can share the file.
 */
#ifndef TENON_HOST_ASSEMBLY_CONFIG_NAMES_H
#define TENON_HOST_ASSEMBLY_CONFIG_NAMES_H

#include "adl/value/value.h"

struct host;

/* A new reference. Thread: the loop's. */
tn_value config_schema_of_host(const struct host *host);

#endif
