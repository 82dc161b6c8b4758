/*
 * plugin_listing.c - the plugins of a host as data.
 */
#include "host/server/plugin_listing.h"
#include "adl/document/catalog.h"
#include "host/assembly/host.h"
#include "host/plugin/registry/manifest.h"
#include "host/plugin/registry/plugin.h"
#include "host/plugin/registry/registry.h"
#include <string.h>

/* The id of the plugin whose component of the same kind and name is used instead; NULL if it is used. Borrowed. */
static const char *component_shadow(const struct plugin *plugin, tn_value component) {
    const struct component_info *used =
        registry_known(plugin_registry(plugin), manifest_text(component, "kind"), manifest_text(component, "id"));
    return used && strcmp(used->plugin_id, plugin_id(plugin)) != 0 ? used->plugin_id : NULL;
}

struct listing {
    const struct host *host;
    tn_value list;
};

static tn_value listed_components(const struct plugin *plugin) {
    tn_value components = manifest_components(plugin_manifest(plugin)), rows = value_array();
    for (size_t i = 0; components && i < value_count(components); i++) {
        tn_value component = value_at(components, i), row = value_object_reserve(4);
        row = value_set_take(row, "kind", value_text(manifest_text(component, "kind")));
        row = value_set_take(row, "id", value_text(manifest_text(component, "id")));
        row = value_set_take(row, "title", value_text(manifest_text(component, "title")));
        const char *other = plugin_state(plugin) == PLUGIN_KNOWN ? component_shadow(plugin, component) : NULL;
        if (other) row = value_set_take(row, "shadowed_by", value_text(other));
        rows = value_push_take(rows, row);
    }
    return rows;
}

static void list_plugin(void *user, struct plugin *plugin) {
    struct listing *listing = user;
    tn_value row = value_set_take(value_object_reserve(11), "id", value_text(plugin_id(plugin)));
    row = value_set_take(row, "version", value_text(plugin_version(plugin)));
    row = value_set_take(row, "title", value_text(plugin_title(plugin)));
    row = value_set_take(row, "file", value_text(plugin_path(plugin)));
    row = value_set_take(row, "source", value_text(plugin_source(plugin)));
    row = value_set_take(row, "state", value_text(plugin_state_name(plugin_state(plugin))));
    if (plugin_isolated(plugin))
        row = value_set_take(row, "isolated", value_text(host_isolation_reason(listing->host, plugin)));
    tn_value deaths = host_plugin_deaths(listing->host, plugin_id(plugin));
    if (deaths) row = value_set_take(row, "deaths", deaths);
    row = value_set_take(row, "components", listed_components(plugin));
    if (plugin_shadowed_by(plugin))
        row = value_set_take(row, "shadowed_by", value_text(plugin_path(plugin_shadowed_by(plugin))));
    if (plugin_refusal(plugin)) row = value_set_take(row, "error", error_to_value(plugin_refusal(plugin)));
    listing->list = value_push_take(listing->list, row);
}

static tn_value listed_problems(const struct registry *registry) {
    tn_value problems = value_array();
    for (size_t i = 0; i < registry_problems(registry); i++) {
        const struct problem *problem = registry_problem_at(registry, i);
        tn_value row = value_set_take(value_object_reserve(3), "file", value_text(problem->path));
        row = value_set_take(row, "code", value_text(problem->code));
        problems = value_push_take(problems, value_set_take(row, "message", value_text(problem->message)));
    }
    return problems;
}

tn_value plugin_listing(const struct host *host) {
    struct listing listing = {host, value_array()};
    registry_each_found_plugin(host_registry(host), list_plugin, &listing);
    tn_value all = value_set_take(value_object_reserve(2), "plugins", listing.list);
    return value_set_take(all, "problems", listed_problems(host_registry(host)));
}
