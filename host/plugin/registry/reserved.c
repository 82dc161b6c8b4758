/*
 * reserved.c - see reserved.h. The message proposes a name that the plugin may use.
 */
#include "host/plugin/registry/reserved.h"
#include "host/plugin/registry/manifest.h"
#include "host/plugin/registry/preset.h"
#include <string.h>

#define RESERVED_PREFIX "tenon."

static bool begins_with_tenon(const char *id) { return strncmp(id, RESERVED_PREFIX, strlen(RESERVED_PREFIX)) == 0; }

int32_t reserved_check_name(const char *file, const char *plugin_id, const char *kind, const char *id,
                            struct error *error) {
    bool prefixed = begins_with_tenon(id);
    if (!prefixed && strchr(id, '.')) return TN_OK;
    /* The first part of the plugin's id, unless that is reserved too. */
    int length = begins_with_tenon(plugin_id) ? 0 : (int)strcspn(plugin_id, ".");
    return error_set(
        error, TN_INVALID, "NAME_RESERVED",
        "%s: plugin `%s` claims the %s `%s`: names %s are reserved for the plugins that are installed with "
        "Tenon; rename it, for example to `%.*s.%s`",
        file, plugin_id, kind, id, prefixed ? "that begin with `tenon.`" : "without a dot", length ? length : 4,
        length ? plugin_id : "acme", prefixed ? id + strlen(RESERVED_PREFIX) : id);
}

int32_t reserved_check_component(const char *file, const char *plugin_id, tn_value component, struct error *error) {
    return reserved_check_name(file, plugin_id, manifest_text(component, "kind"), manifest_text(component, "id"),
                               error);
}

int32_t reserved_check_plugin_id(const char *file, const char *id, struct error *error) {
    if (!begins_with_tenon(id)) return TN_OK;
    return error_set(error, TN_INVALID, "NAME_RESERVED",
                     "%s: a plugin claims the id `%s`: ids that begin with `tenon.` are reserved for the plugins "
                     "that are installed with Tenon; rename it, for example to `acme.%s`",
                     file, id, id + strlen(RESERVED_PREFIX));
}

int32_t reserved_check(const char *file, tn_value manifest, struct error *error) {
    const char *id = manifest_text(manifest_plugin(manifest), "id");
    int32_t status = reserved_check_plugin_id(file, id, error);
    for (size_t i = 0, count = manifest_entry_count(manifest); status == TN_OK && i < count; i++) {
        const char *kind, *name;
        manifest_entry_names(manifest, i, &kind, &name);
        status = reserved_check_name(file, id, kind, name, error);
    }
    return status;
}
