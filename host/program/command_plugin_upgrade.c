/*
 * command_plugin_upgrade.c - `tenon plugin upgrade`: replaces the file of an installed plugin with a new build.
 *
 * The new build is checked first, as `tenon plugin check` does, and must have the id of an installed plugin. The file
 * is replaced atomically: a process that uses the old build keeps it, a process that starts later uses the new one.
 */
#include "adl/document/version.h"
#include "adl/value/memory.h"
#include "host/assembly/host.h"
#include "host/plugin/pack/pack_installed.h"
#include "host/plugin/registry/manifest.h"
#include "host/plugin/registry/plugin.h"
#include "host/plugin/registry/registry.h"
#include "host/program/command.h"
#include "host/program/command_plugin_file.h"
#include "host/program/command_plugin_live.h"
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool comes_before(const char *version, const char *other) {
    struct version left, right;
    return version_parse(version, strlen(version), &left) && version_parse(other, strlen(other), &right) &&
           version_compare(&left, &right) < 0;
}

static int upgrade(struct host *host, const char *given, const char *path, const struct manifest *fresh) {
    struct error error = ERROR_INIT;
    const char *id = manifest_text(manifest_plugin(fresh->value), "id");
    struct plugin *old = registry_plugin(host_registry(host), id);
    char place[PATH_MAX], before[64];
    int code = COMMAND_OK;
    if (!old)
        return command_report(
            COMMAND_PLUGIN_PROBLEM,
            "%s is the plugin `%s`, which is not installed; `tenon doctor` shows the folders for plugins%s", given, id,
            registry_altered(host_registry(host)));
    if (plugin_bundled(old))
        return command_report(COMMAND_PLUGIN_PROBLEM,
                              "the plugin `%s` is part of this installation and is upgraded with it", id);
    if (packs_contain(plugin_path(old)))
        return command_report(
            COMMAND_PLUGIN_PROBLEM,
            "the plugin `%s` is part of the %s; nothing was changed. Install a newer pack with `tenon pack install`",
            id, plugin_source(old));
    if (!realpath(plugin_path(old), place))
        return command_report(COMMAND_PLUGIN_PROBLEM, "%s: %s", plugin_path(old), strerror(errno));
    if (strcmp(place, path) == 0)
        return command_report(COMMAND_USAGE, "%s is the installed file; build the new version in another folder",
                              given);
    snprintf(before, sizeof before, "%s", plugin_version(old));
    bool done = plugin_file_check(host, path, fresh, &error) &&
                registry_upgrade(host_registry(host), path, "upgrade", &error) == TN_OK &&
                plugin_file_copy(path, place, &error);
    if (done && comes_before(manifest_text(manifest_plugin(fresh->value), "version"), before))
        command_warn("warning: this is a downgrade: %s is older than %s",
                     manifest_text(manifest_plugin(fresh->value), "version"), before);
    if (done)
        command_printf(stderr, "%s: %s, was %s, in %s\n", id, manifest_text(manifest_plugin(fresh->value), "version"),
                       before, place);
    else
        code = command_report_error(COMMAND_PLUGIN_PROBLEM, &error);
    error_finish(&error);
    return code;
}

int command_plugin_upgrade(const struct arguments *arguments) {
    const char *given = operand_at(arguments, 0);
    struct error error = ERROR_INIT;
    struct manifest fresh;
    char path[PATH_MAX];
    if (argument_given(arguments, "connect")) return plugin_upgrade_live(arguments);
    if (!realpath(given, path)) return command_report(COMMAND_USAGE, "cannot open %s: %s", given, strerror(errno));
    if (manifest_read(path, &fresh, &error) != TN_OK) {
        int code = command_report_error(COMMAND_PLUGIN_PROBLEM, &error);
        error_finish(&error);
        return code;
    }
    struct host *host = command_host(arguments);
    int code = host ? upgrade(host, given, path, &fresh) : COMMAND_PLUGIN_PROBLEM;
    host_free(host);
    manifest_finish(&fresh);
    return code;
}
