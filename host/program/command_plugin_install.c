/*
 * command_plugin_install.c - `tenon plugin install` and `remove`: plugins in the user's folder.
 *
 * Every file is checked before the first one is copied, and all are copied before the first one is renamed to its
 * place. The file of the plugin is renamed last, and removed first: a manifest without its plugin is not found, so a
 * search sees the plugin completely or not at all.
 */
#include "adl/value/memory.h"
#include "adl/value/nearest.h"
#include "host/assembly/host.h"
#include "host/base/folder.h"
#include "host/plugin/pack/pack_installed.h"
#include "host/plugin/registry/manifest.h"
#include "host/plugin/registry/plugin.h"
#include "host/plugin/registry/plugin_search.h"
#include "host/plugin/registry/registry.h"
#include "host/program/command.h"
#include "host/program/command_plugin_file.h"
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- The user's folder ---- */

/* Free it with mem_free. NULL with an error if neither XDG_DATA_HOME nor HOME is set. */
static char *user_folder(struct error *error) {
    struct search search;
    search_init(&search);
    search_add_user(&search);
    char *folder = search.count ? mem_text(search.entries[0].path) : NULL;
    if (!folder)
        error_set(error, TN_NOT_FOUND, "NOT_FOUND",
                  "there is no folder for plugins: neither XDG_DATA_HOME nor HOME is set");
    search_finish(&search);
    return folder;
}

/* The manifest file beside a plugin, as a new text, even if it does not exist. */
static tn_value sidecar_of(const char *path) {
    size_t length = strlen(path);
    if (length > 3 && strcmp(path + length - 3, ".so") == 0) length -= 3;
    return value_format("%.*s.tenon.json", (int)length, path);
}

struct user_plugin {
    const char *id;
    char *path;   /* NULL if it is not in the folder */
    tn_value ids; /* of all plugins in the folder */
};

static void user_plugin_finish(struct user_plugin *found) {
    mem_free(found->path);
    value_unref(found->ids);
}

static void user_plugin_visit(void *user, const char *path, bool named) {
    struct user_plugin *found = user;
    struct manifest manifest;
    (void)named;
    if (manifest_read(path, &manifest, NULL) != TN_OK) return;
    const char *id = manifest_text(manifest_plugin(manifest.value), "id");
    found->ids = value_push_take(found->ids, value_text(id));
    if (strcmp(id, found->id) == 0 && !found->path) found->path = mem_text(path);
    manifest_finish(&manifest);
}

/* Looks up a plugin in a folder by its id. The caller calls user_plugin_finish. */
static void user_plugin_find(const char *folder, const char *id, struct user_plugin *found) {
    char source[] = "user directory", *path = mem_text(folder);
    const struct search_entry entry = {path, source, SEARCH_USER, ERROR_INIT};
    *found = (struct user_plugin){.id = id, .ids = value_array()};
    (void)search_files(&entry, user_plugin_visit, found, NULL);
    mem_free(path);
}

/* ---- install ---- */

/* The files that the operand names. */
struct install_list {
    char **paths;
    size_t count;
};

static void install_list_add(void *user, const char *path, bool named) {
    struct install_list *list = user;
    struct error error = ERROR_INIT;
    struct manifest manifest;
    int32_t status = manifest_read(path, &manifest, &error);
    /* A library in the same folder as the plugins is skipped. What is wrong with a plugin is reported later. */
    bool skipped = status != TN_OK && !named && strcmp(error.code, "MANIFEST_MISSING") == 0;
    if (status == TN_OK) manifest_finish(&manifest);
    error_finish(&error);
    if (skipped) return;
    MEM_EXTEND(list->paths, list->count);
    list->paths[list->count++] = mem_text(path);
}

static void install_list_finish(struct install_list *list) {
    for (size_t i = 0; i < list->count; i++) mem_free(list->paths[i]);
    mem_free((void *)list->paths);
}

/* One file that is being installed. */
struct installing {
    struct host *host;
    const char *folder;
    bool force;
    struct manifest manifest;
    const char *id, *version;
    tn_value to;  /* the path in the user's folder */
    char *before; /* the installed plugin of this id; NULL when none is installed */
};

