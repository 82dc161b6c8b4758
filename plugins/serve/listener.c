/*
 * listener.c - listeners on the host's loop. See listener.h. options.c reads their options.
 */
#include "listener_internal.h"
#include "request.h"
#include "socket.h"
#include <errno.h>
#include <sys/socket.h>
#include <tenon/util/handles.h>
#include <unistd.h>

#define ROUNDS_MAX 16 /* how often a listener runs in one turn because handlers have answered */

static struct tn_handles listeners = TN_HANDLES(LISTENERS_MAX);
static TAILQ_HEAD(, listener) open_listeners = TAILQ_HEAD_INITIALIZER(open_listeners);

struct listener *listener_ref(struct listener *listener) {
    listener->references++;
    return listener;
}

void listener_unref(struct listener *listener) {
    if (--listener->references == 0) free(listener);
}

const struct limits *listener_limits(const struct listener *listener) { return &listener->limits; }
bool listener_is_secure(const struct listener *listener) { return listener->secure; }
bool listener_is_draining(const struct listener *listener) { return listener->draining; }
struct request_list *listener_requests(struct listener *listener) { return &listener->requests; }
struct request_list *listener_unwatched(struct listener *listener) { return &listener->unwatched; }

void listener_call(struct listener *listener, uint64_t request, int32_t event, tn_value value) {
    listener->handler(listener->user, request, event, value);
}

/* ---- Running ---- */

static void on_listener_wake(void *user);

void listener_wake(struct listener *listener) {
    listener->kicked = true;
    if (listener->running || listener->wake != 0 || listener->daemon == NULL) return;
    listener->wake = tn_post(0, on_listener_wake, listener);
}

static void on_listener_timer(void *user) {
    struct listener *listener = user;
    listener->timer = 0;
    listener->sweep = true;
    listener_wake(listener);
}

/* Timeouts are noticed by sweeping, as long as there are connections. */
static void schedule(struct listener *listener) {
    MHD_UNSIGNED_LONG_LONG timeout_ms;
    if (listener->daemon == NULL) return;
    if (listener->kicked || (MHD_get_timeout(listener->daemon, &timeout_ms) == MHD_YES && timeout_ms == 0))
        listener_wake(listener);
    if (listener->timer == 0 && listener->connections > 0)
        listener->timer = tn_post((uint64_t)listener->sweep_ms, on_listener_timer, listener);
}

static void listener_run(struct listener *listener) {
    if (listener->running || listener->daemon == NULL) return;
    (void)listener_ref(listener);
    listener->running = true;
    for (int round = 0; round < ROUNDS_MAX && listener->daemon != NULL; round++) {
        listener->kicked = false;
        sockets_flush(listener);
        (void)MHD_run(listener->daemon);
        if (listener->sweep) {
            listener->sweep = false;
            connections_sweep(listener);
            sockets_sweep(listener);
        }
        requests_deliver(NULL);
        if (!listener->kicked) break;
    }
    if (listener->daemon != NULL) requests_watch(listener);
    listener->running = false;
    schedule(listener);
    listener_unref(listener);
}

static void on_listener_wake(void *user) {
    struct listener *listener = user;
    listener->wake = 0;
    listener_run(listener);
}

static void on_listener_ready(void *user, int32_t events) {
    (void)events;
    listener_run(user);
}

/* ---- Opening ---- */

static struct MHD_Daemon *start_daemon(struct listener *listener, const struct listen_options *options) {
    const struct limits *limits = &listener->limits;
    unsigned flags = MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_ALLOW_UPGRADE;
    struct MHD_OptionItem tls[] = {{MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)(uintptr_t)options->certificate},
                                   {MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)(uintptr_t)options->key},
                                   {MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)(uintptr_t)TLS_PRIORITIES},
                                   {MHD_OPTION_END, 0, NULL}};
    if (listener->secure) flags |= MHD_USE_TLS;
    return MHD_start_daemon(
        flags, 0, NULL, NULL, request_on_access, listener, MHD_OPTION_LISTEN_SOCKET, listener->socket,
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)limits->connections, MHD_OPTION_PER_IP_CONNECTION_LIMIT,
        (unsigned)limits->connections_per_address, MHD_OPTION_CONNECTION_TIMEOUT,
        (unsigned)((limits->idle_ms + 999) / 1000), MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        (size_t)limits->headers_bytes + HEADERS_MAX * FIELD_SIZE + ANSWER_SIZE, MHD_OPTION_STRICT_FOR_CLIENT, 1,
        MHD_OPTION_URI_LOG_CALLBACK, request_on_line, listener, MHD_OPTION_NOTIFY_COMPLETED, request_on_completed,
        listener, MHD_OPTION_NOTIFY_CONNECTION, connection_on_notify, listener, MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1,
        listener->secure ? MHD_OPTION_ARRAY : MHD_OPTION_END, tls, MHD_OPTION_END);
}

