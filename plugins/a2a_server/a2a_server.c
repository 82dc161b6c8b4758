/*
 * a2a_server.c - the plugin `tenon.a2a_server`: routes, the requests that are open, and their answers.
 */
#include "push.h"

TN_PLUGIN("tenon.a2a_server", "0.1.0", "Graphs as A2A agents")

static struct a2a *a2a_state; /* between init and deinit */

#define BODY       "{\"refusals\": true, \"body\": {\"max\": 16777216}}"
#define NOBODY     "{\"refusals\": true}"
#define SMALL      "{\"refusals\": true, \"body\": {\"max\": 65536}}"
#define OPTIONAL   "{\"refusals\": true, \"body\": {\"max\": 65536, \"optional\": true}}"
#define OLD_CONFIG "tasks/pushNotificationConfig/"
#define CONFIGS    "/a2a/{graph}/tasks/{id}/pushNotificationConfigs"

static const char CANCELS[] = "cancel", SUBSCRIBES[] = "subscribe";

static exchange_begin rpc_begin, no_action;

static const struct serving_row routes[] = {
    {"GET", "/.well-known/agent-card.json", "read", NOBODY, card_begin},
    {"GET", "/a2a/{graph}/.well-known/agent-card.json", "read", NOBODY, card_begin},
    {"GET", "/a2a/{graph}/extendedAgentCard", "read", NOBODY, extended_begin},
    {"POST", "/a2a/{graph}", "run", BODY, rpc_begin},
    {"POST", "/a2a/{graph}/", "run", BODY, rpc_begin}, /* clients that join an empty path to the address */
    {"POST", "/a2a/{graph}/message:send", "run", BODY, send_begin},
    {"POST", "/a2a/{graph}/message:stream", "run", BODY, stream_begin},
    {"GET", "/a2a/{graph}/tasks", "run", NOBODY, list_begin},
    {"GET", "/a2a/{graph}/tasks/{id}", "run", NOBODY, get_begin},
    {"POST", "/a2a/{graph}/tasks/{id}", "run", OPTIONAL, no_action},
    {"GET", CONFIGS, "run", NOBODY, push_list_begin},
    {"POST", CONFIGS, "run", SMALL, push_create_begin},
    {"GET", CONFIGS "/{config}", "run", NOBODY, push_get_begin},
    {"DELETE", CONFIGS "/{config}", "run", OPTIONAL, push_delete_begin},
};

static const struct rpc_method {
    const char *name, *old;
    exchange_begin *begin;
    tn_value (*from_old)(tn_value params);
} rpc_methods[] = {
    {"SendMessage", "message/send", send_begin, wire_params_from_old},
    {"SendStreamingMessage", "message/stream", stream_begin, wire_params_from_old},
    {"GetTask", "tasks/get", get_begin, wire_params_from_old},
    {"ListTasks", "", list_begin, wire_params_from_old},
    {"CancelTask", "tasks/cancel", cancel_begin, wire_params_from_old},
    {"SubscribeToTask", "tasks/resubscribe", subscribe_begin, wire_params_from_old},
    {"CreateTaskPushNotificationConfig", OLD_CONFIG "set", push_create_begin, wire_push_params_from_old},
    {"GetTaskPushNotificationConfig", OLD_CONFIG "get", push_get_begin, wire_push_params_from_old},
    {"ListTaskPushNotificationConfigs", OLD_CONFIG "list", push_list_begin, wire_push_params_from_old},
    {"DeleteTaskPushNotificationConfig", OLD_CONFIG "delete", push_delete_begin, wire_push_params_from_old},
    {"GetExtendedAgentCard", "agent/getAuthenticatedExtendedCard", extended_begin, wire_params_from_old},
};

/* ---- Answers ---- */

static void respond_take(struct exchange *exchange, int32_t status, tn_value body) {
    serving_respond_take(&exchange->a2a->serving, exchange->number,
                         tn_build("{s:i, s:V}", "status", (int)status, "json", body));
}

/* The value in the version of the client, and for JSON-RPC in its envelope. New. */
static tn_value outgoing(const struct exchange *exchange, enum a2a_result kind, tn_value value) {
    tn_value result = exchange->old ? wire_old(kind, value) : tn_retain(value);
    if (exchange->id == NULL) return result;
    return tn_build("{s:s, s:v, s:V}", "jsonrpc", "2.0", "id", exchange->id, "result", result);
}

void exchange_reply(struct exchange *exchange, enum a2a_result kind, tn_value value) {
    respond_take(exchange, 200, outgoing(exchange, kind, value));
    tn_release(value);
}

void exchange_event(struct follower *follower, tn_value event) {
    struct exchange *exchange = follower->exchange;
    tn_value sent = tn_build("{s:V}", "data", outgoing(exchange, RESULT_EVENT, event));
    if (sent != NULL && exchange->a2a->serving.server->event(tn.host, exchange->number, sent) == TN_SERVER_FULL)
        follower->full = true;
    tn_release(sent);
}

