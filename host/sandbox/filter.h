/*
 * filter.h - the kernel's filter of system calls, made by libseccomp from the table in calls.h and a plan.
 *
 * A call that is refused fails with EPERM (one of a path with EACCES), and where the kernel can, the watch decides and
 * tells it. Calls of 32-bit programs on a 64-bit kernel do not exist in here (ENOSYS), nor do clone3 and openat2, whose
 * arguments a filter cannot see: the C library then uses the older ones.
 *
 *     int listener;
 *     if (!filter_enter(&plan, &options, &listener, &error)) return report(&error);
 *     if (listener >= 0) watch_give(&watch, listener);
 */
#ifndef TENON_HOST_SANDBOX_FILTER_H
#define TENON_HOST_SANDBOX_FILTER_H

#include "adl/value/error.h"
#include "host/sandbox/plan.h"

struct filter_options {
    bool watched; /* somebody will answer for what is refused */
    bool scoped;  /* Landlock refuses signals to processes outside */
};

/*
 * Needs no_new_privs; for good. `listener`: what the watch reads, the caller's; -1 where the kernel does not offer it,
 * and then refusals are not told. Call calls_resolve before.
 */
bool filter_enter(const struct sandbox_plan *plan, const struct filter_options *options, int *listener,
                  struct error *error);

#endif
