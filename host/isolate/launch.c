/*
 * launch.c - the tenon program is this process's own, or lies where an installation has it; TENON_PROGRAM names
 * another.
 */
#include "host/isolate/launch.h"
#include "adl/value/memory.h"
#include "host/config/config.h"
#include "host/host.h"
#include "host/http/http.h"
#include "host/isolate/process.h"
#include "host/plugin/manifest.h"
#include "host/plugin/plugin.h"
#include "host/plugin/search.h"
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SECRETS_MAX 64u

/* The tenon program: mem_free it; NULL with error. */
static char *own_program(struct error *error) {
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
        error_set(error, TN_NOT_FOUND, "PLUGIN_REFUSED",
                  "there is no tenon program to run a plugin in a process of its own; set TENON_PROGRAM to its path");
    return found;
}

static char *safe_line(void *user, const char *line) { return http_scrub_line(user, line); }

/* One that tenon.yaml has sent to some hosts alone goes there from the host, and is not the plugin's to have. */
static int32_t add_secret(const struct host *host, const char *name, tn_value *list, struct error *error) {
    tn_value text = NULL;
    if (config_secret_hosts(host->config, name)) return TN_OK;
    int32_t status = config_secret(host->config, name, -1, &text, host->http_replay ? NULL : error);
    if (status != TN_OK) return host->http_replay ? TN_OK : status; /* a replay is made where there are no secrets */
    tn_value reference = value_set_take(value_object_reserve(1), "secret", value_text(name));
    http_learn_secrets(host->http, reference, text);
    *list = value_push_take(*list, value_format("%s=%s", name, value_chars(text, NULL)));
    value_unref(reference);
    value_unref(text);
    return TN_OK;
}

/* NAME=text for each `secret:NAME` among the effects of the plugin and its components. */
static int32_t secrets(const struct host *host, const struct plugin *plugin, tn_value *out, struct error *error) {
    tn_value components = manifest_components(plugin_manifest(plugin)), list = value_array();
    int32_t status = TN_OK;
    for (size_t i = 0; status == TN_OK && i <= value_count(components); i++) {
        tn_value whole = i ? value_at(components, i - 1) : manifest_plugin(plugin_manifest(plugin));
        tn_value effects = value_get(whole, "effects");
        for (size_t j = 0; status == TN_OK && j < value_count(effects) && value_count(list) < SECRETS_MAX; j++) {
            const char *effect = value_chars(value_at(effects, j), NULL);
            if (!effect || strncmp(effect, "secret:", 7) != 0) continue;
            status = add_secret(host, effect + 7, &list, error);
        }
    }
    if (status == TN_OK)
        *out = list;
    else
        value_unref(list);
    return status;
}

/*
 * Absolute. Of an object the file itself; of a program the name by which it was found, as its manifest lies beside
 * that.
 */
static bool find_file(const struct plugin *plugin, char path[PATH_MAX]) {
    const char *name = plugin_path(plugin);
    size_t length = strlen(name);
    if (!realpath(name, path)) return false;
    if (length > 3 && strcmp(name + length - 3, ".so") == 0) return true;
    if (*name == '/') return snprintf(path, PATH_MAX, "%s", name) < PATH_MAX;
    if (!getcwd(path, PATH_MAX)) return false;
    size_t folder = strlen(path);
    return snprintf(path + folder, PATH_MAX - folder, "/%s", name) < (int)(PATH_MAX - folder);
}

struct process *launch_plugin(struct host *host, const struct plugin *plugin, struct process_options *options,
                              struct error *error) {
    char path[PATH_MAX];
    tn_value named = NULL;
    struct process *process = NULL;
    if (!find_file(plugin, path)) {
        error_set(error, TN_NOT_FOUND, "IO", "%s: the file is gone", plugin_path(plugin));
        return NULL;
    }
    char *program = own_program(error);
    if (program && secrets(host, plugin, &named, error) == TN_OK) {
        const char *environment[SECRETS_MAX + 2] = {"PATH=/usr/local/bin:/usr/bin:/bin"};
        const char *arguments[PLUGIN_GRANTS_MAX + 5] = {program, "plugin", "serve", path};
        tn_value grants = plugin_grants(plugin);
        for (size_t i = 0; i < value_count(grants); i++) arguments[i + 4] = value_chars(value_at(grants, i), NULL);
        for (size_t i = 0; i < value_count(named); i++) environment[i + 1] = value_chars(value_at(named, i), NULL);
        options->arguments = arguments;
        options->environment = environment;
        options->safe = safe_line;
        options->safe_user = host->http;
        process = process_start(host->loop, options, error);
    }
    value_unref(named);
    mem_free(program);
    return process;
}
