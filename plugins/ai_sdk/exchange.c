/*
 * exchange.c - the steps of a request.
 */
#include "exchange.h"
#include "plan.h"

struct exchange {
    struct exchange *next;
    struct exchanges *all;
    uint64_t request, caller;
    uint64_t call;                 /* that is open */
    struct serving_lookup *lookup; /* that is open */
    struct leg *leg;               /* that is starting */
    struct chat_request chat;      /* of POST */
    char *chat_id;
    tn_value graphs, thread; /* of POST */
    struct serving_graph graph;
    void (*with_run)(struct exchange *exchange, tn_value run); /* of GET and DELETE */
};

struct exchanges {
    const struct serving *serving;
    struct legs *legs;
    struct exchange *first;
    uint64_t count;
};

struct exchanges *exchanges_new(const struct serving *serving, struct legs *legs) {
    struct exchanges *exchanges = serving_alloc(sizeof *exchanges);
    if (exchanges != NULL) *exchanges = (struct exchanges){.serving = serving, .legs = legs};
    return exchanges;
}

static void exchange_free(struct exchange *exchange) {
    struct exchange **link = &exchange->all->first;
    while (*link != exchange) link = &(*link)->next;
    *link = exchange->next;
    exchange->all->count--;
    serving_cancel(exchange->all->serving, exchange->call);
    serving_graphs_cancel(exchange->lookup);
    if (exchange->leg != NULL) leg_forget(exchange->leg);
    chat_request_finish(&exchange->chat);
    tn_release(exchange->graphs);
    tn_release(exchange->thread);
    serving_free(exchange->chat_id);
    serving_free(exchange);
}

void exchanges_free(struct exchanges *exchanges) {
    if (exchanges == NULL) return;
    while (exchanges->first != NULL) exchange_free(exchanges->first);
    serving_free(exchanges);
}

void exchanges_on_closed(struct exchanges *exchanges, uint64_t request) {
    for (struct exchange *exchange = exchanges->first; exchange != NULL; exchange = exchange->next)
        if (exchange->request == request) {
            exchange_free(exchange);
            return;
        }
}

static struct exchange *exchange_new(struct exchanges *all, uint64_t request, tn_value value) {
    struct exchange *exchange = all->count < EXCHANGES_MAX ? serving_alloc(sizeof *exchange) : NULL;
    if (exchange == NULL) {
        answer_text(all->serving, request, 503, "The server has too much to do; try again later.");
        return NULL;
    }
    *exchange = (struct exchange){.next = all->first, .all = all, .request = request, .caller = serving_caller(value)};
    all->first = exchange;
    all->count++;
    return exchange;
}

/* ---- Answers ---- */

void answer_text(const struct serving *serving, uint64_t request, int32_t status, const char *text) {
    tn_value response = tn_build("{s:i, s:{s:s}, s:s}", "status", (int)status, "headers", "content-type",
                                 "text/plain; charset=utf-8", "body", text);
    if (response != NULL) (void)serving->server->respond(tn.host, request, response);
    tn_release(response);
}

static void answer(struct exchange *exchange, int32_t status, const char *text) {
    answer_text(exchange->all->serving, exchange->request, status, text);
    exchange_free(exchange);
}

static void answer_nothing(struct exchange *exchange) {
    tn_value response = tn_build("{s:i}", "status", 204);
    if (response != NULL) (void)exchange->all->serving->server->respond(tn.host, exchange->request, response);
    tn_release(response);
    exchange_free(exchange);
}

static void answer_error(struct exchange *exchange, tn_value error) {
    answer(exchange, serving_error_status(error), tn_get_text(error, "message", "The request has failed."));
}

/* Takes `params`. */
static void call_take(struct exchange *exchange, const char *method, tn_value params, tn_host_handler handler) {
    serving_call_take(exchange->all->serving, exchange->caller, method, params, handler, exchange, &exchange->call);
    if (exchange->call == 0) answer(exchange, 503, "The server is out of memory; try again later.");
}

/* ---- POST ---- */

static void on_started(void *user, struct leg *leg, tn_value error) {
    struct exchange *exchange = user;
    exchange->leg = NULL;
    if (leg == NULL) {
        answer_error(exchange, error);
        return;
    }
    uint64_t request = exchange->request;
    exchange_free(exchange);
    (void)leg_add_reader(leg, request, false);
}

