/*
 * provider.h - which plugin makes the requests of the others.
 */
#ifndef TENON_HOST_HTTP_PROVIDER_H
#define TENON_HOST_HTTP_PROVIDER_H

#include "adl/value/error.h"
#include <tenon/http.h>

struct host;
struct plugin;

struct http_provider {
    struct plugin *plugin; /* referenced */
    const tn_http_draft *vtable;
    void *self; /* the first argument of its functions */
};

/*
 * `http.use` of tenon.yaml; else the one that is called "http"; else the only one there is. Loads it. UNSUPPORTED names
 * those that there are; or as plugin_load fails.
 */
int32_t http_provider_find(struct host *host, struct http_provider *out, struct error *error);
void http_provider_release(struct http_provider *provider); /* all zero is allowed */

#endif
