/*
 * langgraph_server.c - the plugin `tenon.langgraph_server`: routes, the requests that are open, and their answers.
 */
#include "langgraph.h"
#include <stdlib.h>

TN_PLUGIN("tenon.langgraph_server", "0.1.0", "Graphs by the API of LangGraph's Agent Server")

static struct langgraph *langgraph_state; /* between init and deinit */

#define OPEN                                                                                                           \
    "{\"refusals\": true, \"origins\": \"*\", "                                                                        \
    "\"expose\": [\"content-location\", \"location\", \"x-pagination-total\", \"x-pagination-next\"]"
#define BODY   OPEN ", \"body\": {\"max\": 16777216, \"types\": [\"application/json\"]}}"
#define ANY    OPEN ", \"body\": {\"max\": 1048576, \"optional\": true}}"
#define NOBODY OPEN "}"
_Static_assert(BODY_MAX == 16777216, "the body of the routes");

static const struct serving_row routes[] = {
    {"GET", "/ok", "none", NOBODY, ok},
    {"GET", "/info", "read", NOBODY, info},
    {"POST", "/assistants", "run", BODY, assistants_create},
    {"POST", "/assistants/search", "read", ANY, assistants_search},
    {"POST", "/assistants/count", "read", ANY, assistants_count},
    {"GET", "/assistants/{assistant}", "read", NOBODY, assistant_get},
    {"PATCH", "/assistants/{assistant}", "run", BODY, assistant_patch},
    {"DELETE", "/assistants/{assistant}", "run", ANY, assistant_delete},
    {"GET", "/assistants/{assistant}/graph", "read", NOBODY, assistant_graph},
    {"GET", "/assistants/{assistant}/schemas", "read", NOBODY, assistant_schemas},
    {"GET", "/assistants/{assistant}/subgraphs", "read", NOBODY, assistant_subgraphs},
    {"GET", "/assistants/{assistant}/subgraphs/{namespace}", "read", NOBODY, assistant_subgraphs},
    {"POST", "/assistants/{assistant}/versions", "read", ANY, assistant_versions},
    {"POST", "/assistants/{assistant}/latest", "run", BODY, assistant_latest},
    {"POST", "/threads", "run", ANY, threads_create},
    {"POST", "/threads/search", "read", ANY, threads_search},
    {"POST", "/threads/count", "read", ANY, threads_count},
    {"POST", "/threads/prune", "run", BODY, threads_prune},
    {"GET", "/threads/{thread}", "read", NOBODY, thread_get},
    {"PATCH", "/threads/{thread}", "run", BODY, thread_patch},
    {"DELETE", "/threads/{thread}", "run", ANY, thread_remove},
    {"POST", "/threads/{thread}/copy", "run", ANY, thread_copy},
    {"GET", "/threads/{thread}/state", "read", NOBODY, thread_state_get},
    {"POST", "/threads/{thread}/state", "run", BODY, thread_state_post},
    {"GET", "/threads/{thread}/state/{checkpoint}", "read", NOBODY, thread_state_get},
    {"POST", "/threads/{thread}/state/checkpoint", "read", BODY, thread_state_at},
    {"GET", "/threads/{thread}/history", "read", NOBODY, thread_history_get},
    {"POST", "/threads/{thread}/history", "read", ANY, thread_history_post},
    {"GET", "/threads/{thread}/runs", "read", NOBODY, runs_list},
    {"POST", "/threads/{thread}/runs", "run", BODY, runs_create},
    {"POST", "/threads/{thread}/runs/stream", "run", BODY, runs_stream},
    {"POST", "/threads/{thread}/runs/wait", "run", BODY, runs_wait},
    {"POST", "/threads/{thread}/runs/crons", "run", BODY, crons_create_for_thread},
    {"GET", "/threads/{thread}/runs/{run}", "read", NOBODY, run_get},
    {"DELETE", "/threads/{thread}/runs/{run}", "run", ANY, run_remove},
    {"GET", "/threads/{thread}/runs/{run}/join", "read", NOBODY, run_join},
    {"GET", "/threads/{thread}/runs/{run}/stream", "read", NOBODY, run_stream},
    {"POST", "/threads/{thread}/runs/{run}/cancel", "run", ANY, run_stop},
    {"POST", "/runs", "run", BODY, stateless_create},
    {"POST", "/runs/stream", "run", BODY, stateless_stream},
    {"POST", "/runs/wait", "run", BODY, stateless_wait},
    {"POST", "/runs/batch", "run", BODY, runs_batch},
    {"POST", "/runs/cancel", "run", BODY, runs_stop},
    {"POST", "/runs/crons", "run", BODY, crons_create},
    {"POST", "/runs/crons/search", "read", ANY, crons_search},
    {"POST", "/runs/crons/count", "read", ANY, crons_count},
    {"GET", "/runs/crons/{cron}", "read", NOBODY, cron_get},
    {"PATCH", "/runs/crons/{cron}", "run", BODY, cron_patch},
    {"DELETE", "/runs/crons/{cron}", "run", ANY, cron_delete},
    {"PUT", "/store/items", "run", BODY, store_put},
    {"GET", "/store/items", "read", NOBODY, store_get},
    {"DELETE", "/store/items", "run", BODY, store_delete},
    {"POST", "/store/items/search", "read", BODY, store_search},
    {"POST", "/store/namespaces", "read", BODY, store_namespaces},
};

/* ---- Answers ---- */

void reply(struct exchange *exchange, int32_t status, tn_value json) {
    tn_value response =
        status == 204 ? tn_build("{s:i}", "status", 204) : tn_build("{s:i, s:v}", "status", (int)status, "json", json);
    serving_respond_take(&exchange->langgraph->serving, exchange->number, response);
    tn_release(json);
}

