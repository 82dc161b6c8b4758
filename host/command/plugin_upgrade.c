/*
 * plugin_upgrade.c - `tenon plugin upgrade`: a new build of a plugin that is installed, put in the place of its file.
 *
 * First it must be one that could be used: it is checked as `tenon plugin check` does, and has the id of a plugin that
 * is there. The file is replaced whole: whoever runs the old one keeps it, whoever starts anew gets the new one.
 */
#include "adl/document/version.h"
#include "adl/value/memory.h"
#include "host/command/command.h"
#include "host/host.h"
#include "host/pack/installed.h"
#include "host/plugin/check.h"
#include "host/plugin/manifest.h"
#include "host/plugin/plugin.h"
#include "host/plugin/registry.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

/* Copies `from` beside `to` and renames it over that. */
static bool replace_file(const char *from, const char *to, struct error *error) {
    tn_value name = value_format("%s.tenon-upgrade-%ld", to, (long)getpid());
    const char *temporary = value_chars(name, NULL);
    struct stat status;
    int source = open(from, O_RDONLY | O_CLOEXEC), target = -1;
    bool good = source >= 0 && fstat(source, &status) == 0;
    if (good) target = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, status.st_mode & 0777);
    good = good && target >= 0;
    for (off_t left = good ? status.st_size : 0; good && left > 0;) {
        ssize_t sent = sendfile(target, source, NULL, (size_t)left);
        if (sent < 0 && errno == EINTR) continue;
        good = sent > 0;
        left -= sent > 0 ? sent : 0;
    }
    good = good && fsync(target) == 0 && rename(temporary, to) == 0;
    if (!good) {
        error_set(error, TN_ERROR, "IO", "cannot put %s in the place of %s: %s; nothing was changed", from, to,
                  strerror(errno));
        if (target >= 0) unlink(temporary);
    }
    if (source >= 0) close(source);
    if (target >= 0) close(target);
    value_unref(name);
    return good;
}

static bool check_new(struct host *host, const char *path, struct error *error) {
    struct registry_options options;
    struct check check = CHECK_INIT;
    host_registry_options(host, &options);
    plugin_check(path, &options, 0, &check);
    const char *worst = NULL;
    for (size_t i = 0; i < check.count && !worst; i++)
        if (check.items[i].severity == CHECK_ERROR) worst = check.items[i].message;
    if (worst) error_set(error, TN_INVALID, "PLUGIN_INVALID", "it has defects, and nothing was changed: %s", worst);
    check_finish(&check);
    return !worst;
}

static bool comes_before(const char *version, const char *other) {
    struct version left, right;
    return version_parse(version, strlen(version), &left) && version_parse(other, strlen(other), &right) &&
           version_compare(&left, &right) < 0;
}

static int upgrade(struct host *host, const char *given, const char *path, const struct manifest *fresh) {
    struct error error = ERROR_INIT;
    const char *id = manifest_text(manifest_plugin(fresh->value), "id");
    struct plugin *old = registry_plugin(host->registry, id);
    char place[PATH_MAX], before[64];
    int code = COMMAND_OK;
    if (!old)
        return command_fail(
            COMMAND_PLUGIN_PROBLEM,
            "%s is the plugin `%s`, and none of that id is installed; `tenon doctor` says where to put it", given, id);
    if (plugin_bundled(old))
        return command_fail(COMMAND_PLUGIN_PROBLEM, "the plugin `%s` came with this installation, and goes with it",
                            id);
    if (packs_contain(plugin_path(old)))
        return command_fail(COMMAND_PLUGIN_PROBLEM,
                            "the plugin `%s` came with the %s; nothing was changed. `tenon pack install` a newer one",
                            id, plugin_source(old));
    if (!realpath(plugin_path(old), place))
        return command_fail(COMMAND_PLUGIN_PROBLEM, "%s: %s", plugin_path(old), strerror(errno));
    if (strcmp(place, path) == 0)
        return command_fail(COMMAND_USAGE, "%s is the file that is installed; build the new one elsewhere", given);
    snprintf(before, sizeof before, "%s", plugin_version(old));
    bool done = check_new(host, path, &error) && registry_upgrade(host->registry, path, "upgrade", &error) == TN_OK &&
                replace_file(path, place, &error);
    if (done && comes_before(manifest_text(manifest_plugin(fresh->value), "version"), before))
        command_fail(0, "warning: this is a downgrade: %s comes before %s",
                     manifest_text(manifest_plugin(fresh->value), "version"), before);
    if (done)
        fprintf(stderr, "%s: %s, was %s, in %s\n", id, manifest_text(manifest_plugin(fresh->value), "version"), before,
                place);
    else
        code = command_fail_error(COMMAND_PLUGIN_PROBLEM, &error);
    error_finish(&error);
    return code;
}

int command_plugin_upgrade(const struct arguments *arguments) {
    const char *given = operand_at(arguments, 0);
    struct error error = ERROR_INIT;
    struct manifest fresh;
    char path[PATH_MAX];
    if (!realpath(given, path)) return command_fail(COMMAND_USAGE, "cannot open %s: %s", given, strerror(errno));
    if (manifest_read(path, &fresh, &error) != TN_OK) {
        int code = command_fail_error(COMMAND_PLUGIN_PROBLEM, &error);
        error_finish(&error);
        return code;
    }
    struct host *host = command_host(arguments);
    int code = host ? upgrade(host, given, path, &fresh) : COMMAND_PLUGIN_PROBLEM;
    host_free(host);
    manifest_finish(&fresh);
    return code;
}
