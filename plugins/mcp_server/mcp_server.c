/*
 * mcp_server.c - entry of the plugin: its routes, and which part handles a request.
 *
 *   POST /mcp ── message_read ─┬─ 2026-07-28 ─────────────▶ exchange
 *                              ├─ initialize ─────────────▶ exchange, which makes a session
 *                              └─ session: request ───────▶ exchange
 *                                          notification, response
 *   GET, DELETE /mcp ─▶ session
 */
#include "methods.h"
#include "session.h"
#include "stream.h"
#include "tasks.h"
#include <sys/random.h>

TN_EASY_HIDDEN struct tn_easy tn;
TN_EASY_HIDDEN tn_easy_component *tn_easy_components;

void caller_text(tn_value request, char out[256]) {
    tn_value caller = tn_get(request, "caller");
    (void)snprintf(out, 256, "%.120s\n%.120s", tn_get_text(caller, "owner", ""), tn_get_text(caller, "name", ""));
}

tn_value plugin_capabilities(const struct plugin *plugin, const char *version) {
    bool has = serving_true(tn_get(plugin->config, "tasks"));
    bool modern = strcmp(version, MCPS_MODERN) >= 0, legacy = !modern && strcmp(version, MCPS_LEGACY) >= 0;
    tn_value extensions = has && modern ? tn_build("{s:{}}", MCPS_TASKS_EXTENSION) : NULL;
    tn_value tasks =
        has && legacy ? tn_build("{s:{}, s:{}, s:{s:{s:{}}}}", "list", "cancel", "requests", "tools", "call") : NULL;
    tn_value tools = tn_build("{s:b}", "listChanged", 1), prompts = tn_build("{s:b}", "listChanged", 1);
    return tn_build("{s:V, s:V, s:{s:b, s:b}, s:{}, s:{}, s:V*, s:V*}", "tools", tools, "prompts", prompts, "resources",
                    "subscribe", 1, "listChanged", 1, "completions", "logging", "extensions", extensions, "tasks",
                    tasks);
}

void plugin_respond_take(const struct plugin *plugin, uint64_t http, int32_t status, tn_value headers, tn_value json) {
    tn_value response = tn_build("{s:I, s:v*, s:v*}", "status", (int64_t)status, "headers", headers, "json", json);
    if (response != NULL) (void)plugin->serving.server->respond(tn.host, http, response);
    tn_release(response);
    tn_release(json);
}

void plugin_list_changed(struct plugin *plugin, const char *caller, const char *list) {
    char method[60];
    plugin_forget_catalogues(plugin);
    (void)snprintf(method, sizeof method, "notifications/%.20s/list_changed", list);
    tn_value notification = tn_build("{s:s, s:s}", "jsonrpc", "2.0", "method", method);
    for (struct session *session = plugin->sessions; session != NULL; session = session->next)
        if (caller == NULL || strcmp(session->caller, caller) == 0) session_notify(session, notification);
    tn_release(notification);
    listeners_list_changed(plugin, caller, list);
}

void plugin_resource_updated(struct plugin *plugin, const char *caller, const char *uri) {
    tn_value notification = reply_notification_take("notifications/resources/updated", tn_build("{s:s}", "uri", uri));
    for (struct session *session = plugin->sessions; session != NULL; session = session->next)
        if (strcmp(session->caller, caller) == 0 && session_has_subscribed(session, uri))
            session_notify(session, notification);
    tn_release(notification);
    listeners_resource_updated(plugin, caller, uri);
}

/* ---- Messages of a session ---- */

static void on_notification(const struct plugin *plugin, const struct session *session, const struct message *message) {
    if (strcmp(message->method, "notifications/cancelled") != 0) return;
    struct exchange *exchange = exchange_find(plugin, session, tn_get(message->params, "requestId"));
    if (exchange != NULL) exchange_cancel(exchange);
}

static void on_response(struct session *session, const struct message *message) {
    struct exchange *exchange = NULL;
    tn_value key = NULL;
    if (!session_take_pending(session, message->id, &exchange, &key)) return;
    if (exchange != NULL) call_on_response(exchange, key, message->json);
    tn_release(key);
}

static bool check_session(tn_value request, const struct session *session, struct problem *problem) {
    const char *version = message_header(request, "mcp-protocol-version");
    if (session == NULL && message_header(request, "mcp-session-id") == NULL)
        return problem_set(problem, 400, MCPS_INVALID_REQUEST,
                           "begin with `initialize`, or name the version " MCPS_MODERN " in `_meta` and the headers");
    if (session == NULL)
        return problem_set(problem, 404, MCPS_INVALID_REQUEST, "the session does not exist, or has ended");
    if (version != NULL && !message_is_legacy_version(version))
        return problem_set(problem, 400, MCPS_INVALID_REQUEST, "the version `%.40s` is not supported in a session",
                           version);
    return true;
}

