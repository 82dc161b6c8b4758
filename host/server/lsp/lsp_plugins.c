/*
 * lsp_plugins.c - follows the plugins of the server's host, and looks at the files of plugins.
 */
#include "host/server/lsp/lsp_plugins.h"
#include "adl/value/memory.h"
#include "host/assembly/host.h"
#include "host/base/config/config.h"
#include "host/base/log.h"
#include "host/plugin/registry/manifest.h"
#include "host/plugin/registry/plugin.h"
#include "host/plugin/registry/plugin_search.h"
#include "host/plugin/registry/registry.h"
#include <dirent.h>
#include <string.h>
#include <sys/stat.h>

/* ---- Following the server's host ---- */

struct follower {
    struct registry *from, *to;
    tn_value *followed; /* {plugin id: number of the server's plugin that was added last} */
};

static bool has_source(const struct plugin *plugin, const char *source) {
    return strcmp(plugin_source(plugin), source) == 0;
}

static bool is_of_method(const struct plugin *plugin) {
    return has_source(plugin, "plugin/load") || has_source(plugin, "plugin/upgrade");
}

static bool is_followed(const struct follower *follower, const struct plugin *plugin) {
    tn_value number = value_get(*follower->followed, plugin_id(plugin));
    return number && value_to_int(number) == (int64_t)plugin_number(plugin);
}

static void follow_removal(const struct follower *follower, const struct plugin *there, const struct plugin *here,
                           struct error *error) {
    bool same = is_of_method(here) || strcmp(plugin_path(here), plugin_path(there)) == 0;
    if (same) (void)registry_unload(follower->to, plugin_id(there), NULL, NULL, error);
}

/* `here` is the project's plugin of the same id, or NULL. */
static void follow_addition(const struct follower *follower, const struct plugin *there, const struct plugin *here,
                            struct error *error) {
    if (is_followed(follower, there)) return;
    *follower->followed =
        value_set_take(*follower->followed, plugin_id(there), value_int((int64_t)plugin_number(there)));
    if (!here)
        (void)registry_add_file(follower->to, plugin_path(there), plugin_source(there), error);
    else if (is_of_method(here) || (has_source(there, "plugin/upgrade") && !has_source(here, "tenon.yaml")))
        (void)registry_upgrade(follower->to, plugin_path(there), plugin_source(there), error);
}

static void follow_plugin(void *user, struct plugin *there) {
    const struct follower *follower = user;
    const char *id = plugin_id(there);
    struct error error = ERROR_INIT;
    if (registry_plugin(follower->from, id) != there) return; /* it was replaced by another one */
    const struct plugin *here = registry_plugin(follower->to, id);
    if (here && plugin_state(here) == PLUGIN_UNLOADED) here = NULL;
    if (plugin_state(there) == PLUGIN_UNLOADED) {
        if (here) follow_removal(follower, there, here, &error);
    } else if (is_of_method(there) && plugin_state(there) != PLUGIN_REFUSED) {
        follow_addition(follower, there, here, &error);
    }
    if (error.code)
        log_write(LOG_WARN, NULL, "documents of a project cannot use the plugin `%s`: %s", id, error.message);
    error_finish(&error);
}

void lsp_plugins_follow(struct host *host, struct host *server, tn_value *followed) {
    struct follower follower = {host_registry(server), host_registry(host), followed};
    registry_each_plugin(follower.from, follow_plugin, &follower);
}

/* ---- Files ---- */

/* [seconds, nanoseconds] */
static tn_value time_of(const struct timespec *time) {
    return value_push_take(value_push_take(value_array(), value_int(time->tv_sec)), value_int(time->tv_nsec));
}

/* Adds [path, number, size, time] if the file exists. */
static void add_file(tn_value *files, const char *path) {
    struct stat status;
    if (stat(path, &status) != 0) return;
    tn_value file = value_push_take(value_array(), value_string_lossy(path, strlen(path)));
    file = value_push_take(file, value_int((int64_t)status.st_ino));
    file = value_push_take(file, value_int(status.st_size));
    *files = value_push_take(*files, value_push_take(file, time_of(&status.st_mtim)));
}

static void add_plugin(void *user, const char *path, bool named) {
    char *sidecar = manifest_sidecar(path);
    (void)named;
    add_file(user, path);
    add_file(user, sidecar);
    mem_free(sidecar);
}

/* {name: time}. A pack is installed and removed by renaming a folder in the one of its name, whose time then changes.
 */
static tn_value packs_in(const char *folder) {
    DIR *entries = opendir(folder);
    struct stat status;
    tn_value packs = value_object();
    const struct dirent *entry;
    while (entries && (entry = readdir(entries)) != NULL) {
        if (entry->d_name[0] == '.' || fstatat(dirfd(entries), entry->d_name, &status, 0) != 0) continue;
        tn_value name = value_string_lossy(entry->d_name, strlen(entry->d_name));
        packs = value_set_key_take(packs, name, time_of(&status.st_mtim));
    }
    if (entries) (void)closedir(entries);
    return packs;
}

/* The files of packs are those of the installer, and do not change. */
static bool is_watched(const struct search_entry *entry) {
    return entry->origin != SEARCH_INSTALLED && entry->origin != SEARCH_PACK && entry->origin != SEARCH_PACK_UNTRUSTED;
}

uint64_t lsp_plugins_fingerprint(const struct host *host) {
    const struct search *search = host_plugin_search(host);
    char *packs = config_packs_folder();
    tn_value files = value_array();
    for (size_t i = 0; i < search->count; i++) {
        struct error error = ERROR_INIT;
        if (is_watched(&search->entries[i])) (void)search_files(&search->entries[i], add_plugin, &files, &error);
        error_finish(&error);
    }
    if (packs) files = value_push_take(files, packs_in(packs));
    uint64_t fingerprint = value_hash(files);
    value_unref(files);
    mem_free(packs);
    return fingerprint;
}

void lsp_plugins_each_place(const struct host *host, void (*visit)(void *user, const char *path), void *user) {
    const struct search *search = host_plugin_search(host);
    char *packs = config_packs_folder();
    for (size_t i = 0; i < search->count; i++)
        if (is_watched(&search->entries[i])) visit(user, search->entries[i].path);
    if (packs) visit(user, packs);
    mem_free(packs);
}
