/*
 * loader.h - refusing a plugin before any of its code runs; plugin_load (plugin.h) does the rest.
 */
#ifndef TENON_HOST_PLUGIN_LOADER_H
#define TENON_HOST_PLUGIN_LOADER_H

#include "adl/value/error.h"

struct plugin;

/*
 * Whether this host can load the plugin, by its manifest alone: the version of Tenon it asks for, and every interface
 * it requires. The message names all that is missing, and what the host has instead. [loop]
 */
int32_t loader_preflight(const struct plugin *plugin, struct error *error);

#endif
