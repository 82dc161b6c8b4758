/*
 * provider.c - finding it among the plugins, by what their manifests provide.
 */
#include "host/http/provider.h"
#include "host/config/config.h"
#include "host/host.h"
#include "host/plugin/plugin.h"
#include "host/plugin/providing.h"
#include "host/plugin/registry.h"

#define DEFAULT_NAME "http"

static int32_t choose(struct host *host, struct plugin **out, struct error *error) {
    tn_value use = value_get(config_http(host->config), "use");
    struct providing found;
    int32_t status = TN_OK;
    providing_find(&found, host->registry, TN_HTTP_DRAFT, use ? value_chars(use, NULL) : DEFAULT_NAME);
    *out = found.plugin || use ? found.plugin : found.only;
    if (!found.count)
        status =
            error_set(error, TN_UNSUPPORTED, "UNSUPPORTED",
                      "no plugin provides HTTP (" TN_HTTP_DRAFT "); the one that comes with Tenon is called `http`");
    else if (!*out && use)
        status =
            error_set(error, TN_UNSUPPORTED, "UNSUPPORTED",
                      "no plugin that provides HTTP is called `%s`, as `http.use` of tenon.yaml has it; there is: %s",
                      found.name, buffer_cstr(&found.names));
    else if (!*out)
        status = error_set(error, TN_UNSUPPORTED, "UNSUPPORTED",
                           "%u plugins provide HTTP: %s; choose one by `http: {use: NAME}` in tenon.yaml", found.count,
                           buffer_cstr(&found.names));
    providing_finish(&found);
    return status;
}

int32_t http_provider_find(struct host *host, struct http_provider *out, struct error *error) {
    struct plugin *plugin;
    int32_t status = choose(host, &plugin, error);
    if (status == TN_OK) status = plugin_load(plugin, error);
    if (status != TN_OK) return status;
    const tn_http_draft *vtable = plugin_interface(plugin, TN_HTTP_DRAFT);
    if (!vtable || vtable->size != sizeof *vtable || !vtable->send || !vtable->cancel)
        return error_set(error, TN_UNSUPPORTED, "PLUGIN_INVALID",
                         "%s: plugin `%s`: its HTTP has another size than this host's, or functions missing; build it "
                         "again",
                         plugin_path(plugin), plugin_id(plugin));
    plugin_ref(plugin);
    *out = (struct http_provider){plugin, vtable, plugin_self(plugin)};
    return TN_OK;
}

void http_provider_release(struct http_provider *provider) {
    if (provider->plugin) plugin_unref(provider->plugin);
    *provider = (struct http_provider){.plugin = NULL};
}
