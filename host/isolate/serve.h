/*
 * serve.h - the child's side: one plugin, loaded and called as in any host, over the component protocol.
 *
 * The protocol is sdk/protocol.md. The plugin runs on the host's own call layer, with the same interfaces, threads and
 * tokens; what leads out of it (state, context, other components) comes in messages.
 *
 * A plugin that is a program is not served: it is executed, with the same socket, and speaks the protocol itself.
 *
 *     return serve(PROCESS_SOCKET, "/opt/acme/acme.so", confine);
 */
#ifndef TENON_HOST_SERVE_H
#define TENON_HOST_SERVE_H

#include "adl/value/error.h"
#include <stdbool.h>

/*
 * Gives up what the manifest of the plugin in `path` does not declare (sandbox/sandbox.h); called once, before any of
 * its code runs. `program`: it will be executed.
 */
typedef int32_t serve_confine(tn_value manifest, const char *path, bool program, struct error *error);

/* Until the host says `exit` or goes away. The process's exit status. */
int serve(int socket, const char *path, serve_confine *confine);

#endif
