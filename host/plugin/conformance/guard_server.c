/*
 * guard_server.c - HTTP in check mode: tenon.server as a plugin with routes gets it, and tenon.http_server and
 * tenon.authenticator as the host gets them from the plugins with the sockets and the users.
 */
#include "adl/value/memory.h"
#include "host/plugin/conformance/guard_internal.h"
#include <pthread.h>

const tn_server_draft *guard_wrapped_server;

/* ---- Routes ---- */

struct guard_route {
    struct guard_route *next;
    struct guarded *guarded;
    uint64_t number;
    tn_server_handler handler;
    void *user;
};

/* Process-wide, as the wrapped table is. What is open when its plugin ends stays in it. */
static struct {
    pthread_mutex_t lock;
    struct guard_route *first;
} guard_routes = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void guard_on_route(void *user, uint64_t request, int32_t event, tn_value value) {
    const struct guard_route *route = user;
    struct guarded *before = guard_enter(route->guarded);
    tn_value lent = value ? guard_lend(value) : NULL;
    route->handler(route->user, request, event, lent);
    guard_retire_take(lent);
    guard_leave(before);
}

static int32_t guard_server_route(const tn_host *host, tn_value description, tn_server_handler handler, void *user,
                                  uint64_t *number, tn_value *error) {
    guard_check_value(description, "route");
    struct guard_route *route = mem_zalloc(sizeof *route);
    *route = (struct guard_route){NULL, guard_current(), 0, handler, user};
    int32_t status =
        guard_wrapped_server->route(host, description, handler ? guard_on_route : NULL, route, number, error);
    if (status == TN_WRONG_THREAD) guard_report_wrong_thread("route");
    if (status != TN_OK) {
        mem_free(route);
        return guard_take_result(status, NULL, error);
    }
    route->number = *number;
    pthread_mutex_lock(&guard_routes.lock);
    route->next = guard_routes.first;
    guard_routes.first = route;
    pthread_mutex_unlock(&guard_routes.lock);
    return TN_OK;
}

/* The record stays: requests of the route can still be open. */
static int32_t guard_server_unroute(const tn_host *host, uint64_t number) {
    return guard_check_wait(guard_wrapped_server->unroute(host, number), "unroute", NULL, NULL);
}

/* ---- Requests ---- */

#define GUARD_SERVER(name, checked, parameters, arguments)                                                             \
    static int32_t guard_server_##name parameters {                                                                    \
        guard_check_value(checked, #name);                                                                             \
        int32_t status = guard_wrapped_server->name arguments;                                                         \
        if (status == TN_WRONG_THREAD) guard_report_wrong_thread(#name);                                               \
        return status;                                                                                                 \
    }

GUARD_SERVER(respond, response, (const tn_host *host, uint64_t request, tn_value response), (host, request, response))
GUARD_SERVER(write, NULL, (const tn_host *host, uint64_t request, const char *data, uint64_t length),
             (host, request, data, length))
GUARD_SERVER(event, event, (const tn_host *host, uint64_t request, tn_value event), (host, request, event))
GUARD_SERVER(finish, NULL, (const tn_host *host, uint64_t request), (host, request))
GUARD_SERVER(abort, NULL, (const tn_host *host, uint64_t request), (host, request))
GUARD_SERVER(flow, NULL, (const tn_host *host, uint64_t request, int32_t on), (host, request, on))
GUARD_SERVER(accept, NULL, (const tn_host *host, uint64_t request, const char *protocol), (host, request, protocol))
GUARD_SERVER(send, message, (const tn_host *host, uint64_t request, tn_value message), (host, request, message))
GUARD_SERVER(close, NULL, (const tn_host *host, uint64_t request, int32_t code, const char *reason),
             (host, request, code, reason))

static int32_t guard_server_request_as(const tn_host *host, uint64_t caller, const char *method, uint64_t length,
                                       tn_value params, tn_host_handler handler, void *user, uint64_t *request) {
    guard_check_value(params, "request_as");
    struct guard_use *use = guard_use_new(false, handler, user);
    int32_t status = guard_wrapped_server->request_as(host, caller, method, length, params, use ? guard_on_host : NULL,
                                                      use, request);
    return guard_use_started(use, status, request, "request_as");
}

static int32_t guard_server_subscribe_as(const tn_host *host, uint64_t caller, tn_value params, tn_host_handler handler,
                                         void *user, uint64_t *subscription) {
    guard_check_value(params, "subscribe_as");
    struct guard_use *use = guard_use_new(true, handler, user);
    int32_t status =
        guard_wrapped_server->subscribe_as(host, caller, params, use ? guard_on_host : NULL, use, subscription);
    return guard_use_started(use, status, subscription, "subscribe_as");
}

const tn_server_draft guard_server = {.size = sizeof(tn_server_draft),
                                      .route = guard_server_route,
                                      .unroute = guard_server_unroute,
                                      .respond = guard_server_respond,
                                      .write = guard_server_write,
                                      .event = guard_server_event,
                                      .finish = guard_server_finish,
                                      .abort = guard_server_abort,
                                      .flow = guard_server_flow,
                                      .accept = guard_server_accept,
                                      .send = guard_server_send,
                                      .close = guard_server_close,
                                      .request_as = guard_server_request_as,
                                      .subscribe_as = guard_server_subscribe_as};

/* ---- tenon.http_server ---- */

/* The host takes over the references that the plugin returns. */
static int32_t guarded_listen(void *self, tn_value options, tn_http_server_handler handler, void *user,
                              uint64_t *listener, tn_value *address, tn_value *error) {
    struct guarded *guarded = self, *before = guard_enter(guarded);
    tn_value copy = guard_lend(options);
    int32_t status =
        guarded->inner_http_server->listen(guarded->inner->self, copy, handler, user, listener, address, error);
    if (status == TN_OK && address) guard_drop_reference(*address);
    if (status == TN_FAILED && error) guard_drop_reference(*error);
    guard_retire_take(copy);
    guard_leave(before);
    return status;
}

#define GUARDED(of, name, parameters, arguments)                                                                       \
    static int32_t guarded_##name parameters {                                                                         \
        struct guarded *guarded = self, *before = guard_enter(guarded);                                                \
        self = guarded->inner->self;                                                                                   \
        int32_t status = guarded->inner_##of->name arguments;                                                          \
        guard_leave(before);                                                                                           \
        return status;                                                                                                 \
    }

