/*
 * host_files.c - tells the reader of documents' files (base/files.h) what the configuration allows: the project, the
 * installed packs, files.roots, and what sections of plugins name.
 */
#include "adl/value/memory.h"
#include "host/assembly/host_internal.h"
#include "host/base/config/config.h"
#include "host/base/files.h"
#include "host/plugin/pack/pack_installed.h"
#include "host/plugin/registry/plugin.h"
#include "host/plugin/registry/registry.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>

static void host_each_config_folder(void *user, void (*visit)(void *to, const char *folder), void *to) {
    const struct host *host = user;
    tn_value sections = config_plugin_sections(host->config);
    for (size_t i = 0; i < value_count(sections); i++)
        visit(to, config_plugin_folder(host->config, value_chars(value_key_at(sections, i), NULL)));
}

struct granted_file {
    const char *path;
    bool found;
};

static void host_look_for_grant(void *user, struct plugin *plugin) {
    static const char prefix[] = "fs.read:";
    struct granted_file *file = user;
    tn_value grants = plugin_grants(plugin);
    for (size_t i = 0; grants && !file->found && i < value_count(grants); i++) {
        const char *grant = value_chars(value_at(grants, i), NULL);
        char granted[PATH_MAX], wanted[PATH_MAX];
        file->found = strncmp(grant, prefix, strlen(prefix)) == 0 && realpath(grant + strlen(prefix), granted) &&
                      realpath(file->path, wanted) && strcmp(granted, wanted) == 0;
    }
}

/* True if the section of a plugin in tenon.yaml names the file. */
static bool host_grants_file(void *user, const char *path) {
    struct granted_file file = {path, false};
    registry_each_plugin(((const struct host *)user)->registry, host_look_for_grant, &file);
    return file.found;
}

struct files *host_files_new(struct host *host, const char *const *roots) {
    const char *config = config_file(host->config);
    const struct files_grants grants = {host_each_config_folder, host_grants_file, host};
    tn_value configured = config_file_roots(host->config);
    char *packs = packs_folder(), *project = config ? files_folder_of(config) : NULL;
    struct files *files = files_new(project, packs, &grants);
    files_set_verify(files, packs_verify_read);
    for (; roots && *roots; roots++)
        if (**roots) files_add_root(files, *roots);
    for (size_t i = 0; i < value_count(configured); i++)
        files_add_root(files, value_chars(value_at(configured, i), NULL));
    mem_free(project);
    mem_free(packs);
    return files;
}