/* The messages that the client has: those of the thread, and the last input. */
static tn_value known_messages(const struct exchange *exchange, tn_value state, const struct chat_plan *plan) {
    const char *channel = exchange->graph.channel;
    tn_value list, input = tn_get(tn_get(plan->params, "input"), channel != NULL ? channel : "");
    if (exchange->graph.input != SERVING_MESSAGES) return NULL;
    list = tn_retain(tn_get(state, channel));
    if (list == NULL) list = tn_build("[]");
    for (uint64_t i = 0, count = tn.value->count(input); i < count; i++)
        (void)tn_append_take(&list, tn_retain(tn.value->at(input, i)));
    return list;
}

static void start_run(struct exchange *exchange, tn_value state) {
    struct chat_plan plan;
    chat_plan_make(&plan, &exchange->chat, &exchange->graph, exchange->thread, state);
    if (plan.method == NULL) {
        answer(exchange, plan.status, plan.reason);
        chat_plan_finish(&plan);
        return;
    }
    tn_value known = known_messages(exchange, state, &plan);
    struct leg_options options = {.caller = exchange->caller,
                                  .graph = &exchange->graph,
                                  .message_id = plan.continues ? exchange->chat.message_id : NULL,
                                  .known = known,
                                  .parts = plan.continues ? exchange->chat.parts : NULL,
                                  .used = exchange->chat.used,
                                  .on_started = on_started,
                                  .user = exchange};
    exchange->leg = leg_start(exchange->all->legs, plan.method, tn_retain(plan.params), &options);
    if (exchange->leg == NULL) answer(exchange, 503, "The server has too many active chats; try again later.");
    tn_release(known);
    chat_plan_finish(&plan);
}

static void TN_ABI on_state(void *user, int32_t status, tn_value value) {
    struct exchange *exchange = user;
    exchange->call = 0;
    if (status == TN_OK)
        start_run(exchange, tn_get(value, "state"));
    else if (serving_is(tn_get(value, "code"), "NOT_FOUND"))
        start_run(exchange, NULL); /* it has no checkpoint yet */
    else
        answer_error(exchange, value);
}

static void TN_ABI on_thread(void *user, int32_t status, tn_value value) {
    struct exchange *exchange = user;
    exchange->call = 0;
    if (status == TN_OK) {
        exchange->thread = tn_retain(value);
        call_take(exchange, "thread/state", tn_build("{s:s}", "thread_id", exchange->chat_id), on_state);
    } else if (serving_is(tn_get(value, "code"), "NOT_FOUND")) {
        start_run(exchange, NULL);
    } else {
        answer_error(exchange, value);
    }
}

static void TN_ABI on_active(void *user, int32_t status, tn_value value) {
    struct exchange *exchange = user;
    exchange->call = 0;
    if (status != TN_OK)
        answer_error(exchange, value);
    else if (tn.value->count(tn_get(value, "runs")) > 0)
        answer(exchange, 409, "The chat already has an active answer: wait for its end, or cancel it.");
    else
        call_take(exchange, "thread/get", tn_build("{s:s}", "thread_id", exchange->chat_id), on_thread);
}

static void list_active(struct exchange *exchange, tn_host_handler handler) {
    call_take(exchange, "run/list",
              tn_build("{s:s, s:s, s:i}", "thread_id", exchange->chat_id, "status", "running", "limit", 1), handler);
}

static void on_graphs(void *user, tn_value graphs, tn_value error) {
    struct exchange *exchange = user;
    const char *name = exchange->chat.graph;
    char reason[256];
    exchange->lookup = NULL;
    if (graphs == NULL) {
        answer_error(exchange, error);
        return;
    }
    exchange->graphs = tn_retain(graphs);
    tn_value item = serving_graph_find(graphs, name);
    if (item == NULL) {
        (void)snprintf(reason, sizeof reason, "This server has no graph `%.100s`.", name != NULL ? name : "");
        answer(exchange, 404, name != NULL ? reason : "This server has no graphs.");
        return;
    }
    serving_graph_read(item, &exchange->graph);
    if (chat_request_fits(&exchange->chat, &exchange->graph))
        list_active(exchange, on_active);
    else
        answer(exchange, 400, exchange->chat.reason);
}

