/*
 * exchange.c - the life of a request before its stream, and its answers.
 */
#include "exchange_internal.h"

struct exchanges *exchanges_new(const struct serving *serving, struct legs *legs) {
    struct exchanges *exchanges = serving_alloc(sizeof *exchanges);
    if (exchanges != NULL) *exchanges = (struct exchanges){.serving = serving, .legs = legs};
    return exchanges;
}

void exchange_free(struct exchange *exchange) {
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
    serving_free(exchange->active);
    serving_free(exchange->graph_name);
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

/* Neither version of the client says which one it is, so the page does: `version` in the address. */
struct exchange *exchange_new(struct exchanges *all, uint64_t request, tn_value value) {
    const char *version = tn_get_text(tn_get(value, "query"), "version", "6");
    if (strcmp(version, "6") != 0 && strcmp(version, "7") != 0) {
        answer_text(all->serving, request, 400, "`version` in the address must be 6 or 7, the version of the AI SDK.");
        return NULL;
    }
    struct exchange *exchange = all->count < EXCHANGES_MAX ? serving_alloc(sizeof *exchange) : NULL;
    if (exchange == NULL) {
        answer_text(all->serving, request, 503, "The server has too much to do; try again later.");
        return NULL;
    }
    *exchange = (struct exchange){.next = all->first,
                                  .all = all,
                                  .request = request,
                                  .caller = serving_caller(value),
                                  .resets = strcmp(version, "7") == 0};
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

void answer(struct exchange *exchange, int32_t status, const char *text) {
    answer_text(exchange->all->serving, exchange->request, status, text);
    exchange_free(exchange);
}

void answer_nothing(struct exchange *exchange) {
    tn_value response = tn_build("{s:i}", "status", 204);
    if (response != NULL) (void)exchange->all->serving->server->respond(tn.host, exchange->request, response);
    tn_release(response);
    exchange_free(exchange);
}

void answer_error(struct exchange *exchange, tn_value error) {
    answer(exchange, serving_error_status(error), tn_get_text(error, "message", "The request has failed."));
}

/* Takes `params`. */
void call_take(struct exchange *exchange, const char *method, tn_value params, tn_host_handler handler) {
    serving_call_take(exchange->all->serving, exchange->caller, method, params, handler, exchange, &exchange->call);
    if (exchange->call == 0) answer(exchange, 503, "The server is out of memory; try again later.");
}

/* ---- Steps ---- */

void list_active(struct exchange *exchange, tn_host_handler handler) {
    call_take(exchange, "run/list",
              tn_build("{s:s, s:s, s:i}", "thread_id", exchange->chat_id, "status", "running", "limit", 1), handler);
}

struct serving_lookup *look_up_graph(struct exchange *exchange, const char *name, serving_graphs_handler *handler) {
    const struct serving *serving = exchange->all->serving;
    return name != NULL ? serving_graph_named(serving, exchange->caller, name, handler, exchange)
                        : serving_graphs(serving, exchange->caller, handler, exchange);
}

bool select_graph(struct exchange *exchange, const char *name, tn_value graphs, tn_value error) {
    char reason[256];
    exchange->lookup = NULL;
    if (graphs == NULL) {
        answer_error(exchange, error);
        return false;
    }
    exchange->graphs = tn_retain(graphs);
    tn_value item = serving_graph_find(graphs, name);
    if (item != NULL) {
        serving_graph_read(item, &exchange->graph);
        return true;
    }
    (void)snprintf(reason, sizeof reason, "This server has no graph `%.100s`.", name != NULL ? name : "");
    answer(exchange, 404, name != NULL ? reason : "This server has no graphs.");
    return false;
}
