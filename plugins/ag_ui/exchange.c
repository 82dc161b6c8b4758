/*
 * exchange.c - the steps of a request, and its stream.
 */
#include "exchange.h"

struct exchange {
    SERVING_EXCHANGE;
    struct ag_ui *ag_ui;
    struct serving_lookup *lookup;   /* that is open */
    struct serving_reading *reading; /* that is open */
    const char *graph_name;          /* in the request; NULL: the only one */
    struct ag_request input;
    struct ag_plan plan;
    tn_value item, thread; /* of the graph; of thread/get */
    struct serving_graph graph;
    struct serving_items *items;
    struct serving_run *run;
    struct ag_events *events;
    char prefix[17];
    struct serving_stream stream;
};

static void exchange_close(struct exchange *exchange) {
    serving_graphs_cancel(exchange->lookup);
    serving_thread_cancel(exchange->reading);
    serving_run_close(exchange->run);
    serving_items_free(exchange->items);
    ag_events_free(exchange->events);
    ag_plan_finish(&exchange->plan);
    ag_request_finish(&exchange->input);
    tn_release(exchange->item);
    tn_release(exchange->thread);
    serving_stream_close(&exchange->stream);
}

/* ---- Refusals ---- */

/* RUN_ERROR as JSON. */
static tn_value refusal_of(int32_t status, const char *message, const char *code) {
    return tn_build("{s:i, s:V}", "status", (int)status, "json", ag_error(message, code));
}

static void refuse(struct exchange *exchange, int32_t status, const char *message, const char *code) {
    serving_respond_take(&exchange->ag_ui->serving, exchange->number, refusal_of(status, message, code));
}

static void refuse_memory(struct exchange *exchange) {
    refuse(exchange, 503, "the server is out of memory; try again later", "NO_MEMORY");
}

static void refuse_error(struct exchange *exchange, tn_value error) {
    refuse(exchange, serving_error_status(error), tn_get_text(error, "message", "the request has failed"),
           tn_get_text(error, "code", "FAILED"));
}

static void refuse_request(struct exchange *exchange) {
    static const struct {
        int32_t status;
        const char *code;
    } rows[] = {{400, "INVALID_INPUT"}, {404, "NOT_FOUND"}, {409, "CONFLICT"}, {501, "UNSUPPORTED"}};
    const char *code = "FAILED";
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].status == exchange->input.status) code = rows[i].code;
    refuse(exchange, exchange->input.status, exchange->input.reason, code);
}

/* ---- The stream ---- */

static void on_event(void *user, tn_value event) {
    struct exchange *exchange = user;
    serving_stream_send(&exchange->stream, event, exchange->run);
}

/* The response begins. False: it could not. */
static bool begin_stream(struct exchange *exchange) {
    if (serving_stream_begin(&exchange->stream)) ag_events_start(exchange->events);
    return exchange->stream.begun;
}

/* ---- The run ---- */

static void on_started(void *user, const char *run_id) {
    struct exchange *exchange = user;
    (void)run_id;
    if (!begin_stream(exchange)) serving_run_cancel(exchange->run);
}

static void on_run_event(void *user, tn_value event, uint64_t seq, uint64_t missed) {
    struct exchange *exchange = user;
    (void)seq;
    if (missed > 0) serving_items_missed(exchange->items);
    ag_events_before(exchange->events, event);
    serving_items_event(exchange->items, event);
    ag_events_after(exchange->events, event);
}

static void on_run_end(void *user, tn_value report) {
    struct exchange *exchange = user;
    if (!exchange->stream.begun) { /* it did not start */
        refuse_error(exchange, tn_get(report, "error"));
        return;
    }
    serving_items_end(exchange->items, report);
    serving_stream_end(&exchange->stream);
}

static const struct serving_run_handler run_handler = {on_started, on_run_event, on_run_end};

