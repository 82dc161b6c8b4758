/*
 * server-1-draft.1.c - the exhibit of tenon.server/1-draft.1: a protocol with a stream, a body, a WebSocket and an
 * aborted request, which `tenon serve` runs with the exhibit of tenon.http_server; and a node, which shows what the
 * functions return in a host that serves nothing.
 */
#include "exhibit.h"
#include <tenon/server-1-draft.1.h>

MANIFEST("server", "Uses everything of tenon.server/1-draft.1", TN_SERVER_DRAFT,
         ",\"effects\":[\"server.route:/museum/*\",\"host.method:run/list\",\"host.method:event/subscribe\"]")
NODE(serves, "museum.serves", PROPERTY("out", "channel-write"))

static const tn_server_draft *subject;

struct instance {
    uint32_t out;
};

/* ---- The protocol ---- */

static void respond(uint64_t request, const char *json) {
    tn_value response = from_json(json);
    (void)subject->respond(host, request, response);
    values->release(response);
}

static void TN_ABI answer_stream(void *user, uint64_t request, int32_t event, tn_value value) {
    tn_value sent;
    (void)user, (void)value;
    if (event != TN_SERVER_REQUEST) return;
    respond(request, "{\"status\":200,\"stream\":\"events\",\"headers\":{\"X-Museum\":\"yes\"}}");
    sent = from_json("{\"event\":\"first\",\"id\":\"1\",\"data\":\"one\\ntwo\"}");
    (void)subject->event(host, request, sent);
    values->release(sent);
    (void)subject->write(host, request, ": more\n\n", 8);
    (void)subject->finish(host, request);
}

static void TN_ABI answer_body(void *user, uint64_t request, int32_t event, tn_value value) {
    (void)user;
    if (event == TN_SERVER_REQUEST)
        respond(request, text_of(get(value, "json"), "say") != NULL ? "{\"status\":201,\"json\":{\"said\":true}}"
                                                                    : "{\"status\":400,\"body\":\"no\"}");
}

static void TN_ABI answer_socket(void *user, uint64_t request, int32_t event, tn_value value) {
    (void)user;
    if (event == TN_SERVER_REQUEST) (void)subject->accept(host, request, NULL);
    if (event != TN_SERVER_MESSAGE) return;
    (void)subject->send(host, request, value);
    (void)subject->close(host, request, 4000, "seen");
}

static void TN_ABI answer_abort(void *user, uint64_t request, int32_t event, tn_value value) {
    (void)user, (void)value;
    if (event == TN_SERVER_REQUEST) (void)subject->abort(host, request);
}

static void add(const char *json, tn_server_handler handler, uint64_t *number) {
    tn_value route = from_json(json);
    (void)subject->route(host, route, handler, NULL, number, NULL);
    values->release(route);
}

static int32_t TN_ABI init(void *self, tn_value config) {
    uint64_t number = 0;
    (void)self, (void)config;
    add("{\"method\":\"GET\",\"path\":\"/museum/stream\",\"scope\":\"none\"}", answer_stream, &number);
    add("{\"method\":\"POST\",\"path\":\"/museum/body\",\"scope\":\"none\",\"body\":{\"types\":[\"application/"
        "json\"]}}",
        answer_body, &number);
    add("{\"method\":\"GET\",\"path\":\"/museum/socket\",\"scope\":\"none\",\"websocket\":true}", answer_socket,
        &number);
    add("{\"method\":\"GET\",\"path\":\"/museum/{any}\",\"scope\":\"none\"}", answer_abort, &number);
    add("{\"method\":\"GET\",\"path\":\"/museum/removed\",\"scope\":\"none\"}", answer_body, &number);
    (void)subject->unroute(host, number);
    return TN_OK;
}

/* ---- The node ---- */

static int32_t TN_ABI create(void *self, const char *id, uint64_t length, tn_value config, tn_binder *binder,
                             void **instance) {
    struct instance made;
    (void)self, (void)id, (void)length;
    memset(&made, 0, sizeof(made));
    int32_t status = bind_out(binder, config, &made.out);
    return keep_instance(status, &made, sizeof(made), instance);
}

static void TN_ABI never(void *user, int32_t status, tn_value value) { (void)user, (void)status, (void)value; }

static int32_t TN_ABI start(void *instance, tn_task task, tn_value input) {
    const struct instance *self = (const struct instance *)instance;
    tn_value said = from_json("{}"), object = from_json("{}"), error = NULL;
    uint64_t number = 7;
    (void)input;
    say_int(&said, "route", subject->route(host, object, answer_body, NULL, &number, &error));
    say_int(&said, "unroute", subject->unroute(host, 1));
    say_int(&said, "respond", subject->respond(host, 1, object));
    say_int(&said, "write", subject->write(host, 1, "x", 1));
    say_int(&said, "event", subject->event(host, 1, object));
    say_int(&said, "finish", subject->finish(host, 1));
    say_int(&said, "abort", subject->abort(host, 1));
    say_int(&said, "flow", subject->flow(host, 1, 0));
    say_int(&said, "accept", subject->accept(host, 1, NULL));
    say_int(&said, "send", subject->send(host, 1, object));
    say_int(&said, "close", subject->close(host, 1, 1000, NULL));
    say_int(&said, "request_as", subject->request_as(host, 1, "run/list", TN_Z, NULL, never, NULL, &number));
    say_int(&said, "subscribe_as", subject->subscribe_as(host, 1, NULL, never, NULL, &number));
    say_int(&said, "untouched", (int64_t)number);
    values->release(object);
    values->release(error);
    return end_said(task, self->out, said);
}

static void TN_ABI destroy(void *instance) { core->release(host, instance); }

static const tn_lifecycle_1 lifecycle = {sizeof(tn_lifecycle_1), init, NULL, NULL};
EXHIBIT(TN_SERVER_DRAFT, tn_server_draft, &lifecycle)
