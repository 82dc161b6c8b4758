/*
 * launch.h - the program, arguments and environment of a plugin's child process.
 *
 * The child runs `tenon plugin serve FILE`, which enters the sandbox, and then loads FILE if it is a shared object or
 * executes it if it is a program. The environment contains only what every program gets (base/environment.h), with
 * LAUNCH_PATH as PATH, and the secrets that the manifest's effects name (`secret:NAME`).
 *
 *     struct process_options options = {.name = plugin_id(plugin), .message = on_message, .ended = on_ended};
 *     struct process *process = launch_plugin(services, plugin, &environment, &options, &error);
 */
#ifndef TENON_HOST_PLUGIN_ISOLATE_LAUNCH_H
#define TENON_HOST_PLUGIN_ISOLATE_LAUNCH_H

#include "adl/value/error.h"
#include "adl/value/value.h"
#include <stdbool.h>

struct plugin;
struct process;
struct process_options;
struct remote_services;

/* PATH in a sandbox: the folders in which it can execute programs. */
#define LAUNCH_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

/* Returns the path of the tenon program, which the caller frees with mem_free, or NULL with error. */
char *launch_find_program(struct error *error);
/* Returns {NAME: value}, a new reference: what every program gets of the host's environment. */
tn_value launch_basic_environment(bool sandboxed);
/*
 * Starts the process. The caller sets the name and callbacks of `options`; this function sets the rest. If *environment
 * is NULL, collects the environment, and sets it to that, a new reference. Otherwise that is used again, because the
 * command of a secret can be slow, or ask a person. Returns NULL with error. Thread: loop.
 */
struct process *launch_plugin(const struct remote_services *host, const struct plugin *plugin, tn_value *environment,
                              struct process_options *options, struct error *error);

#endif
