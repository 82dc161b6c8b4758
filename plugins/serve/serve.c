/*
 * serve.c - the HTTP server: its entry and its interface, tenon.http_server.
 *
 * listener.c has the sockets that listen and the libmicrohttpd daemons behind them, request.c the life of a request,
 * response.c what is sent, socket.c WebSocket connections, head.c the checks of a request's head.
 */
#include "listener.h"
#include "request.h"
#include "response.h"
#include "socket.h"

const tn_poll_1 *serve_poll;

static int32_t serve_init(void *self, tn_value config) {
    (void)self, (void)config;
    serve_poll = tn_easy_interface(tn.host, TN_POLL_1, sizeof *serve_poll);
    return serve_poll == NULL ? TN_UNSUPPORTED : TN_OK;
}

static void serve_deinit(void *self) {
    (void)self;
    listeners_close();
    requests_close();
}

static int32_t interface_listen(void *self, tn_value options, tn_http_server_handler handler, void *user,
                                uint64_t *listener, tn_value *address, tn_value *error) {
    (void)self;
    return listener_open(options, handler, user, listener, address, error);
}

static int32_t interface_drain(void *self, uint64_t listener) {
    (void)self;
    return listener_drain(listener);
}

static int32_t interface_unlisten(void *self, uint64_t listener) {
    (void)self;
    return listener_unlisten(listener);
}

static int32_t interface_receive(void *self, uint64_t number, uint64_t limit) {
    struct request *request = request_find(number);
    (void)self;
    return request == NULL ? TN_STALE : request_receive(request, limit);
}

static int32_t interface_pause(void *self, uint64_t number) {
    struct request *request = request_find(number);
    (void)self;
    return request == NULL ? TN_STALE : request_pause(request, true);
}

static int32_t interface_resume(void *self, uint64_t number) {
    struct request *request = request_find(number);
    (void)self;
    return request == NULL ? TN_STALE : request_pause(request, false);
}

static int32_t interface_respond(void *self, uint64_t number, int32_t status, tn_value headers, const void *data,
                                 uint64_t length, int32_t more) {
    struct request *request = request_find(number);
    (void)self;
    return request == NULL ? TN_STALE : response_begin(request, status, headers, data, length, more != 0);
}

static int32_t interface_write(void *self, uint64_t number, const void *data, uint64_t length) {
    struct request *request = request_find(number);
    (void)self;
    return request == NULL ? TN_STALE : response_write(request, data, length);
}

static int32_t interface_finish(void *self, uint64_t number) {
    struct request *request = request_find(number);
    (void)self;
    return request == NULL ? TN_STALE : response_finish(request);
}

static int32_t interface_accept(void *self, uint64_t number, tn_value headers) {
    struct request *request = request_find(number);
    (void)self;
    return request == NULL ? TN_STALE : response_accept(request, headers);
}

static int32_t interface_send(void *self, uint64_t number, const void *data, uint64_t length, int32_t text) {
    struct request *request = request_find(number);
    (void)self;
    return request == NULL ? TN_STALE : socket_send(request, data, length, text != 0);
}

static int32_t interface_close(void *self, uint64_t number, int32_t code, const char *reason, uint64_t length) {
    struct request *request = request_find(number);
    (void)self;
    return request == NULL ? TN_STALE : socket_close(request, code, reason, length);
}

static int32_t interface_abort(void *self, uint64_t number) {
    struct request *request = request_find(number);
    (void)self;
    if (request == NULL) return TN_STALE;
    request_abort(request, "closed");
    return TN_OK;
}

static const void *serve_get_interface(void *self, const char *id) {
    static const tn_http_server_draft server = {.size = sizeof server,
                                                .listen = interface_listen,
                                                .drain = interface_drain,
                                                .unlisten = interface_unlisten,
                                                .receive = interface_receive,
                                                .pause = interface_pause,
                                                .resume = interface_resume,
                                                .respond = interface_respond,
                                                .write = interface_write,
                                                .finish = interface_finish,
                                                .accept = interface_accept,
                                                .send = interface_send,
                                                .close = interface_close,
                                                .abort = interface_abort};
    static const tn_lifecycle_1 lifecycle = {.size = sizeof lifecycle, .init = serve_init, .deinit = serve_deinit};
    (void)self;
    if (strcmp(id, TN_HTTP_SERVER_DRAFT) == 0) return &server;
    return strcmp(id, TN_LIFECYCLE_1) == 0 ? &lifecycle : NULL;
}

TN_EXPORT const tn_plugin *tn_plugin_entry_1(const tn_host *host) {
    static const tn_plugin plugin = {.size = sizeof plugin, .get = serve_get_interface};
    tn.host = host;
    tn.value = tn_easy_interface(host, TN_VALUE_1, sizeof(tn_value_1));
    tn.core = tn_easy_interface(host, TN_CORE_1, sizeof(tn_core_1));
    if (tn.core == NULL) return NULL;
    if (tn.value != NULL) return &plugin;
    tn_log(TN_LOG_ERROR, "declined: the host does not offer " TN_VALUE_1);
    return NULL;
}
