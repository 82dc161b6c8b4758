/*
 * cgroup.h - the files in which a process reads the limits of its control group.
 *
 * The runtimes of some languages read them at start to choose their number of threads. These files describe only the
 * limits of this process; the other files in /sys/fs/cgroup describe other processes and are not granted.
 *
 *     cgroup_limits(grant_one, plan);    // "/sys/fs/cgroup/user.slice/cpu.max", …
 */
#ifndef TENON_HOST_PLUGIN_SANDBOX_CGROUP_H
#define TENON_HOST_PLUGIN_SANDBOX_CGROUP_H

#define CGROUP_DEPTH_MAX 16u /* groups above the group of this process; higher ones are skipped */

/*
 * Visits the limit files of this process's groups and of their parents, whose limits apply too. A visited file may not
 * exist.
 */
void cgroup_limits(void (*visit)(void *user, const char *path), void *user);

#endif