void exchange_post(struct exchanges *exchanges, uint64_t request, tn_value value) {
    struct exchange *exchange = exchange_new(exchanges, request, value);
    if (exchange == NULL) return;
    if (!chat_request_read(&exchange->chat, tn_get(value, "json"), tn_get(value, "query"))) {
        answer(exchange, 400, exchange->chat.reason);
        return;
    }
    exchange->chat_id = serving_text_copy(exchange->chat.chat_id);
    exchange->lookup = serving_graphs(exchanges->serving, exchange->caller, on_graphs, exchange);
    if (exchange->lookup == NULL || exchange->chat_id == NULL)
        answer(exchange, 503, "The server is out of memory; try again later.");
}

/* ---- GET and DELETE ---- */

static void TN_ABI on_runs(void *user, int32_t status, tn_value value) {
    struct exchange *exchange = user;
    tn_value run = tn.value->at(tn_get(value, "runs"), 0);
    exchange->call = 0;
    if (status != TN_OK)
        answer_error(exchange, value);
    else if (run == NULL || tn_get_text(run, "run_id", NULL) == NULL)
        answer_nothing(exchange);
    else
        exchange->with_run(exchange, run);
}

static void exchange_of_chat(struct exchanges *exchanges, uint64_t request, tn_value value,
                             void (*with_run)(struct exchange *exchange, tn_value run)) {
    struct exchange *exchange = exchange_new(exchanges, request, value);
    uint64_t length = 0;
    const char *chat_id = tn_chars(tn_get(tn_get(value, "params"), "chatId"), &length);
    if (exchange == NULL) return;
    if (chat_id == NULL || !chat_id_is_valid(chat_id, length)) {
        answer_nothing(exchange); /* no chat has this id */
        return;
    }
    exchange->with_run = with_run;
    exchange->chat_id = serving_text_copy(chat_id);
    if (exchange->chat_id != NULL)
        list_active(exchange, on_runs);
    else
        answer(exchange, 503, "The server is out of memory; try again later.");
}

static void on_followed(void *user, struct leg *leg, tn_value error) {
    struct exchange *exchange = user;
    exchange->leg = NULL;
    if (leg == NULL) {
        if (serving_is(tn_get(error, "code"), "NOT_FOUND"))
            answer_nothing(exchange); /* it has ended meanwhile */
        else
            answer_error(exchange, error);
        return;
    }
    uint64_t request = exchange->request;
    exchange_free(exchange);
    (void)leg_add_reader(leg, request, true);
}

/* A run that another protocol has started: its texts are those of a graph with messages. */
static void follow_run(struct exchange *exchange, const char *run_id) {
    struct serving_graph graph;
    tn_value item =
        tn_from_json("{\"name\": \"\", \"channels\": [{\"name\": \"messages\", \"type\": \"append\"}]}", TN_Z);
    serving_graph_read(item, &graph);
    struct leg_options options = {
        .caller = exchange->caller, .graph = &graph, .on_started = on_followed, .user = exchange};
    exchange->leg = leg_follow(exchange->all->legs, run_id, &options);
    tn_release(item);
    if (exchange->leg == NULL) answer(exchange, 503, "The server has too many active chats; try again later.");
}

static void resume_run(struct exchange *exchange, tn_value run) {
    const char *run_id = tn_get_text(run, "run_id", "");
    struct leg *leg = legs_lookup(exchange->all->legs, run_id);
    if (leg == NULL) {
        follow_run(exchange, run_id);
    } else if (!leg_is_whole(leg)) {
        answer(exchange, 409, "The answer is too long to be sent again; read it when it is complete.");
    } else {
        uint64_t request = exchange->request;
        exchange_free(exchange);
        (void)leg_add_reader(leg, request, true);
    }
}

static void TN_ABI on_cancelled(void *user, int32_t status, tn_value value) {
    struct exchange *exchange = user;
    exchange->call = 0;
    if (status == TN_OK)
        answer_nothing(exchange);
    else
        answer_error(exchange, value);
}

static void cancel_run(struct exchange *exchange, tn_value run) {
    call_take(exchange, "run/cancel", tn_build("{s:v}", "run_id", tn_get(run, "run_id")), on_cancelled);
}

void exchange_resume(struct exchanges *exchanges, uint64_t request, tn_value value) {
    exchange_of_chat(exchanges, request, value, resume_run);
}

void exchange_cancel(struct exchanges *exchanges, uint64_t request, tn_value value) {
    exchange_of_chat(exchanges, request, value, cancel_run);
}
