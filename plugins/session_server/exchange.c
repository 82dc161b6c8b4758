/*
 * exchange.c - the steps of a request, and its answer.
 */
#include "exchange.h"

struct exchange {
    SERVING_EXCHANGE;
    struct session_server *server;
    uint64_t call;                   /* that is open */
    struct serving_lookup *lookup;   /* that is open */
    struct serving_reading *reading; /* that is open */
    const char *graph_name;          /* in the request; NULL: the only one */
    struct session session;
    char thread_id[SESSION_ID_MAX + 16];
    tn_value item, asked; /* of the graph; of a run that waits */
    struct serving_graph graph;
    struct serving_items *items;
    struct serving_run *run;
    struct session_events events;
    unsigned legs;
    struct serving_stream stream;
    bool streams, begun; /* begun: a run has started */
};

static void close_run(struct exchange *exchange) {
    serving_run_close(exchange->run);
    serving_items_free(exchange->items);
    exchange->run = NULL;
    exchange->items = NULL;
}

static void exchange_close(struct exchange *exchange) {
    serving_cancel(&exchange->server->serving, exchange->call);
    serving_graphs_cancel(exchange->lookup);
    serving_thread_cancel(exchange->reading);
    close_run(exchange);
    session_events_close(&exchange->events);
    session_finish(&exchange->session);
    tn_release(exchange->item);
    tn_release(exchange->asked);
    serving_stream_close(&exchange->stream);
}

/* ---- Answers ---- */

/* Takes `json`. */
static void respond(struct exchange *exchange, int32_t status, tn_value json) {
    serving_respond_take(&exchange->server->serving, exchange->number,
                         tn_build("{s:i, s:V}", "status", (int)status, "json", json));
}

static void refuse(struct exchange *exchange, int32_t status, const char *message) {
    if (exchange->stream.begun) /* the client notices that it is not complete */
        (void)exchange->server->serving.server->abort(tn.host, exchange->number);
    else
        respond(exchange, status, session_refusal(exchange->session.data, message));
}

static void refuse_memory(struct exchange *exchange) {
    refuse(exchange, 503, "the server is out of memory; try again later");
}

static void refuse_error(struct exchange *exchange, tn_value error) {
    char text[600];
    (void)snprintf(text, sizeof text, "%.500s [%.60s]", tn_get_text(error, "message", "the request has failed"),
                   tn_get_text(error, "code", "FAILED"));
    refuse(exchange, serving_error_status(error), text);
}

/* ---- The run ---- */

static void on_data(void *user, tn_value data) {
    struct exchange *exchange = user;
    if (exchange->streams) serving_stream_send(&exchange->stream, data, exchange->run);
}

static void start_run(struct exchange *exchange, const char *method, const char *member, tn_value value,
                      const char *last_input);

static void on_started(void *user, const char *run_id) {
    struct exchange *exchange = user;
    (void)run_id;
    bool first = !exchange->begun;
    exchange->begun = true;
    if (first && exchange->streams && !serving_stream_begin(&exchange->stream)) serving_run_cancel(exchange->run);
}

static void on_run_event(void *user, tn_value event, uint64_t seq, uint64_t missed) {
    struct exchange *exchange = user;
    (void)seq;
    if (missed > 0) serving_items_missed(exchange->items);
    serving_items_event(exchange->items, event);
}

/* The id of the last message of a state; "" if it has none. */
static const char *last_message(const struct exchange *exchange, tn_value state) {
    tn_value messages = exchange->graph.input == SERVING_MESSAGES ? tn_get(state, exchange->graph.channel) : NULL;
    uint64_t count = tn.value->count(messages);
    return count > 0 ? tn_get_text(tn.value->at(messages, count - 1), "id", "") : "";
}

