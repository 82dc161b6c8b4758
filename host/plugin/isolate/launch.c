/*
 * launch.c - finds the tenon program: TENON_PROGRAM, or else the program of this process, or else the program of the
 * installation that libtenon belongs to.
 */
#include "host/plugin/isolate/launch.h"
#include "adl/value/memory.h"
#include "host/base/config/config.h"
#include "host/base/secrets/secrets.h"
#include "host/plugin/isolate/process.h"
#include "host/plugin/isolate/remote.h"
#include "host/plugin/registry/manifest.h"
#include "host/plugin/registry/plugin.h"
#include "host/plugin/registry/plugin_search.h"
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ENTRIES_MAX 72u /* of the environment */

char *launch_find_program(struct error *error) {
    const char *named = getenv("TENON_PROGRAM");
    char path[PATH_MAX], resolved[PATH_MAX];
    if (named && *named) return mem_text(named);
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    path[length > 0 ? length : 0] = 0;
    const char *slash = strrchr(path, '/');
    if (slash && strcmp(slash + 1, "tenon") == 0) return mem_text("/proc/self/exe");
    char *plugins = search_installed_directory(); /* <prefix>/lib/tenon/plugins */
    static const char *const relative[] = {"/../../../bin/tenon", "/../../../../bin/tenon"};
    char *found = NULL;
    for (size_t i = 0; plugins && !found && i < sizeof relative / sizeof *relative; i++) {
        snprintf(path, sizeof path, "%s%s", plugins, relative[i]);
        if (realpath(path, resolved) && access(resolved, X_OK) == 0) found = mem_text(resolved);
    }
    mem_free(plugins);
    if (!found)
        error_set(
            error, TN_NOT_FOUND, "PLUGIN_REFUSED",
            "the tenon program, which starts programs in a sandbox, was not found; set TENON_PROGRAM to its path");
    return found;
}

/* "NAME=value" of everything that every program gets: an array; a new reference. */
static tn_value launch_basic_entries(void) {
    tn_value basic = launch_basic_environment(true), list = value_array();
    for (size_t i = 0; i < value_count(basic); i++)
        list = value_push_take(list, value_format("%s=%s", value_chars(value_key_at(basic, i), NULL),
                                                  value_chars(value_value_at(basic, i), NULL)));
    value_unref(basic);
    return list;
}

static char *launch_scrub_line(void *user, const char *line) { return secrets_scrub_line(user, line); }

/* True if `list` has the variable: several components name the same secret. */
static bool launch_has_entry(tn_value list, const char *name) {
    size_t length = strlen(name);
    for (size_t i = 0; i < value_count(list); i++) {
        const char *entry = value_chars(value_at(list, i), NULL);
        if (strncmp(entry, name, length) == 0 && entry[length] == '=') return true;
    }
    return false;
}

/*
 * Appends "NAME=text" to `list`. Skips a secret that tenon.yaml restricts to some hosts: the host sends it to them
 * itself, and the plugin does not get it.
 */
static int32_t launch_add_secret(const struct remote_services *host, const char *name, tn_value *list,
                                 struct error *error) {
    tn_value text = NULL;
    if (config_secret_hosts(host->config, name) || launch_has_entry(*list, name)) return TN_OK;
    int32_t status = config_secret(host->config, name, -1, &text, host->secrets_optional ? NULL : error);
    if (status != TN_OK) return host->secrets_optional ? TN_OK : status; /* a replay works without secrets */
    tn_value reference = value_set_take(value_object_reserve(1), "secret", value_text(name));
    secrets_learn(host->secrets, reference, text);
    *list = value_push_take(*list, value_format("%s=%s", name, value_chars(text, NULL)));
    value_unref(reference);
    value_unref(text);
    return TN_OK;
}