static int32_t open_daemon(struct listener *listener, const struct listen_options *options, tn_value *error) {
    listener->socket = options_open_socket(options, error);
    if (listener->socket < 0) return TN_FAILED;
    listener->daemon = start_daemon(listener, options);
    if (listener->daemon == NULL) {
        (void)close(listener->socket);
        return serve_fail(error, "IO", "the HTTP server on %s did not start: %s", options->address, strerror(errno));
    }
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(listener->daemon, MHD_DAEMON_INFO_EPOLL_FD);
    if (info != NULL && serve_poll->watch(tn.host, info->epoll_fd, TN_POLL_READ, on_listener_ready, listener,
                                          &listener->watch) == TN_OK)
        return TN_OK;
    MHD_stop_daemon(listener->daemon);
    listener->daemon = NULL;
    return serve_fail(error, "LIMIT", "the HTTP server on %s cannot be watched: too many descriptors are watched",
                      options->address);
}

int32_t listener_open(tn_value options, tn_http_server_handler handler, void *user, uint64_t *number, tn_value *address,
                      tn_value *error) {
    struct listen_options read;
    if (handler == NULL || number == NULL || address == NULL) return TN_INVALID;
    if (options_read(options, &read, error) != TN_OK) return TN_FAILED;
    struct listener *listener = calloc(1, sizeof *listener);
    if (listener == NULL) return TN_NO_MEMORY;
    listener->references = 1;
    listener->handler = handler;
    listener->user = user;
    listener->limits = read.limits;
    listener->secure = read.certificate != NULL;
    int64_t shortest = read.limits.headers_ms < read.limits.idle_ms ? read.limits.headers_ms : read.limits.idle_ms;
    listener->sweep_ms = shortest / 4 < 50 ? 50 : shortest / 4 > 1000 ? 1000 : shortest / 4;
    TAILQ_INIT(&listener->waiting);
    TAILQ_INIT(&listener->requests);
    TAILQ_INIT(&listener->unwatched);
    TAILQ_INIT(&listener->sockets);
    int32_t status = tn_handles_add(&listeners, listener, &listener->number);
    if (status != TN_OK) {
        free(listener);
        return status == TN_LIMIT ? serve_fail(error, "LIMIT", "at most %d listeners", LISTENERS_MAX) : status;
    }
    if (open_daemon(listener, &read, error) != TN_OK) {
        (void)tn_handles_remove(&listeners, listener->number);
        free(listener);
        return TN_FAILED;
    }
    TAILQ_INSERT_TAIL(&open_listeners, listener, in_open);
    *number = listener->number;
    *address = options_bound_address(listener->socket);
    schedule(listener);
    return TN_OK;
}

/* ---- Ending ---- */

int32_t listener_drain(uint64_t number) {
    struct listener *listener = tn_handles_get(&listeners, number);
    if (listener == NULL) return TN_STALE;
    if (listener->draining) return TN_OK;
    listener->draining = true;
    if (MHD_quiesce_daemon(listener->daemon) != MHD_INVALID_SOCKET) {
        (void)close(listener->socket);
        listener->socket = -1;
    }
    connections_close_idle(listener);
    listener_wake(listener);
    return TN_OK;
}

static void close_listener(struct listener *listener) {
    struct request *request, *next;
    (void)tn_handles_remove(&listeners, listener->number);
    TAILQ_REMOVE(&open_listeners, listener, in_open);
    struct MHD_Daemon *daemon = listener->daemon;
    listener->daemon = NULL; /* from here on, nothing is posted */
    (void)serve_poll->unwatch(tn.host, listener->watch);
    if (listener->timer != 0) (void)tn.core->unpost(tn.host, listener->timer);
    if (listener->wake != 0) (void)tn.core->unpost(tn.host, listener->wake);
    listener->timer = listener->wake = 0;
    TAILQ_FOREACH_SAFE(request, &listener->requests, in_listener, next)
    request_abort(request, "closed");
    MHD_stop_daemon(daemon); /* calls request_on_completed for all */
    requests_deliver(listener);
}

int32_t listener_unlisten(uint64_t number) {
    struct listener *listener = tn_handles_get(&listeners, number);
    if (listener == NULL) return TN_STALE;
    close_listener(listener);
    listener_unref(listener);
    return TN_OK;
}

void listeners_close(void) {
    for (struct listener *listener; (listener = TAILQ_FIRST(&open_listeners)) != NULL;)
        (void)listener_unlisten(listener->number);
    tn_handles_free(&listeners);
}
