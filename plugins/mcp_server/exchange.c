/*
 * exchange.c - requests of clients, and how their answers are sent.
 */
#include "exchange.h"
#include "methods.h"
#include "session.h"
#include "stream.h"

#define META_SERVER "io.modelcontextprotocol/serverInfo"

/* ---- Life ---- */

static void exchange_free(struct exchange *exchange) {
    struct plugin *plugin = exchange->plugin;
    for (struct exchange **at = &plugin->exchanges; *at != NULL; at = &(*at)->next)
        if (*at == exchange) {
            *at = exchange->next;
            break;
        }
    if (exchange->session != NULL) {
        exchange->session->exchange_count--;
        session_forget_exchange(exchange->session, exchange);
    }
    serving_graphs_cancel(exchange->lookup);
    serving_cancel(&plugin->serving, exchange->call);
    serving_run_close(exchange->run);
    task_release(exchange);
    tn_value owned[] = {exchange->task,      exchange->record,    exchange->found,     exchange->made,
                        exchange->request,   exchange->id,        exchange->params,    exchange->meta,
                        exchange->catalogue, exchange->entry,     exchange->variables, exchange->graphs,
                        exchange->questions, exchange->responses, exchange->state_ids, exchange->capabilities};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) tn_release(owned[i]);
    serving_free(exchange->run_id);
    serving_free(exchange);
}

static struct exchange *exchange_new(struct plugin *plugin, struct session *session, uint64_t http, tn_value request,
                                     const struct message *message) {
    struct exchange *exchange = serving_alloc(sizeof *exchange);
    if (exchange == NULL) return NULL;
    *exchange = (struct exchange){.next = plugin->exchanges,
                                  .plugin = plugin,
                                  .session = session,
                                  .http = http,
                                  .caller = serving_caller(request),
                                  .modern = message->modern,
                                  .may_stream = message_accepts(request, "text/event-stream"),
                                  .request = tn_retain(request),
                                  .id = tn_retain(message->id),
                                  .params = tn_retain(message->params),
                                  .meta = tn_retain(message->meta)};
    tn_value declared = message->modern ? tn_get(message->meta, "io.modelcontextprotocol/clientCapabilities")
                                        : (session != NULL ? session->capabilities : NULL);
    exchange->capabilities = tn_retain(declared);
    caller_text(request, exchange->owner);
    if (session != NULL) session->exchange_count++;
    plugin->exchanges = exchange;
    return exchange;
}

static bool session_has_room(const struct session *session, struct problem *problem) {
    if (session == NULL || session->exchange_count < MCPS_CALLS_MAX) return true;
    return problem_set(problem, 429, MCPS_INTERNAL, "a session has at most %d open requests", MCPS_CALLS_MAX);
}

void exchange_start(struct plugin *plugin, struct session *session, uint64_t http, tn_value request,
                    const struct message *message) {
    struct problem problem = {0};
    const struct method *method = method_find(plugin, message->method, message->modern);
    struct exchange *exchange = NULL;
    if (method == NULL)
        (void)problem_set(&problem, message->modern ? 404 : 200, MCPS_METHOD_NOT_FOUND,
                          "the method `%.80s` does not exist", message->method);
    else if (session_has_room(session, &problem))
        exchange = exchange_new(plugin, session, http, request, message);
    if (exchange == NULL) {
        if (problem.status == 0) (void)problem_set(&problem, 500, MCPS_INTERNAL, "memory ran out");
        plugin_respond_take(plugin, http, problem.status, NULL, reply_error(message->id, &problem));
        return;
    }
    exchange->method = method;
    method->run(exchange);
}

/* ---- Answers ---- */

struct stream *exchange_stream(struct exchange *exchange) {
    if (exchange->stream == NULL && exchange->http != 0 && exchange->may_stream)
        exchange->stream = stream_new(exchange->plugin, exchange->session, exchange->http);
    return exchange->stream;
}

void exchange_notify(struct exchange *exchange, tn_value notification) {
    struct stream *stream = exchange_stream(exchange);
    if (stream == NULL) return; /* the client reads no stream, and gets only the answer */
    if (stream_send(stream, notification) == TN_SERVER_FULL && exchange->run != NULL) serving_run_pause(exchange->run);
}