void exchange_fail(struct exchange *exchange, enum a2a_kind kind, const char *message) {
    int32_t status = error_status(kind);
    bool of_rpc = exchange->id != NULL && status != 401 && status != 403 && status != 429 && status != 503;
    respond_take(exchange, of_rpc ? 200 : status, error_body(kind, message, exchange->id));
}

void exchange_fail_of(struct exchange *exchange, tn_value error) {
    exchange_fail(exchange, error_kind_of(error), tn_get_text(error, "message", "the request has failed"));
}

void exchange_problem(struct exchange *exchange, const struct a2a_problem *problem) {
    exchange_fail(exchange, problem->kind, problem->text);
}

void exchange_abort(struct exchange *exchange) {
    (void)exchange->a2a->serving.server->abort(tn.host, exchange->number);
}

/* ---- Requests ---- */

/* Header or query parameter `A2A-Version`; absent or empty is 0.3. False: another version. */
static bool read_version(struct exchange *exchange, char *text, size_t size) {
    const char *version = tn_get_text(tn_get(exchange->request, "headers"), "a2a-version", NULL);
    if (version == NULL) version = tn_get_text(tn_get(exchange->request, "query"), "A2A-Version", "");
    (void)snprintf(text, size, "%.20s", version);
    bool is_new = strcmp(text, "1.0") == 0 || strncmp(text, "1.0.", 4) == 0;
    exchange->old = !is_new;
    return is_new || *text == '\0' || strcmp(text, "0.3") == 0 || strncmp(text, "0.3.", 4) == 0;
}

/* The parameters of a query, which are all texts: new. */
static tn_value query_params(const struct exchange *exchange) {
    static const char *const numbers[] = {"pageSize", "historyLength"};
    tn_value query = tn_get(exchange->request, "query"), params = query != NULL ? tn_retain(query) : tn_build("{}");
    tn_value artifacts = tn_get(query, "includeArtifacts");
    for (size_t i = 0; params != NULL && i < sizeof numbers / sizeof *numbers; i++) {
        uint64_t length = 0;
        const char *chars = tn_chars(tn_get(query, numbers[i]), &length);
        tn_value number = chars != NULL ? tn_from_json(chars, length) : NULL;
        if (chars != NULL) params = tn_set_take(params, numbers[i], number != NULL ? number : tn_null());
    }
    if (params != NULL && artifacts != NULL)
        params = tn_set_take(params, "includeArtifacts", tn_bool(serving_is(artifacts, "true")));
    return params;
}

static void rpc_begin(struct exchange *exchange) {
    tn_value body = tn_get(exchange->request, "json");
    tn_value id = tn_get(body, "id"), params = tn_get(body, "params");
    int32_t kind = tn.value->kind(id);
    const char *name = tn_get_text(body, "method", NULL);
    char text[200], version[24];
    bool version_is_known = read_version(exchange, version, sizeof version);
    exchange->id = kind == TN_STRING || kind == TN_INT ? tn_retain(id) : tn_null();
    if (body == NULL) {
        exchange_fail(exchange, A2A_CONTENT_TYPE, "the body must be JSON, with the type application/json");
        return;
    }
    if (name == NULL || !serving_is(tn_get(body, "jsonrpc"), "2.0") ||
        (params != NULL && tn.value->kind(params) != TN_OBJECT)) {
        exchange_fail(exchange, A2A_INVALID_REQUEST,
                      "expected a request of JSON-RPC: {jsonrpc: \"2.0\", id, method, params?: {…}}");
        return;
    }
    if (!version_is_known) {
        (void)snprintf(text, sizeof text, "A2A-Version: found %.20s, expected 1.0 or 0.3", version);
        exchange_fail(exchange, A2A_VERSION, text);
        return;
    }
    for (size_t i = 0; i < sizeof rpc_methods / sizeof *rpc_methods; i++) {
        if (strcmp(exchange->old ? rpc_methods[i].old : rpc_methods[i].name, name) != 0) continue;
        exchange->params = exchange->old ? rpc_methods[i].from_old(params) : wire_params_named(params);
        rpc_methods[i].begin(exchange);
        return;
    }
    (void)snprintf(text, sizeof text, "the method %.60s does not exist in A2A %s%s", name,
                   exchange->old ? "0.3" : "1.0",
                   exchange->old ? "; a client of 1.0 sends the header A2A-Version: 1.0" : "");
    exchange_fail(exchange, A2A_NO_METHOD, text);
}

static void no_action(struct exchange *exchange) {
    exchange_fail(exchange, A2A_NO_METHOD, "expected /tasks/ID:cancel or /tasks/ID:subscribe");
}

