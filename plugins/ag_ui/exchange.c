/*
 * exchange.c - the steps of a request, and its stream.
 */
#include "exchange.h"

struct exchange {
    struct exchange *next;
    struct exchanges *all;
    uint64_t number, caller, call; /* call: that is open */
    struct serving_lookup *lookup; /* that is open */
    char *graph_name;              /* NULL: the only one */
    struct ag_request request;
    struct ag_plan plan;
    tn_value item, thread; /* of the graph; of thread/get */
    struct serving_graph graph;
    struct serving_items *items;
    struct serving_run *run;
    struct ag_events *events;
    char prefix[17];
    tn_value waiting;          /* events that the client has no room for */
    bool streams, full, ended; /* streams: the response has begun */
};

static void exchange_free(struct exchange *exchange) {
    struct exchange **link = &exchange->all->first;
    while (*link != exchange) link = &(*link)->next;
    *link = exchange->next;
    exchange->all->count--;
    serving_cancel(&exchange->all->serving, exchange->call);
    serving_graphs_cancel(exchange->lookup);
    serving_run_close(exchange->run);
    serving_items_free(exchange->items);
    ag_events_free(exchange->events);
    ag_plan_finish(&exchange->plan);
    ag_request_finish(&exchange->request);
    tn_release(exchange->item);
    tn_release(exchange->thread);
    tn_release(exchange->waiting);
    serving_free(exchange->graph_name);
    serving_free(exchange);
}

static struct exchange *exchange_find(struct exchanges *all, uint64_t number) {
    struct exchange *exchange = all->first;
    while (exchange != NULL && exchange->number != number) exchange = exchange->next;
    return exchange;
}

/* ---- Refusals ---- */

void exchange_refuse(const struct serving *serving, uint64_t request, int32_t status, const char *message,
                     const char *code) {
    tn_value response = tn_build("{s:i, s:V}", "status", (int)status, "json", ag_error(message, code));
    if (response != NULL) (void)serving->server->respond(tn.host, request, response);
    tn_release(response);
}

static void refuse(struct exchange *exchange, int32_t status, const char *message, const char *code) {
    exchange_refuse(&exchange->all->serving, exchange->number, status, message, code);
    exchange_free(exchange);
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
        if (rows[i].status == exchange->request.status) code = rows[i].code;
    refuse(exchange, exchange->request.status, exchange->request.reason, code);
}

/* ---- The stream ---- */

static const tn_server_draft *server_of(const struct exchange *exchange) { return exchange->all->serving.server; }

static void send_event(struct exchange *exchange, tn_value data) {
    tn_value event = tn_build("{s:v}", "data", data);
    if (event != NULL && server_of(exchange)->event(tn.host, exchange->number, event) == TN_SERVER_FULL)
        exchange->full = true;
    tn_release(event);
}

static void send_waiting(struct exchange *exchange) {
    while (!exchange->full && tn.value->count(exchange->waiting) > 0) {
        send_event(exchange, tn.value->at(exchange->waiting, 0));
        if (tn.value->splice(&exchange->waiting, 0, 1, NULL) != TN_OK) break;
    }
    if (exchange->full || !exchange->ended) return;
    (void)server_of(exchange)->finish(tn.host, exchange->number);
    exchange_free(exchange);
}

static void on_event(void *user, tn_value event) {
    struct exchange *exchange = user;
    if (!exchange->full && tn.value->count(exchange->waiting) == 0)
        send_event(exchange, event);
    else
        (void)tn_append_take(&exchange->waiting, tn_retain(event));
    if (exchange->full && exchange->run != NULL) serving_run_pause(exchange->run);
}

/* The response begins. False: it could not; the exchange still exists. */
static bool begin_stream(struct exchange *exchange) {
    tn_value response = tn_build("{s:i, s:s}", "status", 200, "stream", "events");
    int32_t status =
        response != NULL ? server_of(exchange)->respond(tn.host, exchange->number, response) : TN_NO_MEMORY;
    tn_release(response);
    exchange->streams = status == TN_OK;
    if (exchange->streams) ag_events_start(exchange->events);
    return exchange->streams;
}

void exchange_on_room(struct exchanges *all, uint64_t request) {
    struct exchange *exchange = exchange_find(all, request);
    if (exchange == NULL) return;
    exchange->full = false;
    if (!exchange->ended && exchange->run != NULL) serving_run_flow(exchange->run);
    send_waiting(exchange);
}

void exchange_on_closed(struct exchanges *all, uint64_t request, const char *reason) {
    struct exchange *exchange = exchange_find(all, request);
    if (exchange == NULL) return;
    if (exchange->run != NULL && strcmp(reason, "drain") != 0) serving_run_cancel(exchange->run);
    exchange_free(exchange);
}

void exchanges_finish(struct exchanges *all) {
    while (all->first != NULL) exchange_free(all->first);
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
    if (!exchange->streams) { /* it did not start */
        refuse_error(exchange, tn_get(report, "error"));
        return;
    }
    serving_items_end(exchange->items, report);
    exchange->ended = true;
    send_waiting(exchange);
}

