/*
 * whoami.c - a protocol for tests of `tenon serve`: GET /whoami returns the caller, GET /graphs what graph/list does,
 * and GET /slow has no end before the host drains.
 */
#include <stdlib.h>
#include <string.h>
#include <tenon/easy.h>
#include <tenon/host.h>
#include <tenon/server.h>

TN_PLUGIN("test.whoami", "1.0.0", "Who calls, and what is served")
TN_NOTE("{\"plugin\": {\"requires\": [\"" TN_SERVER_DRAFT "\"], \"effects\": [\"server.route:/whoami\", "
        "\"server.route:/graphs\", \"server.route:/slow\", \"host.method:graph/list\"]}}")

static const tn_server_draft *server;

static void respond_take(uint64_t request, const char *member, tn_value value) {
    tn_builder *builder = tn_builder_new();
    tn_put_begin(builder, NULL, TN_OBJECT);
    tn_put_int(builder, "status", 200);
    if (value != NULL) tn_put_take(builder, member, value);
    tn.value->end(builder);
    tn_value response = tn_finish(builder);
    (void)server->respond(tn.host, request, response);
    tn_release(response);
}

static void TN_ABI on_whoami(void *user, uint64_t request, int32_t event, tn_value value) {
    (void)user;
    if (event == TN_SERVER_REQUEST) respond_take(request, "json", tn_retain(tn_get(value, "caller")));
}

static void TN_ABI on_listed(void *user, int32_t status, tn_value value) {
    (void)status;
    respond_take((uint64_t)(uintptr_t)user, "json", tn_retain(value));
}

static void TN_ABI on_graphs(void *user, uint64_t request, int32_t event, tn_value value) {
    uint64_t call;
    (void)user;
    if (event != TN_SERVER_REQUEST) return;
    tn_value caller = tn_get(tn_get(value, "caller"), "number"), params = tn_from_json("{}", TN_Z);
    int64_t number = 0;
    (void)tn.value->as_int(caller, &number);
    (void)server->request_as(tn.host, (uint64_t)number, "graph/list", TN_Z, params, on_listed,
                             (void *)(uintptr_t)request, &call);
    tn_release(params);
}

static void TN_ABI on_slow(void *user, uint64_t request, int32_t event, tn_value value) {
    (void)user, (void)value;
    if (event == TN_SERVER_REQUEST) respond_take(request, "stream", tn_text("events"));
    if (event == TN_SERVER_DRAIN) (void)server->finish(tn.host, request);
}

static int32_t TN_ABI init(void *self, tn_value config) {
    static const struct {
        const char *route;
        tn_server_handler handler;
    } routes[] = {{"{\"method\": \"GET\", \"path\": \"/whoami\", \"scope\": \"read\"}", on_whoami},
                  {"{\"method\": \"GET\", \"path\": \"/graphs\", \"scope\": \"read\"}", on_graphs},
                  {"{\"method\": \"GET\", \"path\": \"/slow\", \"scope\": \"none\"}", on_slow}};
    (void)self, (void)config;
    server = tn_easy_interface(tn.host, TN_SERVER_DRAFT, sizeof(tn_server_draft));
    for (size_t i = 0; server != NULL && i < sizeof routes / sizeof *routes; i++) {
        tn_value route = tn_from_json(routes[i].route, TN_Z), error = NULL;
        uint64_t number;
        int32_t status = server->route(tn.host, route, routes[i].handler, NULL, &number, &error);
        tn_release(route);
        tn_release(error);
        if (status != TN_OK) return TN_ERROR;
    }
    return TN_OK;
}

TN_LIFECYCLE(init, NULL, NULL)
