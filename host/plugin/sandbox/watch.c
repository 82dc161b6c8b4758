/*
 * watch.c - handles one notification at a time: finds out what the call would do, decides, logs a refusal, answers.
 *
 * A path is read from the memory of the calling process, which can change it after the check. Therefore the answer is
 * never more than "continue", and Landlock makes the final decision. Without Landlock this is the only check of paths;
 * it stops mistakes, but not a plugin that changes the path in time.
 *
 * The process has no exit signal, so wait() in the plugin does not see it.
 */
#include "host/plugin/sandbox/watch.h"
#include "adl/value/buffer.h"
#include "host/base/log.h"
#include "host/plugin/sandbox/syscalls.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* Descriptors in the watch process: the seccomp listener, a pidfd of the host, the socket of syscall_watch_attach. */
enum { LISTENER = 0, HOST = 1, SOCKET = 3 };

/* Defined by linux/seccomp.h since Linux 6.6: the calling process and the watch take turns on one processor. */
#define SET_FLAGS    _IOW('!', 4, uint64_t)
#define SYNC_WAKE_UP 1ul

#define PAGE 4096u

/* The state of the watch process. */
struct watch_state {
    const struct sandbox_plan *plan;
    pid_t plugin;
    bool landlocked;
    unsigned lines; /* refusals that were logged */
};

/* One notification: the call that a process of the plugin is trying to make. */
struct watch_notice {
    const struct watch_state *watch;
    const struct syscall_rule *rule;
    const struct seccomp_data *data;
    pid_t pid;
};

/* ---- Paths ---- */

