/*
 * watch_log.c - one line in the log for each refused call: what was refused, and which effect would open it.
 */
#include "host/base/log.h"
#include "host/plugin/sandbox/watch.h"
#include "host/plugin/sandbox/watch_internal.h"
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

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

void watch_log_call(struct watch_state *watch, const struct watch_notice *notice) {
    char what[PATH_MAX + 64], path[PATH_MAX];
    const struct syscall_rule *rule = notice->rule;
    const __u64 *arguments = notice->data->args;
    const char *why = "no effect opens it", *family = family_name(arguments[0]);
    char missing[128];
    bool is_mmap = strncmp(rule->name, "mmap", 4) == 0;
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
    const char *effect = NULL;
    if (rule->kind == SYSCALL_SPAWN || rule->kind == SYSCALL_RUN || (is_clone && !watch->plan->spawn))
        effect = "process.spawn";
    if (is_mmap) snprintf(what, sizeof what, "mmap(shared memory)");
    if (is_mmap) effect = "process.spawn";
    if (rule->kind == SYSCALL_INFORM) effect = "fs.read of all files";
    if (is_socket && (arguments[0] == AF_INET || arguments[0] == AF_INET6)) effect = "net:raw";
    if (effect) {
        snprintf(missing, sizeof missing, "%s %s", watch->plan->undeclared, effect);
        why = missing;
    }
    if (rule->kind == SYSCALL_PROCESS) why = "it is not a process of the plugin";
    watch_log_refusal(watch, what, why);
}

void watch_log_path(struct watch_state *watch, const struct watch_notice *notice, const char *path, uint32_t access) {
    char what[PATH_MAX + 64], why[PATH_MAX + 64];
    const char *effect = access & SANDBOX_WRITE ? "fs.write" : "fs.read";
    if (notice->rule->kind == SYSCALL_OPEN)
        snprintf(what, sizeof what, "open(\"%s\", %s)", path, access & SANDBOX_WRITE ? "write" : "read");
    else
        snprintf(what, sizeof what, "%s(\"%s\")", notice->rule->name, path);
    snprintf(why, sizeof why, "%s %s of it", watch->plan->undeclared, effect);
    watch_log_refusal(watch, what, why);
}
