/*
 * cgroup.c - the groups of /proc/self/cgroup, as files below /sys/fs/cgroup.
 *
 * A line is NUMBER:CONTROLLERS:PATH. A line without controllers belongs to version 2, whose tree is mounted at
 * /sys/fs/cgroup, or at /sys/fs/cgroup/unified if version 1 is mounted too. A tree of version 1 is mounted under the
 * names of its controllers. Trees that are mounted elsewhere are skipped, so that no other path is granted.
 */
#include "host/plugin/sandbox/cgroup.h"
#include <limits.h>
#include <stdio.h>
#include <string.h>

#define MOUNT "/sys/fs/cgroup"

static void cgroup_visit_files(const char *folder, void (*visit)(void *user, const char *path), void *user) {
    static const char *const names[] = {"cpu.max", "memory.max", "cpu.cfs_quota_us", "cpu.cfs_period_us",
                                        "memory.limit_in_bytes"};
    char path[PATH_MAX];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        int length = snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        if (length > 0 && (size_t)length < sizeof path) visit(user, path);
    }
}

/* Visits the group and its parents, up to the mount point. */
static void cgroup_visit_group(const char *mount, const char *group, void (*visit)(void *user, const char *path),
                               void *user) {
    char folder[PATH_MAX];
    int length = snprintf(folder, sizeof folder, "%s%s", mount, group);
    if (length < 0 || (size_t)length >= sizeof folder || strstr(group, "/..")) return;
    for (unsigned depth = 0; depth <= CGROUP_DEPTH_MAX; depth++) {
        char *end = folder + strlen(folder);
        while (end[-1] == '/') *--end = 0;
        cgroup_visit_files(folder, visit, user);
        if (strlen(folder) <= strlen(mount)) return;
        *strrchr(folder, '/') = 0;
    }
}

void cgroup_limits(void (*visit)(void *user, const char *path), void *user) {
    char line[PATH_MAX], mount[PATH_MAX];
    FILE *file = fopen("/proc/self/cgroup", "re");
    while (file && fgets(line, sizeof line, file)) {
        char *controllers = strchr(line, ':'), *group = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!group) continue;
        *group++ = 0;
        controllers++;
        group[strcspn(group, "\n")] = 0;
        if (*group != '/') continue;
        if (!*controllers) {
            cgroup_visit_group(MOUNT, group, visit, user);
            cgroup_visit_group(MOUNT "/unified", group, visit, user);
        } else if (!strchr(controllers, '/') && strlen(controllers) < NAME_MAX) {
            snprintf(mount, sizeof mount, MOUNT "/%.255s", controllers);
            cgroup_visit_group(mount, group, visit, user);
        }
    }
    if (file) fclose(file);
}