/* `/tasks/ID`, `/tasks/ID:cancel` and `/tasks/ID:subscribe`. */
static void begin_action(struct exchange *exchange, const struct serving_row *route) {
    tn_value id = tn_get(tn_get(exchange->request, "params"), "id");
    uint64_t length = 0;
    const char *chars = tn_chars(id, &length), *colon = chars != NULL ? strrchr(chars, ':') : NULL;
    const char *action = colon != NULL ? colon + 1 : "";
    bool gets = route->begin == get_begin;
    exchange_begin *begin = strcmp(action, SUBSCRIBES) == 0         ? subscribe_begin
                            : strcmp(action, CANCELS) == 0 && !gets ? cancel_begin
                                                                    : route->begin;
    if (begin != route->begin) length = (uint64_t)(colon - chars);
    exchange->params = tn_set_take(query_params(exchange), "id", tn_text_n(chars, length));
    begin(exchange);
}

/* The parameters of a method: of a POST they are its body, else its query. */
static void begin(void *plugin, struct exchange *exchange, const struct serving_row *route) {
    char version[24], text[120];
    tn_value body = tn_get(exchange->request, "json");
    exchange->a2a = plugin;
    bool known = read_version(exchange, version, sizeof version), has_body = strcmp(route->method, "POST") == 0;
    exchange->graph = tn_get_text(tn_get(exchange->request, "params"), "graph", NULL);
    if (route->begin == card_begin || route->begin == rpc_begin) {
        route->begin(exchange);
    } else if (!known || exchange->old) {
        exchange->old = false;
        (void)snprintf(text, sizeof text, "A2A-Version: found %.20s, expected 1.0; 0.3 is served as JSON-RPC",
                       *version != '\0' ? version : "none, which means 0.3");
        exchange_fail(exchange, A2A_VERSION, text);
    } else if (route->begin == get_begin || route->begin == no_action) {
        begin_action(exchange, route);
    } else if (has_body && tn.value->kind(body) != TN_OBJECT) {
        exchange_fail(exchange, body == NULL ? A2A_CONTENT_TYPE : A2A_INVALID_PARAMS,
                      "the body must be an object as JSON, with the type application/json");
    } else {
        exchange->params = has_body ? wire_params_named(body) : query_params(exchange);
        route->begin(exchange);
    }
}

/* The host's refusals. A JSON-RPC request gets an answer of JSON-RPC. */
static tn_value refusal(const struct serving_row *route, tn_value refused) {
    int32_t status = (int32_t)tn_get_int(refused, "status", 500);
    bool of_rpc = route->begin == rpc_begin;
    tn_value given = tn_get(tn_get(refused, "json"), "id"), id = NULL;
    enum a2a_kind kind = status == 400 && of_rpc ? A2A_PARSE : error_kind_of_status(status);
    if (of_rpc)
        id = tn.value->kind(given) == TN_STRING || tn.value->kind(given) == TN_INT ? tn_retain(given) : tn_null();
    tn_value response = tn_build("{s:i, s:V}", "status", (int)status, "json",
                                 error_body(kind, tn_get_text(refused, "message", "the request was refused"), id));
    tn_release(id);
    return response;
}

static void on_event(struct exchange *exchange, int32_t event, tn_value value) {
    (void)value;
    if (exchange->on_event != NULL) exchange->on_event(exchange, event);
    if (event != TN_SERVER_CLOSED) return;
    list_drop(exchange);
    tn_release(exchange->id);
    tn_release(exchange->params);
}

static const struct serving_protocol protocol = {.size = sizeof(struct exchange),
                                                 .rows = routes,
                                                 .count = sizeof routes / sizeof *routes,
                                                 .begin = begin,
                                                 .event = on_event,
                                                 .refusal = refusal};

/* ---- The plugin ---- */

/* Without `push: {allow}` there are no notifications. */
static void read_push(struct a2a *a2a, tn_value config) {
    tn_value kept = serving_origins_read(tn_get(tn_get(config, "push"), "allow"), "tenon.a2a_server: push.allow");
    a2a->push_allow = kept;
    if (kept != NULL) a2a->http = tn_easy_interface(tn.host, TN_HTTP_1, sizeof(tn_http_1));
    if (kept != NULL && a2a->http == NULL)
        tn_log(TN_LOG_ERROR, "tenon.a2a_server: there are no push notifications, because no plugin provides HTTP");
}

static void TN_ABI deinit(void *self) {
    (void)self;
    struct a2a *a2a = a2a_state;
    if (a2a == NULL) return;
    serving_exchanges_close(&a2a->exchanges);
    tasks_free(a2a);
    a2a_state = NULL;
    tn_release(a2a->push_allow);
    serving_free(a2a);
}

static int32_t TN_ABI init(void *self, tn_value config) {
    struct a2a *a2a = serving_alloc(sizeof *a2a);
    if (a2a == NULL) return TN_NO_MEMORY;
    if (!serving_open(&a2a->serving)) {
        serving_free(a2a);
        return TN_OK;
    }
    tn_value hybrid = tn_get(config, "hybrid_card");
    a2a->hybrid = hybrid == NULL || serving_true(hybrid);
    read_push(a2a, config);
    a2a_state = a2a;
    int32_t status = serving_exchanges_open(&a2a->exchanges, &a2a->serving, &protocol, a2a);
    if (status != TN_OK) deinit(self);
    return status;
}

TN_LIFECYCLE(init, NULL, deinit)
