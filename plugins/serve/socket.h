/*
 * socket.h - a WebSocket connection after its opening handshake. wslay has the frames (RFC 6455).
 *
 * The descriptor is watched by tenon.poll. Nothing is read while the host has paused the messages or more than
 * write_bytes wait for the client, so neither side can make the other's memory grow.
 */
#ifndef TENON_PLUGINS_SERVE_SOCKET_H
#define TENON_PLUGINS_SERVE_SOCKET_H

#include "base.h"

struct listener;
struct request;
struct socket;

/* Callback of libmicrohttpd; `user` is the request. */
void socket_on_upgrade(void *user, struct MHD_Connection *connection, void *context, const char *extra, size_t size,
                       MHD_socket descriptor, struct MHD_UpgradeResponseHandle *handle);
/* The same for TLS: takes over the suspended connection, and sends `head`. False: memory ran out. */
bool socket_take_tls(struct request *request, void *session, const char *head, uint64_t length);
int32_t socket_send(struct request *request, const void *data, uint64_t length, bool text);
int32_t socket_close(struct request *request, int32_t code, const char *reason, uint64_t length);
/* The host has paused or resumed. */
void socket_update(struct request *request);
/* Ends the connection now, without a close frame. CLOSED follows. */
void socket_end(struct request *request);
/* The next message of a request that has some; returns TN_HTTP_SERVER_MESSAGE. */
int32_t socket_next_message(struct request *request, tn_value *value);
void socket_free(struct socket *socket);
/* Sends what waits. */
void sockets_flush(struct listener *listener);
/* Pings clients that are quiet, and ends those that do not answer. */
void sockets_sweep(struct listener *listener);

#endif
