/*
 * metadata.c - the metadata of the protected resource (RFC 9728), and the header of a 401 that leads to it.
 *
 * A client that has no key learns here which authorization servers issue tokens: those of the configuration, else those
 * of the host's authenticators. Without either the document has none: then the operator hands out keys.
 */
#include "plugin.h"

#define WELL_KNOWN "/.well-known/oauth-protected-resource"

static tn_value resource_metadata(const struct plugin *plugin, tn_value request) {
    char resource[512];
    tn_value servers = tn_get(plugin->config, "authorization_servers"), scopes = tn_get(plugin->config, "scopes");
    const char *url = tn_get_text(plugin->config, "resource", NULL);
    if (tn.value->count(servers) == 0) servers = tn_get(request, "issuers");
    (void)snprintf(resource, sizeof resource, "%.400s/mcp", tn_get_text(request, "origin", ""));
    return tn_build("{s:s, s:v*, s:v*, s:[s], s:s}", "resource", url != NULL ? url : resource, "authorization_servers",
                    tn.value->count(servers) > 0 ? servers : NULL, "scopes_supported",
                    tn.value->count(scopes) > 0 ? scopes : NULL, "bearer_methods_supported", "header", "resource_name",
                    tn_get_text(plugin->info, "title", tn_get_text(plugin->info, "name", "Tenon")));
}

void TN_ABI metadata_on_request(void *self, uint64_t http, int32_t event, tn_value value) {
    const struct plugin *plugin = self;
    if (event != TN_SERVER_REQUEST) return;
    plugin_respond_take(plugin, http, 200, NULL, resource_metadata(plugin, value));
}

tn_value metadata_challenge(const struct plugin *plugin, tn_value refused) {
    char text[700];
    const char *origin = tn_get_text(refused, "origin", NULL), *url = tn_get_text(plugin->config, "resource", NULL);
    const char *host = tn_get_text(tn_get(refused, "headers"), "host", "");
    char base[512];
    if (url != NULL) { /* the origin of the configured URL */
        const char *path = strstr(url, "://");
        path = path != NULL ? strchr(path + 3, '/') : NULL;
        (void)snprintf(base, sizeof base, "%.*s", path != NULL ? (int)(path - url) : 400, url);
    } else if (origin != NULL) {
        (void)snprintf(base, sizeof base, "%.400s", origin);
    } else {
        (void)snprintf(base, sizeof base, "http://%.300s", host);
    }
    if (strpbrk(base, "\"\\\r\n") != NULL) base[0] = '\0'; /* not from a client into the header */
    (void)snprintf(text, sizeof text, "Bearer resource_metadata=\"%s" WELL_KNOWN "/mcp\"", base);
    return tn_text(text);
}
