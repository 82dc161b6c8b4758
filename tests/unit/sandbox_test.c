/*
 * sandbox_test.c - what a plan grants, and each layer of the sandbox without the others, in child processes.
 *
 * tests/e2e/sandbox.sh tests the complete sandbox with a plugin.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "host/plugin/sandbox/cgroup.h"
#include "host/plugin/sandbox/filter.h"
#include "host/plugin/sandbox/landlock.h"
#include "host/plugin/sandbox/plan.h"
#include "host/plugin/sandbox/sandbox.h"
#include "host/plugin/sandbox/syscalls.h"
#include "host/plugin/sandbox/watch.h"
#include "tests/unit/deny_call.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[64]; /* of this test: plugin/, data/, database, link -> data */

static char *in_folder(const char *name) {
    static char path[4][128];
    static unsigned next;
    char *text = path[next++ % 4];
    snprintf(text, 128, "%s/%s", folder, name);
    return text;
}

static void write_file(const char *path) {
    int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(file >= 0);
    close(file);
}

static int set_up(void **state) {
    char made[] = "/tmp/tenon-sandbox-XXXXXX";
    (void)state;
    if (!mkdtemp(made) || !realpath(made, folder)) return -1;
    mkdir(in_folder("plugin"), 0700);
    mkdir(in_folder("data"), 0700);
    write_file(in_folder("plugin/acme.so"));
    write_file(in_folder("data/file"));
    write_file(in_folder("database"));
    return symlink(in_folder("data"), in_folder("link"));
}

static int tear_down(void **state) {
    static const char *const files[] = {"plugin/acme.so", "data/file", "database", "link", "plugin", "data", ""};
    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) remove(in_folder(files[i]));
    return 0;
}

/* Makes a plan for components with these effects; `;` separates components, "-" is a component without `effects`. */
static void make_plan(struct sandbox_plan *plan, const char *effects, bool program) {
    tn_value components = value_array(), list = value_array();
    char *copy = strdup(effects), *rest = copy, *component, *effect;
    value_unref(list);
    while ((component = strsep(&rest, ";"))) {
        tn_value row = value_object_reserve(1);
        list = value_array();
        while ((effect = strsep(&component, " ")))
            if (*effect && *effect != '-') list = value_push_take(list, value_text(effect));
        if (strchr(effects, '-') && !value_count(list))
            value_unref(list);
        else
            row = value_set_take(row, "effects", list);
        components = value_push_take(components, row);
    }
    tn_value manifest = value_set_take(value_object_reserve(1), "components", components);
    sandbox_plan_init(plan, manifest, in_folder("plugin/acme.so"), program);
    value_unref(manifest);
    free(copy);
}

static void grants_what_is_declared(void **state) {
    struct sandbox_plan plan;
    char effects[512];
    (void)state;
    snprintf(effects, sizeof effects, "fs.read:%s/link;process.spawn net:raw fs.write:%s/database", folder, folder);
    make_plan(&plan, effects, false);
    assert_true(plan.spawn && plan.network && plan.writes && !plan.program);
    assert_int_equal(value_count(plan.problems), 0);
    assert_true(sandbox_plan_allows(&plan, in_folder("data"), SANDBOX_READ)); /* the target of the link */
    assert_true(sandbox_plan_allows(&plan, in_folder("data/file"), SANDBOX_READ));
    assert_false(sandbox_plan_allows(&plan, in_folder("data/file"), SANDBOX_WRITE));
    assert_false(sandbox_plan_allows(&plan, in_folder("data/file"), SANDBOX_READ | SANDBOX_WRITE));
    assert_true(sandbox_plan_allows(&plan, in_folder("database"), SANDBOX_WRITE));
    assert_false(sandbox_plan_allows(&plan, in_folder("database"),
                                     SANDBOX_READ)); /* `data` is not a prefix of `database` as a path */
    assert_false(sandbox_plan_allows(&plan, folder, SANDBOX_READ));
    assert_true(sandbox_plan_allows(&plan, "/usr/bin/env", SANDBOX_RUN));
    sandbox_plan_finish(&plan);
}