static bool make_events(struct exchange *exchange) {
    struct ag_options options = {.graph = &exchange->graph,
                                 .thread_id = exchange->input.thread_id,
                                 .run_id = exchange->input.run_id,
                                 .prefix = exchange->prefix,
                                 .calls = exchange->input.calls,
                                 .client_state = exchange->input.state,
                                 .state = exchange->plan.state,
                                 .handler = on_event,
                                 .user = exchange};
    serving_random_hex(exchange->prefix, 16);
    exchange->events = ag_events_new(&options);
    struct serving_items_options more = {.graph = &exchange->graph,
                                         .last_input =
                                             *exchange->plan.last_input != '\0' ? exchange->plan.last_input : NULL,
                                         .client_tools = exchange->input.tool_names,
                                         .asked = exchange->plan.asked,
                                         .handler = ag_events_item,
                                         .user = exchange->events};
    exchange->items = serving_items_new(&more);
    return exchange->events != NULL && exchange->items != NULL;
}

static void start_run(struct exchange *exchange, tn_value state) {
    if (!ag_plan_make(&exchange->plan, &exchange->input, &exchange->graph, exchange->thread, state)) {
        refuse_request(exchange);
        return;
    }
    if (!make_events(exchange)) {
        refuse_memory(exchange);
        return;
    }
    if (exchange->plan.cancelled) {
        if (begin_stream(exchange)) ag_events_cancelled(exchange->events);
        serving_stream_end(&exchange->stream);
        return;
    }
    exchange->run = serving_run_start(&exchange->ag_ui->serving, exchange->caller, exchange->plan.method,
                                      tn_retain(exchange->plan.params), &run_handler, exchange);
    if (exchange->run == NULL) refuse_memory(exchange);
}

/* ---- The thread and the graph ---- */

static void on_thread(void *user, tn_value thread, tn_value state, tn_value error) {
    struct exchange *exchange = user;
    exchange->reading = NULL;
    if (error != NULL) {
        refuse_error(exchange, error);
        return;
    }
    exchange->thread = tn_retain(thread);
    start_run(exchange, state);
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
        tn_value missing = serving_graph_missing(name, "/ag-ui/GRAPH");
        refuse_error(exchange, missing);
        tn_release(missing);
        return;
    }
    serving_graph_read(exchange->item, &exchange->graph);
    exchange->reading = serving_thread_read(&exchange->ag_ui->serving, exchange->caller, exchange->input.thread_id,
                                            on_thread, exchange);
    if (exchange->reading == NULL) refuse_memory(exchange);
}

static void begin_run(struct exchange *exchange) {
    const struct serving *serving = &exchange->ag_ui->serving;
    const char *name = exchange->graph_name = tn_get_text(tn_get(exchange->request, "params"), "graph", NULL);
    exchange->stream = (struct serving_stream){.serving = serving, .number = exchange->number};
    if (exchange->ag_ui->exchanges.open > AG_UI_OPEN_MAX) {
        refuse(exchange, 503, "too many runs are open; try again later", "OVERLOADED");
        return;
    }
    if (!ag_request_read(&exchange->input, tn_get(exchange->request, "json"))) {
        refuse_request(exchange);
        return;
    }
    exchange->lookup = name != NULL ? serving_graph_named(serving, exchange->caller, name, on_graphs, exchange)
                                    : serving_graphs(serving, exchange->caller, on_graphs, exchange);
    if (exchange->lookup == NULL) refuse_memory(exchange);
}

/* ---- The protocol ---- */

#define MORE                                                                                                           \
    "{\"refusals\": true, \"summary\": \"Runs a graph as an agent of AG-UI\", "                                        \
    "\"body\": {\"max\": 33554432, \"types\": [\"application/json\"]}}"

static const struct serving_row routes[] = {{"POST", "/ag-ui", "run", MORE, begin_run},
                                            {"POST", "/ag-ui/{graph}", "run", MORE, begin_run}};

static void begin(void *plugin, struct exchange *exchange, const struct serving_row *row) {
    exchange->ag_ui = plugin;
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
    return refusal_of((int32_t)tn_get_int(refused, "status", 500),
                      tn_get_text(refused, "message", "the request was refused"), tn_get_text(refused, "code", NULL));
}

const struct serving_protocol ag_ui_protocol = {.size = sizeof(struct exchange),
                                                .rows = routes,
                                                .count = sizeof routes / sizeof *routes,
                                                .begin = begin,
                                                .event = on_server_event,
                                                .refusal = refusal};
