/*
 * connection.c - the connections of a listener: their addresses, and the time that a request's head may take.
 *
 * A connection is in `waiting` from its start, or the end of a request, until the next head is complete. Every
 * connection there is looked at each quarter of headers_ms. The first look that finds new bytes starts the time, so a
 * slow head has between headers_ms and 1.25 headers_ms. Over TLS the handshake counts like the bytes of a head.
 *
 * libmicrohttpd does not notice that a client has closed if the end arrived together with its last bytes, because it
 * takes a short read for the last one. The sweep closes such a connection.
 */
#include "listener_internal.h"
#include <netinet/in.h>
#include <sys/socket.h>

#include <linux/tcp.h>

#define CLOSE_WAIT 8 /* tcpi_state: the client has closed. No header defines it beside the struct with all members */

struct connection {
    TAILQ_ENTRY(connection) in_waiting;
    struct listener *listener;
    struct shard *shard;
    struct MHD_Connection *mhd;
    uint64_t bytes;    /* that had arrived when it began to wait */
    int64_t look, due; /* when the sweep looks at it; when a head that has begun must be complete, 0: it has not */
    bool waiting, shut;
    struct sockaddr_storage peer;
    char address[64];
};

static struct tcp_info tcp_info_of(const struct connection *connection) {
    struct tcp_info info;
    socklen_t size = sizeof info;
    memset(&info, 0, sizeof info);
    (void)getsockopt(connection_descriptor(connection), IPPROTO_TCP, TCP_INFO, &info, &size);
    return info;
}

static void keep_alive(int descriptor) {
    int on = 1, idle = 60, interval = 15, count = 4;
    (void)setsockopt(descriptor, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    (void)setsockopt(descriptor, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
    (void)setsockopt(descriptor, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof interval);
    (void)setsockopt(descriptor, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof count);
}

static void begin_waiting(struct connection *connection, uint64_t bytes) {
    connection->bytes = bytes;
    connection->due = 0;
    connection->look = serve_now_ms() + connection->listener->limits.headers_ms / 4;
    connection->waiting = true;
    TAILQ_INSERT_TAIL(&connection->listener->waiting, connection, in_waiting);
}

void connection_set_busy(struct connection *connection) {
    if (connection->waiting) TAILQ_REMOVE(&connection->listener->waiting, connection, in_waiting);
    connection->waiting = false;
}

void connection_set_waiting(struct connection *connection) {
    connection_set_busy(connection);
    begin_waiting(connection, tcp_info_of(connection).tcpi_bytes_received);
    if (connection->listener->draining) connection_shut(connection);
}

static void on_ended(struct shard *shard, struct connection *connection) {
    struct listener *listener = shard->listener;
    connection_set_busy(connection);
    addresses_remove(&listener->addresses, (const struct sockaddr *)(const void *)&connection->peer);
    listener->connections--;
    shard->connections--;
    free(connection);
}

void connection_on_notify(void *user, struct MHD_Connection *mhd, void **context,
                          enum MHD_ConnectionNotificationCode code) {
    struct shard *shard = user;
    struct connection *connection = *context;
    if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
        *context = NULL;
        if (connection != NULL) on_ended(shard, connection);
        return;
    }
    *context = connection = calloc(1, sizeof *connection);
    if (connection == NULL) return; /* its requests are refused */
    connection->listener = shard->listener;
    connection->shard = shard;
    connection->mhd = mhd;
    const struct sockaddr *peer = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CLIENT_ADDRESS)->client_addr;
    memcpy(&connection->peer, peer,
           peer->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in));
    address_format(peer, connection->address, sizeof connection->address);
    /* accept.c has counted the address. */
    shard->listener->connections++;
    shard->connections++;
    keep_alive(connection_descriptor(connection));
    begin_waiting(connection, 0);
}

struct connection *connection_of(struct MHD_Connection *mhd) {
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info == NULL ? NULL : info->socket_context;
}

struct MHD_Connection *connection_mhd(const struct connection *connection) {
    return connection->mhd;
}
struct listener *connection_listener(const struct connection *connection) {
    return connection->listener;
}
const char *connection_address(const struct connection *connection) { return connection->address; }

int connection_descriptor(const struct connection *connection) {
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection->mhd, MHD_CONNECTION_INFO_CONNECTION_FD);
    return info == NULL ? -1 : info->connect_fd;
}

void connection_wake(const struct connection *connection) { shard_wake(connection->shard); }

void connection_shut(const struct connection *connection) {
    (void)shutdown(connection_descriptor(connection), SHUT_RDWR);
}

void connections_close_idle(struct listener *listener) {
    struct connection *connection;
    TAILQ_FOREACH(connection, &listener->waiting, in_waiting) {
        if (tcp_info_of(connection).tcpi_bytes_received == connection->bytes) connection_shut(connection);
    }
}

/* The head of a request takes too long. */
static void end_slow(struct connection *connection) {
    request_refuse_take(connection->listener,
                        tn_build("{s:i, s:s, s:s, s:s}", "status", MHD_HTTP_REQUEST_TIMEOUT, "code", "LIMIT", "message",
                                 "the head of a request took too long", "address", connection->address));
    connection_shut(connection);
}

void connections_sweep(struct listener *listener) {
    int64_t now = serve_now_ms(), headers_ms = listener->limits.headers_ms;
    struct connection *connection;
    while ((connection = TAILQ_FIRST(&listener->waiting)) != NULL && connection->look <= now) {
        TAILQ_REMOVE(&listener->waiting, connection, in_waiting);
        connection->look = now + headers_ms / 4 + 1;
        TAILQ_INSERT_TAIL(&listener->waiting, connection, in_waiting);
        if (connection->shut) continue;
        struct tcp_info info = tcp_info_of(connection);
        if (info.tcpi_state == CLOSE_WAIT) {
            connection->shut = true;
            connection_shut(connection);
            continue;
        }
        if (connection->due == 0 && info.tcpi_bytes_received != connection->bytes)
            connection->due = now + headers_ms * 3 / 4;
        if (connection->due == 0 || connection->due > now) continue;
        connection->shut = true;
        end_slow(connection);
    }
}
