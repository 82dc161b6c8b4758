/*
 * events.c - GET /api/runs/{run_id}/events: the events of a run as server-sent events, whose ids are their numbers. A
 * client continues with Last-Event-ID, or `after`. 204, at which an EventSource stops, if the run has ended and the
 * client has all events.
 */
#include "rest_server.h"
#include <stdlib.h>

struct stream {
    uint64_t subscription; /* 0: none */
    int64_t after;
    bool paused;
};

/* False if the text is not a number of an event. */
static bool read_position(const char *text, int64_t *out) {
    size_t digits = strspn(text, "0123456789");
    if (digits == 0 || digits > 16 || text[digits] != '\0') return false;
    *out = strtoll(text, NULL, 10);
    return true;
}

static void stream_begin(struct exchange *exchange) {
    if (!exchange->responded) exchange_respond(exchange, tn_build("{s:i, s:s}", "status", 200, "stream", "events"));
}

static void stream_flow(struct exchange *exchange, bool pause) {
    struct stream *stream = exchange->object;
    const tn_host_1 *methods = exchange->rest->serving.methods;
    if (stream->paused == pause || stream->subscription == 0) return;
    stream->paused = pause;
    (void)(pause ? methods->pause(tn.host, stream->subscription) : methods->resume(tn.host, stream->subscription));
}

static void stream_event(struct exchange *exchange, tn_value value) {
    char id[32];
    tn_value data = tn_retain(tn_get(value, "params"));
    (void)tn.value->remove(&data, "subscription", TN_Z);
    (void)snprintf(id, sizeof id, "%lld", (long long)tn_get_int(data, "seq", 0));
    tn_value event = tn_build("{s:v, s:s, s:V}", "event", tn_get(value, "event"), "id", id, "data", data);
    stream_begin(exchange);
    if (event == NULL)
        exchange_abort(exchange);
    else if (exchange->rest->serving.server->event(tn.host, exchange->number, event) == TN_SERVER_FULL)
        stream_flow(exchange, true);
    tn_release(event);
}

static void TN_ABI on_event(void *user, int32_t status, tn_value value) {
    struct exchange *exchange = user;
    struct stream *stream = exchange->object;
    if (status == TN_CHUNK) {
        stream_event(exchange, value);
        return;
    }
    stream->subscription = 0;
    if (exchange->responded)
        (void)exchange->rest->serving.server->finish(tn.host, exchange->number);
    else if (status == TN_FAILED)
        exchange_fail(exchange, value);
    else
        exchange_respond(exchange, tn_build("{s:i}", "status", 204));
}

/* The run exists. The headers of one that is over wait for its first event. */
static void TN_ABI on_run(void *user, int32_t status, tn_value value) {
    struct exchange *exchange = user;
    struct stream *stream = exchange->object;
    tn_value state = tn_get(value, "status"), modes = tn_get(tn_get(exchange->request, "query"), "modes");
    exchange->call = 0;
    if (status != TN_OK) {
        exchange_fail(exchange, value);
        return;
    }
    tn_value list = modes != NULL && tn.value->kind(modes) != TN_ARRAY ? tn_build("[v]", modes) : tn_retain(modes);
    tn_value params = tn_build("{s:s, s:I, s:V*}", "run_id", exchange_param(exchange, "run_id"), "after", stream->after,
                               "modes", list);
    int32_t made = params == NULL ? TN_NO_MEMORY
                                  : exchange->rest->serving.server->subscribe_as(
                                        tn.host, exchange->caller, params, on_event, exchange, &stream->subscription);
    tn_release(params);
    if (made != TN_OK) {
        stream->subscription = 0;
        exchange_refuse(exchange, 429, "LIMIT", "this key has too many subscriptions; try again later");
    } else if (modes == NULL && !serving_is(state, "done") && !serving_is(state, "failed") &&
               !serving_is(state, "cancelled")) {
        stream_begin(exchange);
    }
}

static void on_exchange(struct exchange *exchange, int32_t event, tn_value value) {
    struct stream *stream = exchange->object;
    (void)value;
    if (event == TN_SERVER_ROOM) stream_flow(exchange, false);
    if (event == TN_SERVER_DRAIN && exchange->responded)
        (void)exchange->rest->serving.server->finish(tn.host, exchange->number);
    if (event != TN_SERVER_CLOSED && event != TN_SERVER_DRAIN) return;
    if (stream->subscription != 0) (void)exchange->rest->serving.methods->unsubscribe(tn.host, stream->subscription);
    stream->subscription = 0;
    if (event == TN_SERVER_CLOSED) serving_free(stream);
}

void events_get(struct exchange *exchange) {
    struct stream *stream = serving_alloc(sizeof *stream);
    tn_value query = tn_get(exchange->request, "query"), after = tn_get(query, "after");
    const char *last = exchange_header(exchange, "last-event-id");
    if (stream == NULL) {
        exchange_abort(exchange);
        return;
    }
    exchange->object = stream;
    exchange->on_event = on_exchange;
    if (last == NULL && after != NULL) last = tn_chars(after, NULL) != NULL ? tn_chars(after, NULL) : "";
    if (last != NULL && !read_position(last, &stream->after)) {
        exchange_refuse(exchange, 400, "INVALID_INPUT",
                        "`after`, or Last-Event-ID, is `%.40s`; expected the number of an event", last);
        return;
    }
    tn_value error = exchange_call_take(exchange, "run/get",
                                        tn_build("{s:s}", "run_id", exchange_param(exchange, "run_id")), on_run);
    if (error != NULL) exchange_fail(exchange, error);
    tn_release(error);
}
