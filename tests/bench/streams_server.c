/*
 * streams_server.c - connections by descriptor; bytes that do not fit into a socket wait in the connection.
 *
 * An event is what a model service sends for one token: about 190 bytes, in its own chunk. Each event goes to all
 * streams before the next one goes to any, as if all streams were answered at once.
 */
#include "streams_server.h"
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define EVENT                                                                                                          \
    "data: {\"id\":\"chatcmpl-7d3a\",\"object\":\"chat.completion.chunk\",\"created\":1700000000,"                     \
    "\"model\":\"bench\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\" token\"},\"finish_reason\":null}]}\n\n"

static const char head[] = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-cache\r\n"
                           "Transfer-Encoding: chunked\r\n\r\n";
static char chunk[sizeof EVENT + 16];
static const char last[] = "0\r\n\r\n";

struct stream {
    bool open, requested;
    uint32_t pending; /* events to send */
    size_t sent;      /* bytes of the current part */
    const char *part; /* head, chunk or last */
    bool ends;
};

static struct stream *streams;
static int *open_streams;
static uint32_t open_count;
static int epoll;

static void watch(int descriptor, uint32_t events, int operation) {
    struct epoll_event event = {.events = events, .data = {.fd = descriptor}};
    epoll_ctl(epoll, operation, descriptor, &event);
}

static void drop(int descriptor) {
    streams[descriptor].open = false;
    close(descriptor);
}

/* Sends as much as the socket takes. */
static void go_on(int descriptor) {
    struct stream *stream = &streams[descriptor];
    while (stream->open) {
        if (!stream->part && stream->pending) {
            stream->part = chunk;
            stream->pending--;
        } else if (!stream->part && stream->ends) {
            stream->part = last;
            stream->ends = false;
        }
        if (!stream->part) return;
        size_t length = strlen(stream->part);
        ssize_t wrote = send(descriptor, stream->part + stream->sent, length - stream->sent, MSG_NOSIGNAL);
        if (wrote < 0) {
            if (errno == EAGAIN)
                watch(descriptor, EPOLLIN | EPOLLOUT, EPOLL_CTL_MOD);
            else
                drop(descriptor);
            return;
        }
        stream->sent += (size_t)wrote;
        if (stream->sent < length) continue;
        stream->part = NULL;
        stream->sent = 0;
    }
}

static void on_stream(int descriptor, uint32_t events) {
    struct stream *stream = &streams[descriptor];
    char request[4096];
    if (!stream->open) return;
    if (events & EPOLLIN) {
        ssize_t got = recv(descriptor, request, sizeof request, 0);
        if (got <= 0) {
            drop(descriptor);
            return;
        }
        if (!stream->requested) { /* a small request arrives in one piece */
            stream->requested = true;
            stream->part = head;
            stream->pending = 1;
        }
    }
    if (events & EPOLLOUT) watch(descriptor, EPOLLIN, EPOLL_CTL_MOD);
    go_on(descriptor);
}

static void accept_all(int listener, uint32_t most) {
    for (;;) {
        int descriptor = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC), one = 1;
        if (descriptor < 0) return;
        if (open_count == most) {
            close(descriptor);
            continue;
        }
        setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        streams[descriptor] = (struct stream){.open = true};
        open_streams[open_count++] = descriptor;
        watch(descriptor, EPOLLIN, EPOLL_CTL_ADD);
    }
}

static void on_told(int control) {
    uint32_t events;
    if (read(control, &events, sizeof events) != sizeof events) _exit(0);
    for (uint32_t round = 0; round < (events ? events : 1); round++)
        for (uint32_t i = 0; i < open_count; i++) {
            struct stream *stream = &streams[open_streams[i]];
            if (events)
                stream->pending++;
            else
                stream->ends = true;
            go_on(open_streams[i]);
        }
}

static void serve(int listener, int control, uint32_t most) {
    struct epoll_event events[512];
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    streams = calloc(limit.rlim_cur + 1, sizeof *streams);
    open_streams = calloc(most, sizeof *open_streams);
    epoll = epoll_create1(EPOLL_CLOEXEC);
    if (!streams || !open_streams || epoll < 0) _exit(1);
    watch(listener, EPOLLIN, EPOLL_CTL_ADD);
    watch(control, EPOLLIN, EPOLL_CTL_ADD);
    for (;;) {
        int count = epoll_wait(epoll, events, 512, -1);
        for (int i = 0; i < count; i++) {
            int descriptor = events[i].data.fd;
            if (descriptor == listener)
                accept_all(listener, most);
            else if (descriptor == control)
                on_told(control);
            else
                on_stream(descriptor, events[i].events);
        }
    }
}

static void make_chunk(void) {
    static const char hex[] = "0123456789abcdef";
    size_t length = sizeof EVENT - 1;
    char *to = chunk;
    *to++ = hex[length >> 4 & 15];
    *to++ = hex[length & 15];
    memcpy(to, "\r\n" EVENT "\r\n", length + 5);
}

bool streams_server_start(struct streams_server *server, uint32_t most) {
    int control[2], listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof address;
    _Static_assert(sizeof EVENT < 256, "its length has two digits");
    if (listener < 0 || bind(listener, (struct sockaddr *)&address, size) != 0 || listen(listener, 4096) != 0 ||
        getsockname(listener, (struct sockaddr *)&address, &size) != 0 || pipe(control) != 0)
        return false;
    make_chunk();
    server->port = ntohs(address.sin_port);
    server->control = control[1];
    server->process = fork();
    if (server->process == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(control[1]);
        serve(listener, control[0], most);
    }
    close(listener);
    close(control[0]);
    return server->process > 0;
}

bool streams_server_send(const struct streams_server *server, uint32_t events) {
    return write(server->control, &events, sizeof events) == sizeof events;
}

void streams_server_stop(const struct streams_server *server) { close(server->control); }
