/*
 * watch.h - the small process beside a sandbox: it says what was refused, and ends what the host left behind.
 *
 * The kernel asks it about each call that the filter refuses, and about opening files. It answers with an error, or
 * lets the call go on, to be decided by the kernel as any other; it never does anything in the plugin's place. It must
 * be another process: who could read the plugin's questions could answer them. When the host is gone it kills the
 * group; when the plugin's processes are gone it ends.
 *
 *     struct watch watch;
 *     if (!watch_start(&watch, &plan, landlocked)) ...    // before the sandbox is entered
 *     ...
 *     watch_give(&watch, listener);                       // afterwards; -1: there is nothing to read
 *
 * Should it be killed, every call it is asked about fails with ENOSYS.
 */
#ifndef TENON_HOST_SANDBOX_WATCH_H
#define TENON_HOST_SANDBOX_WATCH_H

#include "host/sandbox/plan.h"
#include <sys/types.h>

#define WATCH_LINES_MAX 100u /* refusals of one process that are told; the rest is refused in silence */

struct watch {
    pid_t pid;
    int socket;
};

/* In a process with one thread, whose log it shares. Call calls_resolve before. */
bool watch_start(struct watch *watch, const struct sandbox_plan *plan, bool landlocked);
/* Takes the descriptor, and keeps no way to read from it here. False: it was not received. */
bool watch_give(struct watch *watch, int listener);

#endif
