/*
 * store_provider.c - finds the plugin by the operator's name for it ("sqlite" means tenon.sqlite), and the store's
 * path.
 */
#include "host/data/store/store_provider.h"
#include "adl/value/buffer.h"
#include "adl/value/memory.h"
#include "host/base/config/config.h"
#include "host/data/store/store_collections.h"
#include "host/plugin/registry/plugin.h"
#include "host/plugin/registry/providing.h"
#include "host/plugin/registry/registry.h"
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define DEFAULT_STORE "sqlite"
#define DEFAULT_FILE  "tenon.db"

int32_t store_provider_find(struct registry *registry, tn_value options, struct store_provider *out,
                            struct error *error) {
    tn_value use = value_get(options, "use");
    struct providing found;
    providing_find(&found, registry, TN_STORE_DRAFT, value_is(use, TN_STRING) ? value_chars(use, NULL) : DEFAULT_STORE);
    struct plugin *plugin = found.plugin;
    int32_t status = TN_OK;
    if (!plugin && found.other_version)
        status = providing_refuse_version(&found, "store", error);
    else if (!plugin)
        status = error_set(error, TN_NOT_FOUND, "STORE_NOT_FOUND", "no plugin provides the store `%s`; %s%s%s",
                           found.name, found.count ? "available: " : "no store is installed", buffer_cstr(&found.names),
                           registry_altered(registry));
    providing_finish(&found);
    if (status == TN_OK) status = plugin_load(plugin, error);
    if (status != TN_OK) return status;
    const tn_store_draft *vtable = plugin_interface(plugin, TN_STORE_DRAFT);
    if (!vtable || vtable->size < TN_STORE_DRAFT_SIZE || vtable->size > sizeof *vtable)
        return error_set(error, TN_UNSUPPORTED, "PLUGIN_INVALID",
                         "%s: plugin `%s`: the size of its tn_store_draft is not one that this host knows; rebuild the "
                         "plugin for this version",
                         plugin_path(plugin), plugin_id(plugin));
    plugin_ref(plugin);
    bool has_groups = vtable->size > offsetof(tn_store_draft, group) && vtable->group;
    *out = (struct store_provider){plugin, vtable, plugin_self(plugin), has_groups};
    return TN_OK;
}

void store_provider_release(struct store_provider *provider) { plugin_unref(provider->plugin); }

/* In .tenon/ beside the project's tenon.yaml. Without a tenon.yaml: in the user's data folder. */
static char *default_path(const struct config *config) {
    const char *file = config_file(config), *home = getenv("HOME"), *data = getenv("XDG_DATA_HOME");
    struct buffer path;
    buffer_init(&path, SIZE_MAX);
    if (file) {
        const char *slash = strrchr(file, '/');
        if (slash) buffer_format(&path, "%.*s/", (int)(slash - file), file);
        buffer_text(&path, ".tenon/" DEFAULT_FILE);
    } else if (data && *data) {
        buffer_format(&path, "%s/tenon/" DEFAULT_FILE, data);
    } else {
        buffer_format(&path, "%s/.local/share/tenon/" DEFAULT_FILE, home && *home ? home : ".");
    }
    return buffer_detach(&path, NULL);
}

tn_value store_provider_options(const struct config *config, tn_value options, char **path) {
    tn_value configured = value_get(options, "path"), all = options ? value_ref(options) : value_object();
    *path = value_is(configured, TN_STRING) ? mem_text(value_chars(configured, NULL)) : default_path(config);
    all = value_set_take(all, "path", value_string_lossy(*path, strlen(*path)));
    return value_set_take(all, "indexes", store_collections_indexes());
}

static tn_value store_error_object(const char *code, const char *path, const char *what) {
    tn_value object = value_set_take(value_object_reserve(2), "code", value_text(code));
    return value_set_take(object, "message", value_format("%s: %s", path, what));
}

int32_t store_provider_folder(const char *path, tn_value *error) {
    char folder[PATH_MAX];
    size_t length = strlen(path);
    if (length >= sizeof folder) {
        *error = store_error_object("STORE_ERROR", path, "the path is too long");
        return TN_INVALID;
    }
    memcpy(folder, path, length + 1);
    for (char *slash = strchr(folder + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        if (mkdir(folder, 0700) != 0 && errno != EEXIST && errno != EROFS && errno != EACCES) {
            *error = store_error_object("STORE_ERROR", folder, strerror(errno));
            return TN_ERROR;
        }
        *slash = '/';
    }
    return TN_OK;
}

void store_provider_error(struct error *error, int32_t status, tn_value object) {
    tn_value code = value_get(object, "code"), message = value_get(object, "message");
    error_set(error, status, value_is(code, TN_STRING) ? value_chars(code, NULL) : "STORE_ERROR", "%s",
              value_is(message, TN_STRING) ? value_chars(message, NULL) : "the store failed without a message");
    if (object) error->more = value_ref(object);
}