static void a_program_can_read_its_file_only(void **state) {
    struct sandbox_plan plan;
    tn_value files = value_push_take(value_array(), value_text(in_folder("data/file")));
    tn_value effects = value_push_take(value_array(), value_text("process.spawn"));
    (void)state;
    for (int with_effects = 0; with_effects < 2; with_effects++) {
        sandbox_plan_init_program(&plan, with_effects ? effects : NULL, in_folder("plugin/acme.so"), files);
        assert_true(plan.program && plan.spawn == with_effects && !plan.network && !plan.writes);
        assert_true(sandbox_plan_allows(&plan, in_folder("plugin/acme.so"), SANDBOX_READ | SANDBOX_RUN));
        assert_false(sandbox_plan_allows(&plan, in_folder("plugin"), SANDBOX_READ));
        assert_true(sandbox_plan_allows(&plan, in_folder("data/file"), SANDBOX_READ));
        assert_false(sandbox_plan_allows(&plan, in_folder("data/file"), SANDBOX_WRITE));
        assert_false(sandbox_plan_allows(&plan, in_folder("data"), SANDBOX_READ));
        assert_true(sandbox_plan_allows(&plan, "/usr/bin/env", SANDBOX_RUN));
        sandbox_plan_finish(&plan);
    }
    value_unref(files);
    value_unref(effects);
}

static void grants_nothing_else(void **state) {
    static const char *const none[] = {"-", "", "destructive state.task_create secret:KEY network.http:example.org",
                                       "fs.reads:/ process.spawner net:cooked net fs process"};
    (void)state;
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        struct sandbox_plan plan;
        make_plan(&plan, none[i], false);
        assert_false(plan.spawn || plan.network || plan.writes);
        assert_false(sandbox_plan_allows(&plan, "/", SANDBOX_READ));
        assert_false(sandbox_plan_allows(&plan, "/etc/passwd", SANDBOX_READ));
        assert_false(sandbox_plan_allows(&plan, "/sys/fs/cgroup", SANDBOX_READ));
        assert_false(sandbox_plan_allows(&plan, in_folder("data/file"), SANDBOX_READ));
        assert_false(sandbox_plan_allows(&plan, "/usr/bin/env", SANDBOX_RUN));
        assert_false(sandbox_plan_allows(&plan, in_folder("plugin/acme.so"), SANDBOX_WRITE));
        assert_true(sandbox_plan_allows(&plan, in_folder("plugin/acme.so"), SANDBOX_READ));
        assert_true(sandbox_plan_allows(&plan, "/dev/null", SANDBOX_READ | SANDBOX_WRITE));
        sandbox_plan_finish(&plan);
    }
}

static void everything_is_without_a_path(void **state) {
    struct sandbox_plan plan;
    (void)state;
    make_plan(&plan, "fs.read", false);
    assert_true(sandbox_plan_allows(&plan, "/", SANDBOX_READ));
    assert_true(sandbox_plan_allows(&plan, "/etc/passwd", SANDBOX_READ));
    assert_false(sandbox_plan_allows(&plan, "/etc/passwd", SANDBOX_WRITE));
    sandbox_plan_finish(&plan);
}

static void programs_are_run(void **state) {
    struct sandbox_plan plan;
    (void)state;
    make_plan(&plan, "", true);
    assert_true(plan.program && !plan.spawn);
    assert_true(sandbox_plan_allows(&plan, in_folder("plugin/acme.so"), SANDBOX_READ | SANDBOX_RUN));
    assert_true(sandbox_plan_allows(&plan, "/usr/bin/env", SANDBOX_READ | SANDBOX_RUN));
    sandbox_plan_finish(&plan);
}

