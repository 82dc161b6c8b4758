/*
 * dynamic.c - components that a plugin adds and removes at run time: tenon/registry.h, and the functions behind it.
 *
 * The same rules as for a manifest hold, and one more: the kind was declared dynamic, so that whoever reads manifests
 * alone knows that there may be more. Plugins get a status; why is in the log.
 */
#include "adl/value/memory.h"
#include "host/plugin/manifest.h"
#include "host/plugin/plugin_internal.h"
#include <string.h>

static const char *name_of(const struct plugin *plugin) { return *plugin->path ? plugin->path : plugin->id; }

int32_t registry_add_component(struct plugin *plugin, tn_value component, struct error *error) {
    int32_t status = manifest_check_component(name_of(plugin), component, error);
    if (status != TN_OK) return status;
    const char *kind = manifest_text(component, "kind"), *id = manifest_text(component, "id");
    if (plugin->replaced || plugin->state == PLUGIN_QUIESCED || plugin->state == PLUGIN_UNLOADED)
        return error_set(error, TN_INVALID, "PLUGIN_REFUSED",
                         "plugin `%s`, version %s, is about to end: the %s `%s` comes too late", plugin->id,
                         plugin->version, kind, id);
    tn_value dynamic = value_get(manifest_plugin(plugin->manifest), "dynamic");
    bool declared = false;
    for (size_t i = 0; i < value_count(dynamic); i++) declared |= value_text_is(value_at(dynamic, i), kind);
    if (!declared)
        return error_set(error, TN_INVALID, "PERMISSION_DENIED",
                         "%s: plugin `%s` adds the %s `%s` at run time, and its manifest does not say \"dynamic\": "
                         "[\"%s\"]",
                         name_of(plugin), plugin->id, kind, id, kind);
    struct row *there = row_find(plugin->registry, kind, id, strlen(id));
    if (there && there->component.plugin == plugin)
        return error_set(error, TN_INVALID, "PLUGIN_DUPLICATE", "plugin `%s` has the %s `%s` already; remove it first",
                         plugin->id, kind, id);
    if (there) {
        struct row claim = {.component = {.plugin = plugin}};
        return row_conflict(there, &claim, error);
    }
    /* Those of a manifest are looked at by its author, these by nobody else. */
    struct row *row = NULL;
    status = row_add(plugin, component, &row, error);
    if (status == TN_OK && (status = row_check(row, error)) != TN_OK) row_remove(plugin->registry, row);
    return status;
}

int32_t registry_remove_component(struct plugin *plugin, const char *kind, const char *id, struct error *error) {
    struct row *row = row_find(plugin->registry, kind, id, strlen(id));
    if (!row || row->component.plugin != plugin)
        return error_set(error, TN_NOT_FOUND, "NOT_FOUND", "plugin `%s` has no %s `%s` to remove", plugin->id, kind,
                         id);
    row_remove(plugin->registry, row);
    return TN_OK;
}

void registry_expect(struct plugin *plugin, bool more) {
    plugin->expecting = more;
    plugin->expects |= more;
}

/* ---- The drafts ---- */

static void log_error(struct plugin *plugin, const struct error *error) {
    const struct registry_interface *row = plugin_interface_row(plugin, TN_CORE_1);
    const tn_core_1 *core = row ? row->vtable : NULL;
    if (core && error->message) core->log(&plugin->host, TN_LOG_ERROR, error->message);
}

static int32_t draft_add(const tn_host *host, tn_value component) {
    struct plugin *plugin = plugin_of(host);
    struct error error = ERROR_INIT;
    if (!plugin || !component) return TN_INVALID;
    int32_t status = registry_add_component(plugin, component, &error);
    log_error(plugin, &error);
    error_finish(&error);
    return status;
}

static int32_t draft_remove(const tn_host *host, const char *kind, const char *id) {
    struct plugin *plugin = plugin_of(host);
    return plugin && kind && id ? registry_remove_component(plugin, kind, id, NULL) : TN_INVALID;
}

static int32_t draft_expect(const tn_host *host, int32_t more) {
    struct plugin *plugin = plugin_of(host);
    if (!plugin || (more != 0 && more != 1)) return TN_INVALID;
    registry_expect(plugin, more == 1);
    return TN_OK;
}

const tn_expect_draft registry_expect_draft = {sizeof(tn_expect_draft), 0, draft_expect};
const tn_registry_draft registry_draft = {sizeof(tn_registry_draft), 0, draft_add, draft_remove};
