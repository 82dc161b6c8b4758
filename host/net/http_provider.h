/*
 * http_provider.h - the plugin that sends the requests of all plugins.
 */
#ifndef TENON_HOST_NET_HTTP_PROVIDER_H
#define TENON_HOST_NET_HTTP_PROVIDER_H

#include "adl/value/error.h"
#include <tenon/http_client.h>

struct config;
struct plugin;
struct registry;

struct http_provider {
    struct plugin *plugin; /* referenced */
    const tn_http_client_draft *vtable;
    void *self; /* the first argument of its functions */
};

/*
 * Finds the provider that `http.use` in tenon.yaml names, or the one called "http", or the only one; loads it, and sets
 * *out, which holds a reference. Fails with UNSUPPORTED (the message lists the providers), or as plugin_load fails.
 * Thread: the loop's.
 */
int32_t http_provider_find(struct registry *registry, const struct config *config, struct http_provider *out,
                           struct error *error);
void http_provider_release(struct http_provider *provider); /* a zeroed struct is allowed */

#endif