static void missing_path_is_reported(void **state) {
    struct sandbox_plan plan;
    (void)state;
    make_plan(&plan, "fs.read:/nowhere;fs.read:/nowhere", false);
    assert_int_equal(value_count(plan.problems), 1);
    assert_non_null(strstr(value_chars(value_at(plan.problems, 0), NULL), "`fs.read:/nowhere` is not granted"));
    sandbox_plan_finish(&plan);
}

static void paths_have_a_limit(void **state) {
    struct sandbox_plan plan;
    char *effects = calloc(SANDBOX_PATHS_MAX + 1, 64), path[128];
    (void)state;
    mkdir(in_folder("many"), 0700);
    for (unsigned i = 0; i <= SANDBOX_PATHS_MAX; i++) {
        snprintf(path, sizeof path, "%s/many/%u", folder, i);
        write_file(path);
        sprintf(effects + strlen(effects), "fs.read:%s ", path);
    }
    make_plan(&plan, effects, false);
    assert_int_equal(plan.path_count, SANDBOX_PATHS_MAX);
    assert_int_equal(value_count(plan.problems), 1);
    assert_non_null(strstr(value_chars(value_at(plan.problems, 0), NULL), "more than 256"));
    assert_false(sandbox_plan_allows(&plan, path, SANDBOX_READ));
    sandbox_plan_finish(&plan);
    for (unsigned i = 0; i <= SANDBOX_PATHS_MAX; i++) {
        snprintf(path, sizeof path, "%s/many/%u", folder, i);
        unlink(path);
    }
    rmdir(in_folder("many"));
    free(effects);
}

static void check_limit_file(void *user, const char *path) {
    static const char *const names[] = {"/cpu.max", "/memory.max", "/cpu.cfs_quota_us", "/cpu.cfs_period_us",
                                        "/memory.limit_in_bytes"};
    size_t known = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) known += strcmp(strrchr(path, '/'), names[i]) == 0;
    assert_int_equal(known, 1);
    assert_int_equal(strncmp(path, "/sys/fs/cgroup/", 15), 0);
    assert_null(strstr(path, "/../"));
    assert_null(strstr(path, "//"));
    struct stat status;
    char resolved[PATH_MAX];
    if (stat(path, &status) == 0 && realpath(path, resolved))
        assert_true(sandbox_plan_allows(user, resolved, SANDBOX_READ));
    assert_false(sandbox_plan_allows(user, path, SANDBOX_WRITE));
}

/* Only the limit files are granted, not the files that describe other processes. */
static void limits_of_the_own_group_are_read(void **state) {
    (void)state;
    struct sandbox_plan plan;
    make_plan(&plan, "", false);
    cgroup_limits(check_limit_file, &plan);
    assert_false(sandbox_plan_allows(&plan, "/sys/fs/cgroup/cgroup.procs", SANDBOX_READ));
    sandbox_plan_finish(&plan);
}

/* ---- The table ---- */

static void calls_have_known_names(void **state) {
    int number;
    const struct syscall_rule *rule;
    (void)state;
    syscalls_resolve();
    for (unsigned i = 0; (rule = syscall_rule_at(i, &number)); i++) {
        if (number == -1) fail_msg("libseccomp does not know the call `%s`", rule->name);
        if (number >= 0) assert_ptr_equal(syscall_rule_by_number(number), rule); /* each call is in the table once */
    }
}

/* ---- One layer alone; a child reports a failure with its exit status ---- */