GUARDED(http_server, drain, (void *self, uint64_t listener), (self, listener))
GUARDED(http_server, unlisten, (void *self, uint64_t listener), (self, listener))
GUARDED(http_server, receive, (void *self, uint64_t request, uint64_t limit), (self, request, limit))
GUARDED(http_server, pause, (void *self, uint64_t request), (self, request))
GUARDED(http_server, resume, (void *self, uint64_t request), (self, request))
GUARDED(http_server, respond,
        (void *self, uint64_t request, int32_t status_code, tn_value headers, const void *data, uint64_t length,
         int32_t more),
        (self, request, status_code, headers, data, length, more))
GUARDED(http_server, write, (void *self, uint64_t request, const void *data, uint64_t length),
        (self, request, data, length))
GUARDED(http_server, finish, (void *self, uint64_t request), (self, request))
GUARDED(http_server, accept, (void *self, uint64_t request, tn_value headers), (self, request, headers))
GUARDED(http_server, send, (void *self, uint64_t request, const void *data, uint64_t length, int32_t text),
        (self, request, data, length, text))
GUARDED(http_server, close, (void *self, uint64_t request, int32_t code, const char *reason, uint64_t length),
        (self, request, code, reason, length))
GUARDED(http_server, abort, (void *self, uint64_t request), (self, request))

void guard_http_server_wrap(struct guarded *guarded) {
    guarded->http_server = (tn_http_server_draft){.size = sizeof(tn_http_server_draft),
                                                  .listen = guarded_listen,
                                                  .drain = guarded_drain,
                                                  .unlisten = guarded_unlisten,
                                                  .receive = guarded_receive,
                                                  .pause = guarded_pause,
                                                  .resume = guarded_resume,
                                                  .respond = guarded_respond,
                                                  .write = guarded_write,
                                                  .finish = guarded_finish,
                                                  .accept = guarded_accept,
                                                  .send = guarded_send,
                                                  .close = guarded_close,
                                                  .abort = guarded_abort};
}

/* ---- tenon.authenticator ---- */

GUARDED(authenticator, check,
        (void *self, const char *token, uint64_t length, tn_authenticator_handler handler, void *user,
         uint64_t *number),
        (self, token, length, handler, user, number))
GUARDED(authenticator, cancel, (void *self, uint64_t number), (self, number))

static tn_value guarded_issuers(void *self) {
    struct guarded *guarded = self, *before = guard_enter(guarded);
    tn_value issuers = guarded->inner_authenticator->issuers(guarded->inner->self);
    if (issuers) guard_drop_reference(issuers);
    guard_leave(before);
    return issuers;
}

void guard_authenticator_wrap(struct guarded *guarded) {
    const tn_authenticator_draft *inner = guarded->inner_authenticator;
    guarded->authenticator = (tn_authenticator_draft){.size = sizeof(tn_authenticator_draft),
                                                      .check = inner->check ? guarded_check : NULL,
                                                      .cancel = inner->cancel ? guarded_cancel : NULL,
                                                      .issuers = inner->issuers ? guarded_issuers : NULL};
}
