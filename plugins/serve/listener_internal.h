/*
 * listener_internal.h - what the files of a listener share: listener.c, accept.c, connection.c, options.c, shard.c,
 * socket.c.
 */
#ifndef TENON_PLUGINS_SERVE_LISTENER_INTERNAL_H
#define TENON_PLUGINS_SERVE_LISTENER_INTERNAL_H

#include "address.h"
#include "listener.h"
#include "request.h"
#include "shard.h"

#define FIELD_SIZE     64   /* what libmicrohttpd needs for a header field beside its text */
#define ANSWER_SIZE    4096 /* room for the headers of a response, beside the buffers of a request */
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
    char *certificate, *key; /* PEM; NULL: no TLS */
    bool draining, ended, running, woken, sweep;
    int socket;     /* -1: it does not listen any more */
    uint64_t watch; /* of `socket` */
    bool full;      /* no descriptor was left: nothing is accepted until the next sweep */
    uint64_t wake, timer;
    int64_t sweep_ms;
    uint32_t connections;
    uint64_t waiting_bytes; /* for clients that do not read, of all requests */
    struct addresses addresses;
    struct shard_list shards, due;
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
    tn_value trusted; /* an array of texts, or NULL */
};

/* TN_OK, or TN_FAILED and *error: INVALID_INPUT, TLS. */
int32_t options_read(tn_value options, struct listen_options *out, tn_value *error);
/* A socket that listens; -1 and *error: IO. */
int options_open_socket(const struct listen_options *options, tn_value *error);
tn_value options_bound_address(int socket); /* {address, port} */

/* Runs what is due, and delivers the events. */
void listener_run(struct listener *listener);

/* Watches the socket; TN_OK, or TN_FAILED and *error. */
int32_t accept_begin(struct listener *listener, tn_value *error);
void accept_again(struct listener *listener); /* after `full` */
void accept_end(struct listener *listener);   /* closes the socket */

/* Closes connections whose head takes too long. */
void connections_sweep(struct listener *listener);
/* Closes connections that wait for a request. */
void connections_close_idle(struct listener *listener);

#endif
