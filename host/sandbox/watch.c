/*
 * watch.c - one question at a time: what is asked for, whether it is granted, an answer, a line.
 *
 * A path is read from the memory of who asks, and could change once it was looked at; so a yes is never more than "go
 * on": Landlock then decides. Where there is no Landlock this is the only look at a path, and stops mistakes but not a
 * plugin that races it.
 *
 * It is a child that no wait() of the plugin's sees, as it has no exit signal.
 */
#include "host/sandbox/watch.h"
#include "adl/value/buffer.h"
#include "host/log.h"
#include "host/sandbox/calls.h"
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

/* Descriptors of the watch. */
enum { LISTENER = 0, HOST = 1, KEPT = 3 };

/* What linux/seccomp.h has since Linux 6.6: who asks and who answers take turns on one processor. */
#define SET_FLAGS    _IOW('!', 4, uint64_t)
#define SYNC_WAKE_UP 1ul

#define PAGE 4096u

struct watching {
    const struct sandbox_plan *plan;
    pid_t plugin;
    bool landlocked;
    unsigned lines;
};

/* What is asked, and what is found out about it. */
struct question {
    const struct watching *watching;
    const struct call *call;
    const struct seccomp_data *data;
    pid_t pid;
};

/* ---- Paths ---- */

/* A text in the memory of who asks; false: it cannot be read. */
static bool read_text(pid_t pid, uint64_t address, char out[PATH_MAX]) {
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

static bool is_under(const char *path, const char *folder) {
    size_t length = strlen(folder);
    return strncmp(path, folder, length) == 0 && (!path[length] || path[length] == '/');
}

/* What `self` is to who asks: a thread's number is as good as its process's, but not in the plan. */
static pid_t self_of(const struct question *question) {
    char thread[64];
    snprintf(thread, sizeof thread, "/proc/%d/task/%d", (int)question->watching->plugin, (int)question->pid);
    return access(thread, F_OK) == 0 ? question->watching->plugin : question->pid;
}

/* The path as we can walk it. */
static bool absolute(const struct question *question, int folder, const char *path, char out[PATH_MAX]) {
    int length;
    if (is_under(path, "/proc/self"))
        length = snprintf(out, PATH_MAX, "/proc/%d%s", (int)self_of(question), path + strlen("/proc/self"));
    else if (is_under(path, "/proc/thread-self"))
        length = snprintf(out, PATH_MAX, "/proc/%d%s", (int)self_of(question), path + strlen("/proc/thread-self"));
    else if (is_under(path, "/dev/fd"))
        length = snprintf(out, PATH_MAX, "/proc/%d/fd%s", (int)self_of(question), path + strlen("/dev/fd"));
    else if (*path == '/')
        length = snprintf(out, PATH_MAX, "%s", path);
    else if (folder == AT_FDCWD)
        length = snprintf(out, PATH_MAX, "/proc/%d/cwd/%s", (int)question->pid, path);
    else
        length = snprintf(out, PATH_MAX, "/proc/%d/fd/%d/%s", (int)question->pid, folder, path);
    return length > 0 && length < PATH_MAX;
}

enum found { FOUND, FOUND_NEW, FOUND_NOTHING };

/* With the last name's link followed or not. FOUND_NEW: its folder is there, and it is not. */
static enum found locate(const char *path, bool follow, char out[PATH_MAX]) {
    char parent[PATH_MAX];
    if (follow && realpath(path, out)) return FOUND;
    snprintf(parent, sizeof parent, "%s", path);
    size_t length = strlen(parent);
    while (length > 1 && parent[length - 1] == '/') parent[--length] = 0;
    char *slash = strrchr(parent, '/');
    const char *name = slash + 1;
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || !*name) return realpath(path, out) ? FOUND : FOUND_NOTHING;
    *slash = 0;
    if (!realpath(slash == parent ? "/" : parent, out)) return FOUND_NOTHING;
    length = strlen(out);
    if (length + strlen(name) + 2 > PATH_MAX) return FOUND_NOTHING;
    snprintf(out + length, PATH_MAX - length, "%s%s", length == 1 ? "" : "/", name);
    if (faccessat(AT_FDCWD, out, F_OK, AT_SYMLINK_NOFOLLOW) != 0) return FOUND_NEW;
    return follow ? FOUND_NOTHING : FOUND; /* a link to nothing */
}

/* ---- Telling ---- */

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

static void tell(struct watching *watching, const char *what, const char *why) {
    if (watching->lines > WATCH_LINES_MAX) return;
    if (watching->lines++ < WATCH_LINES_MAX)
        log_write(LOG_WARN, NULL, "sandbox: refused %s: %s", what, why);
    else
        log_write(LOG_WARN, NULL, "sandbox: more than %u refusals: the others are not told", WATCH_LINES_MAX);
}

