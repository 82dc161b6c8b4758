/*
 * providing.c - searches the manifests; no code of a plugin runs.
 */
#include "host/plugin/registry/providing.h"
#include "host/plugin/registry/manifest.h"
#include "host/plugin/registry/plugin.h"
#include <string.h>

#define NAMES_MAX 4096 /* bytes */

/* Whether both ids are of the same interface: "tenon.store/1-draft.2" and "tenon.store/1-draft.3". */
static bool same_interface(const char *id, const char *other) {
    size_t length = strcspn(id, "/");
    return strncmp(id, other, length) == 0 && other[length] == '/';
}

/* The id under which the plugin provides the interface, perhaps that of another version; NULL if it does not. */
static const char *plugin_provided_id(const struct plugin *plugin, const char *interface_id) {
    if (!plugin_has_provides(plugin)) return NULL;
    tn_value ids = value_get(manifest_plugin(plugin_manifest(plugin)), "provides");
    const char *version = NULL;
    for (size_t i = 0; i < value_count(ids); i++) {
        if (!value_is(value_at(ids, i), TN_STRING)) continue;
        const char *id = value_chars(value_at(ids, i), NULL);
        if (strcmp(id, interface_id) == 0) return id;
        if (same_interface(interface_id, id)) version = id;
    }
    return version;
}

static void providing_visit(void *user, struct plugin *plugin) {
    struct providing *found = user;
    const char *provided = plugin_provided_id(plugin, found->interface_id);
    if (!provided) return;
    const char *id = plugin_id(plugin), *last = strrchr(id, '.');
    bool is_id = strcmp(id, found->name) == 0;
    if (strcmp(provided, found->interface_id) != 0) {
        if (is_id || (last && strcmp(last + 1, found->name) == 0)) found->other_version = provided;
        return;
    }
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

int32_t providing_refuse_version(const struct providing *found, const char *what, struct error *error) {
    return error_set(error, TN_UNSUPPORTED, "PLUGIN_INVALID",
                     "the %s `%s` provides `%s`, and this host needs `%s`; rebuild the plugin for this version", what,
                     found->name, found->other_version, found->interface_id);
}

void providing_finish(struct providing *found) { buffer_finish(&found->names); }
