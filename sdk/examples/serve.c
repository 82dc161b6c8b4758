/* A protocol for `tenon serve`: POST /acme/GRAPH runs a graph, and streams its events. sdk/guide/serve.md explains it.
 */
#include <stdlib.h>
#include <tenon/easy.h>
#include <tenon/server.h>

TN_PLUGIN("acme.events", "1.0.0", "Runs graphs, and streams their events")
TN_NOTE("{\"plugin\": {\"requires\": [\"" TN_HOST_1 "\"], \"optional\": [\"" TN_SERVER_DRAFT "\"], \"effects\": "
        "[\"server.route:/acme/*\", \"host.method:run/start\", \"host.method:run/subscribe\"]}}")

static const tn_host_1 *methods;
static const tn_server_draft *server;

/* One request, from REQUEST to CLOSED. */
struct stream {
    struct stream *next;
    uint64_t request, caller, start, subscription; /* the last two are 0 if there is none */
};
static struct stream *streams;

static void fail(uint64_t request, tn_value error) {
    tn_builder *builder = tn_builder_new();
    tn_put_begin(builder, NULL, TN_OBJECT);
    tn_put_int(builder, "status", 400); /* tenon/server.h lists the status for each code */
    tn_put_take(builder, "json", tn_retain(error));
    tn.value->end(builder);
    tn_value response = tn_finish(builder);
    (void)server->respond(tn.host, request, response);
    tn_release(response);
}

/* TN_CHUNK: {event: "run/event" or "run/ended", params}; otherwise the end of the subscription. */
static void TN_ABI on_event(void *user, int32_t status, tn_value value) {
    struct stream *stream = (struct stream *)user;
    if (status != TN_CHUNK) {
        stream->subscription = 0;
        (void)server->finish(tn.host, stream->request);
        return;
    }
    tn_builder *builder = tn_builder_new();
    tn_put_begin(builder, NULL, TN_OBJECT);
    tn_put_text(builder, "event", tn_get_text(value, "event", ""));
    tn_put_take(builder, "data", tn_retain(tn_get(value, "params")));
    tn.value->end(builder);
    tn_value event = tn_finish(builder);
    if (server->event(tn.host, stream->request, event) == TN_SERVER_FULL)
        (void)methods->pause(tn.host, stream->subscription); /* until TN_SERVER_ROOM */
    tn_release(event);
}

static void TN_ABI on_started(void *user, int32_t status, tn_value value) {
    struct stream *stream = (struct stream *)user;
    stream->start = 0;
    if (status != TN_OK) {
        fail(stream->request, value);
        return;
    }
    tn_builder *builder = tn_builder_new();
    tn_put_begin(builder, NULL, TN_OBJECT);
    tn_put_take(builder, "run_id", tn_retain(tn_get(value, "run_id")));
    tn_put_int(builder, "after", 0); /* also the events before the subscription */
    tn.value->end(builder);
    tn_value params = tn_finish(builder);
    (void)server->subscribe_as(tn.host, stream->caller, params, on_event, stream, &stream->subscription);
    tn_release(params);
    builder = tn_builder_new();
    tn_put_begin(builder, NULL, TN_OBJECT);
    tn_put_int(builder, "status", 200);
    tn_put_text(builder, "stream", "events");
    tn.value->end(builder);
    tn_value response = tn_finish(builder);
    (void)server->respond(tn.host, stream->request, response);
    tn_release(response);
}

/* Starts the graph for the user of the request: with the scope of the key, for its owner. */
static void run(struct stream *stream, tn_value request) {
    char document[300];
    (void)snprintf(document, sizeof document, "graph:%s", tn_get_text(tn_get(request, "params"), "graph", ""));
    tn_builder *builder = tn_builder_new();
    tn_put_begin(builder, NULL, TN_OBJECT);
    tn_put_text(builder, "document", document);
    if (tn_get(request, "json") != NULL) tn_put_take(builder, "input", tn_retain(tn_get(request, "json")));
    tn.value->end(builder);
    tn_value params = tn_finish(builder);
    if (server->request_as(tn.host, stream->caller, "run/start", TN_Z, params, on_started, stream, &stream->start) !=
        TN_OK)
        (void)server->abort(tn.host, stream->request);
    tn_release(params);
}

static struct stream **stream_of(uint64_t request) {
    struct stream **at = &streams;
    while (*at != NULL && (*at)->request != request) at = &(*at)->next;
    return at;
}

static void stream_open(uint64_t request, tn_value value) {
    struct stream *stream = (struct stream *)calloc(1, sizeof *stream);
    if (stream == NULL) {
        (void)server->abort(tn.host, request);
        return;
    }
    stream->next = streams;
    stream->request = request;
    stream->caller = (uint64_t)tn_get_int(tn_get(value, "caller"), "number", 0);
    streams = stream;
    run(stream, value);
}

/* The client has gone, or everything was sent. The run continues. */
static void stream_close(struct stream **at) {
    struct stream *stream = *at;
    *at = stream->next;
    if (stream->start != 0) (void)methods->cancel(tn.host, stream->start);
    if (stream->subscription != 0) (void)methods->unsubscribe(tn.host, stream->subscription);
    free(stream);
}

static void TN_ABI on_request(void *user, uint64_t request, int32_t event, tn_value value) {
    struct stream **at = stream_of(request);
    (void)user;
    if (event == TN_SERVER_REQUEST) stream_open(request, value);
    if (*at == NULL) return;
    if (event == TN_SERVER_ROOM) (void)methods->resume(tn.host, (*at)->subscription);
    if (event == TN_SERVER_DRAIN) (void)server->finish(tn.host, request);
    if (event == TN_SERVER_CLOSED) stream_close(at);
}

static int32_t TN_ABI init(void *self, tn_value config) {
    static const char route[] = "{\"method\": \"POST\", \"path\": \"/acme/{graph}\", \"scope\": \"run\", \"body\": "
                                "{\"types\": [\"application/json\"], \"optional\": true}, "
                                "\"summary\": \"Runs a graph, and streams its events\"}";
    tn_value value = NULL, error = NULL;
    uint64_t number;
    (void)self, (void)config;
    methods = tn_easy_interface(tn.host, TN_HOST_1, sizeof(tn_host_1));
    server = tn_easy_interface(tn.host, TN_SERVER_DRAFT, sizeof(tn_server_draft));
    if (methods == NULL || server == NULL) return TN_OK; /* there is nothing to serve */
    if (tn.value->from_json(tn.host, route, TN_Z, &value, NULL) != TN_OK) return TN_NO_MEMORY;
    int32_t status = server->route(tn.host, value, on_request, NULL, &number, &error);
    if (status == TN_FAILED) tn_log(TN_LOG_ERROR, tn_get_text(error, "message", ""));
    tn_release(value);
    tn_release(error);
    return status == TN_UNSUPPORTED ? TN_OK : status; /* only `tenon serve` serves */
}
TN_LIFECYCLE(init, NULL, NULL)
