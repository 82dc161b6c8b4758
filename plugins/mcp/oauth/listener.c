/*
 * listener.c - a socket on the loopback interface, watched by the host's loop, with the part of HTTP that a browser
 * needs.
 *
 * The bytes and the time of each request are limited, and so is the number of connections, so that other programs on
 * this machine cannot exhaust the process. Answers never contain data of the request.
 */
#include "listener.h"
#include "address.h"
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

struct connection {
    struct listener *listener;
    int descriptor; /* -1: free */
    uint64_t watch, timer;
    size_t used;
    char request[OAUTH_CONNECTION_MAX + 1];
};

struct listener {
    struct listener_events events;
    int descriptor;
    uint64_t watch;
    tn_value uri;
    char *path; /* path of the redirect URI, without a query */
    struct connection connections[OAUTH_CONNECTIONS_MAX];
};

/* ---- Connections ---- */

static void connection_close(struct connection *connection) {
    if (connection->descriptor < 0) return;
    if (connection->watch != 0) (void)mcp_poll->unwatch(tn.host, connection->watch);
    if (connection->timer != 0) (void)tn.core->unpost(tn.host, connection->timer);
    (void)close(connection->descriptor);
    explicit_bzero(connection->request, sizeof connection->request); /* it contained a code */
    connection->watch = connection->timer = 0;
    connection->used = 0;
    connection->descriptor = -1;
}

static void on_connection_timeout(void *argument) {
    struct connection *connection = argument;
    connection->timer = 0;
    connection_close(connection);
}

static void connection_reply(struct connection *connection, const char *status, const char *text) {
    char page[1024];
    int length =
        snprintf(page, sizeof page,
                 "HTTP/1.1 %s\r\nContent-Type: text/html; charset=utf-8\r\nContent-Security-Policy: "
                 "default-src 'none'\r\nReferrer-Policy: no-referrer\r\nCache-Control: no-store\r\nConnection: "
                 "close\r\nContent-Length: %zu\r\n\r\n%s",
                 status, strlen(text), text);
    if (length > 0 && (size_t)length < sizeof page)
        (void)send(connection->descriptor, page, (size_t)length, MSG_NOSIGNAL | MSG_DONTWAIT);
    (void)shutdown(connection->descriptor, SHUT_WR);
}

/* The request has arrived, up to the empty line. */
static void connection_serve(struct connection *connection) {
    static const char good[] =
        "<!doctype html><title>Tenon</title><p>The permission has arrived. You may close this page and go "
        "back to Tenon.";
    static const char bad[] = "<!doctype html><title>Tenon</title><p>This is not the expected answer. Go back to Tenon "
                              "and start again.";
    struct listener *listener = connection->listener;
    char *target = connection->request + 4, *end = target + strcspn(target, " \r\n"), *query;
    bool get = strncmp(connection->request, "GET ", 4) == 0 && *end == ' ';
    *end = '\0';
    query = strchr(target, '?');
    if (query != NULL) *query++ = '\0';
    if (!get || strcmp(target, listener->path) != 0)
        connection_reply(connection, "404 Not Found", "<!doctype html><title>Tenon</title><p>There is nothing here.");
    else if (listener->events.on_redirect(listener->events.user, query != NULL ? query : ""))
        connection_reply(connection, "200 OK", good);
    else
        connection_reply(connection, "400 Bad Request", bad);
    connection_close(connection);
}

static void on_connection_readable(void *user, int32_t events) {
    struct connection *connection = user;
    (void)events;
    ssize_t got = recv(connection->descriptor, connection->request + connection->used,
                       OAUTH_CONNECTION_MAX - connection->used, 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got > 0) {
        connection->used += (size_t)got;
        connection->request[connection->used] = '\0';
        if (strstr(connection->request, "\r\n\r\n") != NULL) {
            connection_serve(connection);
            return;
        }
        if (connection->used < OAUTH_CONNECTION_MAX) return;
    }
    connection_close(connection);
}

static void on_new_connection(void *user, int32_t events) {
    struct listener *listener = user;
    struct connection *connection = NULL;
    (void)events;
    int descriptor = accept4(listener->descriptor, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (descriptor < 0) return;
    for (size_t i = 0; i < OAUTH_CONNECTIONS_MAX && connection == NULL; i++)
        if (listener->connections[i].descriptor < 0) connection = &listener->connections[i];
    if (connection == NULL || mcp_poll->watch(tn.host, descriptor, TN_POLL_READ, on_connection_readable, connection,
                                              &connection->watch) != TN_OK) {
        (void)close(descriptor);
        return;
    }
    connection->descriptor = descriptor;
    connection->timer = tn_post(OAUTH_CONNECTION_MS, on_connection_timeout, connection);
}

/* ---- The listener ---- */

static int listener_open_socket(const struct address *address, uint32_t *port) {
    struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    struct sockaddr_in four = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    bool is_six = address->host[0] == '[';
    struct sockaddr *at = is_six ? (struct sockaddr *)&six : (struct sockaddr *)&four;
    socklen_t size = is_six ? sizeof six : sizeof four;
    int on = 1;
    if (!is_six && strcmp(address->host, "localhost") != 0) (void)inet_pton(AF_INET, address->host, &four.sin_addr);
    six.sin6_port = four.sin_port = htons((uint16_t)(address->has_port ? address->port : 0));
    int descriptor = socket(is_six ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (descriptor < 0) return -1;
    (void)setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(descriptor, at, size) != 0 || listen(descriptor, OAUTH_CONNECTIONS_MAX) != 0 ||
        getsockname(descriptor, at, &size) != 0) {
        (void)close(descriptor);
        return -1;
    }
    *port = ntohs(is_six ? six.sin6_port : four.sin_port);
    return descriptor;
}

struct listener *listener_new(const char *uri, const struct listener_events *events) {
    struct address address;
    uint32_t port = 0;
    if (!address_read(uri, &address) || address.secure || !address_is_local(&address)) return NULL;
    struct listener *listener = mcp_alloc(sizeof *listener);
    if (listener == NULL) return NULL;
    listener->events = *events;
    listener->descriptor = listener_open_socket(&address, &port);
    for (size_t i = 0; i < OAUTH_CONNECTIONS_MAX; i++) {
        listener->connections[i].listener = listener;
        listener->connections[i].descriptor = -1;
    }
    listener->path = mcp_alloc(address.path_size + 2);
    if (listener->path != NULL && address.path_size > 0) memcpy(listener->path, address.path, address.path_size);
    if (listener->path != NULL && address.path_size == 0) listener->path[0] = '/';
    listener->uri = format_value("http://%s:%u%s", address.host, port, address.path);
    if (listener->descriptor >= 0 && listener->path != NULL && listener->uri != NULL &&
        mcp_poll->watch(tn.host, listener->descriptor, TN_POLL_READ, on_new_connection, listener, &listener->watch) ==
            TN_OK)
        return listener;
    listener_free(listener);
    return NULL;
}

void listener_free(struct listener *listener) {
    if (listener == NULL) return;
    for (size_t i = 0; i < OAUTH_CONNECTIONS_MAX; i++) connection_close(&listener->connections[i]);
    if (listener->watch != 0) (void)mcp_poll->unwatch(tn.host, listener->watch);
    if (listener->descriptor >= 0) (void)close(listener->descriptor);
    tn_release(listener->uri);
    mcp_free(listener->path);
    mcp_free(listener);
}

tn_value listener_uri(const struct listener *listener) { return listener->uri; }
