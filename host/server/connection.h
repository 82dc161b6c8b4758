/*
 * connection.h - a client of the method table that is connected by a stream: an editor, a program, `tenon --connect`.
 *
 *     struct connection *connection = connection_new(stream, &(struct connection_options){
 *         .server = server, .name = "stdio", .scope = METHOD_ADMIN, .files = true, .closed = ended, .user = me});
 *     connection_close(connection);                  // `closed` follows
 *
 * Messages are JSON-RPC 2.0 (rpc/rpc_peer.h). A request is a method of the table; `tenon/` before its name is allowed.
 * An event is a notification with the name of the event; on a connection on which the client has sent `initialize`,
 * `tenon/` is before it, as the Language Server Protocol wants it of extensions.
 *
 * The life of a connection is that of the Language Server Protocol, but methods of the table need no handshake:
 *
 *     open --initialize--> initialized --shutdown--> shut down --exit--> closed
 *       |                      |                                           ^
 *       +----------------------+-- exit, end of the input, a failure ------+
 *
 * `initialize` twice, and every request after `shutdown`, is an invalid request (-32600); a request of a service (an
 * editor's) before `initialize` is refused with -32002. After the end of the input, open requests are answered first,
 * for at most CONNECTION_LINGER_MS. Runs that the client has started continue on the host.
 *
 * All functions are [loop].
 */
#ifndef TENON_HOST_SERVER_CONNECTION_H
#define TENON_HOST_SERVER_CONNECTION_H

#include "adl/value/value.h"
#include "host/server/method.h"
#include "host/server/rpc/rpc_framing.h"
#include <stdbool.h>

struct connection;
struct peer;
struct peer_request;
struct rpc_stream;
struct server;

#define CONNECTION_LINGER_MS 10000 /* for open requests after the end of the input; then they are cancelled */
#define CONNECTION_PARENT_MS 3000  /* between two looks whether the process of `initialize` (processId) exists */
#define CONNECTION_TRACE_MAX 8192u /* bytes of the parameters in a verbose trace */

/* What a connection serves besides the table: the language server. */
struct connection_service {
    /* A connection was made: returns the state of the service for it. */
    void *(*open)(void *user, struct connection *connection);
    /* The connection is closed: open requests have been cancelled, and its peer is freed when this returns. */
    void (*close)(void *state);
    /* `initialize`: returns the capabilities of the server, a new reference. */
    tn_value (*initialize)(void *state, tn_value params);
    /* Returns false if it has no such method. It answers the request now or later. */
    bool (*request)(void *state, struct peer_request *request);
    bool (*notification)(void *state, const char *method, tn_value params);
    /* The client has read what waited for it (peer_is_full is false again). May be NULL. */
    void (*drained)(void *state);
};

struct connection_options {
    struct server *server;
    const char *name; /* for people */
    enum method_scope scope;
    bool files; /* the client may name files of this machine by their path */
    enum rpc_framing framing;
    bool watch_parent;                        /* ends with the process of `initialize` */
    const struct connection_service *service; /* may be NULL */
    void *service_user;
    /* The last callback. `code` is the exit status of the Language Server Protocol: 0 after `shutdown`, otherwise 1. */
    void (*closed)(void *user, struct connection *connection, int code);
    void *user;
};

/* Takes the stream. `options` is copied. */
struct connection *connection_new(struct rpc_stream *stream, const struct connection_options *options);
/* Cancels its open requests, sends what waits, and then calls `closed`. */
void connection_close(struct connection *connection);

/* ---- For services ---- */

struct peer *connection_peer(const struct connection *connection);
struct server *connection_server(const struct connection *connection);
/* True if the client may name files of this machine by their path (connection_options). */
bool connection_names_files(const struct connection *connection);
/* {name, version} of `initialize`, or NULL; borrowed. */
tn_value connection_client_info(const struct connection *connection);

#endif
