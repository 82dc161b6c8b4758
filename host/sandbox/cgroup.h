/*
 * cgroup.h - where the limits of this process's control group are read.
 *
 * The runtimes of some languages ask for them when they start, to know how many threads to make. These files say what
 * this process may use, and nothing of others; everything else in /sys/fs/cgroup does.
 *
 *     cgroup_limits(grant_one, plan);    // "/sys/fs/cgroup/user.slice/cpu.max", …
 */
#ifndef TENON_HOST_SANDBOX_CGROUP_H
#define TENON_HOST_SANDBOX_CGROUP_H

#define CGROUP_DEPTH_MAX 16u /* groups above this process's; those that are further up are left out */

/* Of its groups, and of those around them, whose limits hold as well. The files need not be there. */
void cgroup_limits(void (*visit)(void *user, const char *path), void *user);

#endif
