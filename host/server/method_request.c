/*
 * method_request.c - counts the requests of methods, so that the server outlives them, and ends their calls.
 */
#include "host/server/method_request.h"
#include "adl/value/memory.h"
#include "host/server/server_internal.h"

struct method_request {
    struct server *server;
    void *call; /* method_user */
};

void *method_request_new(const struct method_call *call) {
    struct method_request *request = mem_alloc(sizeof *request);
    *request = (struct method_request){call->server, method_user(call)};
    server_begin_request(call->server);
    return request;
}

struct server *method_request_server(const void *user) {
    return ((const struct method_request *)user)->server;
}

static void method_request_free(struct method_request *request) {
    server_end_request(request->server);
    mem_free(request);
}

void method_request_done(void *user, int32_t status, tn_value result, const struct error *error) {
    struct method_request *request = user;
    method_on_stored(request->call, status, result, error);
    method_request_free(request);
}

void method_request_done_empty(void *user, int32_t status, tn_value result, const struct error *error) {
    (void)result;
    tn_value nothing = value_object();
    method_request_done(user, status, nothing, error);
    value_unref(nothing);
}
