/*
 * web_provider.c - finds the plugin with the HTTP server, by the manifests.
 */
#include "host/assembly/host.h"
#include "host/plugin/registry/plugin.h"
#include "host/plugin/registry/providing.h"
#include "host/server/server.h"
#include "host/server/web/web_internal.h"

#define DEFAULT_NAME "serve"

static int32_t provider_choose(struct registry *registry, tn_value use, struct plugin **out, struct error *error) {
    struct providing found;
    int32_t status = TN_OK;
    providing_find(&found, registry, TN_HTTP_SERVER_DRAFT, use ? value_chars(use, NULL) : DEFAULT_NAME);
    *out = found.plugin || use ? found.plugin : found.only;
    if (!*out && found.other_version)
        status = providing_refuse_version(&found, "HTTP server", error);
    else if (!found.count)
        status = error_set(error, TN_UNSUPPORTED, "UNSUPPORTED",
                           "no plugin provides an HTTP server (" TN_HTTP_SERVER_DRAFT
                           "); the bundled plugin is called `serve`%s",
                           registry_altered(registry));
    else if (!*out && use)
        status = error_set(error, TN_UNSUPPORTED, "UNSUPPORTED",
                           "`serve.use` in tenon.yaml is `%s`, but no plugin with this name provides an HTTP server; "
                           "these do: %s%s",
                           found.name, buffer_cstr(&found.names), registry_altered(registry));
    else if (!*out)
        status = error_set(error, TN_UNSUPPORTED, "UNSUPPORTED",
                           "%u plugins provide an HTTP server: %s; choose one with `serve: {use: NAME}` in tenon.yaml",
                           found.count, buffer_cstr(&found.names));
    providing_finish(&found);
    return status;
}

static bool is_complete(const tn_http_server_draft *vtable) {
    return vtable && vtable->size == sizeof *vtable && vtable->listen && vtable->drain && vtable->unlisten &&
           vtable->receive && vtable->pause && vtable->resume && vtable->respond && vtable->write && vtable->finish &&
           vtable->accept && vtable->send && vtable->close && vtable->abort;
}

int32_t web_provider_find(struct web *web, tn_value use, struct error *error) {
    struct plugin *plugin;
    struct registry *registry = host_registry(server_host(web->server));
    int32_t status = provider_choose(registry, use && value_is(use, TN_STRING) ? use : NULL, &plugin, error);
    if (status == TN_OK && plugin_isolated(plugin))
        status =
            error_set(error, TN_UNSUPPORTED, "UNSUPPORTED",
                      "the plugin `%s` provides the HTTP server, so it cannot run in a separate process; remove it "
                      "from `plugins.isolate`",
                      plugin_id(plugin));
    if (status == TN_OK) status = plugin_load(plugin, error);
    if (status != TN_OK) return status;
    const tn_http_server_draft *vtable = plugin_interface(plugin, TN_HTTP_SERVER_DRAFT);
    if (!is_complete(vtable))
        return error_set(
            error, TN_UNSUPPORTED, "PLUGIN_INVALID",
            "%s: plugin `%s`: its interface of an HTTP server does not match this host; rebuild the plugin",
            plugin_path(plugin), plugin_id(plugin));
    plugin_ref(plugin);
    web->provider = (struct web_provider){plugin, vtable, plugin_self(plugin)};
    return TN_OK;
}
