/*
 * watch_path.c - paths as the calling process means them: read from its memory, and resolved here.
 */
#include "host/plugin/sandbox/watch_internal.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define PAGE 4096u

bool watch_read_text(pid_t pid, uint64_t address, char out[PATH_MAX]) {
    for (size_t length = 0; length < PATH_MAX;) {
        size_t part = PAGE - (size_t)((address + length) % PAGE);
        if (part > PATH_MAX - length) part = PATH_MAX - length;
        struct iovec here = {out + length, part}, there = {(void *)(uintptr_t)(address + length), part};
        ssize_t got = process_vm_readv(pid, &here, 1, &there, 1, 0);
        if (got <= 0) return false;
        if (memchr(out + length, 0, (size_t)got)) return true;
        length += (size_t)got;
    }
    return false;
}

static bool path_is_under(const char *path, const char *folder) {
    size_t length = strlen(folder);
    return strncmp(path, folder, length) == 0 && (!path[length] || path[length] == '/');
}

pid_t notice_self_pid(const struct watch_notice *notice) {
    char thread[64];
    snprintf(thread, sizeof thread, "/proc/%d/task/%d", (int)notice->watch->plugin, (int)notice->pid);
    return access(thread, F_OK) == 0 ? notice->watch->plugin : notice->pid;
}

bool notice_absolute_path(const struct watch_notice *notice, int folder, const char *path, char out[PATH_MAX]) {
    int length;
    if (path_is_under(path, "/proc/self"))
        length = snprintf(out, PATH_MAX, "/proc/%d%s", (int)notice_self_pid(notice), path + strlen("/proc/self"));
    else if (path_is_under(path, "/proc/thread-self"))
        length =
            snprintf(out, PATH_MAX, "/proc/%d%s", (int)notice_self_pid(notice), path + strlen("/proc/thread-self"));
    else if (path_is_under(path, "/dev/fd"))
        length = snprintf(out, PATH_MAX, "/proc/%d/fd%s", (int)notice_self_pid(notice), path + strlen("/dev/fd"));
    else if (*path == '/')
        length = snprintf(out, PATH_MAX, "%s", path);
    else if (folder == AT_FDCWD)
        length = snprintf(out, PATH_MAX, "/proc/%d/cwd/%s", (int)notice->pid, path);
    else
        length = snprintf(out, PATH_MAX, "/proc/%d/fd/%d/%s", (int)notice->pid, folder, path);
    return length > 0 && length < PATH_MAX;
}

enum path_state watch_resolve_path(const char *path, bool follow, char out[PATH_MAX]) {
    char parent[PATH_MAX];
    if (follow && realpath(path, out)) return PATH_EXISTS;
    snprintf(parent, sizeof parent, "%s", path);
    size_t length = strlen(parent);
    while (length > 1 && parent[length - 1] == '/') parent[--length] = 0;
    char *slash = strrchr(parent, '/');
    const char *name = slash + 1;
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || !*name)
        return realpath(path, out) ? PATH_EXISTS : PATH_UNRESOLVED;
    *slash = 0;
    if (!realpath(slash == parent ? "/" : parent, out)) return PATH_UNRESOLVED;
    length = strlen(out);
    if (length + strlen(name) + 2 > PATH_MAX) return PATH_UNRESOLVED;
    snprintf(out + length, PATH_MAX - length, "%s%s", length == 1 ? "" : "/", name);
    if (faccessat(AT_FDCWD, out, F_OK, AT_SYMLINK_NOFOLLOW) != 0) return PATH_CREATABLE;
    return follow ? PATH_UNRESOLVED : PATH_EXISTS; /* a link whose target does not exist */
}

bool watch_is_plugin_process(const struct watch_state *watch, pid_t pid) {
    return pid != getpid() && getpgid(pid) == watch->group;
}

bool watch_is_granted(const struct watch_state *watch, const char *path, uint32_t access) {
    int pid = 0, length = 0;
    if (sscanf(path, "/proc/%d%n", &pid, &length) == 1 && path[length] == '/' && !watch_is_plugin_process(watch, pid))
        return false;
    return sandbox_plan_allows(watch->plan, path, access);
}