static const struct serving_run_handler run_handler = {on_started, on_run_event, on_run_end};

static bool make_events(struct exchange *exchange) {
    struct ag_options options = {.graph = &exchange->graph,
                                 .thread_id = exchange->request.thread_id,
                                 .run_id = exchange->request.run_id,
                                 .prefix = exchange->prefix,
                                 .calls = exchange->request.calls,
                                 .client_state = exchange->request.state,
                                 .state = exchange->plan.state,
                                 .handler = on_event,
                                 .user = exchange};
    serving_random_hex(exchange->prefix, 16);
    exchange->events = ag_events_new(&options);
    struct serving_items_options more = {.graph = &exchange->graph,
                                         .last_input =
                                             *exchange->plan.last_input != '\0' ? exchange->plan.last_input : NULL,
                                         .client_tools = exchange->request.tool_names,
                                         .asked = exchange->plan.asked,
                                         .handler = ag_events_item,
                                         .user = exchange->events};
    exchange->items = serving_items_new(&more);
    return exchange->events != NULL && exchange->items != NULL;
}

static void start_run(struct exchange *exchange, tn_value state) {
    if (!ag_plan_make(&exchange->plan, &exchange->request, &exchange->graph, exchange->thread, state)) {
        refuse_request(exchange);
        return;
    }
    if (!make_events(exchange)) {
        refuse_memory(exchange);
        return;
    }
    if (exchange->plan.cancelled) {
        if (begin_stream(exchange)) ag_events_cancelled(exchange->events);
        exchange->ended = true;
        send_waiting(exchange);
        return;
    }
    exchange->run = serving_run_start(&exchange->all->serving, exchange->caller, exchange->plan.method,
                                      tn_retain(exchange->plan.params), &run_handler, exchange);
    if (exchange->run == NULL) refuse_memory(exchange);
}

/* ---- The thread and the graph ---- */

static void call_take(struct exchange *exchange, const char *method, tn_host_handler handler) {
    serving_call_take(&exchange->all->serving, exchange->caller, method,
                      tn_build("{s:s}", "thread_id", exchange->request.thread_id), handler, exchange, &exchange->call);
    if (exchange->call == 0) refuse_memory(exchange);
}

static void TN_ABI on_state(void *user, int32_t status, tn_value value) {
    struct exchange *exchange = user;
    exchange->call = 0;
    if (status == TN_OK)
        start_run(exchange, tn_get(value, "state"));
    else if (serving_is(tn_get(value, "code"), "NOT_FOUND"))
        start_run(exchange, NULL); /* it has no checkpoint yet */
    else
        refuse_error(exchange, value);
}

static void TN_ABI on_thread(void *user, int32_t status, tn_value value) {
    struct exchange *exchange = user;
    exchange->call = 0;
    if (status == TN_OK) {
        exchange->thread = tn_retain(value);
        call_take(exchange, "thread/state", on_state);
    } else if (serving_is(tn_get(value, "code"), "NOT_FOUND")) {
        start_run(exchange, NULL);
    } else {
        refuse_error(exchange, value);
    }
}

static void on_graphs(void *user, tn_value graphs, tn_value error) {
    struct exchange *exchange = user;
    char reason[200];
    exchange->lookup = NULL;
    if (graphs == NULL) {
        refuse_error(exchange, error);
        return;
    }
    if (exchange->graph_name != NULL || tn.value->count(graphs) == 1)
        exchange->item = tn_retain(serving_graph_find(graphs, exchange->graph_name));
    if (exchange->item == NULL) {
        (void)snprintf(reason, sizeof reason, "this server has no graph `%.100s`",
                       exchange->graph_name != NULL ? exchange->graph_name : "");
        refuse(exchange, 404,
               exchange->graph_name != NULL ? reason : "this server has not exactly one graph: name it, /ag-ui/GRAPH",
               "NOT_FOUND");
        return;
    }
    serving_graph_read(exchange->item, &exchange->graph);
    call_take(exchange, "thread/get", on_thread);
}

void exchange_begin(struct exchanges *all, uint64_t request, tn_value value) {
    struct exchange *exchange = all->count < AG_UI_OPEN_MAX ? serving_alloc(sizeof *exchange) : NULL;
    const char *name = tn_get_text(tn_get(value, "params"), "graph", NULL);
    if (exchange == NULL) {
        exchange_refuse(&all->serving, request, 503, "too many runs are open; try again later", "OVERLOADED");
        return;
    }
    *exchange = (struct exchange){.next = all->first, .all = all, .number = request, .caller = serving_caller(value)};
    all->first = exchange;
    all->count++;
    if (!ag_request_read(&exchange->request, tn_get(value, "json"))) {
        refuse_request(exchange);
        return;
    }
    exchange->graph_name = serving_text_copy(name);
    exchange->lookup = name != NULL ? serving_graph_named(&all->serving, exchange->caller, name, on_graphs, exchange)
                                    : serving_graphs(&all->serving, exchange->caller, on_graphs, exchange);
    if (exchange->lookup == NULL) refuse_memory(exchange);
}
