/*
 * watch_answer.c - readlink and getcwd, which the watch performs for the plugin.
 *
 * Landlock does not restrict these calls. To continue them in the kernel would not help, because the plugin could
 * change the path after the check. So the watch reads the link here, through a folder that it holds open, and writes
 * the text into the memory of the calling process.
 *
 * A plugin may learn where a link leads if the link is in a folder that it may read, or if it leads to a path of its
 * plan: realpath() then works for all that is granted. It may learn the path of a descriptor or of its working folder
 * only if that is in the plan, because it can open any folder with O_PATH and enter it: the path would be the target of
 * every link on the way.
 */
#include "host/plugin/sandbox/watch_internal.h"
#include <errno.h>
#include <fcntl.h>
#include <seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * Copies bytes into the memory of the calling thread. Returns 0, the errno of the call, or WATCH_CONTINUE. The file of
 * the memory is opened before the check that the thread still waits: later, its number could belong to another process.
 */
static int notice_write(const struct watch_notice *notice, uint64_t address, const char *bytes, size_t length) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/mem", (int)notice->pid);
    int memory = open(path, O_WRONLY | O_CLOEXEC), answer = 0;
    /* A child of a plugin that may start programs: Yama permits access only to the plugin itself. */
    if (memory < 0) return notice->watch->plan->spawn && (errno == EACCES || errno == EPERM) ? WATCH_CONTINUE : EFAULT;
    if (seccomp_notify_id_valid(LISTENER, notice->id) != 0)
        answer = ESRCH;
    else if (pwrite(memory, bytes, length, (off_t)address) != (ssize_t)length)
        answer = EFAULT;
    close(memory);
    return answer;
}

/* True if the plan grants the path, something below it, or a folder above it. */
static bool watch_knows_path(const struct watch_state *watch, const char *path) {
    const struct sandbox_plan *plan = watch->plan;
    size_t length = strcmp(path, "/") == 0 ? 0 : strlen(path);
    if (sandbox_plan_allows(plan, path, SANDBOX_READ) || sandbox_plan_allows(plan, path, SANDBOX_WRITE)) return true;
    if (*watch->cwd && strcmp(path, watch->cwd) == 0) return true;
    for (size_t i = 0; i < plan->path_count; i++)
        if (strncmp(plan->paths[i].path, path, length) == 0 && plan->paths[i].path[length] == '/') return true;
    return false;
}

static bool is_in_proc(const char *path) { return strncmp(path, "/proc/", 6) == 0; }

/* `located` is the absolute path of the link, and `target` its text. */
static bool watch_shows_link(const struct watch_state *watch, const char *located, const char *target) {
    char resolved[PATH_MAX];
    const char *name = strrchr(located, '/') + 1;
    if (strncmp(target, "/proc/self", 10) == 0) return true; /* /dev/fd and similar */
    if (is_in_proc(located)) {
        if (!watch_is_granted(watch, located, SANDBOX_READ)) return false;
        return *target != '/' || strcmp(name, "exe") == 0 || watch_knows_path(watch, target);
    }
    if (sandbox_plan_allows(watch->plan, located, SANDBOX_READ)) return true;
    return realpath(located, resolved) && watch_knows_path(watch, resolved);
}

/* The path of an open folder or link. */
static bool descriptor_path(int descriptor, char out[PATH_MAX]) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, out, PATH_MAX - 1);
    if (length <= 0 || *out != '/') return false;
    out[length] = 0;
    return true;
}

/*
 * Reads the link `name` of an open folder, or the link that is open if `name` is empty. Sets the link's path, and its
 * text, which ends with 0. Returns 0 or an errno.
 */
static int read_link_at(int folder, const char *name, char located[PATH_MAX], char target[PATH_MAX]) {
    if (!descriptor_path(folder, located)) return EACCES;
    size_t length = strlen(located);
    if (length + strlen(name) + 2 > PATH_MAX) return ENAMETOOLONG;
    if (*name) snprintf(located + length, PATH_MAX - length, "%s%s", length == 1 ? "" : "/", name);
    ssize_t got = readlinkat(folder, name, target, PATH_MAX - 1);
    if (got < 0) return errno;
    target[got] = 0;
    return 0;
}

