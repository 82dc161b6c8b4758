/*
 * sandbox.c - the order of things: what must be started outside, what gives up rights, and last the filter, which would
 * refuse the rest.
 */
#include "host/sandbox/sandbox.h"
#include "host/log.h"
#include "host/sandbox/calls.h"
#include "host/sandbox/filter.h"
#include "host/sandbox/landlock.h"
#include "host/sandbox/watch.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * What the sanitizers cannot live with: a limit of memory, as their shadow is larger than any that would mean
 * something, and a process whose threads cannot be traced, which is how leaks are looked for.
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
static bool entered;
int __lsan_is_turned_off(void); /* the sanitizer asks, before it looks */
__attribute__((visibility("default"))) int __lsan_is_turned_off(void) { return entered; }
#endif

static bool fails(struct error *error, const char *what) {
    error_set(error, TN_ERROR, "SANDBOX", "%s: %s", what, strerror(errno));
    return false;
}

/* Never more than there is already. */
static bool limit(const char *name, __rlimit_resource_t resource, rlim_t most, struct error *error) {
    struct rlimit now;
    if (getrlimit(resource, &now) != 0) return fails(error, name);
    if (now.rlim_max > most) now.rlim_max = most;
    if (now.rlim_cur > now.rlim_max) now.rlim_cur = now.rlim_max;
    return setrlimit(resource, &now) == 0 || fails(error, name);
}

static bool enter_limits(struct error *error) {
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
                  {"no core files", RLIMIT_CORE, 0, false},
                  {"no message queues", RLIMIT_MSGQUEUE, 0, false},
                  {"no locked memory", RLIMIT_MEMLOCK, 0, false}};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        if (SANITIZED && limits[i].memory) continue;
        if (!limit(limits[i].name, limits[i].resource, limits[i].most, error)) return false;
    }
    signal(SIGXFSZ, SIG_IGN); /* a write that is too long fails, and does not kill */
    return true;
}

/* Where that is not allowed it is not. */
static void be_killed_first(void) {
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

/* What root could do beyond what any user can. */
static bool drop_capabilities(struct error *error) {
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct none[2] = {{0, 0, 0}, {0, 0, 0}};
    for (unsigned long i = 0; prctl(PR_CAPBSET_READ, i, 0, 0, 0) >= 0; i++) prctl(PR_CAPBSET_DROP, i, 0, 0, 0);
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    return syscall(SYS_capset, &header, none) == 0 || fails(error, "capabilities cannot be given up");
}

static bool has_filter(void) {
    uint32_t action = SECCOMP_RET_ERRNO;
    return syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}

static bool has_notices(void) {
    uint32_t action = SECCOMP_RET_USER_NOTIF;
    return syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}

void sandbox_look(struct sandbox_support *support) {
    static char version[32];
    const struct scmp_version *library = seccomp_version();
    snprintf(version, sizeof version, "%u.%u.%u", library->major, library->minor, library->micro);
    *support = (struct sandbox_support){.no_new_privileges = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) >= 0,
                                        .filter = has_filter(),
                                        .audit = has_filter() && has_notices(),
                                        .landlock = landlock_version(),
                                        .seccomp_version = version};
}

const char *sandbox_landlock_text(int version) {
    if (version >= LANDLOCK_VERSION_SIGNALS) return "files, TCP, devices, signals";
    if (version >= 5) return "files, TCP, devices; signals need a newer kernel";
    return version >= 3 ? "files; the rest needs a newer kernel"
                        : "files, but for truncating; the rest needs a newer kernel";
}

static void tell_problems(const struct sandbox_plan *plan, const struct sandbox_support *support) {
    for (size_t i = 0; i < value_count(plan->problems); i++)
        log_write(LOG_WARN, NULL, "sandbox: %s", value_chars(value_at(plan->problems, i), NULL));
    if (!support->landlock)
        log_write(LOG_WARN, NULL,
                  "sandbox: this kernel has no Landlock: files are guarded against mistakes, not "
                  "against a plugin that means harm");
    if (!support->filter) log_write(LOG_WARN, NULL, "sandbox: this kernel has no seccomp: calls are not guarded");
}

int32_t sandbox_enter(const struct sandbox_plan *plan, struct error *error) {
    struct sandbox_support support;
    struct watch watch;
    int listener = -1;
#if SANITIZED
    entered = true;
#endif
    sandbox_look(&support);
    tell_problems(plan, &support);
    calls_resolve();
    bool watched = support.audit && watch_start(&watch, plan, support.landlock > 0);
    bool done = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 || fails(error, "no_new_privs cannot be set");
    be_killed_first();
    done = done && enter_limits(error);
    done = done && (!support.landlock || landlock_enter(plan, support.landlock, error));
    done = done && drop_capabilities(error);
    if (done && support.filter) {
        struct filter_options options = {watched, support.landlock >= LANDLOCK_VERSION_SIGNALS};
        done = filter_enter(plan, &options, &listener, error);
    }
    if (watched && !watch_give(&watch, listener) && done && listener >= 0) {
        errno = EPIPE;
        done = fails(error, "the process that watches the sandbox is gone");
    }
    if (done && support.filter && listener < 0)
        log_write(LOG_INFO, NULL, "sandbox: what is refused cannot be told: the kernel does not ask");
    return done ? TN_OK : TN_ERROR;
}