static tn_value detail(const char *message) {
    return tn_build("{s:V}", "detail", tn_text_lossy(message, strlen(message)));
}

void refuse(struct exchange *exchange, int32_t status, const char *format, ...) {
    char text[600];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    reply(exchange, status, detail(text));
}

/* Messages of the host name ids as they are stored. */
static void remove_owner(char *text, const char *owner) {
    char prefix[256];
    size_t length = (size_t)snprintf(prefix, sizeof prefix, "@%.200s:", owner);
    if (*owner == '\0') return;
    for (char *at = strstr(text, prefix); at != NULL; at = strstr(at, prefix))
        memmove(at, at + length, strlen(at + length) + 1);
}

void refuse_error(struct exchange *exchange, tn_value error) {
    int32_t status = serving_error_status(error);
    char text[500];
    (void)snprintf(text, sizeof text, "%s", tn_get_text(error, "message", "the server could not do this"));
    remove_owner(text, tn_get_text(tn_get(exchange->request, "caller"), "owner", ""));
    refuse(exchange, status == 400 ? 422 : status, "%s [%s]", text, tn_get_text(error, "code", "INTERNAL"));
}

void reply_page(struct exchange *exchange, tn_value list) {
    uint64_t from = (uint64_t)body_number(exchange, "offset", 0, INT32_MAX);
    uint64_t limit = (uint64_t)body_number(exchange, "limit", 10, LIST_MAX), count = tn.value->count(list);
    tn_value page = NULL;
    if (from > count) from = count;
    if (limit > count - from) limit = count - from;
    (void)tn.value->slice(list, from, limit, &page);
    tn_release(list);
    reply(exchange, 200, page);
}

const char *param(const struct exchange *exchange, const char *name) {
    return tn_get_text(tn_get(exchange->request, "params"), name, "");
}

const char *query(const struct exchange *exchange, const char *name) {
    return tn_get_text(tn_get(exchange->request, "query"), name, NULL);
}

int64_t body_number(const struct exchange *exchange, const char *name, int64_t fallback, int64_t most) {
    const char *text = query(exchange, name);
    int64_t number = tn_get_int(exchange->body, name, text != NULL ? strtoll(text, NULL, 10) : fallback);
    return number < 0 ? 0 : number > most ? most : number;
}

void ok(struct exchange *exchange) { reply(exchange, 200, tn_build("{s:b}", "ok", 1)); }

void info(struct exchange *exchange) {
    reply(exchange, 200,
          tn_build("{s:s, s:s, s:{s:b, s:b, s:b}}", "version", "0.1.0", "server", "tenon", "flags", "assistants", 1,
                   "crons", 1, "langsmith", 0));
}

/* ---- Exchanges ---- */

static void TN_ABI on_answer(void *user, int32_t status, tn_value value) {
    struct exchange *exchange = user;
    exchange->call = 0;
    exchange->then(exchange, status == TN_OK, value);
}

void ask(struct exchange *exchange, const char *method, tn_value params, step *then) {
    exchange->then = then;
    serving_call_take(&exchange->langgraph->serving, exchange->caller, method, params, on_answer, exchange,
                      &exchange->call);
    if (exchange->call == 0) refuse(exchange, 503, "memory ran out");
}

static tn_value refusal(const struct serving_row *row, tn_value refused) {
    (void)row;
    return tn_build("{s:I, s:V}", "status", tn_get_int(refused, "status", 500), "json",
                    detail(tn_get_text(refused, "message", "the request was refused")));
}

static void begin(void *plugin, struct exchange *exchange, const struct serving_row *row) {
    exchange->langgraph = plugin;
    exchange->body = tn_get(exchange->request, "json");
    if (exchange->body != NULL && tn.value->kind(exchange->body) != TN_OBJECT && row->begin != runs_batch)
        refuse(exchange, 422, "the body must be a JSON object");
    else
        row->begin(exchange);
}

static void on_event(struct exchange *exchange, int32_t event, tn_value value) {
    (void)value;
    if (exchange->on_event != NULL) exchange->on_event(exchange, event);
    if (event != TN_SERVER_CLOSED) return;
    serving_cancel(&exchange->langgraph->serving, exchange->call);
    serving_graphs_cancel(exchange->lookup);
    const tn_value values[] = {exchange->graphs, exchange->known, exchange->record,
                               exchange->list,   exchange->made,  exchange->assistant};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) tn_release(values[i]);
}

static const struct serving_protocol protocol = {.size = sizeof(struct exchange),
                                                 .rows = routes,
                                                 .count = sizeof routes / sizeof *routes,
                                                 .begin = begin,
                                                 .event = on_event,
                                                 .refusal = refusal};

/* ---- The plugin ---- */

static void TN_ABI deinit(void *self) {
    (void)self;
    struct langgraph *langgraph = langgraph_state;
    if (langgraph == NULL) return;
    serving_exchanges_close(&langgraph->exchanges);
    crons_close(langgraph);
    runs_free(langgraph);
    webhooks_close(langgraph);
    langgraph_state = NULL;
    serving_free(langgraph);
}

static int32_t TN_ABI init(void *self, tn_value config) {
    struct langgraph *langgraph = serving_alloc(sizeof *langgraph);
    if (langgraph == NULL) return TN_NO_MEMORY;
    if (!serving_open(&langgraph->serving)) {
        serving_free(langgraph);
        return TN_OK;
    }
    langgraph_state = langgraph;
    webhooks_open(langgraph, config);
    int32_t status = serving_exchanges_open(&langgraph->exchanges, &langgraph->serving, &protocol, langgraph);
    if (status == TN_OK)
        crons_open(langgraph);
    else
        deinit(self);
    return status;
}

TN_LIFECYCLE(init, NULL, deinit)
