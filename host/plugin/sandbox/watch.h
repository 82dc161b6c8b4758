/*
 * watch.h - a small process beside a sandbox: it logs refusals, and kills the sandboxed processes if the host ends.
 *
 * The kernel sends it each call that the filter does not allow, and each attempt to open a file. It answers with an
 * error, or continues the call, which the kernel then checks as usual. Of the calls it performs only readlink and
 * getcwd, which Landlock does not restrict. It is a separate process, because a plugin that could read the
 * notifications could also answer them, and it is in its own process group, so that the plugin cannot signal it. When
 * the host ends, or the plugin's process uses too much memory, it kills the process group that the sandboxed process
 * leads. When the plugin's processes have ended, it exits.
 *
 *     struct syscall_watch watch;
 *     if (!syscall_watch_start(&watch, &plan, landlocked)) ...    // before the sandbox is entered
 *     ...
 *     syscall_watch_attach(&watch, listener);                     // afterwards; -1 if there is no listener
 *
 * If the watch is killed, every call that needs its answer fails with ENOSYS.
 */
#ifndef TENON_HOST_PLUGIN_SANDBOX_WATCH_H
#define TENON_HOST_PLUGIN_SANDBOX_WATCH_H

#include "host/plugin/sandbox/plan.h"
#include <sys/types.h>

#define WATCH_LINES_MAX 100u /* refusals of one process that are logged; further ones are refused without a line */

struct syscall_watch {
    pid_t pid;
    int socket;
};

/*
 * Starts the watch process, which shares this process's log. Requires a process with one thread, and a call of
 * syscalls_resolve before. Returns false if the process cannot be started.
 */
bool syscall_watch_start(struct syscall_watch *watch, const struct sandbox_plan *plan, bool landlocked);
/*
 * Sends the listener's descriptor to the watch, and closes it here. Takes ownership of `listener`. Returns false if the
 * watch did not receive it.
 */
bool syscall_watch_attach(struct syscall_watch *watch, int listener);

#endif