static void installing_finish(struct installing *one) {
    manifest_finish(&one->manifest);
    value_unref(one->to);
    mem_free(one->before);
}

/* Checks that no other plugin is replaced, and this one only with --force. */
static bool installing_check_place(struct installing *one, struct error *error) {
    const char *to = value_chars(one->to, NULL);
    struct user_plugin found;
    struct manifest there;
    user_plugin_find(one->folder, one->id, &found);
    one->before = found.path;
    found.path = NULL;
    user_plugin_finish(&found);
    if (one->before && !one->force) {
        error_set(
            error, TN_INVALID, "PLUGIN_DUPLICATE",
            "the plugin `%s` is already installed: %s; nothing was changed; `tenon plugin upgrade` replaces it by "
            "a newer build, --force by any",
            one->id, one->before);
        return false;
    }
    if (one->before && strcmp(one->before, to) == 0) return true;
    if (access(to, F_OK) != 0) return true;
    bool plugin = manifest_read(to, &there, NULL) == TN_OK;
    error_set(error, TN_INVALID, "PLUGIN_DUPLICATE", "%s exists and is %s%s%s; nothing was changed; rename your file",
              to, plugin ? "the plugin `" : "another file",
              plugin ? manifest_text(manifest_plugin(there.value), "id") : "", plugin ? "`" : "");
    if (plugin) manifest_finish(&there);
    return false;
}

static bool installing_check(struct installing *one, const char *path, struct error *error) {
    const char *slash = strrchr(path, '/');
    if (manifest_read(path, &one->manifest, error) != TN_OK) return false;
    one->id = manifest_text(manifest_plugin(one->manifest.value), "id");
    one->version = manifest_text(manifest_plugin(one->manifest.value), "version");
    one->to = value_format("%s/%s", one->folder, slash ? slash + 1 : path);
    return plugin_file_check(one->host, path, &one->manifest, error) && installing_check_place(one, error);
}

/* The first component that both manifests have; NULL when they have none in common. */
static tn_value shared_component(tn_value mine, tn_value other) {
    for (size_t i = 0; i < value_count(mine); i++)
        for (size_t j = 0; j < value_count(other); j++) {
            tn_value a = value_at(mine, i), b = value_at(other, j);
            if (strcmp(manifest_text(a, "id"), manifest_text(b, "id")) == 0 &&
                strcmp(manifest_text(a, "kind"), manifest_text(b, "kind")) == 0)
                return a;
        }
    return NULL;
}

/* Two plugins of the user's folder must not claim the same component: then it could not be used. */
static bool installing_check_rival(const struct installing *one, const char *path, tn_value rival,
                                   const char *rival_path, struct error *error) {
    const char *id = manifest_text(manifest_plugin(rival), "id");
    tn_value shared = shared_component(manifest_components(one->manifest.value), manifest_components(rival));
    if (shared)
        error_set(error, TN_INVALID, "PLUGIN_DUPLICATE",
                  "%s claims the %s `%s`, which the plugin `%s` (%s) also claims, so it could not be used; nothing was "
                  "changed; rename the component, or remove the other plugin",
                  path, manifest_text(shared, "kind"), manifest_text(shared, "id"), id, rival_path);
    return !shared;
}

/* One of the files to install, and the plugins of the folder that it is compared with. */
struct install_rivals {
    const struct installing *all;
    const struct install_list *list;
    size_t index;
    bool good;
    struct error *error;
};

static void install_rivals_visit(void *user, const char *path, bool named) {
    struct install_rivals *rivals = user;
    struct manifest manifest;
    (void)named;
    if (!rivals->good || manifest_read(path, &manifest, NULL) != TN_OK) return;
    const char *id = manifest_text(manifest_plugin(manifest.value), "id");
    bool replaced = false;
    for (size_t i = 0; i < rivals->list->count; i++) replaced |= strcmp(rivals->all[i].id, id) == 0;
    if (!replaced)
        rivals->good = installing_check_rival(&rivals->all[rivals->index], rivals->list->paths[rivals->index],
                                              manifest.value, path, rivals->error);
    manifest_finish(&manifest);
}

