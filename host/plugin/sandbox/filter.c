/*
 * filter.c - builds the filter's rules: which calls are refused, and with which arguments.
 *
 * A filter can compare only numbers in registers. Memory that an argument points to could change after the check, so
 * Landlock checks paths, and also the watch if one runs.
 */
#include "host/plugin/sandbox/filter.h"
#include "host/plugin/sandbox/syscalls.h"
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <sched.h>
#include <seccomp.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define FAMILIES 64 /* more than the highest AF_… number */

struct filter_builder {
    scmp_filter_ctx filter;
    const struct sandbox_plan *plan;
    const struct filter_options *options;
    uint32_t refuse, refuse_path; /* actions */
    const char *name;             /* the call whose rules are being added */
    int number;
    int status;         /* the first failure, a negative errno; else 0 */
    const char *failed; /* the call that failed */
};

static void filter_check(struct filter_builder *builder, int status) {
    if (status >= 0 || builder->status < 0) return;
    builder->status = status;
    builder->failed = builder->name;
}

static void filter_refuse(struct filter_builder *builder) {
    filter_check(builder, seccomp_rule_add(builder->filter, builder->refuse, builder->number, 0));
}

static void filter_refuse_if(struct filter_builder *builder, struct scmp_arg_cmp one) {
    filter_check(builder, seccomp_rule_add_array(builder->filter, builder->refuse, builder->number, 1, &one));
}

static struct scmp_arg_cmp argument_equals(unsigned argument, uint32_t number) {
    return (struct scmp_arg_cmp){argument, SCMP_CMP_MASKED_EQ, UINT32_MAX, number};
}

/* Same as SCMP_CMP32, which is not standard C if it is used with one number. */
static struct scmp_arg_cmp argument_compares(unsigned argument, enum scmp_compare how, uint32_t number) {
    return (struct scmp_arg_cmp){argument, how, number, 0};
}

static struct scmp_arg_cmp argument_differs(unsigned argument, uint32_t number) {
    return argument_compares(argument, SCMP_CMP_NE, number);
}

static struct scmp_arg_cmp argument_has_bits(unsigned argument, uint32_t mask, uint32_t bits) {
    return (struct scmp_arg_cmp){argument, SCMP_CMP_MASKED_EQ, mask, bits};
}

/* ---- SYSCALL_ARGUMENTS: calls that are refused with some arguments ---- */

static void filter_clone(struct filter_builder *builder) {
    static const uint32_t namespaces[] = {CLONE_NEWNS,  CLONE_NEWUTS, CLONE_NEWIPC,   CLONE_NEWUSER,
                                          CLONE_NEWPID, CLONE_NEWNET, CLONE_NEWCGROUP};
    unsigned flags = 0;
#if defined(__s390__) || defined(__s390x__)
    flags = 1;
#endif
    if (!builder->plan->spawn) {
        filter_refuse_if(builder, argument_has_bits(flags, CLONE_THREAD, 0));
        return;
    }
    for (size_t i = 0; i < sizeof namespaces / sizeof *namespaces; i++)
        filter_refuse_if(builder, argument_has_bits(flags, namespaces[i], namespaces[i]));
}

/* A datagram socket of a pair can still send to any named socket. */
static void filter_socketpair(struct filter_builder *builder) {
    filter_refuse_if(builder, argument_differs(0, AF_UNIX));
    filter_refuse_if(builder, argument_has_bits(1, 0xf, SOCK_DGRAM));
    filter_refuse_if(builder, argument_has_bits(1, 0xf, SOCK_RAW)); /* the same as SOCK_DGRAM for AF_UNIX */
}

static void filter_socket(struct filter_builder *builder) {
    if (!builder->plan->network) {
        filter_refuse(builder);
        return;
    }
    for (uint32_t family = 0; family < FAMILIES; family++)
        if (family != AF_INET && family != AF_INET6 && family != AF_NETLINK)
            filter_refuse_if(builder, argument_equals(0, family));
    filter_refuse_if(builder, argument_compares(0, SCMP_CMP_GE, FAMILIES));
    /* NETLINK_ROUTE (0) is allowed: the C library reads the list of interfaces to choose an address. */
    struct scmp_arg_cmp netlink[] = {argument_equals(0, AF_NETLINK), argument_differs(2, 0)};
    filter_check(builder, seccomp_rule_add_array(builder->filter, builder->refuse, builder->number, 2, netlink));
}

static void filter_prctl(struct filter_builder *builder) {
    static const uint32_t options[] = {PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_PTRACER, PR_SET_SECCOMP, PR_SET_MM};
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        filter_refuse_if(builder, argument_equals(0, options[i]));
}

/* The owner of a descriptor receives signals. */
static void filter_fcntl(struct filter_builder *builder) {
    filter_refuse_if(builder, argument_equals(1, F_SETOWN));
    filter_refuse_if(builder, argument_equals(1, F_SETOWN_EX));
}

