/*
 * plugin_listing.h - the plugins of a host as data, for the method plugin/list and for `tenon plugin list --json`.
 *
 * Thread: [loop].
 */
#ifndef TENON_HOST_SERVER_PLUGIN_LISTING_H
#define TENON_HOST_SERVER_PLUGIN_LISTING_H

#include "adl/value/value.h"

struct host;
struct plugin;

/* {plugins: [Plugin], problems: [{file, code, message}]}, as methods/plugin.yaml declares it; a new reference. */
tn_value plugin_listing(const struct host *host);
/* The id of the plugin whose component of the same kind and name is used instead; NULL if it is used. Borrowed. */
const char *plugin_component_shadow(const struct plugin *plugin, tn_value component);

#endif
