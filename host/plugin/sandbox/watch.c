/*
 * watch.c - handles one notification at a time: finds out what the call would do, decides, logs a refusal, answers.
 *
 * A path is read from the memory of the calling process, which can change it after the check. Therefore the answer is
 * never more than "continue", and Landlock makes the final decision. Without Landlock this is the only check of paths;
 * it stops mistakes, but not a plugin that changes the path in time. Calls that Landlock does not restrict are refused,
 * or answered by watch_answer.c.
 *
 * The process has no exit signal, so wait() in the plugin does not see it. It is not in the plugin's process group, so
 * that signals to the group do not stop or end it.
 */
#include "host/plugin/sandbox/watch.h"
#include "host/base/clock.h"
#include "host/plugin/sandbox/syscalls.h"
#include "host/plugin/sandbox/watch_internal.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Defined by linux/seccomp.h since Linux 6.6: the calling process and the watch take turns on one processor. */
#define SET_FLAGS    _IOW('!', 4, uint64_t)
#define SYNC_WAKE_UP 1ul

/* ---- Deciding: each function returns 0 to continue the call, or the errno it fails with ---- */

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
        bool follow = rule->kind != SYSCALL_ENTRY && rule->kind != SYSCALL_GET_ENTRY;
        enum path_state resolved = watch_resolve_path(walked, follow, located);
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

/*
 * Attributes are never read by path: the path could change after the check, and Landlock does not restrict the call.
 * For a granted path the file system seems to have no attributes, which programs expect. A descriptor of it has them.
 */
static int watch_decide_get(struct watch_state *watch, const struct watch_notice *notice) {
    const int8_t *at = notice->rule->arguments;
    int answer = watch_decide_path(watch, notice, at[0], at[1], SANDBOX_READ);
    return answer ? answer : EOPNOTSUPP;
}

/* 0 is the group of the caller. Only programs that have children need it. */
static int watch_decide_process(struct watch_state *watch, const struct watch_notice *notice) {
    pid_t pid = (pid_t)notice->data->args[0];
    bool is_kill = strcmp(notice->rule->name, "kill") == 0;
    if (pid == 0 && (!is_kill || (watch->plan->spawn && getpgid(notice->pid) == watch->group))) return 0;
    if (pid > 0 && watch_is_plugin_process(watch, pid)) return 0;
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
    case SYSCALL_GET_PATH:
    case SYSCALL_GET_ENTRY: return watch_decide_get(watch, notice);
    case SYSCALL_PROCESS: return watch_decide_process(watch, notice);
    default: watch_log_call(watch, notice); return EPERM;
    }
}

/* ---- The watch process ---- */

static void watch_answer_notice(struct watch_state *watch, struct seccomp_notif *message,
                                struct seccomp_notif_resp *response) {
    memset(message, 0, sizeof *message);                        /* required by the kernel */
    if (seccomp_notify_receive(LISTENER, message) != 0) return; /* the calling process has ended */
    struct watch_notice notice = {watch, syscall_rule_by_number(message->data.nr), &message->data, (pid_t)message->pid,
                                  message->id};
    int64_t result = 0;
    int error = EPERM;
    bool answers = notice.rule && (notice.rule->kind == SYSCALL_LINK || notice.rule->kind == SYSCALL_CWD);
    if (answers)
        error = notice.rule->kind == SYSCALL_LINK ? watch_answer_link(watch, &notice, &result)
                                                  : watch_answer_cwd(watch, &notice, &result);
    else if (notice.rule)
        error = watch_decide(watch, &notice);
    *response = (struct seccomp_notif_resp){.id = message->id, .error = error > 0 ? -error : 0};
    if (error == 0 && answers) response->val = result;
    if (error == WATCH_CONTINUE || (error == 0 && !answers)) response->flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
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
static _Noreturn void watch_kill_plugin(const struct watch_state *watch) {
    kill(watch->group == watch->plugin ? -watch->plugin : watch->plugin, SIGKILL);
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
    setpgid(0, 0);
    watch->memory = watch_memory_limit();
    if (!getcwd(watch->cwd, sizeof watch->cwd)) *watch->cwd = 0;
    struct pollfd ready[] = {{.fd = SOCKET, .events = POLLIN}, {.fd = HOST, .events = POLLIN}};
    bool attached = false;
    int64_t next_ms = clock_now_ms() + WATCH_MEMORY_MS; /* the next check of memory */
    if (seccomp_notify_alloc(&message, &response) != 0) _exit(1);
    for (;;) {
        int64_t left_ms = next_ms - clock_now_ms();
        if (left_ms <= 0) {
            if (watch_memory_exceeded(watch)) watch_kill_plugin(watch);
            next_ms += left_ms = WATCH_MEMORY_MS;
        }
        int count = poll(ready, 2, (int)left_ms);
        if (count < 0 && errno != EINTR) _exit(1);
        if (count <= 0) continue;
        if (ready[1].revents) watch_kill_plugin(watch);
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
    struct watch_state state = {.plan = plan, .plugin = getpid(), .group = getpgrp(), .landlocked = landlocked};
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
