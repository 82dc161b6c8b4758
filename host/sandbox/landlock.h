/*
 * landlock.h - files: what a plan's paths grant, and nothing else, by the kernel's Landlock.
 *
 * Refused are opening for reading and for writing, listing, making, removing, renaming and executing, with EACCES; and,
 * where the kernel's version knows of them, truncating (3), connecting and binding TCP without net:raw (4), ioctl on
 * devices (5), signals to and abstract sockets of processes outside (6). Not refused: asking for a file's size or times
 * (stat), and whether it is there.
 *
 *     int version = landlock_version();
 *     if (version > 0 && !landlock_enter(&plan, version, &error)) return report(&error);
 */
#ifndef TENON_HOST_SANDBOX_LANDLOCK_H
#define TENON_HOST_SANDBOX_LANDLOCK_H

#include "adl/value/error.h"
#include "host/sandbox/plan.h"

#define LANDLOCK_VERSION_SIGNALS 6

/* The version of the kernel's interface; 0 where it has none, or has it switched off. */
int landlock_version(void);
/* The calling thread, and all that it starts; needs no_new_privs. */
bool landlock_enter(const struct sandbox_plan *plan, int version, struct error *error);

#endif
