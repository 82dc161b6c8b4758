/*
 * plugin_listing.h - the plugins of a host as data, for the method plugin/list and for `tenon plugin list --json`.
 *
 * Thread: [loop].
 */
#ifndef TENON_HOST_SERVER_PLUGIN_LISTING_H
#define TENON_HOST_SERVER_PLUGIN_LISTING_H

#include "adl/value/value.h"

struct host;

/* {plugins: [Plugin], problems: [{file, code, message}]}, as methods/plugin.yaml declares it; a new reference. */
tn_value plugin_listing(const struct host *host);

#endif
