/*
 * listener.c - listeners on the host's loop. See listener.h. options.c reads their options.
 */
#include "listener_internal.h"
#include "request.h"
#include "socket.h"
#include <tenon/util/handles.h>

#define ROUNDS_MAX     16 /* how often a listener runs in one turn because handlers have answered */
#define SWEEP_LEAST_MS 20
#define SWEEP_MOST_MS  1000

static struct tn_handles listeners = TN_HANDLES(LISTENERS_MAX);
static TAILQ_HEAD(, listener) open_listeners = TAILQ_HEAD_INITIALIZER(open_listeners);

struct listener *listener_ref(struct listener *listener) {
    listener->references++;
    return listener;
}

void listener_unref(struct listener *listener) {
    if (--listener->references > 0) return;
    if (listener->key != NULL) explicit_bzero(listener->key, strlen(listener->key));
    free(listener->key);
    addresses_finish(&listener->addresses);
    free(listener->certificate);
    free(listener);
}

const struct limits *listener_limits(const struct listener *listener) { return &listener->limits; }
void listener_add_waiting(struct listener *listener, int64_t bytes) { listener->waiting_bytes += (uint64_t)bytes; }
uint64_t listener_write_limit(const struct listener *listener) {
    uint64_t most = (uint64_t)listener->limits.write_bytes;
    return listener->waiting_bytes > WAITING_MUCH && most > WRITE_LEAST ? WRITE_LEAST : most;
}
bool listener_is_secure(const struct listener *listener) { return listener->certificate != NULL; }
bool listener_is_draining(const struct listener *listener) { return listener->draining; }
struct request_list *listener_requests(struct listener *listener) {
    return &listener->requests;
}
struct request_list *listener_unwatched(struct listener *listener) {
    return &listener->unwatched;
}

void listener_call(struct listener *listener, uint64_t request, int32_t event, tn_value value) {
    listener->handler(listener->user, request, event, value);
}

/* ---- Running ---- */

static void on_listener_wake(void *user) {
    struct listener *listener = user;
    listener->wake = 0;
    listener_run(listener);
}

void listener_wake(struct listener *listener) {
    listener->woken = true;
    if (listener->running || listener->wake != 0 || listener->ended) return;
    listener->wake = tn_post(0, on_listener_wake, listener);
}

static void on_listener_timer(void *user) {
    struct listener *listener = user;
    listener->timer = 0;
    listener->sweep = true;
    listener_run(listener);
}

/* Also libmicrohttpd notices its timeouts only when it runs. */
static void sweep(struct listener *listener) {
    struct shard *shard;
    listener->sweep = false;
    connections_sweep(listener);
    sockets_sweep(listener);
    TAILQ_FOREACH(shard, &listener->shards, in_listener) {
        if (shard->connections > 0) shard_wake(shard);
    }
    if (listener->full) accept_again(listener);
}

void listener_run(struct listener *listener) {
    if (listener->running || listener->ended) return;
    (void)listener_ref(listener);
    listener->running = true;
    if (listener->sweep) sweep(listener);
    listener->woken = true;
    for (int round = 0; round < ROUNDS_MAX && listener->woken && !listener->ended; round++) {
        listener->woken = false;
        sockets_flush(listener);
        shards_run(listener);
        requests_deliver(NULL);
    }
    if (!listener->ended) requests_watch(listener);
    listener->running = false;
    if (listener->woken) listener_wake(listener);
    if (listener->timer == 0 && !listener->ended && (listener->connections > 0 || listener->full))
        listener->timer = tn_post((uint64_t)listener->sweep_ms, on_listener_timer, listener);
    listener_unref(listener);
}

/* ---- Opening ---- */

