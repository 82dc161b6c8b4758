/*
 * http_provider.c - finds the plugin that provides HTTP, by the manifests.
 */
#include "host/net/http_provider.h"
#include "host/base/config/config.h"
#include "host/plugin/registry/plugin.h"
#include "host/plugin/registry/providing.h"
#include "host/plugin/registry/registry.h"

#define DEFAULT_NAME "http"

static int32_t http_provider_choose(struct registry *registry, const struct config *config, struct plugin **out,
                                    struct error *error) {
    tn_value use = value_get(config_http(config), "use");
    struct providing found;
    int32_t status = TN_OK;
    providing_find(&found, registry, TN_HTTP_CLIENT_DRAFT, use ? value_chars(use, NULL) : DEFAULT_NAME);
    *out = found.plugin || use ? found.plugin : found.only;
    if (!*out && found.other_version)
        status = providing_refuse_version(&found, "HTTP client", error);
    else if (!found.count)
        status = error_set(error, TN_UNSUPPORTED, "UNSUPPORTED",
                           "no plugin provides HTTP (" TN_HTTP_CLIENT_DRAFT "); the bundled plugin is called `http`%s",
                           registry_altered(registry));
    else if (!*out && use)
        status =
            error_set(error, TN_UNSUPPORTED, "UNSUPPORTED",
                      "`http.use` in tenon.yaml is `%s`, but no plugin with this name provides HTTP; these do: %s%s",
                      found.name, buffer_cstr(&found.names), registry_altered(registry));
    else if (!*out)
        status = error_set(error, TN_UNSUPPORTED, "UNSUPPORTED",
                           "%u plugins provide HTTP: %s; choose one with `http: {use: NAME}` in tenon.yaml",
                           found.count, buffer_cstr(&found.names));
    providing_finish(&found);
    return status;
}

int32_t http_provider_find(struct registry *registry, const struct config *config, struct http_provider *out,
                           struct error *error) {
    struct plugin *plugin;
    int32_t status = http_provider_choose(registry, config, &plugin, error);
    if (status == TN_OK) status = plugin_load(plugin, error);
    if (status != TN_OK) return status;
    const tn_http_client_draft *vtable = plugin_interface(plugin, TN_HTTP_CLIENT_DRAFT);
    if (!vtable || vtable->size != sizeof *vtable || !vtable->send || !vtable->cancel)
        return error_set(error, TN_UNSUPPORTED, "PLUGIN_INVALID",
                         "%s: plugin `%s`: its HTTP interface does not match this host; rebuild "
                         "the plugin",
                         plugin_path(plugin), plugin_id(plugin));
    plugin_ref(plugin);
    *out = (struct http_provider){plugin, vtable, plugin_self(plugin)};
    return TN_OK;
}

void http_provider_release(struct http_provider *provider) {
    if (provider->plugin) plugin_unref(provider->plugin);
    *provider = (struct http_provider){.plugin = NULL};
}