/* What every program gets, and each effect `secret:NAME` of the plugin. */
int32_t launch_environment(const struct remote_services *host, const struct plugin *plugin, tn_value *out,
                           struct error *error) {
    tn_value components = manifest_components(plugin_manifest(plugin)), list = launch_basic_entries();
    int32_t status = TN_OK;
    for (size_t i = 0; status == TN_OK && i <= value_count(components); i++) {
        tn_value whole = i ? value_at(components, i - 1) : manifest_plugin(plugin_manifest(plugin));
        tn_value effects = value_get(whole, "effects");
        for (size_t j = 0; status == TN_OK && j < value_count(effects) && value_count(list) < ENTRIES_MAX; j++) {
            const char *effect = value_chars(value_at(effects, j), NULL);
            if (!effect || strncmp(effect, "secret:", 7) != 0) continue;
            status = launch_add_secret(host, effect + 7, &list, error);
        }
    }
    if (status == TN_OK)
        *out = list;
    else
        value_unref(list);
    return status;
}

/*
 * Makes the plugin's path absolute. Links are resolved only for a shared object: the manifest of a program is beside
 * the name by which the program was found.
 */
static bool launch_absolute_path(const struct plugin *plugin, char path[PATH_MAX]) {
    const char *name = plugin_path(plugin);
    size_t length = strlen(name);
    if (!realpath(name, path)) return false;
    if (length > 3 && strcmp(name + length - 3, ".so") == 0) return true;
    if (*name == '/') return snprintf(path, PATH_MAX, "%s", name) < PATH_MAX;
    if (!getcwd(path, PATH_MAX)) return false;
    size_t folder = strlen(path);
    return snprintf(path + folder, PATH_MAX - folder, "/%s", name) < (int)(PATH_MAX - folder);
}

/* The arguments of `tenon plugin serve`. `location`: two buffers for its effects. */
static void launch_arguments(const struct launch *launch, const char *program, const char *path,
                             char location[2][PATH_MAX + 16], const char **arguments) {
    const struct remote_services *host = launch->host;
    tn_value grants = plugin_grants(launch->plugin);
    size_t count = 0;
    arguments[count++] = program;
    arguments[count++] = "plugin";
    arguments[count++] = "serve";
    if (host->requires_filter && host->requires_filter(host->requires_filter_user, launch->plugin))
        arguments[count++] = "--require-filter";
    arguments[count++] = path;
    for (size_t i = 0; i < value_count(grants); i++) arguments[count++] = value_chars(value_at(grants, i), NULL);
    for (size_t i = 0; launch->location && i < 2; i++) {
        snprintf(location[i], sizeof location[i], "%s:%s", i ? "fs.write" : "fs.read", launch->location);
        arguments[count++] = location[i];
    }
    arguments[count] = NULL;
}

struct process *launch_plugin(const struct launch *launch, struct process_options *options, struct error *error) {
    char path[PATH_MAX], location[2][PATH_MAX + 16];
    struct process *process = NULL;
    if (!launch_absolute_path(launch->plugin, path)) {
        error_set(error, TN_NOT_FOUND, "IO", "%s: the file no longer exists", plugin_path(launch->plugin));
        return NULL;
    }
    char *program = launch_find_program(error);
    if (program && (*launch->environment ||
                    launch_environment(launch->host, launch->plugin, launch->environment, error) == TN_OK)) {
        const char *entries[ENTRIES_MAX + 1] = {NULL};
        const char *arguments[PLUGIN_GRANTS_MAX + 8];
        launch_arguments(launch, program, path, location, arguments);
        for (size_t i = 0; i < value_count(*launch->environment); i++)
            entries[i] = value_chars(value_at(*launch->environment, i), NULL);
        options->arguments = arguments;
        options->environment = entries;
        options->ends_by_ms = launch->host->ends_by_ms;
        options->scrub = launch_scrub_line;
        options->scrub_user = launch->host->secrets;
        process = process_start(launch->loop, options, error);
    }
    mem_free(program);
    return process;
}