static void filter_ioctl(struct filter_builder *builder) {
    static const uint32_t requests[] = {FIOSETOWN, SIOCSPGRP, TIOCSTI, TIOCLINUX};
    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++)
        filter_refuse_if(builder, argument_equals(1, requests[i]));
}

/* Only its own priority: not that of a group or a user. */
static void filter_setpriority(struct filter_builder *builder) {
    filter_refuse_if(builder, argument_differs(0, PRIO_PROCESS));
    filter_refuse_if(builder, argument_differs(1, 0));
}

static void filter_ioprio(struct filter_builder *builder) {
    filter_refuse_if(builder, argument_differs(0, 1)); /* IOPRIO_WHO_PROCESS */
    filter_refuse_if(builder, argument_differs(1, 0));
}

static void filter_personality(struct filter_builder *builder) {
    filter_refuse_if(builder, argument_differs(0, UINT32_MAX));
}

/* It is not counted as data, and only processes that are started can share it. */
static void filter_mmap(struct filter_builder *builder) {
    bool takes_registers = strcmp(builder->name, "mmap2") == 0 || sizeof(void *) == 8;
    if (takes_registers && !builder->plan->spawn)
        filter_refuse_if(builder, argument_has_bits(3, MAP_TYPE | MAP_ANONYMOUS, MAP_SHARED | MAP_ANONYMOUS));
}

static void filter_pidfd_signal(struct filter_builder *builder) {
    if (!builder->plan->spawn || !builder->options->scoped) filter_refuse(builder);
}

static const struct {
    const char *name;
    void (*add)(struct filter_builder *builder);
} argument_rules[] = {
    {"clone", filter_clone},
    {"socketpair", filter_socketpair},
    {"prctl", filter_prctl},
    {"fcntl", filter_fcntl},
    {"ioctl", filter_ioctl},
    {"setpriority", filter_setpriority},
    {"ioprio_set", filter_ioprio},
    {"personality", filter_personality},
    {"pidfd_send_signal", filter_pidfd_signal},
    {"mmap", filter_mmap},
    {"mmap2", filter_mmap},
};

static void filter_add_argument_rules(struct filter_builder *builder) {
    size_t i = 0, count = sizeof argument_rules / sizeof *argument_rules;
    while (i < count && strcmp(argument_rules[i].name, builder->name) != 0) i++;
    assert(i < count); /* each SYSCALL_ARGUMENTS row of the table has a function here */
    argument_rules[i].add(builder);
}

/* ---- Paths ---- */

/* If every file may be read, only calls that open for writing go to the watch. */
static void filter_add_open_rules(struct filter_builder *builder, const struct syscall_rule *rule) {
    uint32_t action = builder->refuse;
    int8_t flags = rule->arguments[2];
    builder->refuse = builder->refuse_path;
    if (sandbox_plan_allows(builder->plan, "/", SANDBOX_READ) && flags != SYSCALL_NO_ARGUMENT) {
        filter_refuse_if(builder, argument_has_bits((unsigned)flags, O_ACCMODE, O_WRONLY));
        filter_refuse_if(builder, argument_has_bits((unsigned)flags, O_ACCMODE, O_RDWR));
        filter_refuse_if(builder, argument_has_bits((unsigned)flags, O_CREAT, O_CREAT));
        filter_refuse_if(builder, argument_has_bits((unsigned)flags, O_TRUNC, O_TRUNC));
    } else {
        filter_refuse(builder);
    }
    builder->refuse = action;
}

/*
 * Calls that read what Landlock does not guard. Without a watch, attributes seem to be unknown to the file system;
 * links can be read, because every realpath() would fail otherwise.
 */
static void filter_add_get_rules(struct filter_builder *builder, const struct syscall_rule *rule) {
    bool watched = builder->refuse == SCMP_ACT_NOTIFY, link = rule->kind == SYSCALL_LINK || rule->kind == SYSCALL_CWD;
    if (sandbox_plan_allows(builder->plan, "/", SANDBOX_READ) || (link && !watched)) return;
    uint32_t action = watched ? SCMP_ACT_NOTIFY : SCMP_ACT_ERRNO(EOPNOTSUPP);
    filter_check(builder, seccomp_rule_add(builder->filter, action, builder->number, 0));
}

static void filter_add_path_rules(struct filter_builder *builder, const struct syscall_rule *rule) {
    bool watched = builder->refuse == SCMP_ACT_NOTIFY;
    if (sandbox_plan_allows(builder->plan, "/", SANDBOX_READ | SANDBOX_WRITE)) return;
    if (rule->kind == SYSCALL_OPEN) {
        if (watched) filter_add_open_rules(builder, rule);
    } else if (watched || !builder->plan->writes) {
        filter_check(builder, seccomp_rule_add(builder->filter, builder->refuse_path, builder->number, 0));
    }
}

