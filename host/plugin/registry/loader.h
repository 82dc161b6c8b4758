/*
 * loader.h - checks whether a plugin can be loaded, before any of its code runs. plugin_load (plugin.h) loads it.
 *
 *     if (loader_preflight(plugin, &error) != TN_OK) return report(&error);
 */
#ifndef TENON_HOST_PLUGIN_REGISTRY_LOADER_H
#define TENON_HOST_PLUGIN_REGISTRY_LOADER_H

#include "adl/value/error.h"

struct plugin;

/*
 * [loop] Checks, using only the manifest, whether this host can load the plugin: the version of Tenon, and every
 * interface that it requires. The message names everything that is missing and what the host offers instead.
 */
int32_t loader_preflight(const struct plugin *plugin, struct error *error);

#endif
