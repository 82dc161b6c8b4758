/*
 * protocols.h - the plugins that serve a protocol over HTTP: those whose manifest has an effect `server.route:PATTERN`
 * of the plugin (sdk/include/tenon/server.h).
 *
 *     int32_t status = protocols_each(host, load_one, me, &error);
 *
 * Thread: [loop].
 */
#ifndef TENON_HOST_ASSEMBLY_PROTOCOLS_H
#define TENON_HOST_ASSEMBLY_PROTOCOLS_H

#include "adl/value/error.h"
#include <stdbool.h>

struct host;
struct nearest;
struct plugin;

bool protocol_is_served_by(const struct plugin *plugin);
/* The plugin with this id, or with this last word of its id; NULL if there is none, or if it serves no protocol. */
struct plugin *protocol_find(const struct host *host, const char *name);
void protocol_offer_names(const struct host *host, struct nearest *nearest); /* for messages */
/*
 * Visits the plugins that `serve.protocols` of tenon.yaml names, or all bundled ones; stops at the first status that is
 * not TN_OK. NOT_FOUND for an unknown name. `visit` may load the plugin.
 */
int32_t protocols_each(const struct host *host,
                       int32_t (*visit)(void *user, struct plugin *plugin, struct error *error), void *user,
                       struct error *error);

#endif
