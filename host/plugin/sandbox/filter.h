/*
 * filter.h - the kernel's filter of system calls; libseccomp builds it from the table in syscalls.h and a plan.
 *
 * A refused call fails with EPERM, or with EACCES if it takes a path. If the kernel supports it, the watch decides and
 * logs instead. Three kinds of calls always fail with ENOSYS: calls of 32-bit programs on a 64-bit kernel, clone3, and
 * openat2. A filter cannot read the arguments of the last two, and the C library falls back to the older calls.
 *
 *     int listener;
 *     if (!filter_enter(&plan, &options, &listener, &error)) return report(&error);
 *     if (listener >= 0) syscall_watch_attach(&watch, listener);
 *
 * filter_absent.c replaces filter.c, syscalls.c and watch*.c in a build without libseccomp.
 */
#ifndef TENON_HOST_PLUGIN_SANDBOX_FILTER_H
#define TENON_HOST_PLUGIN_SANDBOX_FILTER_H

#include "adl/value/error.h"
#include "host/plugin/sandbox/plan.h"

struct filter_options {
    bool watched; /* a watch will decide about calls that the filter does not allow */
    bool scoped;  /* Landlock refuses signals to processes outside the sandbox */
};

/* The version of libseccomp, "2.5.4"; NULL if this build does not have libseccomp. Static text. */
const char *filter_library_version(void);

/*
 * Installs the filter for the calling thread and everything that it starts; it cannot be removed. Requires
 * no_new_privs, and a call of syscalls_resolve before. `listener` is set to the descriptor that the watch reads; the
 * caller owns it. It is -1 if the kernel has no notifications: then refusals are not logged.
 */
bool filter_enter(const struct sandbox_plan *plan, const struct filter_options *options, int *listener,
                  struct error *error);

#endif