/* The tools that the run asks for are approved in advance: another run continues it. */
static bool continue_run(struct exchange *exchange, tn_value report) {
    char last[128];
    tn_value interrupts = tn_get(report, "interrupts"), answers = NULL;
    if (serving_is(tn_get(report, "status"), "interrupted") && exchange->legs < SESSION_LEGS_MAX)
        answers = session_answers(&exchange->session, interrupts, true);
    exchange->events.continues = answers != NULL;
    serving_items_end(exchange->items, report);
    exchange->events.continues = false;
    if (answers == NULL) return false;
    tn_release(exchange->asked);
    exchange->asked = tn_retain(interrupts);
    (void)snprintf(last, sizeof last, "%s", last_message(exchange, tn_get(report, "state")));
    close_run(exchange);
    start_run(exchange, "run/resume", "answers", answers, last);
    return true;
}

static void on_run_end(void *user, tn_value report) {
    struct exchange *exchange = user;
    tn_value error = tn_get(report, "error"), started = tn_get(report, "started");
    bool refused = !exchange->begun || (started != NULL && !serving_true(started));
    if (refused && (!exchange->streams || !exchange->begun)) {
        refuse_error(exchange, error);
        return;
    }
    if (continue_run(exchange, report)) return;
    if (exchange->streams) {
        serving_stream_end(&exchange->stream);
        return;
    }
    bool failed = error != NULL && serving_is(tn_get(report, "status"), "failed");
    respond(exchange, failed ? serving_error_status(error) : 200, session_events_response(&exchange->events));
}

static const struct serving_run_handler run_handler = {on_started, on_run_event, on_run_end};

/* Takes `value`. */
static void start_run(struct exchange *exchange, const char *method, const char *member, tn_value value,
                      const char *last_input) {
    struct serving_items_options options = {.graph = &exchange->graph,
                                            .last_input = *last_input != '\0' ? last_input : NULL,
                                            .asked = exchange->asked,
                                            .handler = session_events_item,
                                            .user = &exchange->events};
    tn_value params =
        tn_build("{s:s, s:{s:s}, s:V, s:V, s:b}", "document", exchange->graph.document, "config", "thread_id",
                 exchange->thread_id, "modes", tn_from_json(SERVING_MODES, sizeof SERVING_MODES - 1), member, value,
                 "ends_with_client", 1);
    exchange->legs++;
    exchange->items = serving_items_new(&options);
    if (exchange->items != NULL && params != NULL)
        exchange->run =
            serving_run_start(&exchange->server->serving, exchange->caller, method, params, &run_handler, exchange);
    else
        tn_release(params);
    if (exchange->run == NULL) refuse_memory(exchange);
}

/* ---- The thread and the graph ---- */

static void start_session(struct exchange *exchange) {
    char last[32];
    tn_value input = session_input(&exchange->session, &exchange->graph);
    uint64_t count = tn.value->count(tn_get(exchange->session.data, "messages"));
    (void)snprintf(last, sizeof last, "session-%llu", (unsigned long long)(count - 1));
    if (input == NULL)
        refuse(exchange, 400, exchange->session.reason);
    else
        start_run(exchange, "run/start", "input", input, last);
}

static void TN_ABI on_deleted(void *user, int32_t status, tn_value value) {
    struct exchange *exchange = user;
    exchange->call = 0;
    if (status == TN_OK || serving_is(tn_get(value, "code"), "NOT_FOUND"))
        start_session(exchange);
    else
        refuse_error(exchange, value);
}

/* A run that waits is answered. Otherwise the thread begins again. */
static void on_thread(void *user, tn_value thread, tn_value state, tn_value error) {
    struct exchange *exchange = user;
    tn_value interrupts = tn_get(thread, "interrupts"), answers = NULL, input = NULL;
    exchange->reading = NULL;
    if (error != NULL) {
        refuse_error(exchange, error);
        return;
    }
    if (serving_is(tn_get(thread, "status"), "interrupted"))
        answers = session_answers(&exchange->session, interrupts, false);
    if (answers != NULL) {
        exchange->asked = tn_retain(interrupts);
        start_run(exchange, "run/resume", "answers", answers, last_message(exchange, state));
    } else if (thread == NULL) {
        start_session(exchange);
    } else if ((input = session_input(&exchange->session, &exchange->graph)) == NULL) { /* nothing is deleted */
        refuse(exchange, 400, exchange->session.reason);
    } else {
        serving_call_take(&exchange->server->serving, exchange->caller, "thread/delete",
                          tn_build("{s:s}", "thread_id", exchange->thread_id), on_deleted, exchange, &exchange->call);
        if (exchange->call == 0) refuse_memory(exchange);
    }
    tn_release(input);
}

