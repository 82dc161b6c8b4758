/*
 * listener.c - a socket on the loopback interface, watched by the host's loop; as much HTTP as a browser needs.
 *
 * A caller has so many bytes and so long for its request, and there are so many callers at once: whoever knocks from
 * this machine costs no more than that. Nothing of what was asked is in an answer.
 */
#include "listener.h"
#include "address.h"
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

struct caller {
    struct listener *listener;
    int descriptor; /* -1: nobody */
    uint64_t watch, timer;
    size_t used;
    char request[OAUTH_CALLER_MAX + 1];
};

struct listener {
    struct listener_events events;
    int descriptor;
    uint64_t watch;
    tn_value uri;
    char *path; /* that it listens to, without a query */
    struct caller callers[OAUTH_CALLERS_MAX];
};

/* ---- Callers ---- */

static void hang_up(struct caller *caller) {
    if (caller->descriptor < 0) return;
    if (caller->watch != 0) (void)mcp_poll->unwatch(tn.host, caller->watch);
    if (caller->timer != 0) (void)tn.core->unpost(tn.host, caller->timer);
    (void)close(caller->descriptor);
    explicit_bzero(caller->request, sizeof caller->request); /* it had a code */
    caller->watch = caller->timer = 0;
    caller->used = 0;
    caller->descriptor = -1;
}

static void too_slow(void *argument) {
    struct caller *caller = argument;
    caller->timer = 0;
    hang_up(caller);
}

static void reply(struct caller *caller, const char *status, const char *text) {
    char page[1024];
    int length =
        snprintf(page, sizeof page,
                 "HTTP/1.1 %s\r\nContent-Type: text/html; charset=utf-8\r\nContent-Security-Policy: "
                 "default-src 'none'\r\nReferrer-Policy: no-referrer\r\nCache-Control: no-store\r\nConnection: "
                 "close\r\nContent-Length: %zu\r\n\r\n%s",
                 status, strlen(text), text);
    if (length > 0 && (size_t)length < sizeof page)
        (void)send(caller->descriptor, page, (size_t)length, MSG_NOSIGNAL | MSG_DONTWAIT);
    (void)shutdown(caller->descriptor, SHUT_WR);
}

/* Its request has come, up to the empty line. */
static void serve(struct caller *caller) {
    static const char good[] = "<!doctype html><title>Tenon</title><p>It has arrived. You may close this page and go "
                               "back to where you were asked.";
    static const char bad[] = "<!doctype html><title>Tenon</title><p>That was not what is waited for. Go back to where "
                              "you were asked, and begin again there.";
    struct listener *listener = caller->listener;
    char *target = caller->request + 4, *end = target + strcspn(target, " \r\n"), *query;
    bool get = strncmp(caller->request, "GET ", 4) == 0 && *end == ' ';
    *end = '\0';
    query = strchr(target, '?');
    if (query != NULL) *query++ = '\0';
    if (!get || strcmp(target, listener->path) != 0)
        reply(caller, "404 Not Found", "<!doctype html><title>Tenon</title><p>There is nothing here.");
    else if (listener->events.came(listener->events.user, query != NULL ? query : ""))
        reply(caller, "200 OK", good);
    else
        reply(caller, "400 Bad Request", bad);
    hang_up(caller);
}

static void on_bytes(void *user, int32_t events) {
    struct caller *caller = user;
    (void)events;
    ssize_t got = recv(caller->descriptor, caller->request + caller->used, OAUTH_CALLER_MAX - caller->used, 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got > 0) {
        caller->used += (size_t)got;
        caller->request[caller->used] = '\0';
        if (strstr(caller->request, "\r\n\r\n") != NULL) {
            serve(caller);
            return;
        }
        if (caller->used < OAUTH_CALLER_MAX) return;
    }
    hang_up(caller);
}

static void on_caller(void *user, int32_t events) {
    struct listener *listener = user;
    struct caller *caller = NULL;
    (void)events;
    int descriptor = accept4(listener->descriptor, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (descriptor < 0) return;
    for (size_t i = 0; i < OAUTH_CALLERS_MAX && caller == NULL; i++)
        if (listener->callers[i].descriptor < 0) caller = &listener->callers[i];
    if (caller == NULL ||
        mcp_poll->watch(tn.host, descriptor, TN_POLL_READ, on_bytes, caller, &caller->watch) != TN_OK) {
        (void)close(descriptor);
        return;
    }
    caller->descriptor = descriptor;
    caller->timer = tn.core->post(tn.host, OAUTH_CALLER_MS, too_slow, caller);
}

/* ---- The listener ---- */

static int open_socket(const struct address *address, uint32_t *port) {
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
    if (bind(descriptor, at, size) != 0 || listen(descriptor, OAUTH_CALLERS_MAX) != 0 ||
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
    struct listener *listener = take(sizeof *listener);
    if (listener == NULL) return NULL;
    listener->events = *events;
    listener->descriptor = open_socket(&address, &port);
    for (size_t i = 0; i < OAUTH_CALLERS_MAX; i++) {
        listener->callers[i].listener = listener;
        listener->callers[i].descriptor = -1;
    }
    listener->path = take(address.path_size + 2);
    if (listener->path != NULL && address.path_size > 0) memcpy(listener->path, address.path, address.path_size);
    if (listener->path != NULL && address.path_size == 0) listener->path[0] = '/';
    listener->uri = format_value("http://%s:%u%s", address.host, port, address.path);
    if (listener->descriptor >= 0 && listener->path != NULL && listener->uri != NULL &&
        mcp_poll->watch(tn.host, listener->descriptor, TN_POLL_READ, on_caller, listener, &listener->watch) == TN_OK)
        return listener;
    listener_free(listener);
    return NULL;
}

void listener_free(struct listener *listener) {
    if (listener == NULL) return;
    for (size_t i = 0; i < OAUTH_CALLERS_MAX; i++) hang_up(&listener->callers[i]);
    if (listener->watch != 0) (void)mcp_poll->unwatch(tn.host, listener->watch);
    if (listener->descriptor >= 0) (void)close(listener->descriptor);
    tn_release(listener->uri);
    give(listener->path);
    give(listener);
}

tn_value listener_uri(const struct listener *listener) { return listener->uri; }
