/*
 * serve.h - the child's side of isolation: loads one plugin, and runs its components on behalf of the host.
 *
 * The protocol is sdk/guide/protocol.md. The plugin runs on the same call layer as in the host, with the same
 * interfaces, threads and tokens. Channels, context and other components live in the host and are reached by messages.
 *
 * A plugin that is a program is not loaded: it is executed with the same socket, and speaks the protocol itself.
 *
 *     struct serve_options options = {.socket = PROCESS_SOCKET, .path = path, .confine = confine, …};
 *
 *     return serve(&options);
 */
#ifndef TENON_HOST_PLUGIN_ISOLATE_SERVE_H
#define TENON_HOST_PLUGIN_ISOLATE_SERVE_H

#include "adl/value/error.h"
#include <stdbool.h>

/*
 * Enters the sandbox: drops the rights that the manifest of the plugin in `path` does not declare
 * (plugin/sandbox/sandbox.h). Called once, before any code of the plugin runs. `program`: the plugin is a program,
 * which will be executed. `user` is options->confine_user.
 */
typedef int32_t serve_confine(void *user, tn_value manifest, const char *path, bool program, struct error *error);

struct registry_interface;

struct serve_options {
    int socket;       /* connected to the host */
    const char *path; /* the plugin's file */
    serve_confine *confine;
    void *confine_user;
    const struct registry_interface *interfaces; /* the host's table; rows that need the host are replaced */
    bool (*is_operation)(const char *name);      /* true for an operation of tenon.state; [any] */
    bool (*is_method)(const char *name);         /* true for a method of tenon.host; [any] */
};

/*
 * Runs until the host sends `exit` or closes the socket; then it ends the process. Returns the process's exit status if
 * it could not start. Call it once, on the only thread.
 */
int serve(const struct serve_options *options);

#endif