/* ---- All rules ---- */

static void filter_add_process_rules(struct filter_builder *builder) {
    static const char *const signals[] = {"kill", "tkill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo"};
    bool is_signal = false;
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) is_signal |= strcmp(builder->name, signals[i]) == 0;
    /* Without a watch, the children of the plugin are unknown: leave signals to Landlock. */
    bool unwatched = builder->refuse != SCMP_ACT_NOTIFY;
    if (is_signal && unwatched && builder->plan->spawn && builder->options->scoped) return;
    if (is_signal)
        filter_refuse_if(builder, argument_differs(0, (uint32_t)getpid()));
    else
        filter_refuse_if(builder, argument_compares(0, SCMP_CMP_GT, 0));
}

static void filter_add_rules(struct filter_builder *builder, const struct syscall_rule *rule) {
    builder->name = rule->name;
    switch (rule->kind) {
    case SYSCALL_NEVER: filter_refuse(builder); break;
    case SYSCALL_SPAWN:
        if (!builder->plan->spawn) filter_refuse(builder);
        break;
    case SYSCALL_RUN:
        if (!builder->plan->spawn && !builder->plan->program) filter_refuse(builder);
        break;
    case SYSCALL_SOCKET: filter_socket(builder); break;
    case SYSCALL_ARGUMENTS: filter_add_argument_rules(builder); break;
    case SYSCALL_INFORM:
        if (!sandbox_plan_allows(builder->plan, "/", SANDBOX_READ)) filter_refuse(builder);
        break;
    case SYSCALL_GET_PATH:
    case SYSCALL_GET_ENTRY:
    case SYSCALL_LINK:
    case SYSCALL_CWD: filter_add_get_rules(builder, rule); break;
    case SYSCALL_PROCESS: filter_add_process_rules(builder); break;
    case SYSCALL_OPEN:
    case SYSCALL_ENTRY:
    case SYSCALL_SET_PATH:
    case SYSCALL_SET_FILE: filter_add_path_rules(builder, rule); break;
    }
}

/* The call fails with ENOSYS, as if the kernel did not have it. */
static void filter_hide(struct filter_builder *builder, const char *name, int number) {
    int found = seccomp_syscall_resolve_name(name);
    builder->name = name;
    filter_check(builder, seccomp_rule_add(builder->filter, SCMP_ACT_ERRNO(ENOSYS), found >= 0 ? found : number, 0));
}

/* Returns 0 or a negative errno. */
static int filter_load(struct filter_builder *builder, int *listener) {
    const struct syscall_rule *rule;
    builder->filter = seccomp_init(SCMP_ACT_ALLOW);
    if (!builder->filter) return -ENOMEM;
    builder->name = "the filter";
    filter_check(builder, seccomp_attr_set(builder->filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(ENOSYS)));
    filter_check(builder, seccomp_attr_set(builder->filter, SCMP_FLTATR_CTL_OPTIMIZE, 2));
    for (unsigned i = 0; (rule = syscall_rule_at(i, &builder->number)); i++)
        if (builder->number >= 0) filter_add_rules(builder, rule);
    filter_hide(builder, "clone3", 435);
    filter_hide(builder, "openat2", 437);
    builder->name = "the filter";
    if (builder->status == 0) filter_check(builder, seccomp_load(builder->filter));
    if (builder->status == 0 && builder->refuse == SCMP_ACT_NOTIFY) *listener = seccomp_notify_fd(builder->filter);
    seccomp_release(builder->filter);
    return builder->status;
}

const char *filter_library_version(void) {
    static char version[32];
    const struct scmp_version *library = seccomp_version();
    snprintf(version, sizeof version, "%u.%u.%u", library->major, library->minor, library->micro);
    return version;
}

bool filter_enter(const struct sandbox_plan *plan, const struct filter_options *options, int *listener,
                  struct error *error) {
    struct filter_builder builder = {.plan = plan, .options = options};
    *listener = -1;
    if (options->watched) {
        builder.refuse = builder.refuse_path = SCMP_ACT_NOTIFY;
        if (filter_load(&builder, listener) == 0) return true;
    }
    /* The kernel is too old, or the container already has a filter with a listener: there can be only one. */
    builder = (struct filter_builder){
        .plan = plan, .options = options, .refuse = SCMP_ACT_ERRNO(EPERM), .refuse_path = SCMP_ACT_ERRNO(EACCES)};
    if (filter_load(&builder, listener) == 0) return true;
    error_set(error, TN_ERROR, "SANDBOX", "the filter of system calls cannot be installed, at %s: %s", builder.failed,
              strerror(-builder.status));
    return false;
}