static void tell_call(struct watching *watching, const struct question *question) {
    char what[PATH_MAX + 64], path[PATH_MAX];
    const struct call *call = question->call;
    const __u64 *arguments = question->data->args;
    const char *why = "no effect opens it", *family = family_name(arguments[0]);
    bool is_clone = strcmp(call->name, "clone") == 0, is_socket = strcmp(call->name, "socket") == 0;
    snprintf(what, sizeof what, "%s", call->name);
    if (is_clone && arguments[0] & (CLONE_NEWNS | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET))
        snprintf(what, sizeof what, "clone(a namespace)");
    else if (is_clone)
        snprintf(what, sizeof what, "fork");
    else if ((is_socket || strcmp(call->name, "socketpair") == 0) && family)
        snprintf(what, sizeof what, "%s(%s)", call->name, family);
    else if (is_socket || call->rule == CALL_PROCESS || strcmp(call->name, "prctl") == 0)
        snprintf(what, sizeof what, "%s(%d)", call->name, (int)arguments[0]);
    else if (strcmp(call->name, "execve") == 0 && read_text(question->pid, arguments[0], path))
        snprintf(what, sizeof what, "execve(\"%s\")", path);
    else if (strcmp(call->name, "ioctl") == 0 || strcmp(call->name, "fcntl") == 0)
        snprintf(what, sizeof what, "%s(0x%x)", call->name, (unsigned)arguments[1]);
    if (call->rule == CALL_SPAWN || call->rule == CALL_RUN || (is_clone && !watching->plan->spawn))
        why = "the manifest does not declare process.spawn";
    if (is_socket && (arguments[0] == AF_INET || arguments[0] == AF_INET6))
        why = "the manifest does not declare net:raw";
    if (call->rule == CALL_PROCESS) why = "it is no process of the plugin's";
    tell(watching, what, why);
}

static void tell_path(struct watching *watching, const struct question *question, const char *path, uint32_t access) {
    char what[PATH_MAX + 64], why[PATH_MAX + 64];
    const char *effect = access & SANDBOX_WRITE ? "fs.write" : "fs.read";
    if (question->call->rule == CALL_OPEN)
        snprintf(what, sizeof what, "open(\"%s\", %s)", path, access & SANDBOX_WRITE ? "write" : "read");
    else
        snprintf(what, sizeof what, "%s(\"%s\")", question->call->name, path);
    snprintf(why, sizeof why, "the manifest does not declare %s of it", effect);
    tell(watching, what, why);
}

/* ---- Deciding: zero to go on, or the error ---- */

/* Of the plugin's group are it and its children, who cannot leave it; and we. */
static bool is_of_plugin(pid_t pid) { return pid != getpid() && getpgid(pid) == getpgrp(); }

static bool is_granted(const struct watching *watching, const char *path, uint32_t access) {
    int pid = 0, length = 0;
    if (sscanf(path, "/proc/%d%n", &pid, &length) == 1 && path[length] == '/' && !is_of_plugin(pid)) return false;
    return sandbox_plan_allows(watching->plan, path, access);
}

static int decide_path(struct watching *watching, const struct question *question, int at, int path_at,
                       uint32_t access) {
    char path[PATH_MAX], walked[PATH_MAX], located[PATH_MAX];
    const struct call *call = question->call;
    const __u64 *arguments = question->data->args;
    int folder = at == CALL_NONE ? AT_FDCWD : (int)arguments[at], unknown = watching->landlocked ? 0 : EACCES;
    bool whole = !arguments[path_at]; /* utimensat(file, NULL, …) */
    if (whole) *path = 0;
    if (!whole && !read_text(question->pid, arguments[path_at], path)) {
        if (access == SANDBOX_READ || watching->plan->writes) return unknown;
        tell_path(watching, question, "?", access);
        return EACCES;
    }
    if (!*path) { /* of the descriptor itself, where the call allows that */
        snprintf(walked, sizeof walked, "/proc/%d/fd/%d", (int)question->pid, folder);
        if (folder < 0 || !realpath(walked, located)) return unknown;
    } else {
        if (!absolute(question, folder, path, walked)) return unknown;
        bool makes = call->rule == CALL_CHANGE || access & SANDBOX_WRITE;
        enum found found = locate(walked, call->rule != CALL_CHANGE, located);
        if (found == FOUND_NOTHING || (found == FOUND_NEW && !makes)) {
            if (!makes) return 0; /* it ends with ENOENT */
            if (watching->plan->writes) return unknown;
            snprintf(located, sizeof located, "%s", path);
        }
    }
    if (is_granted(watching, located, access)) return 0;
    tell_path(watching, question, located, access);
    return EACCES;
}

static int decide_open(struct watching *watching, const struct question *question) {
    const int8_t *at = question->call->arguments;
    int flags = at[2] == CALL_NONE ? O_CREAT | O_WRONLY | O_TRUNC : (int)question->data->args[at[2]];
    if (flags & O_PATH) return 0;
    uint32_t access = (flags & O_ACCMODE) == O_WRONLY ? SANDBOX_WRITE : SANDBOX_READ;
    if ((flags & O_ACCMODE) == O_RDWR || flags & (O_CREAT | O_TRUNC)) access |= SANDBOX_WRITE;
    return decide_path(watching, question, at[0], at[1], access);
}