/* Reads the link at a path that this process can resolve. */
static int read_link(const char *walked, char located[PATH_MAX], char target[PATH_MAX]) {
    char whole[PATH_MAX];
    if (walked[strlen(walked) - 1] == '/') return access(walked, F_OK) == 0 ? EINVAL : errno; /* it follows the link */
    errno = ENOENT;
    if (watch_resolve_path(walked, false, whole) != PATH_EXISTS) return errno == EACCES ? EACCES : ENOENT;
    char *slash = strrchr(whole, '/');
    if (!slash[1]) return EINVAL; /* the root */
    *slash = 0;
    int folder = open(slash == whole ? "/" : whole, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) return errno;
    int failed = read_link_at(folder, slash + 1, located, target);
    close(folder);
    return failed;
}

/* readlinkat(descriptor of a link, "") */
static int read_open_link(const struct watch_notice *notice, int descriptor, char located[PATH_MAX],
                          char target[PATH_MAX]) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)notice->pid, descriptor);
    int link = open(path, O_PATH | O_CLOEXEC);
    if (link < 0) return ENOENT;
    int failed = read_link_at(link, "", located, target);
    close(link);
    return failed;
}

/* The links whose text depends on the process that reads them. Returns false if the path is another one. */
static bool notice_own_link(const struct watch_notice *notice, const char *path, char target[PATH_MAX]) {
    pid_t self = notice_self_pid(notice);
    if (strcmp(path, "/proc/self") == 0)
        snprintf(target, PATH_MAX, "%d", (int)self);
    else if (strcmp(path, "/proc/thread-self") == 0)
        snprintf(target, PATH_MAX, "%d/task/%d", (int)self, (int)notice->pid);
    else if (strcmp(path, "/dev/fd") == 0)
        snprintf(target, PATH_MAX, "/proc/self/fd");
    else
        return false;
    return true;
}

int watch_answer_link(struct watch_state *watch, const struct watch_notice *notice, int64_t *result) {
    char path[PATH_MAX], walked[PATH_MAX], located[PATH_MAX], target[PATH_MAX];
    *located = *target = 0; /* for static analysis: a failure may have the errno 0 */
    const __u64 *arguments = notice->data->args;
    const int8_t *at = notice->rule->arguments;
    int folder = at[0] == SYSCALL_NO_ARGUMENT ? AT_FDCWD : (int)arguments[at[0]], failed = 0;
    int room = (int)arguments[at[3]];
    if (room <= 0) return EINVAL;
    if (!watch_read_text(notice->pid, arguments[at[1]], path))
        return watch->plan->spawn && errno == EPERM ? WATCH_CONTINUE : EFAULT;
    if (!notice_own_link(notice, path, target)) {
        if (!*path)
            failed = folder < 0 ? ENOENT : read_open_link(notice, folder, located, target);
        else if (!notice_absolute_path(notice, folder, path, walked))
            failed = ENAMETOOLONG;
        else
            failed = read_link(walked, located, target);
        if (failed) return failed;
        if (!watch_shows_link(watch, located, target)) {
            watch_log_path(watch, notice, located, SANDBOX_READ);
            return EACCES;
        }
    }
    size_t length = strlen(target);
    if (length > (size_t)room) length = (size_t)room;
    *result = (int64_t)length;
    return notice_write(notice, arguments[at[2]], target, length);
}

int watch_answer_cwd(struct watch_state *watch, const struct watch_notice *notice, int64_t *result) {
    char link[64], path[PATH_MAX];
    const __u64 *arguments = notice->data->args;
    snprintf(link, sizeof link, "/proc/%d/cwd", (int)notice->pid);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return EACCES;
    path[length] = 0;
    if (!watch_knows_path(watch, path)) {
        watch_log_path(watch, notice, path, SANDBOX_READ);
        return EACCES;
    }
    if ((uint64_t)length >= arguments[1]) return ERANGE;
    *result = length + 1;
    return notice_write(notice, arguments[0], path, (size_t)length + 1);
}
