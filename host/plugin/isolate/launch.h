/*
 * launch.h - the program, arguments and environment of a plugin's child process.
 *
 * The child runs `tenon plugin serve FILE`, which enters the sandbox, and then loads FILE if it is a shared object or
 * executes it if it is a program. The environment contains only what every program gets (base/environment.h), with
 * LAUNCH_PATH as PATH, and the secrets that the manifest's effects name (`secret:NAME`).
 *
 *     struct process_options options = {.name = plugin_id(plugin), .message = on_message, .ended = on_ended};
 *     const struct launch launch = {services, plugin, services->loop, &environment, NULL};
 *     struct process *process = launch_plugin(&launch, &options, &error);
 */
#ifndef TENON_HOST_PLUGIN_ISOLATE_LAUNCH_H
#define TENON_HOST_PLUGIN_ISOLATE_LAUNCH_H

#include "adl/value/error.h"
#include "adl/value/value.h"
#include <stdbool.h>

struct loop;
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
 * Collects the environment of the plugin: an array of "NAME=value", a new reference. It is used for several processes,
 * because the command of a secret can be slow, or ask a person. Thread: loop.
 */
int32_t launch_environment(const struct remote_services *host, const struct plugin *plugin, tn_value *environment,
                           struct error *error);

struct launch {
    const struct remote_services *host;
    const struct plugin *plugin;
    struct loop *loop;     /* of the process */
    tn_value *environment; /* if *environment is NULL, it is collected */
    const char *location;  /* a folder in which it may read and change everything, or NULL */
};

/*
 * Starts the process. The caller sets the name and callbacks of `options`; this function sets the rest. Returns NULL
 * with error. Thread: that of launch->loop; any, if the environment was collected.
 */
struct process *launch_plugin(const struct launch *launch, struct process_options *options, struct error *error);

#endif
