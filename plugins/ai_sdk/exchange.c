/*
 * exchange.c - routes, the life of a request before its stream, and its answers.
 */
#include "exchange_internal.h"

void exchange_end(struct exchange *exchange) {
    if (exchange->starts) exchange->all->starting--;
    serving_cancel(&exchange->all->serving, exchange->call);
    serving_graphs_cancel(exchange->lookup);
    serving_thread_cancel(exchange->reading);
    if (exchange->leg != NULL) leg_forget(exchange->leg);
    chat_request_finish(&exchange->chat);
    tn_release(exchange->graphs);
    tn_release(exchange->thread);
    serving_free(exchange->chat_id);
    serving_free(exchange->active);
    serving_free(exchange->graph_name);
    tn_release(exchange->request); /* it can be large, and the stream long */
    *exchange = (struct exchange){.base = exchange->base, .all = exchange->all};
    exchange->request = NULL;
    exchange->owner = "";
}

/* ---- Answers ---- */

static tn_value text_response(int32_t status, const char *text) {
    return tn_build("{s:i, s:{s:s}, s:s}", "status", (int)status, "headers", "content-type",
                    "text/plain; charset=utf-8", "body", text);
}

void answer(struct exchange *exchange, int32_t status, const char *text) {
    serving_respond_take(&exchange->all->serving, exchange->number, text_response(status, text));
    exchange_end(exchange);
}

void answer_nothing(struct exchange *exchange) {
    serving_respond_take(&exchange->all->serving, exchange->number, tn_build("{s:i}", "status", 204));
    exchange_end(exchange);
}

void answer_error(struct exchange *exchange, tn_value error) {
    answer(exchange, serving_error_status(error), tn_get_text(error, "message", "The request has failed."));
}

/* Takes `params`. */
void call_take(struct exchange *exchange, const char *method, tn_value params, tn_host_handler handler) {
    serving_call_take(&exchange->all->serving, exchange->caller, method, params, handler, exchange, &exchange->call);
    if (exchange->call == 0) answer(exchange, 503, "The server is out of memory; try again later.");
}

/* ---- Steps ---- */

void list_active(struct exchange *exchange, tn_host_handler handler) {
    call_take(exchange, "run/list",
              tn_build("{s:s, s:s, s:i}", "thread_id", exchange->chat_id, "status", "running", "limit", 1), handler);
}

struct serving_lookup *look_up_graph(struct exchange *exchange, const char *name, serving_graphs_handler *handler) {
    const struct serving *serving = &exchange->all->serving;
    return name != NULL ? serving_graph_named(serving, exchange->caller, name, handler, exchange)
                        : serving_graphs(serving, exchange->caller, handler, exchange);
}

bool select_graph(struct exchange *exchange, const char *name, tn_value graphs, tn_value error) {
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
    tn_value missing = serving_graph_missing(name, "graph=NAME");
    answer_error(exchange, missing);
    tn_release(missing);
    return false;
}

/* ---- The protocol ---- */

#define POST                                                                                                           \
    "{\"refusals\": true, \"summary\": \"Answers a chat of the AI SDK as a UI message stream\", "                      \
    "\"body\": {\"max\": 33554432, \"types\": [\"application/json\"]}}"
#define AGAIN    "{\"refusals\": true, \"summary\": \"Sends the active answer of a chat again\"}"
#define MESSAGES "{\"refusals\": true, \"summary\": \"Lists the messages of a chat\"}"
#define CANCEL   "{\"refusals\": true, \"summary\": \"Cancels the active answer of a chat\"}"

static const struct serving_row routes[] = {
    {"POST", "/api/chat", "run", POST, exchange_post},
    {"POST", "/api/chat/stream", "run", POST, exchange_post},
    {"GET", "/api/chat/{chatId}/stream", "read", AGAIN, exchange_resume},
    {"GET", "/api/chat/stream/{chatId}/stream", "read", AGAIN, exchange_resume},
    {"GET", "/api/chat/{chatId}/messages", "read", MESSAGES, exchange_history},
    {"GET", "/api/chat/stream/{chatId}/messages", "read", MESSAGES, exchange_history},
    {"DELETE", "/api/chat/{chatId}/stream", "run", CANCEL, exchange_cancel},
    {"DELETE", "/api/chat/stream/{chatId}/stream", "run", CANCEL, exchange_cancel},
};

/* Neither version of the client says which one it is, so the page does: `version` in the address. */
static void begin(void *plugin, struct exchange *exchange, const struct serving_row *row) {
    const char *version = tn_get_text(tn_get(exchange->request, "query"), "version", "6");
    exchange->all = plugin;
    exchange->resets = strcmp(version, "7") == 0;
    if (!exchange->resets && strcmp(version, "6") != 0) {
        answer(exchange, 400, "`version` in the address must be 6 or 7, the version of the AI SDK.");
    } else if (exchange->all->starting >= EXCHANGES_MAX) {
        answer(exchange, 503, "The server has too much to do; try again later.");
    } else {
        exchange->starts = true;
        exchange->all->starting++;
        row->begin(exchange);
    }
}

static void on_event(struct exchange *exchange, int32_t event, tn_value value) {
    struct legs *legs = exchange->all->legs;
    if (event == TN_SERVER_ROOM) legs_on_room(legs, exchange->number);
    if (event != TN_SERVER_CLOSED) return; /* DRAIN: the run ends soon, and its stream with it */
    exchange_end(exchange);
    if (value != NULL) legs_on_closed(legs, exchange->number);
}

/* The text of a refusal is what the client shows. */
static tn_value refusal(const struct serving_row *row, tn_value refused) {
    (void)row;
    return text_response((int32_t)tn_get_int(refused, "status", 500),
                         tn_get_text(refused, "message", "The request was refused."));
}

const struct serving_protocol ai_sdk_protocol = {.size = sizeof(struct exchange),
                                                 .rows = routes,
                                                 .count = sizeof routes / sizeof *routes,
                                                 .begin = begin,
                                                 .event = on_event,
                                                 .refusal = refusal};
