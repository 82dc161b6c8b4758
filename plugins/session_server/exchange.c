/*
 * exchange.c - the steps of a request, and its answer.
 */
#include "exchange.h"

struct exchange {
    struct exchange *next;
    struct exchanges *all;
    uint64_t number, caller, call; /* call: that is open */
    struct serving_lookup *lookup; /* that is open */
    char *graph_name;              /* NULL: the only one */
    struct session session;
    char thread_id[SESSION_ID_MAX + 16];
    tn_value item, answers, asked; /* of the graph; of a run that waits */
    struct serving_graph graph;
    struct serving_items *items;
    struct serving_run *run;
    struct session_events events;
    unsigned legs;
    tn_value waiting; /* data that the client has no room for */
    bool stream, begun, full, ended;
};

static void close_run(struct exchange *exchange) {
    serving_run_close(exchange->run);
    serving_items_free(exchange->items);
    exchange->run = NULL;
    exchange->items = NULL;
}

static void exchange_free(struct exchange *exchange) {
    struct exchange **link = &exchange->all->first;
    while (*link != exchange) link = &(*link)->next;
    *link = exchange->next;
    exchange->all->count--;
    serving_cancel(&exchange->all->serving, exchange->call);
    serving_graphs_cancel(exchange->lookup);
    close_run(exchange);
    session_events_close(&exchange->events);
    session_finish(&exchange->session);
    const tn_value values[] = {exchange->item, exchange->answers, exchange->asked, exchange->waiting};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) tn_release(values[i]);
    serving_free(exchange->graph_name);
    serving_free(exchange);
}

static struct exchange *exchange_find(struct exchanges *all, uint64_t number) {
    struct exchange *exchange = all->first;
    while (exchange != NULL && exchange->number != number) exchange = exchange->next;
    return exchange;
}

/* ---- Answers ---- */

/* Takes `json`. */
static void respond(const struct serving *serving, uint64_t request, int32_t status, tn_value json) {
    tn_value response = tn_build("{s:i, s:V}", "status", (int)status, "json", json);
    if (response != NULL) (void)serving->server->respond(tn.host, request, response);
    if (response == NULL) (void)serving->server->abort(tn.host, request);
    tn_release(response);
}

void exchange_refuse(const struct serving *serving, uint64_t request, int32_t status, tn_value session,
                     const char *message) {
    respond(serving, request, status, session_refusal(session, message));
}

