/*
 * command_plugin_file.c - see command_plugin_file.h. A copy that is not complete has a name that no search finds.
 */
#include "host/program/command_plugin_file.h"
#include "adl/value/memory.h"
#include "host/assembly/host.h"
#include "host/plugin/conformance/conformance.h"
#include "host/plugin/registry/manifest.h"
#include "host/plugin/registry/registry.h"
#include "host/plugin/registry/reserved.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

bool plugin_file_copy(const char *from, const char *to, struct error *error) {
    tn_value name = value_format("%s.tenon-new-%ld", to, (long)getpid());
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
        error_set(error, TN_ERROR, "IO", "cannot replace %s with %s: %s; nothing was changed", from, to,
                  strerror(errno));
        if (target >= 0) unlink(temporary);
    }
    if (source >= 0) close(source);
    if (target >= 0) close(target);
    value_unref(name);
    return good;
}

static void plugin_file_keep_first(void *user, const char *message) {
    struct error *error = user;
    if (!error->code) error_set(error, TN_INVALID, "PLUGIN_INVALID", "%s; nothing was changed", message);
}

bool plugin_file_check(struct host *host, const char *path, const struct manifest *manifest, struct error *error) {
    struct registry_options options;
    struct conformance check = CONFORMANCE_INIT;
    if (manifest->program) {
        struct error first = ERROR_INIT;
        bool good = reserved_check(path, manifest->value, &first) == TN_OK &&
                    manifest_validate(path, manifest->value, plugin_file_keep_first, &first) == 0;
        if (!good) error_copy(error, &first);
        error_finish(&first);
        return good;
    }
    host_registry_options(host, &options);
    conformance_check(path, &options, 0, &check);
    const struct conformance_finding *worst = NULL;
    for (size_t i = 0; i < check.count && !worst; i++)
        if (check.items[i].severity == CONFORMANCE_ERROR) worst = &check.items[i];
    if (worst)
        error_set(error, TN_INVALID, strcmp(worst->code, "NAME_RESERVED") == 0 ? "NAME_RESERVED" : "PLUGIN_INVALID",
                  "the plugin has defects: %s; nothing was changed", worst->message);
    conformance_finish(&check);
    return !worst;
}
