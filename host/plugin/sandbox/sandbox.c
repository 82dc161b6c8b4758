/*
 * sandbox.c - enters the layers in order: the watch starts outside, then rights are given up, and the filter comes
 * last, because it would refuse the other steps.
 */
#include "host/plugin/sandbox/sandbox.h"
#include "host/base/log.h"
#include "host/plugin/sandbox/filter.h"
#include "host/plugin/sandbox/landlock.h"
#include "host/plugin/sandbox/syscalls.h"
#include "host/plugin/sandbox/watch.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * Sanitizers do not work with a limit of memory, because their shadow memory is larger than any useful limit, nor in a
 * process whose threads cannot be traced, because the search for leaks traces them.
 */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

#if SANITIZED
static bool sandbox_entered;
int __lsan_is_turned_off(void); /* the sanitizer calls this before it searches for leaks */
__attribute__((visibility("default"))) int __lsan_is_turned_off(void) { return sandbox_entered; }
#endif

static bool sandbox_fail(struct error *error, const char *what) {
    error_set(error, TN_ERROR, "SANDBOX", "%s: %s", what, strerror(errno));
    return false;
}

/* Lowers a limit; never raises it. */
static bool sandbox_lower_limit(const char *name, __rlimit_resource_t resource, rlim_t most, struct error *error) {
    struct rlimit now;
    if (getrlimit(resource, &now) != 0) return sandbox_fail(error, name);
    if (now.rlim_max > most) now.rlim_max = most;
    if (now.rlim_cur > now.rlim_max) now.rlim_cur = now.rlim_max;
    return setrlimit(resource, &now) == 0 || sandbox_fail(error, name);
}

static bool sandbox_enter_limits(struct error *error) {
    static const struct {
        const char *name;
        __rlimit_resource_t resource;
        rlim_t most;
        bool memory;
    } limits[] = {{"the limit of memory", RLIMIT_DATA, SANDBOX_MEMORY_MAX, true},
                  {"the limit of addresses", RLIMIT_AS, SANDBOX_SPACE_MAX, true},
                  {"the limit of descriptors", RLIMIT_NOFILE, SANDBOX_FILES_MAX, false},
                  {"the limit of a file's size", RLIMIT_FSIZE, SANDBOX_FILE_MAX, false},
                  {"the limit of processes", RLIMIT_NPROC, SANDBOX_PROCESSES_MAX, false},
                  {"the limit of core files", RLIMIT_CORE, 0, false},
                  {"the limit of message queues", RLIMIT_MSGQUEUE, 0, false},
                  {"the limit of locked memory", RLIMIT_MEMLOCK, 0, false}};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        if (SANITIZED && limits[i].memory) continue;
        if (!sandbox_lower_limit(limits[i].name, limits[i].resource, limits[i].most, error)) return false;
    }
    signal(SIGXFSZ, SIG_IGN); /* a write that is too long fails with EFBIG instead of killing the process */
    return true;
}

/* Makes the kernel kill this process before the host if memory runs out. Not an error if it is not permitted. */
static void sandbox_raise_oom_score(void) {
    char text[16] = "";
    int file = open("/proc/self/oom_score_adj", O_RDWR | O_CLOEXEC);
    if (file < 0) return;
    if (read(file, text, sizeof text - 1) > 0 && strcmp(text, "0\n") == 0) {
        int length = snprintf(text, sizeof text, "%d", SANDBOX_LIKELY_KILLED);
        if (pwrite(file, text, (size_t)length, 0) != length)
            log_write(LOG_DEBUG, NULL, "sandbox: oom_score_adj: %s", strerror(errno));
    }
    close(file);
}

/* If the host runs as root, the process loses what only root can do. */
static bool sandbox_drop_capabilities(struct error *error) {
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct none[2] = {{0, 0, 0}, {0, 0, 0}};
    for (unsigned long i = 0; prctl(PR_CAPBSET_READ, i, 0, 0, 0) >= 0; i++) prctl(PR_CAPBSET_DROP, i, 0, 0, 0);
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    return syscall(SYS_capset, &header, none) == 0 || sandbox_fail(error, "capabilities cannot be dropped");
}

static bool kernel_has_seccomp_action(uint32_t action) {
    return syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}

void sandbox_probe(struct sandbox_support *support) {
    const char *library = filter_library_version();
    bool filter = library && kernel_has_seccomp_action(SECCOMP_RET_ERRNO);
    *support = (struct sandbox_support){.no_new_privileges = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) >= 0,
                                        .filter = filter,
                                        .audit = filter && kernel_has_seccomp_action(SECCOMP_RET_USER_NOTIF),
                                        .landlock = landlock_version(),
                                        .seccomp_version = library};
}

const char *sandbox_landlock_text(int version) {
    if (version >= LANDLOCK_VERSION_SIGNALS) return "files, TCP, devices, signals";
    if (version >= 5) return "files, TCP, devices; signals need a newer kernel";
    return version >= 3 ? "files; the rest needs a newer kernel"
                        : "files, except truncating; the rest needs a newer kernel";
}

static const char *missing_filter(const struct sandbox_support *support) {
    return support->seccomp_version ? "this kernel has no seccomp" : "this build of tenon has no libseccomp";
}

static void sandbox_log_problems(const struct sandbox_plan *plan, const struct sandbox_support *support) {
    for (size_t i = 0; i < value_count(plan->problems); i++)
        log_write(LOG_WARN, NULL, "sandbox: %s", value_chars(value_at(plan->problems, i), NULL));
    if (!support->landlock)
        log_write(LOG_WARN, NULL,
                  "sandbox: this kernel has no Landlock: files are guarded against mistakes, not "
                  "against a malicious plugin");
    if (!support->filter)
        log_write(LOG_WARN, NULL, "sandbox: %s: system calls are not filtered", missing_filter(support));
}

int32_t sandbox_enter(const struct sandbox_plan *plan, bool require_filter, struct error *error) {
    struct sandbox_support support;
    struct syscall_watch watch;
    int listener = -1;
#if SANITIZED
    sandbox_entered = true;
#endif
    sandbox_probe(&support);
    if (require_filter && !support.filter)
        return error_set(error, TN_ERROR, "SANDBOX",
                         "the plugin is not started: its pack is not trusted, and system calls cannot be filtered, "
                         "because %s; trust the pack (packs.trust), or accept the weaker sandbox with the plugin's id "
                         "in plugins.isolation",
                         missing_filter(&support));
    sandbox_log_problems(plan, &support);
    syscalls_resolve();
    bool watched = support.audit && syscall_watch_start(&watch, plan, support.landlock > 0);
    bool done = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 || sandbox_fail(error, "no_new_privs cannot be set");
    sandbox_raise_oom_score();
    done = done && sandbox_enter_limits(error);
    done = done && (!support.landlock || landlock_enter(plan, support.landlock, error));
    done = done && sandbox_drop_capabilities(error);
    if (done && support.filter) {
        struct filter_options options = {watched, support.landlock >= LANDLOCK_VERSION_SIGNALS};
        done = filter_enter(plan, &options, &listener, error);
    }
    if (watched && !syscall_watch_attach(&watch, listener) && done && listener >= 0) {
        errno = EPIPE;
        done = sandbox_fail(error, "the watch process of the sandbox has ended");
    }
    if (done && support.filter && listener < 0)
        log_write(LOG_INFO, NULL, "sandbox: refusals are not logged: the kernel does not send notifications");
    return done ? TN_OK : TN_ERROR;
}