static int decide_change(struct watching *watching, const struct question *question) {
    const int8_t *at = question->call->arguments;
    int answer = decide_path(watching, question, at[0], at[1], SANDBOX_WRITE);
    if (answer == 0 && at[3] != CALL_NONE) answer = decide_path(watching, question, at[2], at[3], SANDBOX_WRITE);
    return answer;
}

static int decide_file(struct watching *watching, const struct question *question) {
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/%d/fd/%d", (int)question->pid, (int)question->data->args[0]);
    if (!realpath(link, path)) return 0; /* it has no name: a pipe, memory, or what was removed */
    if (sandbox_plan_allows(watching->plan, path, SANDBOX_WRITE)) return 0;
    tell_path(watching, question, path, SANDBOX_WRITE);
    return EACCES;
}

static int decide_process(struct watching *watching, const struct question *question) {
    pid_t pid = (pid_t)question->data->args[0];
    if (pid == 0 || (pid > 0 && is_of_plugin(pid))) return 0;
    if (pid > 0 && getpgid(pid) < 0 && errno == ESRCH) return ESRCH;
    tell_call(watching, question);
    return EPERM;
}

static int decide(struct watching *watching, const struct question *question) {
    switch (question->call->rule) {
    case CALL_OPEN: return decide_open(watching, question);
    case CALL_CHANGE:
    case CALL_SET: return decide_change(watching, question);
    case CALL_SET_FILE: return decide_file(watching, question);
    case CALL_PROCESS: return decide_process(watching, question);
    default: tell_call(watching, question); return EPERM;
    }
}

/* ---- The process ---- */

static void answer_one(struct watching *watching, struct seccomp_notif *notice, struct seccomp_notif_resp *response) {
    memset(notice, 0, sizeof *notice);                         /* the kernel insists */
    if (seccomp_notify_receive(LISTENER, notice) != 0) return; /* who asked is gone */
    struct question question = {watching, call_find(notice->data.nr), &notice->data, (pid_t)notice->pid};
    int error = question.call ? decide(watching, &question) : EPERM;
    *response = (struct seccomp_notif_resp){.id = notice->id, .error = -error};
    if (error == 0) response->flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
    seccomp_notify_respond(LISTENER, response);
}

/* The descriptor that watch_give sent; false: there is none. */
static bool receive(int socket) {
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

static void leave_nothing_behind(void) {
    kill(0, SIGKILL);
    _exit(0);
}

static _Noreturn void watch_run(struct watching *watching, int socket, int host) {
    struct seccomp_notif *notice;
    struct seccomp_notif_resp *response;
    prctl(PR_SET_NAME, "tenon-watch");
    signal(SIGTERM, SIG_DFL);
    /* Nothing of the plugin's stays open here: its end must show. */
    int kept = fcntl(socket, F_DUPFD, 10);
    if (dup2(host, HOST) < 0 || dup2(kept, KEPT) < 0) _exit(1);
    syscall(SYS_close_range, KEPT + 1, ~0u, 0);
    struct pollfd ready[] = {{.fd = KEPT, .events = POLLIN}, {.fd = HOST, .events = POLLIN}};
    bool given = false;
    if (seccomp_notify_alloc(&notice, &response) != 0) _exit(1);
    for (;;) {
        if (poll(ready, 2, -1) < 0 && errno != EINTR) _exit(1);
        if (ready[1].revents) leave_nothing_behind();
        if (!ready[0].revents) continue;
        if (given) {
            if (ready[0].revents & POLLIN)
                answer_one(watching, notice, response);
            else
                _exit(0); /* whom it asked about are gone */
        } else {
            given = receive(KEPT);
            if (!given) _exit(0);
            close(KEPT);
            ready[0].fd = LISTENER;
            ioctl(LISTENER, SET_FLAGS, SYNC_WAKE_UP); /* where the kernel has it */
        }
    }
}

bool watch_start(struct watch *watch, const struct sandbox_plan *plan, bool landlocked) {
    int sockets[2], host = (int)syscall(SYS_pidfd_open, getppid(), 0);
    struct watching watching = {.plan = plan, .plugin = getpid(), .landlocked = landlocked};
    if (host < 0) return false;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0) {
        close(host);
        return false;
    }
    fflush(NULL);
    watch->socket = sockets[0];
    watch->pid = (pid_t)syscall(SYS_clone, 0, NULL, NULL, NULL, NULL); /* fork, without a signal at its end */
    if (watch->pid == 0) watch_run(&watching, sockets[1], host);
    close(sockets[1]);
    close(host);
    if (watch->pid > 0) {
        prctl(PR_SET_PTRACER, (unsigned long)watch->pid, 0, 0, 0); /* where Yama is: it may read our paths */
        return true;
    }
    close(sockets[0]);
    return false;
}

bool watch_give(struct watch *watch, int listener) {
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
