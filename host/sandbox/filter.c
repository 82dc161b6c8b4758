/*
 * filter.c - rules: which calls, and with which arguments.
 *
 * Only numbers in registers are compared here; what an argument points to could change after it was looked at. Paths
 * are Landlock's, and the watch's where it is there.
 */
#include "host/sandbox/filter.h"
#include "host/sandbox/calls.h"
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <sched.h>
#include <seccomp.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define FAMILIES 64 /* AF_… numbers are below it */

struct building {
    scmp_filter_ctx filter;
    const struct sandbox_plan *plan;
    const struct filter_options *options;
    uint32_t refuse, refuse_path; /* actions */
    const char *name;             /* of the call whose rules are being added */
    int number;
    int status; /* the first failure, negative */
    const char *failed;
};

static void check(struct building *building, int status) {
    if (status >= 0 || building->status < 0) return;
    building->status = status;
    building->failed = building->name;
}

static void refuse(struct building *building) {
    check(building, seccomp_rule_add(building->filter, building->refuse, building->number, 0));
}

static void refuse_where(struct building *building, struct scmp_arg_cmp one) {
    check(building, seccomp_rule_add_array(building->filter, building->refuse, building->number, 1, &one));
}

static struct scmp_arg_cmp equals(unsigned argument, uint32_t number) {
    return (struct scmp_arg_cmp){argument, SCMP_CMP_MASKED_EQ, UINT32_MAX, number};
}

/* As SCMP_CMP32, which is no standard C where it has one number. */
static struct scmp_arg_cmp compares(unsigned argument, enum scmp_compare how, uint32_t number) {
    return (struct scmp_arg_cmp){argument, how, number, 0};
}

static struct scmp_arg_cmp differs(unsigned argument, uint32_t number) {
    return compares(argument, SCMP_CMP_NE, number);
}

static struct scmp_arg_cmp has_bits(unsigned argument, uint32_t mask, uint32_t bits) {
    return (struct scmp_arg_cmp){argument, SCMP_CMP_MASKED_EQ, mask, bits};
}

/* ---- Calls that are refused with some arguments ---- */

static void some_clone(struct building *building) {
    static const uint32_t namespaces[] = {CLONE_NEWNS,  CLONE_NEWUTS, CLONE_NEWIPC,   CLONE_NEWUSER,
                                          CLONE_NEWPID, CLONE_NEWNET, CLONE_NEWCGROUP};
    unsigned flags = 0;
#if defined(__s390__) || defined(__s390x__)
    flags = 1;
#endif
    if (!building->plan->spawn) {
        refuse_where(building, has_bits(flags, CLONE_THREAD, 0));
        return;
    }
    for (size_t i = 0; i < sizeof namespaces / sizeof *namespaces; i++)
        refuse_where(building, has_bits(flags, namespaces[i], namespaces[i]));
}

/* A pair of datagram sockets can be sent elsewhere: to any socket that has a name. */
static void some_socketpair(struct building *building) {
    refuse_where(building, differs(0, AF_UNIX));
    refuse_where(building, has_bits(1, 0xf, SOCK_DGRAM));
    refuse_where(building, has_bits(1, 0xf, SOCK_RAW)); /* of AF_UNIX the same thing */
}

static void some_socket(struct building *building) {
    if (!building->plan->network) {
        refuse(building);
        return;
    }
    for (uint32_t family = 0; family < FAMILIES; family++)
        if (family != AF_INET && family != AF_INET6 && family != AF_NETLINK) refuse_where(building, equals(0, family));
    refuse_where(building, compares(0, SCMP_CMP_GE, FAMILIES));
    /* Of netlink the list of interfaces (NETLINK_ROUTE is 0), which the C library looks at to choose an address. */
    struct scmp_arg_cmp netlink[] = {equals(0, AF_NETLINK), differs(2, 0)};
    check(building, seccomp_rule_add_array(building->filter, building->refuse, building->number, 2, netlink));
}

static void some_prctl(struct building *building) {
    static const uint32_t options[] = {PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_PTRACER, PR_SET_SECCOMP, PR_SET_MM};
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) refuse_where(building, equals(0, options[i]));
}

/* Signals by way of a descriptor's owner. */
static void some_fcntl(struct building *building) {
    refuse_where(building, equals(1, F_SETOWN));
    refuse_where(building, equals(1, F_SETOWN_EX));
}

static void some_ioctl(struct building *building) {
    static const uint32_t requests[] = {FIOSETOWN, SIOCSPGRP, TIOCSTI, TIOCLINUX};
    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++) refuse_where(building, equals(1, requests[i]));
}

/* Of oneself only: neither a group's nor a user's. */
static void some_setpriority(struct building *building) {
    refuse_where(building, differs(0, PRIO_PROCESS));
    refuse_where(building, differs(1, 0));
}

static void some_ioprio(struct building *building) {
    refuse_where(building, differs(0, 1)); /* IOPRIO_WHO_PROCESS */
    refuse_where(building, differs(1, 0));
}

static void some_personality(struct building *building) { refuse_where(building, differs(0, UINT32_MAX)); }

static void some_pidfd_signal(struct building *building) {
    if (!building->plan->spawn || !building->options->scoped) refuse(building);
}