static void on_message(struct plugin *plugin, uint64_t http, tn_value request, const struct message *message) {
    struct problem problem = {0};
    bool begins = message->method != NULL && strcmp(message->method, "initialize") == 0 && message->id != NULL;
    struct session *session = message->modern || begins ? NULL : session_find(plugin, request);
    if (!message->modern && !begins && !check_session(request, session, &problem)) {
        plugin_respond_take(plugin, http, problem.status, NULL, reply_error(message->id, &problem));
        return;
    }
    if (message->method != NULL && message->id != NULL) {
        exchange_start(plugin, session, http, request, message);
        return;
    }
    plugin_respond_take(plugin, http, 202, NULL, NULL);
    if (session == NULL) return;
    if (message->method != NULL)
        on_notification(plugin, session, message);
    else
        on_response(session, message);
}

/* ---- Routes ---- */

static void on_post(struct plugin *plugin, uint64_t http, tn_value request) {
    struct message message = {0};
    struct problem problem = {0};
    if (!message_accepts(request, "application/json") && !message_accepts(request, "text/event-stream"))
        (void)problem_set(&problem, 406, MCPS_INVALID_REQUEST,
                          "`Accept` must contain application/json and text/event-stream");
    else if (message_read(request, &message, &problem)) {
        on_message(plugin, http, request, &message);
        return;
    }
    plugin_respond_take(plugin, http, problem.status, NULL, reply_error(message.id, &problem));
    tn_release(problem.data);
}

static void on_stream_closed(struct plugin *plugin, uint64_t http) {
    struct stream *stream = session_stream_of(plugin, http);
    exchanges_on_closed(plugin, http);
    if (stream != NULL) stream->http = 0;
}

static void on_drain(struct plugin *plugin, uint64_t http) {
    if (listener_close(plugin, http, true)) return;
    const struct exchange *exchange = exchange_of(plugin, http);
    struct stream *stream = session_stream_of(plugin, http);
    if (exchange != NULL && exchange->asked == 0) return; /* its run ends soon, and so does the stream */
    if (stream != NULL) stream_disconnect(stream);
}

/* A request that the host refuses, in the form of the protocol. */
static void on_refused(const struct plugin *plugin, uint64_t http, tn_value refused) {
    struct problem problem = {0};
    int64_t status = tn_get_int(refused, "status", 500);
    tn_value json = tn_get(refused, "json"), id = value_is_object(json) ? tn_get(json, "id") : NULL, headers = NULL;
    bool usable = tn_chars(id, NULL) != NULL || tn.value->kind(id) == TN_INT;
    (void)problem_set(&problem, (int32_t)status, status == 400 ? MCPS_PARSE_ERROR : MCPS_INVALID_REQUEST, "%.300s",
                      tn_get_text(refused, "message", "the request was refused"));
    if (status == 401) headers = tn_build("{s:V}", "www-authenticate", metadata_challenge(plugin, refused));
    plugin_respond_take(plugin, http, problem.status, headers, reply_error(usable ? id : NULL, &problem));
    tn_release(headers);
}

static void TN_ABI on_mcp(void *self, uint64_t http, int32_t event, tn_value value) {
    struct plugin *plugin = self;
    const char *method = event == TN_SERVER_REQUEST ? tn_get_text(value, "method", "") : "";
    switch (event) {
    case TN_SERVER_REQUEST:
        if (strcmp(method, "POST") == 0)
            on_post(plugin, http, value);
        else if (strcmp(method, "GET") == 0)
            session_get(plugin, http, value);
        else if (strcmp(method, "DELETE") == 0)
            session_delete(plugin, http, value);
        else
            plugin_respond_take(plugin, http, 200, NULL, NULL); /* HEAD */
        break;
    case TN_SERVER_ROOM: exchanges_on_room(plugin, http); break;
    case TN_SERVER_DRAIN: on_drain(plugin, http); break;
    case TN_SERVER_CLOSED:
        if (!listener_close(plugin, http, false)) on_stream_closed(plugin, http);
        break;
    case TN_SERVER_REFUSED: on_refused(plugin, http, value); break;
    default: break;
    }
}

