/*
 * launch.h - which program a plugin's process runs, with what arguments and what environment.
 *
 * The tenon program runs it, in a sandbox: it loads a shared object, and executes any other file, which is a program by
 * itself. The environment is empty but for the secrets that the manifest's effects name (`secret:NAME`), and a PATH.
 */
#ifndef TENON_HOST_LAUNCH_H
#define TENON_HOST_LAUNCH_H

#include "adl/value/error.h"

struct host;
struct plugin;
struct process;
struct process_options;

/* Starts it; `options` come with name and callbacks. NULL with error. */
struct process *launch_plugin(struct host *host, const struct plugin *plugin, struct process_options *options,
                              struct error *error);

#endif