/* Compares a file with those before it, and with the plugins of the folder that stay. All manifests have been read. */
static bool installing_check_rivals(const struct installing *all, const struct install_list *list, size_t index,
                                    struct error *error) {
    const char *path = list->paths[index];
    for (size_t i = 0; i < index; i++) {
        if (strcmp(all[i].id, all[index].id) == 0) {
            error_set(error, TN_INVALID, "PLUGIN_DUPLICATE",
                      "%s and %s are both the plugin `%s`; nothing was changed; remove one of them", list->paths[i],
                      path, all[index].id);
            return false;
        }
        if (!installing_check_rival(&all[index], path, all[i].manifest.value, list->paths[i], error)) return false;
    }
    char source[] = "user directory", *folder = mem_text(all[index].folder);
    const struct search_entry entry = {folder, source, SEARCH_USER, ERROR_INIT};
    struct install_rivals rivals = {all, list, index, true, error};
    (void)search_files(&entry, install_rivals_visit, &rivals, NULL); /* the folder need not exist */
    mem_free(folder);
    return rivals.good;
}

/* The manifest is renamed before its plugin. */
static bool installing_copy(const struct installing *one, const char *path, struct plugin_copies *copies,
                            struct error *error) {
    const char *to = value_chars(one->to, NULL);
    tn_value from_sidecar = sidecar_of(path), to_sidecar = sidecar_of(to);
    bool done = (!one->manifest.sidecar ||
                 plugin_copies_add(copies, value_chars(from_sidecar, NULL), value_chars(to_sidecar, NULL), error)) &&
                plugin_copies_add(copies, path, to, error);
    value_unref(from_sidecar);
    value_unref(to_sidecar);
    return done;
}

/* Removes what the build before has left under other names. */
static void installing_remove_before(const struct installing *one) {
    const char *to = value_chars(one->to, NULL);
    tn_value sidecar = sidecar_of(to);
    if (!one->manifest.sidecar) unlink(value_chars(sidecar, NULL));
    if (one->before && strcmp(one->before, to) != 0) {
        tn_value old = sidecar_of(one->before);
        unlink(one->before);
        unlink(value_chars(old, NULL));
        value_unref(old);
    }
    value_unref(sidecar);
}

/* Warns if the operator must do more before documents can use the plugin. */
static void installing_warn(const struct installing *one, const char *path) {
    tn_value required = value_get(manifest_plugin(one->manifest.value), "requires");
    for (size_t i = 0; i < value_count(required); i++) {
        const char *id = value_chars(value_at(required, i), NULL);
        if (!strstr(id, "-draft.")) continue;
        command_warn("warning: `%s` needs the draft %s: allow it with `plugins: {drafts: [%s]}` in tenon.yaml", one->id,
                     id, one->id);
        break;
    }
    struct plugin *used = registry_plugin(host_registry(one->host), one->id);
    if (used && strcmp(plugin_path(used), value_chars(one->to, NULL)) != 0)
        command_warn("warning: %s is not used, because %s (%s) is found first", path, plugin_path(used),
                     plugin_source(used));
}

static int install_all(const struct arguments *arguments, const struct install_list *list, const char *folder,
                       struct host *host) {
    struct installing *all = mem_zalloc(list->count * sizeof *all);
    struct plugin_copies copies = {.count = 0};
    struct error error = ERROR_INIT;
    bool good = true;
    for (size_t i = 0; good && i < list->count; i++) {
        all[i] = (struct installing){.host = host, .folder = folder, .force = argument_given(arguments, "force")};
        good = installing_check(&all[i], list->paths[i], &error);
    }
    for (size_t i = 0; good && i < list->count; i++) good = installing_check_rivals(all, list, i, &error);
    good = good && folder_create(folder, &error) == TN_OK;
    if (good) plugin_copies_remove_leftovers(folder);
    for (size_t i = 0; good && i < list->count; i++) good = installing_copy(&all[i], list->paths[i], &copies, &error);
    good = good && plugin_copies_publish(&copies, &error);
    for (size_t i = 0; good && i < list->count; i++) {
        installing_remove_before(&all[i]);
        command_printf(stderr, "%s %s: %s in %s\n", all[i].id, all[i].version, all[i].before ? "replaced" : "installed",
                       value_chars(all[i].to, NULL));
    }
    plugin_copies_finish(&copies);
    int code = good ? COMMAND_OK : command_report_error(COMMAND_PLUGIN_PROBLEM, &error);
    error_finish(&error);
    struct host *after = good ? command_host(arguments) : NULL;
    for (size_t i = 0; i < list->count; i++) {
        if (after) {
            all[i].host = after;
            installing_warn(&all[i], value_chars(all[i].to, NULL));
        }
        installing_finish(&all[i]);
    }
    host_free(after);
    mem_free(all);
    return code;
}

