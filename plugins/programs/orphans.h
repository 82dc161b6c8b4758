/*
 * orphans.h - ends the programs that this process has started when it ends, also when it is killed.
 *
 * A small child process, the reaper, receives the numbers of the process groups that the programs lead. When this
 * process ends for any reason, the reaper sends SIGTERM to the remaining groups, then SIGKILL after ORPHANS_GRACE_MS,
 * and ends. PR_SET_PDEATHSIG needs no child process, but it is sent when the starting thread ends, and it does not
 * reach the children of a program. If this process is killed between the start of a program and orphans_add, that
 * program stays.
 *
 *     orphans_begin();         // before the program is started
 *     orphans_add(pid);        // as soon as it runs
 *     orphans_remove(pid);     // before waitpid: the number cannot be used again until then
 *     orphans_finish();        // when the plugin ends
 *
 * Thread: the loop.
 */
#ifndef TENON_PLUGINS_ORPHANS_H
#define TENON_PLUGINS_ORPHANS_H

#include <sys/types.h>

#define ORPHANS_MAX      4096 /* groups; further ones are not ended */
#define ORPHANS_GRACE_MS 1000

/* Starts the reaper when first called. If that fails, the programs are not ended with this process. */
void orphans_begin(void);
void orphans_add(pid_t group);
void orphans_remove(pid_t group);
void orphans_finish(void);

#endif
