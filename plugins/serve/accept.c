/*
 * accept.c - accepts connections, within the limits of the listener and of each client address.
 *
 * A connection over a limit is closed at once, without an answer, and reported as REFUSED. If no descriptor is left,
 * the socket is not watched until the next sweep: it would be ready all the time.
 */
#include "listener_internal.h"
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#define ACCEPT_MAX 64 /* connections in one turn of the loop */

static void refuse_connection(struct listener *listener, int descriptor, const struct sockaddr *peer,
                              const char *message) {
    char address[64];
    address_format(peer, address, sizeof address);
    (void)close(descriptor);
    request_refuse_take(listener, tn_build("{s:i, s:s, s:s, s:s}", "status", MHD_HTTP_SERVICE_UNAVAILABLE, "code",
                                           "LIMIT", "message", message, "address", address));
}

static void add_connection(struct listener *listener, int descriptor, const struct sockaddr *peer, socklen_t size) {
    const struct limits *limits = &listener->limits;
    if (listener->connections >= limits->connections) {
        refuse_connection(listener, descriptor, peer, "too many connections");
        return;
    }
    struct shard *shard = shard_with_room(listener);
    if (shard == NULL || !addresses_add(&listener->addresses, peer, (uint32_t)limits->connections_per_address)) {
        refuse_connection(listener, descriptor, peer, "too many connections of this address");
        return;
    }
    uint32_t before = listener->connections;
    shard_add(shard, descriptor, peer, size);
    if (listener->connections == before) addresses_remove(&listener->addresses, peer);
}

static void on_socket_acceptable(void *user, int32_t events) {
    struct listener *listener = user;
    (void)events;
    for (int i = 0; i < ACCEPT_MAX; i++) {
        struct sockaddr_storage peer;
        socklen_t size = sizeof peer;
        memset(&peer, 0, sizeof peer);
        int descriptor =
            accept4(listener->socket, (struct sockaddr *)(void *)&peer, &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (descriptor < 0 && (errno == EINTR || errno == ECONNABORTED)) continue;
        if (descriptor < 0) {
            listener->full = errno != EAGAIN && errno != EWOULDBLOCK;
            break;
        }
        add_connection(listener, descriptor, (struct sockaddr *)(void *)&peer, size);
    }
    if (listener->full) (void)serve_poll->change(tn.host, listener->watch, 0);
    listener_run(listener);
}

int32_t accept_begin(struct listener *listener, tn_value *error) {
    if (serve_poll->watch(tn.host, listener->socket, TN_POLL_READ, on_socket_acceptable, listener, &listener->watch) ==
        TN_OK)
        return TN_OK;
    return serve_fail(error, "LIMIT", "the HTTP server cannot be watched: too many descriptors are watched");
}

void accept_again(struct listener *listener) {
    listener->full = false;
    if (listener->watch != 0) (void)serve_poll->change(tn.host, listener->watch, TN_POLL_READ);
}

void accept_end(struct listener *listener) {
    if (listener->watch != 0) (void)serve_poll->unwatch(tn.host, listener->watch);
    if (listener->socket >= 0) (void)close(listener->socket);
    listener->watch = 0;
    listener->socket = -1;
}