static const struct {
    const char *name;
    void (*add)(struct building *building);
} some[] = {
    {"clone", some_clone},
    {"socketpair", some_socketpair},
    {"prctl", some_prctl},
    {"fcntl", some_fcntl},
    {"ioctl", some_ioctl},
    {"setpriority", some_setpriority},
    {"ioprio_set", some_ioprio},
    {"personality", some_personality},
    {"pidfd_send_signal", some_pidfd_signal},
};

static void some_rules(struct building *building) {
    size_t i = 0, count = sizeof some / sizeof *some;
    while (i < count && strcmp(some[i].name, building->name) != 0) i++;
    assert(i < count); /* each CALL_SOME of the table has its function */
    some[i].add(building);
}

/* ---- Paths ---- */

/* Where everything may be read, only what opens for more is asked about. */
static void open_rules(struct building *building, const struct call *call) {
    uint32_t action = building->refuse;
    int8_t flags = call->arguments[2];
    building->refuse = building->refuse_path;
    if (sandbox_plan_allows(building->plan, "/", SANDBOX_READ) && flags != CALL_NONE) {
        refuse_where(building, has_bits((unsigned)flags, O_ACCMODE, O_WRONLY));
        refuse_where(building, has_bits((unsigned)flags, O_ACCMODE, O_RDWR));
        refuse_where(building, has_bits((unsigned)flags, O_CREAT, O_CREAT));
        refuse_where(building, has_bits((unsigned)flags, O_TRUNC, O_TRUNC));
    } else {
        refuse(building);
    }
    building->refuse = action;
}

static void path_rules(struct building *building, const struct call *call) {
    bool told = building->refuse == SCMP_ACT_NOTIFY;
    if (sandbox_plan_allows(building->plan, "/", SANDBOX_READ | SANDBOX_WRITE)) return;
    if (call->rule == CALL_OPEN) {
        if (told) open_rules(building, call);
    } else if (told || !building->plan->writes) {
        check(building, seccomp_rule_add(building->filter, building->refuse_path, building->number, 0));
    }
}

/* ---- The whole ---- */

static void process_rules(struct building *building) {
    static const char *const signals[] = {"kill", "tkill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo"};
    bool is_signal = false;
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) is_signal |= strcmp(building->name, signals[i]) == 0;
    bool unwatched = building->refuse != SCMP_ACT_NOTIFY; /* then nobody knows the plugin's children */
    if (is_signal && unwatched && building->plan->spawn && building->options->scoped) return;
    if (is_signal)
        refuse_where(building, differs(0, (uint32_t)getpid()));
    else
        refuse_where(building, compares(0, SCMP_CMP_GT, 0));
}

static void add_rules(struct building *building, const struct call *call) {
    building->name = call->name;
    switch (call->rule) {
    case CALL_NEVER: refuse(building); break;
    case CALL_SPAWN:
        if (!building->plan->spawn) refuse(building);
        break;
    case CALL_RUN:
        if (!building->plan->spawn && !building->plan->program) refuse(building);
        break;
    case CALL_SOCKET: some_socket(building); break;
    case CALL_SOME: some_rules(building); break;
    case CALL_PROCESS: process_rules(building); break;
    case CALL_OPEN:
    case CALL_CHANGE:
    case CALL_SET:
    case CALL_SET_FILE: path_rules(building, call); break;
    }
}

static void hide(struct building *building, const char *name, int number) {
    int found = seccomp_syscall_resolve_name(name);
    building->name = name;
    check(building, seccomp_rule_add(building->filter, SCMP_ACT_ERRNO(ENOSYS), found >= 0 ? found : number, 0));
}

/* Zero, or a negative errno. */
static int load(struct building *building, int *listener) {
    const struct call *call;
    building->filter = seccomp_init(SCMP_ACT_ALLOW);
    if (!building->filter) return -ENOMEM;
    building->name = "the filter";
    check(building, seccomp_attr_set(building->filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(ENOSYS)));
    check(building, seccomp_attr_set(building->filter, SCMP_FLTATR_CTL_OPTIMIZE, 2));
    for (unsigned i = 0; (call = call_at(i, &building->number)); i++)
        if (building->number >= 0) add_rules(building, call);
    hide(building, "clone3", 435);
    hide(building, "openat2", 437);
    building->name = "the filter";
    if (building->status == 0) check(building, seccomp_load(building->filter));
    if (building->status == 0 && building->refuse == SCMP_ACT_NOTIFY) *listener = seccomp_notify_fd(building->filter);
    seccomp_release(building->filter);
    return building->status;
}

bool filter_enter(const struct sandbox_plan *plan, const struct filter_options *options, int *listener,
                  struct error *error) {
    struct building building = {.plan = plan, .options = options};
    *listener = -1;
    if (options->watched) {
        building.refuse = building.refuse_path = SCMP_ACT_NOTIFY;
        if (load(&building, listener) == 0) return true;
    }
    /* An older kernel, or a container whose own filter is listened to: only one may be. */
    building = (struct building){
        .plan = plan, .options = options, .refuse = SCMP_ACT_ERRNO(EPERM), .refuse_path = SCMP_ACT_ERRNO(EACCES)};
    if (load(&building, listener) == 0) return true;
    error_set(error, TN_ERROR, "SANDBOX", "the filter of system calls cannot be set, at %s: %s", building.failed,
              strerror(-building.status));
    return false;
}