/* Copies a text from the memory of process `pid`. Returns false if it cannot be read. */
static bool watch_read_text(pid_t pid, uint64_t address, char out[PATH_MAX]) {
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

/* The process that /proc/self means for the caller. For a thread of the plugin, the plugin's pid: the plan grants that.
 */
static pid_t notice_self_pid(const struct watch_notice *notice) {
    char thread[64];
    snprintf(thread, sizeof thread, "/proc/%d/task/%d", (int)notice->watch->plugin, (int)notice->pid);
    return access(thread, F_OK) == 0 ? notice->watch->plugin : notice->pid;
}

/* Translates a path of the calling process into one that resolves the same way in this process. */
static bool notice_absolute_path(const struct watch_notice *notice, int folder, const char *path, char out[PATH_MAX]) {
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

enum path_state { PATH_EXISTS, PATH_CREATABLE, PATH_UNRESOLVED };

/*
 * Resolves a path; `follow` says whether to follow a link in its last component. PATH_CREATABLE: the folder exists, the
 * file does not.
 */
static enum path_state watch_resolve_path(const char *path, bool follow, char out[PATH_MAX]) {
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

/* ---- Logging refusals ---- */

static const char *family_name(uint64_t family) {
    static const struct {
        int family;
        const char *name;
    } names[] = {{AF_UNIX, "AF_UNIX"},       {AF_INET, "AF_INET"},          {AF_INET6, "AF_INET6"},
                 {AF_NETLINK, "AF_NETLINK"}, {AF_PACKET, "AF_PACKET"},      {AF_VSOCK, "AF_VSOCK"},
                 {AF_ALG, "AF_ALG"},         {AF_BLUETOOTH, "AF_BLUETOOTH"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].family == (int)family) return names[i].name;
    return NULL;
}

static void watch_log_refusal(struct watch_state *watch, const char *what, const char *why) {
    if (watch->lines > WATCH_LINES_MAX) return;
    if (watch->lines++ < WATCH_LINES_MAX)
        log_write(LOG_WARN, NULL, "sandbox: refused %s: %s", what, why);
    else
        log_write(LOG_WARN, NULL, "sandbox: more than %u refusals: further ones are not logged", WATCH_LINES_MAX);
}

static void watch_log_call(struct watch_state *watch, const struct watch_notice *notice) {
    char what[PATH_MAX + 64], path[PATH_MAX];
    const struct syscall_rule *rule = notice->rule;
    const __u64 *arguments = notice->data->args;
    const char *why = "no effect opens it", *family = family_name(arguments[0]);
    bool is_clone = strcmp(rule->name, "clone") == 0, is_socket = strcmp(rule->name, "socket") == 0;
    snprintf(what, sizeof what, "%s", rule->name);
    if (is_clone && arguments[0] & (CLONE_NEWNS | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET))
        snprintf(what, sizeof what, "clone(a namespace)");
    else if (is_clone)
        snprintf(what, sizeof what, "fork");
    else if ((is_socket || strcmp(rule->name, "socketpair") == 0) && family)
        snprintf(what, sizeof what, "%s(%s)", rule->name, family);
    else if (is_socket || rule->kind == SYSCALL_PROCESS || strcmp(rule->name, "prctl") == 0)
        snprintf(what, sizeof what, "%s(%d)", rule->name, (int)arguments[0]);
    else if (strcmp(rule->name, "execve") == 0 && watch_read_text(notice->pid, arguments[0], path))
        snprintf(what, sizeof what, "execve(\"%s\")", path);
    else if (strcmp(rule->name, "ioctl") == 0 || strcmp(rule->name, "fcntl") == 0)
        snprintf(what, sizeof what, "%s(0x%x)", rule->name, (unsigned)arguments[1]);
    if (rule->kind == SYSCALL_SPAWN || rule->kind == SYSCALL_RUN || (is_clone && !watch->plan->spawn))
        why = "the manifest does not declare process.spawn";
    if (is_socket && (arguments[0] == AF_INET || arguments[0] == AF_INET6))
        why = "the manifest does not declare net:raw";
    if (rule->kind == SYSCALL_PROCESS) why = "it is not a process of the plugin";
    watch_log_refusal(watch, what, why);
}

static void watch_log_path(struct watch_state *watch, const struct watch_notice *notice, const char *path,
                           uint32_t access) {
    char what[PATH_MAX + 64], why[PATH_MAX + 64];
    const char *effect = access & SANDBOX_WRITE ? "fs.write" : "fs.read";
    if (notice->rule->kind == SYSCALL_OPEN)
        snprintf(what, sizeof what, "open(\"%s\", %s)", path, access & SANDBOX_WRITE ? "write" : "read");
    else
        snprintf(what, sizeof what, "%s(\"%s\")", notice->rule->name, path);
    snprintf(why, sizeof why, "the manifest does not declare %s of it", effect);
    watch_log_refusal(watch, what, why);
}

/* ---- Deciding: each function returns 0 to continue the call, or the errno it fails with ---- */

/* The group contains the plugin, its children (they cannot leave it), and this process. */
static bool watch_is_plugin_process(pid_t pid) { return pid != getpid() && getpgid(pid) == getpgrp(); }

static bool watch_is_granted(const struct watch_state *watch, const char *path, uint32_t access) {
    int pid = 0, length = 0;
    if (sscanf(path, "/proc/%d%n", &pid, &length) == 1 && path[length] == '/' && !watch_is_plugin_process(pid))
        return false;
    return sandbox_plan_allows(watch->plan, path, access);
}

static int watch_decide_path(struct watch_state *watch, const struct watch_notice *notice, int at, int path_at,
                             uint32_t access) {
    char path[PATH_MAX], walked[PATH_MAX], located[PATH_MAX];
    const struct syscall_rule *rule = notice->rule;
    const __u64 *arguments = notice->data->args;
    int folder = at == SYSCALL_NO_ARGUMENT ? AT_FDCWD : (int)arguments[at], unknown = watch->landlocked ? 0 : EACCES;
    bool whole = !arguments[path_at]; /* no path: utimensat(file, NULL, …) */
    if (whole) *path = 0;
    if (!whole && !watch_read_text(notice->pid, arguments[path_at], path)) {
        if (access == SANDBOX_READ || watch->plan->writes) return unknown;
        watch_log_path(watch, notice, "?", access);
        return EACCES;
    }
    if (!*path) { /* an empty path means the descriptor itself, if the call allows that */
        snprintf(walked, sizeof walked, "/proc/%d/fd/%d", (int)notice->pid, folder);
        if (folder < 0 || !realpath(walked, located)) return unknown;
    } else {
        if (!notice_absolute_path(notice, folder, path, walked)) return unknown;
        bool creates = rule->kind == SYSCALL_ENTRY || access & SANDBOX_WRITE;
        enum path_state resolved = watch_resolve_path(walked, rule->kind != SYSCALL_ENTRY, located);
        if (resolved == PATH_UNRESOLVED || (resolved == PATH_CREATABLE && !creates)) {
            if (!creates) return 0; /* the kernel returns ENOENT */
            if (watch->plan->writes) return unknown;
            snprintf(located, sizeof located, "%s", path);
        }
    }
    if (watch_is_granted(watch, located, access)) return 0;
    watch_log_path(watch, notice, located, access);
    return EACCES;
}

static int watch_decide_open(struct watch_state *watch, const struct watch_notice *notice) {
    const int8_t *at = notice->rule->arguments;
    int flags = at[2] == SYSCALL_NO_ARGUMENT ? O_CREAT | O_WRONLY | O_TRUNC : (int)notice->data->args[at[2]];
    if (flags & O_PATH) return 0;
    uint32_t access = (flags & O_ACCMODE) == O_WRONLY ? SANDBOX_WRITE : SANDBOX_READ;
    if ((flags & O_ACCMODE) == O_RDWR || flags & (O_CREAT | O_TRUNC)) access |= SANDBOX_WRITE;
    return watch_decide_path(watch, notice, at[0], at[1], access);
}

static int watch_decide_change(struct watch_state *watch, const struct watch_notice *notice) {
    const int8_t *at = notice->rule->arguments;
    int answer = watch_decide_path(watch, notice, at[0], at[1], SANDBOX_WRITE);
    if (answer == 0 && at[3] != SYSCALL_NO_ARGUMENT)
        answer = watch_decide_path(watch, notice, at[2], at[3], SANDBOX_WRITE);
    return answer;
}

static int watch_decide_file(struct watch_state *watch, const struct watch_notice *notice) {
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/%d/fd/%d", (int)notice->pid, (int)notice->data->args[0]);
    if (!realpath(link, path)) return 0; /* it has no path: a pipe, memory, or a removed file */
    if (sandbox_plan_allows(watch->plan, path, SANDBOX_WRITE)) return 0;
    watch_log_path(watch, notice, path, SANDBOX_WRITE);
    return EACCES;
}

static int watch_decide_process(struct watch_state *watch, const struct watch_notice *notice) {
    pid_t pid = (pid_t)notice->data->args[0];
    if (pid == 0 || (pid > 0 && watch_is_plugin_process(pid))) return 0;
    if (pid > 0 && getpgid(pid) < 0 && errno == ESRCH) return ESRCH;
    watch_log_call(watch, notice);
    return EPERM;
}

static int watch_decide(struct watch_state *watch, const struct watch_notice *notice) {
    switch (notice->rule->kind) {
    case SYSCALL_OPEN: return watch_decide_open(watch, notice);
    case SYSCALL_ENTRY:
    case SYSCALL_SET_PATH: return watch_decide_change(watch, notice);
    case SYSCALL_SET_FILE: return watch_decide_file(watch, notice);
    case SYSCALL_PROCESS: return watch_decide_process(watch, notice);
    default: watch_log_call(watch, notice); return EPERM;
    }
}

/* ---- The watch process ---- */

static void watch_answer_notice(struct watch_state *watch, struct seccomp_notif *message,
                                struct seccomp_notif_resp *response) {
    memset(message, 0, sizeof *message);                        /* required by the kernel */
    if (seccomp_notify_receive(LISTENER, message) != 0) return; /* the calling process has ended */
    struct watch_notice notice = {watch, syscall_rule_by_number(message->data.nr), &message->data, (pid_t)message->pid};
    int error = notice.rule ? watch_decide(watch, &notice) : EPERM;
    *response = (struct seccomp_notif_resp){.id = message->id, .error = -error};
    if (error == 0) response->flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
    seccomp_notify_respond(LISTENER, response);
}

/* Receives the descriptor that syscall_watch_attach sent. Returns false if it was not sent. */
static bool watch_receive_listener(int socket) {
    char byte;
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec part = {&byte, 1};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
    ssize_t got;
    while ((got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC)) < 0 && errno == EINTR) continue;
    struct cmsghdr *header = got == 1 ? CMSG_FIRSTHDR(&message) : NULL;
    if (!header || header->cmsg_type != SCM_RIGHTS) return false;
    int listener;
    memcpy(&listener, CMSG_DATA(header), sizeof listener);
    return dup2(listener, LISTENER) == LISTENER && close(listener) == 0 && write(socket, "", 1) == 1;
}

/* Only a group that the plugin's process leads: another one would also contain processes that are not its own. */
static _Noreturn void watch_kill_group(pid_t plugin) {
    kill(getpgrp() == plugin ? 0 : plugin, SIGKILL);
    _exit(0);
}

static _Noreturn void watch_run(struct watch_state *watch, int socket, int host) {
    struct seccomp_notif *message;
    struct seccomp_notif_resp *response;
    prctl(PR_SET_NAME, "tenon-watch");
    signal(SIGTERM, SIG_DFL);
    /* Close all of the plugin's descriptors, so that their other ends see when the plugin closes them. */
    int copy = fcntl(socket, F_DUPFD, 10);
    if (dup2(host, HOST) < 0 || dup2(copy, SOCKET) < 0) _exit(1);
    closefrom(SOCKET + 1);
    struct pollfd ready[] = {{.fd = SOCKET, .events = POLLIN}, {.fd = HOST, .events = POLLIN}};
    bool attached = false;
    if (seccomp_notify_alloc(&message, &response) != 0) _exit(1);
    for (;;) {
        if (poll(ready, 2, -1) < 0 && errno != EINTR) _exit(1);
        if (ready[1].revents) watch_kill_group(watch->plugin);
        if (!ready[0].revents) continue;
        if (attached) {
            if (ready[0].revents & POLLIN)
                watch_answer_notice(watch, message, response);
            else
                _exit(0); /* all processes with the filter have ended */
        } else {
            attached = watch_receive_listener(SOCKET);
            if (!attached) _exit(0);
            close(SOCKET);
            ready[0].fd = LISTENER;
            ioctl(LISTENER, SET_FLAGS, SYNC_WAKE_UP); /* ignored by older kernels */
        }
    }
}

bool syscall_watch_start(struct syscall_watch *watch, const struct sandbox_plan *plan, bool landlocked) {
    int sockets[2], host = (int)syscall(SYS_pidfd_open, getppid(), 0);
    struct watch_state state = {.plan = plan, .plugin = getpid(), .landlocked = landlocked};
    if (host < 0) return false;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0) {
        close(host);
        return false;
    }
    fflush(NULL);
    watch->socket = sockets[0];
    watch->pid = (pid_t)syscall(SYS_clone, 0, NULL, NULL, NULL, NULL); /* like fork, but without an exit signal */
    if (watch->pid == 0) watch_run(&state, sockets[1], host);
    close(sockets[1]);
    close(host);
    if (watch->pid > 0) {
        prctl(PR_SET_PTRACER, (unsigned long)watch->pid, 0, 0,
              0); /* if Yama is active: allows the watch to read our paths */
        return true;
    }
    close(sockets[0]);
    return false;
}

bool syscall_watch_attach(struct syscall_watch *watch, int listener) {
    char byte = 0;
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {.bytes = {0}};
    struct iovec part = {&byte, 1};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    bool done = false;
    if (listener >= 0) {
        message.msg_control = control.bytes;
        message.msg_controllen = sizeof control.bytes;
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        *header =
            (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof listener), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
        memcpy(CMSG_DATA(header), &listener, sizeof listener);
        done = sendmsg(watch->socket, &message, MSG_NOSIGNAL) == 1;
        close(listener);
        done = done && read(watch->socket, &byte, 1) == 1;
    }
    close(watch->socket);
    return done;
}
