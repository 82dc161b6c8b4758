/*
 * listener_internal.h - what the files of a listener share: listener.c, options.c, connection.c, socket.c.
 */
#ifndef TENON_PLUGINS_SERVE_LISTENER_INTERNAL_H
#define TENON_PLUGINS_SERVE_LISTENER_INTERNAL_H

#include "listener.h"
#include "request.h"

#define FIELD_SIZE     64   /* what libmicrohttpd needs for a header field beside its text */
#define ANSWER_SIZE    8192 /* room for the headers of a response, beside the buffers of a request */
#define TLS_PRIORITIES "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"

#ifndef TAILQ_FOREACH_SAFE /* glibc does not have it */
#define TAILQ_FOREACH_SAFE(item, list, member, next)                                                                   \
    for ((item) = TAILQ_FIRST(list); (item) != NULL && ((next) = TAILQ_NEXT(item, member), true); (item) = (next))
#endif

struct connection;
TAILQ_HEAD(connection_list, connection);

struct listener {
    TAILQ_ENTRY(listener) in_open;
    uint32_t references; /* its owner, and each request */
    uint64_t number;
    tn_http_server_handler handler;
    void *user;
    struct limits limits;
    bool secure, draining;
    int socket;
    struct MHD_Daemon *daemon; /* NULL: ended */
    uint64_t watch, wake, timer;
    int64_t sweep_ms;
    bool running, kicked, sweep;
    uint32_t connections;
    struct connection_list waiting; /* for a request; the first is due first */
    struct request_list requests, unwatched;
    TAILQ_HEAD(, socket) sockets; /* WebSocket */
};

/* Texts are borrowed from the value that was read. */
struct listen_options {
    const char *address; /* numeric */
    uint16_t port;
    const char *certificate, *key; /* NULL: no TLS */
    struct limits limits;
};

/* TN_OK, or TN_FAILED and *error: INVALID_INPUT, TLS. */
int32_t options_read(tn_value options, struct listen_options *out, tn_value *error);
/* A socket that listens; -1 and *error: IO. */
int options_open_socket(const struct listen_options *options, tn_value *error);
tn_value options_bound_address(int socket); /* {address, port} */

/* Closes connections whose head takes too long. */
void connections_sweep(struct listener *listener);
/* Closes connections that wait for a request. */
void connections_close_idle(struct listener *listener);

#endif
