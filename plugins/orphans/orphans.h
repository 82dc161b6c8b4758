/*
 * orphans.h - programs that this process has started end with it, also where it is killed and can see to nothing.
 *
 * A small process beside this one is told the groups that the programs lead. When this one is gone, in whatever way, it
 * sends SIGTERM to those groups that are left, SIGKILL after ORPHANS_GRACE_MS, and ends. PR_SET_PDEATHSIG would need no
 * other process, but goes off when a thread ends, and reaches no program's own children. A process that is killed in
 * the very moment between a program's start and orphans_add leaves that program behind.
 *
 *     orphans_begin();         // before the program is started
 *     orphans_add(pid);        // as soon as it runs
 *     orphans_remove(pid);     // before it is waited for: its number is nobody else's until then
 *     orphans_finish();        // when the plugin ends
 *
 * [loop]
 */
#ifndef TENON_PLUGINS_ORPHANS_H
#define TENON_PLUGINS_ORPHANS_H

#include <sys/types.h>

#define ORPHANS_MAX      4096 /* groups; what is more is not seen to */
#define ORPHANS_GRACE_MS 1000

/* Forks the process beside, the first time. Where that cannot be, the programs are on their own, as all are. */
void orphans_begin(void);
void orphans_add(pid_t group);
void orphans_remove(pid_t group);
void orphans_finish(void);

#endif
