/*
 * launch_program.h - tenon.launch: the path, arguments and environment of programs that plugins start.
 *
 * In the host, interface_launch works with the host's struct remote_services, which is the registry's owner of
 * TN_LAUNCH_DRAFT. In the process of an isolated plugin there is no such owner: that process, and everything that it
 * starts, is in a sandbox already.
 *
 *     {TN_LAUNCH_DRAFT, &interface_launch, true, NULL},    // a row of the table of interfaces
 */
#ifndef TENON_HOST_PLUGIN_ISOLATE_LAUNCH_PROGRAM_H
#define TENON_HOST_PLUGIN_ISOLATE_LAUNCH_PROGRAM_H

#include "adl/value/error.h"
#include <tenon/launch.h>

struct remote_services;

#define LAUNCH_WORDS_MAX 10000u /* words of a command, and entries of each other list of a request */

extern const tn_launch_draft interface_launch;

/*
 * Sets *result, a new reference, to {program, arguments, environment, sandboxed}. `host` is NULL in the process of an
 * isolated plugin. Thread: loop.
 */
int32_t launch_program(const struct remote_services *host, tn_value request, tn_value *result, struct error *error);

#endif