static void send_take(struct exchange *exchange, int32_t status, tn_value json) {
    if (exchange->stream != NULL) {
        if (json != NULL) (void)stream_send(exchange->stream, json);
        stream_finish(exchange->stream);
        tn_release(json);
    } else if (exchange->http != 0) {
        tn_value headers =
            exchange->session != NULL ? tn_build("{s:s}", "mcp-session-id", exchange->session->id) : NULL;
        plugin_respond_take(exchange->plugin, exchange->http, status, headers, json);
        tn_release(headers);
    } else {
        tn_release(json);
    }
    exchange_free(exchange);
}

/* The members that every result of 2026-07-28 has. */
static tn_value modern_result_take(const struct exchange *exchange, tn_value result) {
    if (tn_get(result, "resultType") == NULL) result = tn_set_take(result, "resultType", tn_text("complete"));
    tn_value meta = tn_get(result, "_meta");
    if (result != NULL && tn_get(meta, META_SERVER) == NULL) {
        tn_value all = tn_set_take(meta != NULL ? tn_retain(meta) : tn_build("{}"), META_SERVER,
                                   tn_retain(exchange->plugin->info));
        result = tn_set_take(result, "_meta", all);
    }
    if (result != NULL && exchange->method->cached && serving_is(tn_get(result, "resultType"), "complete")) {
        result = tn_set_take(result, "ttlMs", tn_int(exchange->method->ttl_ms));
        result = tn_set_take(result, "cacheScope", tn_text("private"));
    }
    return result;
}

void exchange_result_take(struct exchange *exchange, tn_value result) {
    struct problem problem = {0};
    if (result != NULL && exchange->modern) result = modern_result_take(exchange, result);
    tn_value json = result != NULL ? reply_result_take(exchange->id, result) : NULL;
    if (json == NULL) {
        (void)problem_set(&problem, 500, MCPS_INTERNAL, "memory ran out");
        json = reply_error(exchange->id, &problem);
    }
    send_take(exchange, problem.status != 0 ? problem.status : 200, json);
}

void exchange_fail(struct exchange *exchange, struct problem *problem) {
    tn_value json = reply_error(exchange->id, problem);
    tn_release(problem->data);
    problem->data = NULL;
    send_take(exchange, problem->status, json);
}

void exchange_leave_stream(struct exchange *exchange) { exchange_free(exchange); }

void exchange_cancel(struct exchange *exchange) {
    struct problem problem = {0};
    bool of_task = exchange->task_id[0] != '\0' && !exchange->begins_task; /* which continues */
    if (exchange->run != NULL && !of_task) serving_run_cancel(exchange->run);
    if (exchange->asked > 0 && !of_task) call_abandon(exchange);
    (void)problem_set(&problem, 200, MCPS_INTERNAL, "the request was cancelled");
    send_take(exchange, 200, exchange->stream == NULL ? reply_error(exchange->id, &problem) : NULL);
}

/* ---- By their HTTP requests ---- */

struct exchange *exchange_find(const struct plugin *plugin, const struct session *session, tn_value id) {
    for (struct exchange *exchange = plugin->exchanges; exchange != NULL; exchange = exchange->next)
        if (exchange->session == session && exchange->id != NULL && tn.value->equal(exchange->id, id)) return exchange;
    return NULL;
}

struct exchange *exchange_of(const struct plugin *plugin, uint64_t http) {
    for (struct exchange *exchange = plugin->exchanges; exchange != NULL; exchange = exchange->next)
        if (exchange->http == http || (exchange->stream != NULL && exchange->stream->http == http)) return exchange;
    return NULL;
}

void exchanges_on_closed(struct plugin *plugin, uint64_t http) {
    struct exchange *exchange = exchange_of(plugin, http);
    if (exchange == NULL) return;
    if (exchange->http == http) exchange->http = 0;
    if (exchange->stream != NULL && exchange->stream->http == http) exchange->stream->http = 0;
    if (exchange->run != NULL) serving_run_flow(exchange->run); /* what it sends is kept, or dropped */
    if (exchange->modern && !exchange->detached) exchange_cancel(exchange);
}

void exchanges_on_room(const struct plugin *plugin, uint64_t http) {
    struct exchange *exchange = exchange_of(plugin, http);
    if (exchange != NULL && exchange->run != NULL) serving_run_flow(exchange->run);
}

void exchanges_end_session(struct plugin *plugin, const struct session *session) {
    for (struct exchange *exchange = plugin->exchanges; exchange != NULL;) {
        struct exchange *next = exchange->next;
        if (exchange->session == session) exchange_cancel(exchange);
        exchange = next;
    }
}

void exchanges_free(struct plugin *plugin) {
    while (plugin->exchanges != NULL) exchange_free(plugin->exchanges);
}
