/*
 * rpc_listener.h - a Unix socket that clients connect to.
 *
 *     struct rpc_listener *listener = rpc_listener_open(loop, "/run/user/1000/tenon.sock", 0600, accepted, me, &error);
 *     static void accepted(void *user, struct rpc_stream *stream) { connection_new(stream, …); }
 *     rpc_listener_close(listener);
 *
 * The file mode decides who may connect; it is set before the socket listens. `PATH.lock` is locked as long as the
 * listener exists, so a socket that a killed host has left behind is replaced, and one that is in use is not, by a host
 * or by another program.
 *
 * All functions are [loop].
 */
#ifndef TENON_HOST_SERVER_RPC_RPC_LISTENER_H
#define TENON_HOST_SERVER_RPC_RPC_LISTENER_H

#include "adl/value/error.h"
#include <sys/types.h>

struct loop;
struct rpc_listener;
struct rpc_stream;

#define RPC_SOCKET_PATH_MAX 107u /* bytes of the path of a Unix socket */

/* `accepted` takes the stream. NULL: INVALID_INPUT for a path that cannot be one, or IO. */
struct rpc_listener *rpc_listener_open(struct loop *loop, const char *path, mode_t mode,
                                       void (*accepted)(void *user, struct rpc_stream *stream), void *user,
                                       struct error *error);
/* Removes the socket. Connections stay. NULL is allowed. */
void rpc_listener_close(struct rpc_listener *listener);

/* Connects to such a socket. NULL with NOT_FOUND if nothing listens there, or IO. Blocks shortly. */
struct rpc_stream *rpc_connect(struct loop *loop, const char *path, struct error *error);

#endif
