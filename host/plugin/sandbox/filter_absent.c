/*
 * filter_absent.c - a build without libseccomp: no filter and no watch.
 *
 * It replaces filter.c, syscalls.c and watch*.c. Because filter_library_version returns NULL, sandbox_probe reports no
 * filter and sandbox_enter never calls the other functions.
 */
#include "host/plugin/sandbox/filter.h"
#include "host/plugin/sandbox/syscalls.h"
#include "host/plugin/sandbox/watch.h"
#include <unistd.h>

const char *filter_library_version(void) { return NULL; }

bool filter_enter(const struct sandbox_plan *plan, const struct filter_options *options, int *listener,
                  struct error *error) {
    (void)plan, (void)options;
    *listener = -1;
    error_set(error, TN_UNSUPPORTED, "SANDBOX", "this build of tenon cannot filter system calls: it has no libseccomp");
    return false;
}

void syscalls_resolve(void) {}

const struct syscall_rule *syscall_rule_by_number(int number) {
    (void)number;
    return NULL;
}

const struct syscall_rule *syscall_rule_at(unsigned index, int *number) {
    (void)index, (void)number;
    return NULL;
}

bool syscall_watch_start(struct syscall_watch *watch, const struct sandbox_plan *plan, bool landlocked) {
    (void)plan, (void)landlocked;
    *watch = (struct syscall_watch){-1, -1};
    return false;
}

bool syscall_watch_attach(struct syscall_watch *watch, int listener) {
    (void)watch;
    if (listener >= 0) close(listener);
    return false;
}
