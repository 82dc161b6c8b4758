/*
 * provider.c - finding it among the plugins, by what their manifests provide.
 */
#include "host/http/provider.h"
#include "adl/value/buffer.h"
#include "host/config/config.h"
#include "host/host.h"
#include "host/plugin/manifest.h"
#include "host/plugin/plugin.h"
#include "host/plugin/registry.h"
#include <string.h>

#define DEFAULT_NAME "http"

struct search_for {
    const char *name;
    struct plugin *found, *any;
    uint32_t count;
    struct buffer all;
};

static bool provides(const struct plugin *plugin) {
    tn_value ids = value_get(manifest_plugin(plugin_manifest(plugin)), "provides");
    for (size_t i = 0; i < value_count(ids); i++)
        if (value_text_is(value_at(ids, i), TN_HTTP_DRAFT)) return true;
    return false;
}

static bool is_called(const struct plugin *plugin, const char *name) {
    const char *id = plugin_id(plugin), *last = strrchr(id, '.');
    return strcmp(id, name) == 0 || (last && strcmp(last + 1, name) == 0);
}

static void visit(void *user, struct plugin *plugin) {
    struct search_for *search = user;
    if (!provides(plugin)) return;
    buffer_format(&search->all, "%s%s", search->all.length ? ", " : "", plugin_id(plugin));
    search->any = plugin;
    search->count++;
    /* Its very id before a last word that somebody else's shares. */
    if (is_called(plugin, search->name) && (!search->found || strcmp(plugin_id(plugin), search->name) == 0))
        search->found = plugin;
}

static int32_t choose(struct host *host, struct plugin **out, struct error *error) {
    tn_value use = value_get(config_http(host->config), "use");
    struct search_for search = {.name = use ? value_chars(use, NULL) : DEFAULT_NAME};
    int32_t status = TN_OK;
    buffer_init(&search.all, 4096);
    registry_each_plugin(host->registry, visit, &search);
    if (!search.found && !use && search.count == 1) search.found = search.any;
    if (!search.count)
        status =
            error_set(error, TN_UNSUPPORTED, "UNSUPPORTED",
                      "no plugin provides HTTP (" TN_HTTP_DRAFT "); the one that comes with Tenon is called `http`");
    else if (!search.found && use)
        status =
            error_set(error, TN_UNSUPPORTED, "UNSUPPORTED",
                      "no plugin that provides HTTP is called `%s`, as `http.use` of tenon.yaml has it; there is: %s",
                      search.name, buffer_cstr(&search.all));
    else if (!search.found)
        status = error_set(error, TN_UNSUPPORTED, "UNSUPPORTED",
                           "%u plugins provide HTTP: %s; choose one by `http: {use: NAME}` in tenon.yaml", search.count,
                           buffer_cstr(&search.all));
    buffer_finish(&search.all);
    *out = search.found;
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