static void on_graphs(void *user, tn_value graphs, tn_value error) {
    struct exchange *exchange = user;
    const char *name = exchange->graph_name;
    exchange->lookup = NULL;
    if (graphs == NULL) {
        refuse_error(exchange, error);
        return;
    }
    if (name != NULL || tn.value->count(graphs) == 1) exchange->item = tn_retain(serving_graph_find(graphs, name));
    if (exchange->item == NULL) {
        tn_value missing = serving_graph_missing(name, "/session/GRAPH");
        refuse_error(exchange, missing);
        tn_release(missing);
        return;
    }
    serving_graph_read(exchange->item, &exchange->graph);
    exchange->reading =
        serving_thread_read(&exchange->server->serving, exchange->caller, exchange->thread_id, on_thread, exchange);
    if (exchange->reading == NULL) refuse_memory(exchange);
}

static void begin_session(struct exchange *exchange) {
    const struct serving *serving = &exchange->server->serving;
    const char *name = exchange->graph_name = tn_get_text(tn_get(exchange->request, "params"), "graph", NULL);
    const char *accept = tn_get_text(tn_get(exchange->request, "headers"), "accept", "");
    exchange->stream = (struct serving_stream){.serving = serving, .number = exchange->number};
    if (exchange->server->exchanges.open > EXCHANGES_MAX) {
        refuse(exchange, 503, "too many sessions are open; try again later");
        return;
    }
    if (!session_read(&exchange->session, tn_get(exchange->request, "json"))) {
        refuse(exchange, 400, exchange->session.reason);
        return;
    }
    session_events_open(&exchange->events, exchange->session.data, on_data, exchange);
    exchange->streams = strstr(accept, "text/event-stream") != NULL;
    (void)snprintf(exchange->thread_id, sizeof exchange->thread_id, "session-%s", exchange->session.id);
    exchange->lookup = name != NULL ? serving_graph_named(serving, exchange->caller, name, on_graphs, exchange)
                                    : serving_graphs(serving, exchange->caller, on_graphs, exchange);
    if (exchange->lookup == NULL) refuse_memory(exchange);
}

/* ---- The protocol ---- */

#define MORE                                                                                                           \
    "{\"refusals\": true, \"summary\": \"Answers a session\", "                                                        \
    "\"body\": {\"max\": 16777216, \"types\": [\"application/json\"]}}"

static const struct serving_row routes[] = {{"POST", "/session", "run", MORE, begin_session},
                                            {"POST", "/session/{graph}", "run", MORE, begin_session}};

static void begin(void *plugin, struct exchange *exchange, const struct serving_row *row) {
    exchange->server = plugin;
    row->begin(exchange);
}

/* The run of a client that has gone is cancelled; one that the host stops continues later. */
static void on_server_event(struct exchange *exchange, int32_t event, tn_value value) {
    const char *reason = tn_get_text(value, "reason", "drain");
    if (event == TN_SERVER_ROOM) serving_stream_room(&exchange->stream, exchange->run);
    if (event != TN_SERVER_CLOSED) return; /* DRAIN: the run ends soon, and its stream with it */
    bool gone = strcmp(reason, "drain") != 0 && strcmp(reason, "done") != 0;
    if (exchange->run != NULL && gone) serving_run_cancel(exchange->run);
    exchange_close(exchange);
}

static tn_value refusal(const struct serving_row *row, tn_value refused) {
    (void)row;
    return tn_build("{s:I, s:V}", "status", tn_get_int(refused, "status", 500), "json",
                    session_refusal(NULL, tn_get_text(refused, "message", "the request was refused")));
}

const struct serving_protocol session_protocol = {.size = sizeof(struct exchange),
                                                  .rows = routes,
                                                  .count = sizeof routes / sizeof *routes,
                                                  .begin = begin,
                                                  .event = on_server_event,
                                                  .refusal = refusal};
