/*
 * serve.h - the child's side: one plugin, loaded and called as in any host, over the component protocol.
 *
 * The protocol is sdk/protocol.md. The plugin runs on the host's own call layer, with the same interfaces, threads and
 * tokens; what leads out of it (state, context, other components) comes in messages.
 *
 *     return serve(PROCESS_SOCKET, "/opt/acme/acme.so");
 */
#ifndef TENON_HOST_SERVE_H
#define TENON_HOST_SERVE_H

/* Until the host says `exit` or goes away. The process's exit status. */
int serve(int socket, const char *path);

#endif