#define EXPECT(condition)                                                                                              \
    do {                                                                                                               \
        if (!(condition)) fprintf(stderr, "failed in the child: %s (%s)\n", #condition, strerror(errno)), _exit(1);    \
    } while (0)

static void run_in_child(void (*run)(void)) {
    int status;
    pid_t child = fork();
    if (child == 0) {
        run();
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static bool can_open(const char *path, int flags) {
    int file = open(path, flags | O_CLOEXEC, 0600);
    if (file >= 0) close(file);
    return file >= 0;
}

#define REFUSED(result, number) ((result) < 0 && errno == (number))

static void landlock_child(void) {
    struct sandbox_plan plan;
    char effects[256];
    snprintf(effects, sizeof effects, "fs.write:%s/data", folder);
    make_plan(&plan, effects, false);
    EXPECT(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    EXPECT(landlock_enter(&plan, landlock_version(), NULL));
    EXPECT(!can_open(in_folder("database"), O_RDONLY) && errno == EACCES);
    EXPECT(!can_open(in_folder("database"), O_WRONLY) && errno == EACCES);
    EXPECT(!can_open(in_folder("new"), O_WRONLY | O_CREAT) && errno == EACCES);
    EXPECT(!can_open(in_folder("data/file"), O_RDONLY) && errno == EACCES);
    EXPECT(can_open(in_folder("data/file"), O_WRONLY));
    EXPECT(can_open(in_folder("data/new"), O_WRONLY | O_CREAT));
    EXPECT(unlink(in_folder("data/new")) == 0);
    EXPECT(REFUSED(unlink(in_folder("database")), EACCES));
    EXPECT(REFUSED(mkdir(in_folder("new"), 0700), EACCES));
    EXPECT(can_open(in_folder("plugin/acme.so"), O_RDONLY));
    EXPECT(can_open("/dev/null", O_RDWR));
    EXPECT(can_open("/proc/self/status", O_RDONLY));
    execl("/bin/true", "true", (char *)NULL);
    EXPECT(errno == EACCES);
    if (landlock_version() >= LANDLOCK_VERSION_SIGNALS) EXPECT(REFUSED(kill(getppid(), 0), EPERM));
}

static void landlock_without_other_layers(void **state) {
    (void)state;
    if (landlock_version() == 0) skip();
    run_in_child(landlock_child);
}

static void filter_child(void) {
    struct sandbox_plan plan;
    int listener, pair[2];
    struct filter_options alone = {false, false};
    make_plan(&plan, "", false);
    syscalls_resolve();
    EXPECT(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    EXPECT(filter_enter(&plan, &alone, &listener, NULL));
    EXPECT(listener == -1);
    EXPECT(REFUSED(socket(AF_INET, SOCK_STREAM, 0), EPERM));
    EXPECT(REFUSED(socket(AF_UNIX, SOCK_STREAM, 0), EPERM));
    EXPECT(REFUSED(socketpair(AF_UNIX, SOCK_DGRAM, 0, pair), EPERM));
    EXPECT(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    EXPECT(REFUSED(fork(), EPERM));
    EXPECT(REFUSED(execl("/bin/true", "true", (char *)NULL), EPERM));
    EXPECT(REFUSED(kill(getppid(), 0), EPERM));
    EXPECT(REFUSED(kill(-1, SIGKILL), EPERM));
    EXPECT(kill(getpid(), 0) == 0);
    EXPECT(REFUSED(setsid(), EPERM));
    EXPECT(REFUSED(mkdir(in_folder("new"), 0700), EACCES));
    EXPECT(REFUSED(chmod(in_folder("database"), 0777), EACCES));
    EXPECT(can_open(in_folder("database"), O_RDONLY)); /* Landlock checks reads, which is not entered here */
}

static void filter_open_child(void) {
    struct sandbox_plan plan;
    int listener, status;
    struct filter_options alone = {false, true};
    char effects[256];
    snprintf(effects, sizeof effects, "process.spawn net:raw fs.write:%s", folder);
    make_plan(&plan, effects, false);
    syscalls_resolve();
    EXPECT(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    EXPECT(filter_enter(&plan, &alone, &listener, NULL));
    EXPECT(socket(AF_INET, SOCK_STREAM, 0) >= 0);
    EXPECT(socket(AF_INET6, SOCK_DGRAM, 0) >= 0 || errno == EAFNOSUPPORT);
    EXPECT(REFUSED(socket(AF_UNIX, SOCK_STREAM, 0), EPERM));
    EXPECT(REFUSED(socket(AF_NETLINK, SOCK_RAW, 9), EPERM)); /* only NETLINK_ROUTE is allowed */
    pid_t child = fork();
    if (child == 0) _exit(socket(AF_PACKET, SOCK_RAW, 0) < 0 && errno == EPERM ? 3 : 4);
    EXPECT(child > 0 && waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 3);
    EXPECT(mkdir(in_folder("new"), 0700) == 0 && chmod(in_folder("new"), 0755) == 0 && rmdir(in_folder("new")) == 0);
}

static void filter_without_other_layers(void **state) {
    struct sandbox_support support;
    (void)state;
    sandbox_probe(&support);
    if (!support.filter) skip();
    run_in_child(filter_child);
    run_in_child(filter_open_child);
}

/* The watch process must not keep the plugin's descriptors open, even if the kernel has no close_range. */
static void watch_child(void) {
    struct sandbox_plan plan;
    struct syscall_watch watch;
    int ends[2];
    make_plan(&plan, "", false);
    EXPECT(deny_call(SYS_close_range));
    EXPECT(pipe2(ends, O_CLOEXEC) == 0);
    EXPECT(syscall_watch_start(&watch, &plan, false));
    close(ends[1]);
    struct pollfd closed = {.fd = ends[0]};
    EXPECT(poll(&closed, 1, 5000) == 1 && closed.revents & POLLHUP);
    close(watch.socket); /* ends the watch */
}

static _Noreturn void watch_host(int started) {
    if (fork() == 0) {
        struct sandbox_plan plan;
        struct syscall_watch watch;
        make_plan(&plan, "", false);
        EXPECT(syscall_watch_start(&watch, &plan, false));
        EXPECT(write(started, "", 1) == 1);
    }
    for (;;) pause();
}

/* When the host ends, the watch kills the process that it watches, but not a group that another process leads. */
static void watch_group_child(void) {
    int ends[2];
    char byte;
    EXPECT(setpgid(0, 0) == 0);
    EXPECT(pipe2(ends, O_CLOEXEC) == 0);
    pid_t host = fork();
    if (host == 0) watch_host(ends[1]);
    close(ends[1]);
    EXPECT(read(ends[0], &byte, 1) == 1);
    EXPECT(kill(host, SIGKILL) == 0 && waitpid(host, NULL, 0) == host);
    EXPECT(read(ends[0], &byte, 1) == 0); /* the watched process has ended, and this one has not */
}

static void watch_kills_no_other_group(void **state) {
    struct sandbox_support support;
    (void)state;
    sandbox_probe(&support);
    if (!support.audit) skip();
    run_in_child(watch_group_child);
}

static void watch_keeps_no_descriptors(void **state) {
    struct sandbox_support support;
    (void)state;
    sandbox_probe(&support);
    if (!support.audit) skip();
    run_in_child(watch_child);
}

static void doctor_knows_each_version(void **state) {
    (void)state;
    for (int version = 1; version < 9; version++) assert_non_null(strstr(sandbox_landlock_text(version), "files"));
    assert_null(strstr(sandbox_landlock_text(7), "newer"));
    assert_non_null(strstr(sandbox_landlock_text(2), "truncating"));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(grants_what_is_declared),
                                       cmocka_unit_test(a_program_can_read_its_file_only),
                                       cmocka_unit_test(grants_nothing_else),
                                       cmocka_unit_test(everything_is_without_a_path),
                                       cmocka_unit_test(programs_are_run),
                                       cmocka_unit_test(missing_path_is_reported),
                                       cmocka_unit_test(paths_have_a_limit),
                                       cmocka_unit_test(limits_of_the_own_group_are_read),
                                       cmocka_unit_test(calls_have_known_names),
                                       cmocka_unit_test(landlock_without_other_layers),
                                       cmocka_unit_test(filter_without_other_layers),
                                       cmocka_unit_test(watch_keeps_no_descriptors),
                                       cmocka_unit_test(watch_kills_no_other_group),
                                       cmocka_unit_test(doctor_knows_each_version)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
