/*
 * card.c - agent cards: hybrid ones, which clients of 0.3 and of 1.0 read.
 */
#include "a2a_server.h"

#define VERSION   "0.1.0"
#define CARD_AGE  "private, max-age=60" /* a card needs a key */
#define MODES_IN  "[\"text/plain\", \"application/json\", \"image/*\", \"audio/*\", \"video/*\", \"application/pdf\"]"
#define MODES_OUT "[\"text/plain\", \"application/json\"]"

static tn_value json(const char *text) { return tn_from_json(text, strlen(text)); }

/* The address and the version of each interface; those of 0.3 stand last, because clients of 1.0 take the first. */
static tn_value interfaces_of(const char *url, bool hybrid) {
    tn_value list =
        tn_build("[{s:s, s:s, s:s}, {s:s, s:s, s:s}]", "url", url, "protocolBinding", "JSONRPC", "protocolVersion",
                 "1.0", "url", url, "protocolBinding", "HTTP+JSON", "protocolVersion", "1.0");
    if (hybrid)
        (void)tn_append_take(
            &list, tn_build("{s:s, s:s, s:s}", "url", url, "protocolBinding", "JSONRPC", "protocolVersion", "0.3"));
    return list;
}

/* What clients of 0.3 read. A security scheme has its members of 0.3 beside the one of 1.0. Takes the card. */
static tn_value with_old_members(tn_value card, const char *url) {
    if (card != NULL) card = tn_set_take(card, "url", tn_text(url));
    if (card != NULL) card = tn_set_take(card, "preferredTransport", tn_text("JSONRPC"));
    if (card != NULL) card = tn_set_take(card, "protocolVersion", tn_text("0.3.0"));
    if (card != NULL) card = tn_set_take(card, "supportsAuthenticatedExtendedCard", tn_bool(1));
    if (card != NULL) card = tn_set_take(card, "security", tn_build("[{s:[]}]", "bearer"));
    return card;
}

static tn_value security_of(bool hybrid) {
    tn_value scheme = tn_build("{s:{s:s}}", "httpAuthSecurityScheme", "scheme", "Bearer");
    if (hybrid && scheme != NULL) scheme = tn_set_take(scheme, "type", tn_text("http"));
    if (hybrid && scheme != NULL) scheme = tn_set_take(scheme, "scheme", tn_text("bearer"));
    return tn_build("{s:V}", "bearer", scheme);
}

static tn_value skill_of(const struct serving_graph *graph, const char *title, const char *description) {
    return tn_build("{s:s, s:s, s:s, s:[s]}", "id", graph->name, "name", title, "description", description, "tags",
                    "graph");
}

tn_value card_of(tn_value item, const char *origin, bool hybrid, bool pushes) {
    struct serving_graph graph;
    struct tn_text_buffer url = TN_TEXT_BUFFER(4096);
    serving_graph_read(item, &graph);
    const char *title = graph.title != NULL ? graph.title : graph.name;
    const char *description = graph.description != NULL ? graph.description : title;
    (void)tn_text_append_format(&url, "%s/a2a/", origin);
    (void)tn_text_append_percent(&url, graph.name, strlen(graph.name), "");
    const char *at = tn_text_chars(&url);
    tn_value card = tn_build(
        "{s:s, s:s, s:s, s:V, s:{s:b, s:b, s:b}, s:V, s:V, s:[V], s:V, s:[{s:{s:{s:[]}}}]}", "name", title,
        "description", description, "version", VERSION, "supportedInterfaces", interfaces_of(at, hybrid),
        "capabilities", "streaming", 1, "pushNotifications", (int)pushes, "extendedAgentCard", 1, "defaultInputModes",
        json(MODES_IN), "defaultOutputModes", json(MODES_OUT), "skills", skill_of(&graph, title, description),
        "securitySchemes", security_of(hybrid), "securityRequirements", "schemes", "bearer", "list");
    if (hybrid) card = with_old_members(card, at);
    tn_text_free(&url);
    return card;
}

/* ---- Requests ---- */

static void lookup_event(struct exchange *exchange, int32_t event) {
    if (event == TN_SERVER_CLOSED) serving_graphs_cancel(exchange->object);
}

static void reply_card(struct exchange *exchange, tn_value card) {
    tn_value text = tn_to_json(card);
    uint64_t length = 0, hash = UINT64_C(14695981039346656037);
    const char *chars = tn_chars(text, &length);
    char etag[24];
    for (uint64_t i = 0; i < length; i++) hash = (hash ^ (unsigned char)chars[i]) * UINT64_C(1099511628211);
    (void)snprintf(etag, sizeof etag, "\"%016llx\"", (unsigned long long)hash);
    tn_value response = tn_build("{s:i, s:{s:s, s:s, s:s}, s:v}", "status", 200, "headers", "Cache-Control", CARD_AGE,
                                 "Vary", "A2A-Version", "ETag", etag, "json", card);
    (void)exchange->a2a->serving.server->respond(tn.host, exchange->number, response);
    tn_release(response);
    tn_release(text);
    tn_release(card);
}

static void on_graphs(void *user, tn_value graphs, tn_value error) {
    struct exchange *exchange = user;
    tn_value item = serving_graph_find(graphs, exchange->graph);
    exchange->object = NULL;
    exchange->on_event = NULL;
    if (error != NULL) {
        exchange_fail_of(exchange, error);
        return;
    }
    if (item == NULL) {
        exchange_fail(exchange, A2A_NO_AGENT, "there is no agent of this name");
        return;
    }
    tn_value card = card_of(item, tn_get_text(exchange->request, "origin", ""), exchange->old && exchange->a2a->hybrid,
                            exchange->a2a->http != NULL);
    if (card == NULL)
        exchange_abort(exchange);
    else if (exchange->is_card)
        reply_card(exchange, card);
    else
        exchange_reply(exchange, RESULT_OTHER, card);
}

static void begin(struct exchange *exchange) {
    struct serving *serving = &exchange->a2a->serving;
    exchange->on_event = lookup_event;
    exchange->object = exchange->graph != NULL
                           ? serving_graph_named(serving, exchange->caller, exchange->graph, on_graphs, exchange)
                           : serving_graphs(serving, exchange->caller, on_graphs, exchange);
    if (exchange->object == NULL) exchange_abort(exchange);
}

void card_begin(struct exchange *exchange) {
    exchange->is_card = true;
    begin(exchange);
}

void extended_begin(struct exchange *exchange) { begin(exchange); }