static void refuse(struct exchange *exchange, int32_t status, const char *message) {
    exchange_refuse(&exchange->all->serving, exchange->number, status, exchange->session.data, message);
    exchange_free(exchange);
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

/* ---- The stream ---- */

static void send_event(struct exchange *exchange, tn_value data) {
    const tn_server_draft *server = exchange->all->serving.server;
    tn_value event = tn_build("{s:v}", "data", data);
    if (event != NULL && server->event(tn.host, exchange->number, event) == TN_SERVER_FULL) exchange->full = true;
    tn_release(event);
}

static void send_waiting(struct exchange *exchange) {
    while (!exchange->full && tn.value->count(exchange->waiting) > 0) {
        send_event(exchange, tn.value->at(exchange->waiting, 0));
        if (tn.value->splice(&exchange->waiting, 0, 1, NULL) != TN_OK) break;
    }
    if (exchange->full || !exchange->ended) return;
    (void)exchange->all->serving.server->finish(tn.host, exchange->number);
    exchange_free(exchange);
}

static void on_data(void *user, tn_value data) {
    struct exchange *exchange = user;
    if (!exchange->stream) return;
    if (!exchange->full && tn.value->count(exchange->waiting) == 0)
        send_event(exchange, data);
    else
        (void)tn_append_take(&exchange->waiting, tn_retain(data));
    if (exchange->full && exchange->run != NULL) serving_run_pause(exchange->run);
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

static void start_run(struct exchange *exchange, const char *method, const char *member, tn_value value,
                      const char *last_input);

static void on_started(void *user, const char *run_id) {
    struct exchange *exchange = user;
    (void)run_id;
    if (!exchange->stream || exchange->begun) {
        exchange->begun = true;
        return;
    }
    tn_value response = tn_build("{s:i, s:s}", "status", 200, "stream", "events");
    exchange->begun = true;
    if (response == NULL || exchange->all->serving.server->respond(tn.host, exchange->number, response) != TN_OK)
        serving_run_cancel(exchange->run);
    tn_release(response);
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
    if (refused && (!exchange->stream || !exchange->begun)) {
        refuse_error(exchange, error);
        return;
    }
    if (continue_run(exchange, report)) return;
    exchange->ended = true;
    if (exchange->stream) {
        send_waiting(exchange);
        return;
    }
    bool failed = error != NULL && serving_is(tn_get(report, "status"), "failed");
    respond(&exchange->all->serving, exchange->number, failed ? serving_error_status(error) : 200,
            session_events_response(&exchange->events));
    exchange_free(exchange);
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
        tn_build("{s:s, s:{s:s}, s:V, s:V}", "document", exchange->graph.document, "config", "thread_id",
                 exchange->thread_id, "modes", tn_from_json(SERVING_MODES, sizeof SERVING_MODES - 1), member, value);
    exchange->legs++;
    exchange->items = serving_items_new(&options);
    if (exchange->items != NULL && params != NULL)
        exchange->run =
            serving_run_start(&exchange->all->serving, exchange->caller, method, params, &run_handler, exchange);
    else
        tn_release(params);
    if (exchange->run == NULL) refuse_memory(exchange);
}

/* ---- The thread and the graph ---- */

static void call_take(struct exchange *exchange, const char *method, tn_host_handler handler) {
    serving_call_take(&exchange->all->serving, exchange->caller, method,
                      tn_build("{s:s}", "thread_id", exchange->thread_id), handler, exchange, &exchange->call);
    if (exchange->call == 0) refuse_memory(exchange);
}

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

static void TN_ABI on_state(void *user, int32_t status, tn_value value) {
    struct exchange *exchange = user;
    tn_value answers = exchange->answers;
    char last[128];
    exchange->call = 0;
    if (status != TN_OK) {
        refuse_error(exchange, value);
        return;
    }
    exchange->answers = NULL;
    (void)snprintf(last, sizeof last, "%s", last_message(exchange, tn_get(value, "state")));
    start_run(exchange, "run/resume", "answers", answers, last);
}

static void TN_ABI on_thread(void *user, int32_t status, tn_value value) {
    struct exchange *exchange = user;
    tn_value interrupts = tn_get(value, "interrupts");
    exchange->call = 0;
    if (status != TN_OK && serving_is(tn_get(value, "code"), "NOT_FOUND")) {
        start_session(exchange);
        return;
    }
    if (status != TN_OK) {
        refuse_error(exchange, value);
        return;
    }
    if (serving_is(tn_get(value, "status"), "interrupted"))
        exchange->answers = session_answers(&exchange->session, interrupts, false);
    if (exchange->answers == NULL) {
        tn_value input = session_input(&exchange->session, &exchange->graph); /* before anything is deleted */
        if (input == NULL)
            refuse(exchange, 400, exchange->session.reason);
        else
            call_take(exchange, "thread/delete", on_deleted);
        tn_release(input);
        return;
    }
    exchange->asked = tn_retain(interrupts);
    call_take(exchange, "thread/state", on_state);
}

static void on_graphs(void *user, tn_value graphs, tn_value error) {
    struct exchange *exchange = user;
    const char *name = exchange->graph_name;
    char reason[200];
    exchange->lookup = NULL;
    if (graphs == NULL) {
        refuse_error(exchange, error);
        return;
    }
    if (name != NULL || tn.value->count(graphs) == 1) exchange->item = tn_retain(serving_graph_find(graphs, name));
    if (exchange->item == NULL) {
        (void)snprintf(reason, sizeof reason, "this server has no graph `%.100s`", name != NULL ? name : "");
        refuse(exchange, 404, name != NULL ? reason : "this server has not exactly one graph: name it, /session/GRAPH");
        return;
    }
    serving_graph_read(exchange->item, &exchange->graph);
    call_take(exchange, "thread/get", on_thread);
}

void exchange_begin(struct exchanges *all, uint64_t request, tn_value value) {
    struct exchange *exchange = all->count < EXCHANGES_MAX ? serving_alloc(sizeof *exchange) : NULL;
    const char *name = tn_get_text(tn_get(value, "params"), "graph", NULL);
    if (exchange == NULL) {
        exchange_refuse(&all->serving, request, 503, NULL, "too many sessions are open; try again later");
        return;
    }
    *exchange = (struct exchange){.next = all->first, .all = all, .number = request, .caller = serving_caller(value)};
    all->first = exchange;
    all->count++;
    if (!session_read(&exchange->session, tn_get(value, "json"))) {
        refuse(exchange, 400, exchange->session.reason);
        return;
    }
    session_events_open(&exchange->events, exchange->session.data, on_data, exchange);
    exchange->stream = strstr(tn_get_text(tn_get(value, "headers"), "accept", ""), "text/event-stream") != NULL;
    (void)snprintf(exchange->thread_id, sizeof exchange->thread_id, "session-%s", exchange->session.id);
    exchange->graph_name = serving_text_copy(name);
    exchange->lookup = name != NULL ? serving_graph_named(&all->serving, exchange->caller, name, on_graphs, exchange)
                                    : serving_graphs(&all->serving, exchange->caller, on_graphs, exchange);
    if (exchange->lookup == NULL) refuse_memory(exchange);
}