int command_plugin_install(const struct arguments *arguments) {
    const char *given = operand_at(arguments, 0);
    struct error error = ERROR_INIT;
    char path[PATH_MAX], source[] = "the command line", *folder;
    if (!realpath(given, path)) return command_report(COMMAND_USAGE, "cannot open %s: %s", given, strerror(errno));
    struct install_list list = {NULL, 0};
    const struct search_entry entry = {path, source, SEARCH_FLAG, ERROR_INIT};
    struct host *host = command_host(arguments);
    int code = COMMAND_PLUGIN_PROBLEM;
    if (host) host_allow_drafts(host); /* for the check; the plugin still needs permission to use drafts */
    if (!host) {
        /* reported */
    } else if (!(folder = user_folder(&error)) || search_files(&entry, install_list_add, &list, &error) != TN_OK) {
        code = command_report_error(COMMAND_PLUGIN_PROBLEM, &error);
        mem_free(folder);
    } else if (list.count == 0) {
        code = command_report(COMMAND_PLUGIN_PROBLEM, "%s: found no plugin in this folder", given);
        mem_free(folder);
    } else {
        code = install_all(arguments, &list, folder, host);
        mem_free(folder);
    }
    error_finish(&error);
    install_list_finish(&list);
    host_free(host);
    return code;
}

/* ---- remove ---- */

static int remove_not_found(const struct arguments *arguments, const struct user_plugin *found, const char *folder) {
    struct host *host = command_host(arguments);
    if (!host) return COMMAND_PLUGIN_PROBLEM;
    struct plugin *other = registry_plugin(host_registry(host), found->id);
    struct nearest nearest;
    int code;
    nearest_init(&nearest, found->id, strlen(found->id));
    for (size_t i = 0; i < value_count(found->ids); i++) {
        const char *id = value_chars(value_at(found->ids, i), NULL);
        nearest_add_candidate(&nearest, id, strlen(id));
    }
    if (other && packs_contain(plugin_path(other)))
        code =
            command_report(COMMAND_PLUGIN_PROBLEM, "the plugin `%s` is part of the %s; `tenon pack remove` removes it",
                           found->id, plugin_source(other));
    else if (other)
        code =
            command_report(COMMAND_PLUGIN_PROBLEM, "the plugin `%s` is not in %s, but in %s (%s); nothing was removed",
                           found->id, folder, plugin_path(other), plugin_source(other));
    else
        code = command_report(COMMAND_PLUGIN_PROBLEM, "there is no plugin `%s` in %s%s%s", found->id, folder,
                              nearest_hint(&nearest).text, registry_altered(host_registry(host)));
    host_free(host);
    return code;
}

int command_plugin_remove(const struct arguments *arguments) {
    struct error error = ERROR_INIT;
    struct user_plugin found;
    char *folder = user_folder(&error);
    int code = COMMAND_OK;
    if (!folder) {
        code = command_report_error(COMMAND_PLUGIN_PROBLEM, &error);
        error_finish(&error);
        return code;
    }
    user_plugin_find(folder, operand_at(arguments, 0), &found);
    if (!found.path) {
        code = remove_not_found(arguments, &found, folder);
    } else if (unlink(found.path) != 0) {
        code = command_report(COMMAND_PLUGIN_PROBLEM, "cannot remove %s: %s", found.path, strerror(errno));
    } else {
        tn_value sidecar = sidecar_of(found.path);
        unlink(value_chars(sidecar, NULL)); /* not found without the plugin */
        value_unref(sidecar);
        command_printf(stderr, "%s: removed %s\n", found.id, found.path);
    }
    user_plugin_finish(&found);
    mem_free(folder);
    return code;
}
