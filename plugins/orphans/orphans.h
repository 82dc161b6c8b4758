/*
 * orphans.h - programs that this process has started end with it, also where it is killed and can see to nothing.
 *
 * A small process beside this one is told the groups that the programs lead. When this one is gone, in whatever way, it
 * sends SIGTERM to those groups that are left, SIGKILL after ORPHANS_GRACE_MS, and ends. It is forked when the first
 * group is told: PR_SET_PDEATHSIG would need no other process, but goes off when a thread ends, and reaches no
 * program's own children.
 *
 *     orphans_add(pid);        // as soon as the program runs
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

/* Where no process can be started for it, nothing is done: the programs are then on their own, as all are. */
void orphans_add(pid_t group);
void orphans_remove(pid_t group);
void orphans_finish(void);

#endif
