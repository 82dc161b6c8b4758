/*
 * landlock.h - restricts files to the paths that a plan grants, with the kernel's Landlock.
 *
 * Refused with EACCES: open for reading or writing, list, create, remove, rename and execute. Newer versions of
 * Landlock also refuse: truncate (version 3), TCP connect and bind without net:raw (4), ioctl on devices (5), signals
 * to and abstract sockets of processes outside the sandbox (6). Not refused: stat, that is whether a file exists, its
 * size and its times.
 *
 *     int version = landlock_version();
 *     if (version > 0 && !landlock_enter(&plan, version, &error)) return report(&error);
 */
#ifndef TENON_HOST_PLUGIN_SANDBOX_LANDLOCK_H
#define TENON_HOST_PLUGIN_SANDBOX_LANDLOCK_H

#include "adl/value/error.h"
#include "host/plugin/sandbox/plan.h"

#define LANDLOCK_VERSION_SIGNALS 6

/* The version of the kernel's interface; 0 if the kernel has no Landlock or has it disabled. */
int landlock_version(void);
/* Restricts the calling thread and everything that it starts. Requires no_new_privs. */
bool landlock_enter(const struct sandbox_plan *plan, int version, struct error *error);

#endif