static void add_routes(struct plugin *plugin) {
    static const char post[] = "{\"body\": {\"max\": 4194304, \"types\": [\"application/json\"]}, \"refusals\": true, "
                               "\"expose\": [\"mcp-session-id\", \"mcp-protocol-version\", \"www-authenticate\"], "
                               "\"summary\": \"Model Context Protocol\"}";
    static const char other[] = "{\"refusals\": true, \"expose\": [\"mcp-session-id\", \"www-authenticate\"]}";
    static const char metadata[] = "{\"origins\": \"*\", \"summary\": \"OAuth metadata of the MCP endpoint\"}";
    const struct serving *serving = &plugin->serving;
    if (serving_route(serving, "POST", "/mcp", "read", post, on_mcp, plugin) != TN_OK) return;
    (void)serving_route(serving, "GET", "/mcp", "read", other, on_mcp, plugin);
    (void)serving_route(serving, "DELETE", "/mcp", "read", other, on_mcp, plugin);
    (void)serving_route(serving, "GET", "/.well-known/oauth-protected-resource", "none", metadata, metadata_on_request,
                        plugin);
    (void)serving_route(serving, "GET", "/.well-known/oauth-protected-resource/mcp", "none", metadata,
                        metadata_on_request, plugin);
}

/* ---- Life ---- */

/* The secret of requestStates: configured, so that they survive a restart, or random. */
static int32_t read_secret(struct plugin *plugin) {
    uint64_t length = 0;
    const char *text = tn_chars(tn_get(plugin->config, "state_secret"), &length);
    if (text != NULL) {
        static const char label[] = "tenon.mcp_server requestState";
        state_hmac(text, length, label, sizeof label - 1, plugin->secret);
        return TN_OK;
    }
    if (getrandom(plugin->secret, sizeof plugin->secret, 0) == sizeof plugin->secret) return TN_OK;
    return tn_refuse("IO", "the system has no random numbers, which `requestState` is signed with");
}

/* Tools of the host have come or gone. */
static void TN_ABI on_host_event(void *user, int32_t status, tn_value value) {
    struct plugin *plugin = user;
    (void)value;
    if (status == TN_CHUNK)
        plugin_list_changed(plugin, NULL, "tools");
    else
        plugin->subscription = 0;
}

static void watch_components(struct plugin *plugin) {
    tn_value params = tn_build("{s:[s]}", "events", "component/changed");
    if (params != NULL &&
        plugin->serving.methods->subscribe(tn.host, params, on_host_event, plugin, &plugin->subscription) != TN_OK)
        plugin->subscription = 0;
    tn_release(params);
}

static int32_t TN_ABI mcps_init(void *self, tn_value config) {
    struct plugin *plugin = self;
    if (!serving_open(&plugin->serving)) return TN_OK; /* the host serves nothing */
    plugin->config = tn_retain(config);
    plugin->info = tn_build("{s:s, s:s*, s:s}", "name", tn_get_text(config, "name", "tenon"), "title",
                            tn_get_text(config, "title", NULL), "version", tn_get_text(config, "version", "0.1.0"));
    int32_t status = read_secret(plugin);
    if (status == TN_OK) {
        add_routes(plugin);
        watch_components(plugin);
    }
    return status;
}

static void TN_ABI mcps_deinit(void *self) {
    struct plugin *plugin = self;
    if (plugin->timer != 0) (void)tn.core->unpost(tn.host, plugin->timer);
    if (plugin->subscription != 0) (void)plugin->serving.methods->unsubscribe(tn.host, plugin->subscription);
    plugin->timer = plugin->subscription = 0;
    exchanges_free(plugin);
    while (plugin->sessions != NULL) session_end(plugin->sessions);
    listeners_free(plugin);
    plugin_forget_catalogues(plugin);
    tn_release(plugin->config);
    tn_release(plugin->info);
    plugin->config = plugin->info = NULL;
}

static const tn_lifecycle_1 lifecycle = {sizeof(tn_lifecycle_1), mcps_init, NULL, mcps_deinit};

static const void *TN_ABI mcps_get(void *self, const char *id) {
    (void)self;
    return strcmp(id, TN_LIFECYCLE_1) == 0 ? &lifecycle : NULL;
}

TN_EXPORT const tn_plugin *tn_plugin_entry_1(const tn_host *host) {
    static struct plugin plugin = {.base = {sizeof(tn_plugin), &plugin, mcps_get}};
    return tn_easy_entry(host) != NULL ? &plugin.base : NULL; /* also fills `tn` */
}
