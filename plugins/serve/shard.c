/*
 * shard.c - the daemons of a listener. See shard.h.
 */
#include "shard.h"
#include "listener_internal.h"
#include "request.h"
#include <unistd.h>

static void on_shard_ready(void *user, int32_t events) {
    struct shard *shard = user;
    (void)events;
    shard_wake(shard);
    listener_run(shard->listener);
}

static struct MHD_Daemon *start_daemon(struct shard *shard) {
    struct listener *listener = shard->listener;
    const struct limits *limits = &listener->limits;
    unsigned flags = MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_ALLOW_UPGRADE | MHD_USE_NO_LISTEN_SOCKET;
    struct MHD_OptionItem tls[] = {{MHD_OPTION_HTTPS_MEM_CERT, 0, listener->certificate},
                                   {MHD_OPTION_HTTPS_MEM_KEY, 0, listener->key},
                                   {MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)(uintptr_t)TLS_PRIORITIES},
                                   {MHD_OPTION_END, 0, NULL}};
    if (listener->certificate != NULL) flags |= MHD_USE_TLS;
    return MHD_start_daemon(
        flags, 0, NULL, NULL, request_on_access, listener, MHD_OPTION_CONNECTION_LIMIT, (unsigned)SHARD_CONNECTIONS,
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)((limits->idle_ms + 999) / 1000), MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        (size_t)limits->headers_bytes + HEADERS_MAX * FIELD_SIZE + ANSWER_SIZE, MHD_OPTION_STRICT_FOR_CLIENT, 1,
        MHD_OPTION_URI_LOG_CALLBACK, request_on_line, listener, MHD_OPTION_NOTIFY_COMPLETED, request_on_completed,
        listener, MHD_OPTION_NOTIFY_CONNECTION, connection_on_notify, shard, MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1,
        listener->certificate != NULL ? MHD_OPTION_ARRAY : MHD_OPTION_END, tls, MHD_OPTION_END);
}

static struct shard *shard_new(struct listener *listener) {
    struct shard *shard = calloc(1, sizeof *shard);
    if (shard == NULL) return NULL;
    shard->listener = listener;
    shard->daemon = start_daemon(shard);
    if (shard->daemon == NULL) {
        free(shard);
        return NULL;
    }
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(shard->daemon, MHD_DAEMON_INFO_EPOLL_FD);
    if (info == NULL ||
        serve_poll->watch(tn.host, info->epoll_fd, TN_POLL_READ, on_shard_ready, shard, &shard->watch) != TN_OK) {
        MHD_stop_daemon(shard->daemon);
        free(shard);
        return NULL;
    }
    TAILQ_INSERT_TAIL(&listener->shards, shard, in_listener);
    return shard;
}

struct shard *shard_with_room(struct listener *listener) {
    struct shard *shard;
    TAILQ_FOREACH(shard, &listener->shards, in_listener) {
        if (shard->connections < SHARD_CONNECTIONS) return shard;
    }
    return shard_new(listener);
}

void shard_add(struct shard *shard, int descriptor, const struct sockaddr *address, socklen_t size) {
    if (MHD_add_connection(shard->daemon, descriptor, address, size) == MHD_YES) shard_wake(shard);
}

void shard_wake(struct shard *shard) {
    if (!shard->due) TAILQ_INSERT_TAIL(&shard->listener->due, shard, in_due);
    shard->due = true;
    listener_wake(shard->listener);
}

void shards_run(struct listener *listener) {
    struct shard_list due = TAILQ_HEAD_INITIALIZER(due);
    TAILQ_CONCAT(&due, &listener->due, in_due);
    for (struct shard *shard; (shard = TAILQ_FIRST(&due)) != NULL;) {
        MHD_UNSIGNED_LONG_LONG timeout_ms;
        TAILQ_REMOVE(&due, shard, in_due);
        shard->due = false;
        (void)MHD_run(shard->daemon);
        if (MHD_get_timeout(shard->daemon, &timeout_ms) == MHD_YES && timeout_ms == 0) shard_wake(shard);
    }
}

void shards_stop(struct listener *listener) {
    for (struct shard *shard; (shard = TAILQ_FIRST(&listener->shards)) != NULL;) {
        TAILQ_REMOVE(&listener->shards, shard, in_listener);
        if (shard->due) TAILQ_REMOVE(&listener->due, shard, in_due);
        (void)serve_poll->unwatch(tn.host, shard->watch);
        MHD_stop_daemon(shard->daemon);
        free(shard);
    }
}
