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
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

struct plugin_copy {
    char *to, *temporary; /* temporary: NULL after it was renamed */
    char *replaced;       /* another name of the file that was at `to`; NULL when `to` did not exist */
};

/* Copies the contents and the mode of a file to a new one. */
static bool copy_contents(const char *from, const char *to) {
    struct stat status;
    int source = open(from, O_RDONLY | O_CLOEXEC), target = -1;
    bool good = source >= 0 && fstat(source, &status) == 0;
    if (good) target = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, status.st_mode & 0777);
    good = good && target >= 0;
    for (off_t left = good ? status.st_size : 0; good && left > 0;) {
        ssize_t sent = sendfile(target, source, NULL, (size_t)left);
        if (sent < 0 && errno == EINTR) continue;
        good = sent > 0;
        left -= sent > 0 ? sent : 0;
    }
    good = good && fsync(target) == 0;
    int failure = errno;
    if (!good && target >= 0) unlink(to);
    if (source >= 0) close(source);
    if (target >= 0) close(target);
    errno = failure;
    return good;
}

static char *copy_name(const char *to, const char *kind) {
    tn_value name = value_format("%s.tenon-%s-%ld", to, kind, (long)getpid());
    char *text = mem_text(value_chars(name, NULL));
    value_unref(name);
    return text;
}

bool plugin_copies_add(struct plugin_copies *copies, const char *from, const char *to, struct error *error) {
    char *temporary = copy_name(to, "new");
    if (!copy_contents(from, temporary)) {
        error_set(error, TN_ERROR, "IO", "cannot copy %s to %s: %s; nothing was changed", from, to, strerror(errno));
        mem_free(temporary);
        return false;
    }
    MEM_EXTEND(copies->items, copies->count);
    copies->items[copies->count++] = (struct plugin_copy){.to = mem_text(to), .temporary = temporary};
    return true;
}

/* Keeps the file that is replaced under another name until all are renamed. */
static bool copy_publish(struct plugin_copy *copy) {
    char *replaced = copy_name(copy->to, "old");
    /* Some file systems have no links. With rename, the place is empty for a moment. */
    bool kept = link(copy->to, replaced) == 0 || (errno != ENOENT && rename(copy->to, replaced) == 0);
    bool absent = !kept && errno == ENOENT;
    copy->replaced = kept ? replaced : NULL;
    if (!kept) mem_free(replaced);
    if ((!kept && !absent) || rename(copy->temporary, copy->to) != 0) return false;
    mem_free(copy->temporary);
    copy->temporary = NULL;
    return true;
}

static void copy_undo(struct plugin_copy *copy) {
    int failure = errno;
    if (copy->replaced)
        (void)rename(copy->replaced, copy->to);
    else if (!copy->temporary)
        unlink(copy->to);
    if (copy->replaced) unlink(copy->replaced); /* rename does nothing if both names are the same file */
    mem_free(copy->replaced);
    copy->replaced = NULL;
    errno = failure;
}

bool plugin_copies_publish(struct plugin_copies *copies, struct error *error) {
    for (size_t i = 0; i < copies->count; i++) {
        if (copy_publish(&copies->items[i])) continue;
        for (size_t j = i + 1; j-- > 0;) copy_undo(&copies->items[j]);
        error_set(error, TN_ERROR, "IO", "cannot write %s: %s; nothing was changed", copies->items[i].to,
                  strerror(errno));
        return false;
    }
    return true;
}

void plugin_copies_finish(struct plugin_copies *copies) {
    for (size_t i = 0; i < copies->count; i++) {
        struct plugin_copy *copy = &copies->items[i];
        if (copy->temporary) unlink(copy->temporary);
        if (copy->replaced) unlink(copy->replaced);
        mem_free(copy->temporary);
        mem_free(copy->replaced);
        mem_free(copy->to);
    }
    mem_free(copies->items);
    *copies = (struct plugin_copies){.count = 0};
}

/*
 * Restores the name NAME of the old file if NAME is missing: the process was killed between two renames. Returns false
 * if NAME is still missing. Unlike rename, link never replaces a NAME that another process creates. But NAME is missing
 * only if copy_publish used rename, and then the file system probably has no links.
 */
static bool leftover_restore(const char *old, const char *name) {
    return link(old, name) == 0 || errno == EEXIST || access(name, F_OK) == 0 || rename(old, name) == 0;
}

/* Removes `NAME.tenon-new-PID`, and removes or restores `NAME.tenon-old-PID`, if the process has ended. */
static void leftover_remove(const char *folder, const char *name) {
    static const char *const kinds[] = {".tenon-new-", ".tenon-old-"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const char *at = strstr(name, kinds[i]);
        char *end = NULL;
        long pid = at ? strtol(at + strlen(kinds[i]), &end, 10) : 0;
        if (pid <= 0 || *end || kill((pid_t)pid, 0) == 0 || errno != ESRCH) continue;
        tn_value path = value_format("%s/%s", folder, name);
        tn_value place = value_format("%s/%.*s", folder, (int)(at - name), name);
        bool surplus = path && place && (i == 0 || leftover_restore(value_chars(path, NULL), value_chars(place, NULL)));
        if (surplus) unlink(value_chars(path, NULL));
        value_unref(path);
        value_unref(place);
    }
}

void plugin_copies_remove_leftovers(const char *folder) {
    DIR *dir = opendir(folder);
    if (!dir) return;
    for (struct dirent *item; (item = readdir(dir)) != NULL;) leftover_remove(folder, item->d_name);
    closedir(dir);
}

bool plugin_file_copy(const char *from, const char *to, struct error *error) {
    struct plugin_copies copies = {.count = 0};
    bool done = plugin_copies_add(&copies, from, to, error) && plugin_copies_publish(&copies, error);
    plugin_copies_finish(&copies);
    return done;
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