static struct listener *listener_new(const struct listen_options *options, tn_http_server_handler handler, void *user) {
    struct listener *listener = calloc(1, sizeof *listener);
    const struct limits *limits = &options->limits;
    if (listener == NULL) return NULL;
    listener->references = 1;
    listener->handler = handler;
    listener->user = user;
    listener->limits = *limits;
    listener->socket = -1;
    int64_t shortest = limits->headers_ms < limits->idle_ms ? limits->headers_ms : limits->idle_ms;
    listener->sweep_ms = shortest / 4 < SWEEP_LEAST_MS  ? SWEEP_LEAST_MS
                         : shortest / 4 > SWEEP_MOST_MS ? SWEEP_MOST_MS
                                                        : shortest / 4;
    TAILQ_INIT(&listener->waiting);
    TAILQ_INIT(&listener->requests);
    TAILQ_INIT(&listener->unwatched);
    TAILQ_INIT(&listener->sockets);
    TAILQ_INIT(&listener->shards);
    TAILQ_INIT(&listener->due);
    if (options->certificate == NULL) return listener;
    listener->certificate = strdup(options->certificate);
    listener->key = strdup(options->key);
    if (listener->certificate != NULL && listener->key != NULL) return listener;
    listener_unref(listener);
    return NULL;
}

static int32_t trust(struct listener *listener, tn_value texts, tn_value *error) {
    for (uint64_t i = 0; texts != NULL && i < tn.value->count(texts); i++) {
        const char *text = tn_chars(tn.value->at(texts, i), NULL);
        if (text == NULL || !addresses_trust(&listener->addresses, text))
            return serve_fail(error, "INVALID_INPUT", "`trusted` must be IP addresses and networks, found %.100s",
                              text != NULL ? text : "no text");
    }
    return TN_OK;
}

static int32_t start(struct listener *listener, const struct listen_options *options, tn_value *error) {
    if (trust(listener, options->trusted, error) != TN_OK) return TN_FAILED;
    if (tn_handles_add(&listeners, listener, &listener->number) != TN_OK)
        return serve_fail(error, "LIMIT", "%d listeners are open; at most %d can be", LISTENERS_MAX, LISTENERS_MAX);
    TAILQ_INSERT_TAIL(&open_listeners, listener, in_open);
    listener->socket = options_open_socket(options, error);
    if (listener->socket < 0) return TN_FAILED;
    if (shard_with_room(listener) == NULL)
        return serve_fail(error, "IO", "the HTTP server on %s did not start: no descriptors or memory are left",
                          options->address);
    return accept_begin(listener, error);
}

int32_t listener_open(tn_value options, tn_http_server_handler handler, void *user, uint64_t *number, tn_value *address,
                      tn_value *error) {
    struct listen_options read;
    if (handler == NULL || number == NULL || address == NULL) return TN_INVALID;
    if (options_read(options, &read, error) != TN_OK) return TN_FAILED;
    struct listener *listener = listener_new(&read, handler, user);
    if (listener == NULL) return TN_NO_MEMORY;
    if (start(listener, &read, error) != TN_OK) {
        if (listener->number != 0)
            (void)listener_unlisten(listener->number);
        else
            listener_unref(listener);
        return TN_FAILED;
    }
    *number = listener->number;
    *address = options_bound_address(listener->socket);
    return TN_OK;
}

/* ---- Ending ---- */

int32_t listener_drain(uint64_t number) {
    struct listener *listener = tn_handles_get(&listeners, number);
    if (listener == NULL) return TN_STALE;
    listener->draining = true;
    accept_end(listener);
    connections_close_idle(listener);
    return TN_OK;
}

int32_t listener_unlisten(uint64_t number) {
    struct listener *listener = tn_handles_get(&listeners, number);
    struct request *request, *next;
    if (listener == NULL) return TN_STALE;
    listener->ended = true; /* from here on, nothing is posted */
    (void)tn_handles_remove(&listeners, listener->number);
    TAILQ_REMOVE(&open_listeners, listener, in_open);
    accept_end(listener);
    if (listener->timer != 0) (void)tn.core->unpost(tn.host, listener->timer);
    if (listener->wake != 0) (void)tn.core->unpost(tn.host, listener->wake);
    listener->timer = listener->wake = 0;
    TAILQ_FOREACH_SAFE(request, &listener->requests, in_listener, next) { request_abort(request, "closed"); }
    shards_stop(listener); /* calls request_on_completed for all */
    requests_deliver(listener);
    listener_unref(listener);
    return TN_OK;
}

void listeners_close(void) {
    for (struct listener *listener; (listener = TAILQ_FIRST(&open_listeners)) != NULL;)
        (void)listener_unlisten(listener->number);
    tn_handles_free(&listeners);
}
