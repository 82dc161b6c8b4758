/*
 * providing.c - searches the manifests; no code of a plugin runs.
 */
#include "host/plugin/registry/providing.h"
#include "host/plugin/registry/manifest.h"
#include "host/plugin/registry/plugin.h"
#include <string.h>

#define NAMES_MAX 4096 /* bytes */

static bool plugin_provides(const struct plugin *plugin, const char *interface_id) {
    if (!plugin_has_provides(plugin)) return false;
    tn_value ids = value_get(manifest_plugin(plugin_manifest(plugin)), "provides");
    for (size_t i = 0; i < value_count(ids); i++)
        if (value_text_is(value_at(ids, i), interface_id)) return true;
    return false;
}

static void providing_visit(void *user, struct plugin *plugin) {
    struct providing *found = user;
    if (!plugin_provides(plugin, found->interface_id)) return;
    const char *id = plugin_id(plugin), *last = strrchr(id, '.');
    bool is_id = strcmp(id, found->name) == 0;
    buffer_format(&found->names, "%s%s", found->names.length ? ", " : "", id);
    found->only = ++found->count == 1 ? plugin : NULL;
    /* A name without a dot belongs to the bundled plugins, so theirs precede others of the same last word. */
    uint32_t fit = is_id ? 3 : !last || strcmp(last + 1, found->name) != 0 ? 0 : plugin_bundled(plugin) ? 2 : 1;
    if (fit > found->fit) {
        found->fit = fit;
        found->plugin = plugin;
    }
}

void providing_find(struct providing *found, struct registry *registry, const char *interface_id, const char *name) {
    *found = (struct providing){.interface_id = interface_id, .name = name};
    buffer_init(&found->names, NAMES_MAX);
    registry_each_plugin(registry, providing_visit, found);
}

void providing_finish(struct providing *found) { buffer_finish(&found->names); }
