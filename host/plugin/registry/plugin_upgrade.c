/*
 * plugin_upgrade.c - replaces a running plugin by a new build.
 *
 * The new file is opened as a private copy, so that dlopen cannot return the old code for the same path or inode. If
 * the new build is refused, the old one's rows are restored. After the new build is initialised, the old one is
 * quiesced, finishes its tasks, and ends with its last instance.
 */
#include "adl/value/memory.h"
#include "host/plugin/registry/manifest.h"
#include "host/plugin/registry/plugin_internal.h"
#include "host/plugin/registry/preset.h"
#include "host/plugin/registry/reserved.h"
#include <assert.h>
#include <string.h>

static void upgrade_remove_rows(struct registry *registry, const struct plugin *plugin, struct row **rows,
                                size_t *count) {
    named_take_all(registry);
    for (size_t i = 0; i < registry->row_count; i++) {
        struct row *row = registry->rows[i];
        if (row->component.plugin != plugin || row->component.removed) continue;
        row_remove(registry, row);
        if (rows) rows[(*count)++] = row;
    }
}

/* Adds the new build's rows. Its init adds its dynamic components. */
static int32_t upgrade_add_rows(struct registry *registry, struct plugin *plugin, struct error *error) {
    tn_value manifest = plugin_manifest(plugin);
    size_t count = manifest_entry_count(manifest);
    int32_t status = TN_OK;
    for (size_t i = 0; status == TN_OK && i < count; i++) {
        tn_value component = manifest_entry_at(manifest, i);
        const char *kind = manifest_text(component, "kind"), *id = manifest_text(component, "id");
        struct row *there = row_find(registry, kind, id, strlen(id)), *row;
        if (there) {
            struct row claim = {.component = {.plugin = plugin}};
            status = row_conflict(there, &claim, error);
        } else {
            status = row_add(plugin, component, &row, error);
        }
        value_unref(component);
    }
    return status;
}

static int32_t upgrade_find_old(struct registry *registry, const struct plugin *fresh, struct plugin **out,
                                struct error *error) {
    struct plugin *old = registry_plugin(registry, fresh->id);
    if (!old || old->state == PLUGIN_UNLOADED)
        return error_set(error, TN_NOT_FOUND, "NOT_FOUND", "%s: cannot replace the plugin `%s`: it does not exist%s",
                         fresh->path, fresh->id, registry_altered(registry));
    if (old->native)
        return error_set(error, TN_INVALID, "PLUGIN_REFUSED",
                         "%s: cannot replace the plugin `%s`: it is part of this program", fresh->path, fresh->id);
    if (old->loading)
        return error_set(error, TN_AGAIN, "PLUGIN_BUSY", "%s: cannot replace the plugin `%s`: it is being loaded",
                         fresh->path, fresh->id);
    if (registry->plugin_count == REGISTRY_PLUGINS_MAX)
        return error_set(error, TN_LIMIT, "LIMIT", "%s: a host knows at most %u plugins, including replaced ones",
                         fresh->path, REGISTRY_PLUGINS_MAX);
    *out = old;
    return TN_OK;
}

int32_t registry_upgrade(struct registry *registry, const char *path, const char *source, struct error *error) {
    struct plugin *old = NULL, *fresh;
    size_t count = 0;
    int32_t status = plugin_read(registry, path, source, &fresh, error);
    if (status != TN_OK) return status;
    fresh->copied = true;
    fresh->place = SEARCH_FLAG;
    fresh->bundled = search_is_installed(path);
    if (!fresh->bundled) status = reserved_check(path, fresh->manifest, error);
    if (status == TN_OK) status = upgrade_find_old(registry, fresh, &old, error);
    if (status != TN_OK) {
        plugin_free(fresh);
        return status;
    }
    assert(old);
    bool loaded = old->state == PLUGIN_LOADED || old->state == PLUGIN_QUIESCED;
    named_take_all(registry);
    struct row **rows = mem_array(NULL, registry->row_count + 1, sizeof(struct row *));
    upgrade_remove_rows(registry, old, rows, &count);
    registry_add_plugin(registry, fresh);
    status = upgrade_add_rows(registry, fresh, error);
    if (status == TN_OK && loaded) status = plugin_load(fresh, error);
    if (status == TN_OK) {
        old->replaced = true;
        plugin_quiesce(old);
        if (!loaded) old->state = PLUGIN_UNLOADED;
        registry->upgrades++;
        registry_sweep(registry);
    } else {
        upgrade_remove_rows(registry, fresh, NULL, NULL);
        fresh->replaced = true;
        fresh->state = PLUGIN_UNLOADED;
        for (size_t i = 0; i < count; i++) row_restore(registry, rows[i]);
    }
    mem_free((void *)rows);
    return status;
}

void registry_sweep(struct registry *registry) {
    for (size_t i = 0; i < registry->plugin_count; i++) {
        struct plugin *plugin = registry->plugins[i];
        if (plugin->replaced && plugin->state == PLUGIN_QUIESCED && !plugin_refs(plugin) && !plugin_tasks(plugin))
            plugin_end(plugin);
    }
}

uint64_t registry_upgrades(const struct registry *registry) { return registry->upgrades; }
