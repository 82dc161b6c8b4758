/*
 * session.c - the messages of a session with a server, and the members that every message of an era has.
 *
 * The life of a session; session_set_state (handshake.c) is the only setter:
 *
 *     NEW ---- session_start ----> HANDSHAKE ---- the server agreed on a version ----> READY
 *                                      |                                                 |
 *                                      +------ no version, no server ---> FAILED <-------+ the server is gone
 *
 * handshake.c has the way to READY. Requests of the server that need no person or model (ping, roots/list) are answered
 * here; requests for capabilities that we did not announce are refused. All functions run on the loop's thread.
 */
#include "deferred.h"
#include "handshake.h"

/* ---- Members of every message ---- */

void put_client_info(tn_builder *builder, const char *key) {
    tn_put_begin(builder, key, TN_OBJECT);
    tn_put_text(builder, "name", "tenon");
    tn_put_text(builder, "title", "Tenon");
    tn_put_text(builder, "version", TENON_VERSION);
    tn.value->end(builder);
}

static void put_empty_object(tn_builder *builder, const char *key) {
    tn_put_begin(builder, key, TN_OBJECT);
    tn.value->end(builder);
}

void put_client_capabilities(const struct session *session, tn_builder *builder, const char *key, bool modern) {
    tn_put_begin(builder, key, TN_OBJECT);
    if (modern) {
        tn_put_begin(builder, "extensions", TN_OBJECT);
        put_empty_object(builder, MCP_TASKS_EXTENSION);
        tn.value->end(builder);
    }
    if (session->options.roots != NULL) put_empty_object(builder, "roots");
    if (session->options.sampling) {
        tn_put_begin(builder, "sampling", TN_OBJECT);
        put_empty_object(builder, "tools");
        tn.value->end(builder);
    }
    tn_put_begin(builder, "elicitation", TN_OBJECT);
    put_empty_object(builder, "form");
    put_empty_object(builder, "url");
    tn.value->end(builder);
    tn.value->end(builder);
}

static void put_members(tn_builder *builder, tn_value object) {
    for (uint64_t i = 0, count = tn.value->count(object); i < count; i++) {
        tn_value key, value;
        if (tn.value->entry(object, i, &key, &value) == TN_OK) tn_put_key(builder, key, value);
    }
}

/* Adds to `_meta` of `params`. Returns a new reference, or NULL if there are no params. The request's id is its
 * progress token. */
static tn_value add_meta(const struct session *session, tn_value params, int64_t token, bool modern) {
    if (!modern && token == 0) return tn_retain(params);
    tn_builder *builder = tn_builder_new();
    tn.value->begin(builder, TN_OBJECT);
    put_members(builder, tn_get(params, "_meta"));
    if (modern) {
        tn_put_text(builder, META "protocolVersion", MCP_MODERN);
        put_client_info(builder, META "clientInfo");
        put_client_capabilities(session, builder, META "clientCapabilities", true);
        tn_put_text(builder, META "logLevel", session->options.log_level);
    }
    if (token != 0) tn_put_int(builder, "progressToken", token);
    tn.value->end(builder);
    tn_value meta = tn_finish(builder);
    return tn_set_take(params != NULL ? tn_retain(params) : tn_build("{}"), "_meta", meta);
}
/* ---- Requests and notifications of the server ---- */

static void on_roots_request(struct session *session, tn_value id) {
    tn_value result = tn_build("{s:v}", "roots", session->options.roots);
    session_reply(session, id, result);
    tn_release(result);
}

static void on_server_rpc_request(void *user, tn_value id, const char *method, tn_value params, int64_t origin) {
    struct session *session = user;
    const struct session_events *events = &session->events;
    bool sampling = strcmp(method, "sampling/createMessage") == 0 && session->options.sampling;
    bool echo = strcmp(method, "initialize") == 0 || strcmp(method, "server/discover") == 0;
    char why[128];
    if (session->state == SESSION_HANDSHAKE && echo) {
        (void)snprintf(why, sizeof why, "it returned our `%s` and is not an MCP server; check `command`", method);
        session_fail(session, "PROTOCOL", why);
    } else if (session->modern) { /* servers of this era send no requests */
        log_format(TN_LOG_WARN, "server `%s`: it sent the request `%.60s`, which version " MCP_MODERN " does not have",
                   session->options.name, method);
    } else if (strcmp(method, "ping") == 0) {
        tn_value result = tn_build("{}");
        session_reply(session, id, result);
        tn_release(result);
    } else if (strcmp(method, "roots/list") == 0 && session->options.roots != NULL) {
        on_roots_request(session, id);
    } else if (sampling || strcmp(method, "elicitation/create") == 0) {
        events->question(events->user, id, method, params, origin);
    } else {
        (void)snprintf(why, sizeof why, "this client has no method `%.60s`", method);
        session_refuse(session, id, RPC_METHOD_NOT_FOUND, why);
    }
}

/* Returns false if the server has logged too much within MCP_LOGS_MS. */
static bool session_may_log(struct session *session) {
    int64_t now_ms = tn.core->monotonic_ns(tn.host) / 1000000;
    if (now_ms - session->log_ms > MCP_LOGS_MS) session->log_count = 0;
    if (session->log_count == 0) session->log_ms = now_ms;
    if (session->log_count == MCP_LOGS_MAX)
        log_format(TN_LOG_WARN, "server `%s`: it has logged %d messages within %d s; the next ones are left out",
                   session->options.name, MCP_LOGS_MAX, MCP_LOGS_MS / 1000);
    if (session->log_count <= MCP_LOGS_MAX) session->log_count++;
    return session->log_count <= MCP_LOGS_MAX;
}

static void on_log_notification(struct session *session, tn_value params) {
    static const struct {
        const char *word;
        int32_t level;
    } levels[] = {{"debug", TN_LOG_DEBUG}, {"info", TN_LOG_INFO}, {"notice", TN_LOG_INFO}, {"warning", TN_LOG_WARN}};
    int32_t level = TN_LOG_ERROR;
    if (!session_may_log(session)) return;
    const char *word = tn_get_text(params, "level", "error"), *logger = tn_get_text(params, "logger", NULL);
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++)
        if (strcmp(word, levels[i].word) == 0) level = levels[i].level;
    tn_value data = tn_get(params, "data"), json = NULL;
    const char *text = tn_chars(data, NULL);
    if (text == NULL) {
        json = tn_to_json(data);
        text = tn_chars(json, NULL);
    }
    log_format(level, "server `%s`: %s%s%s", session->options.name, logger != NULL ? logger : "",
               logger != NULL ? ": " : "", text != NULL ? text : "");
    tn_release(json);
}

static void on_progress_notification(struct session *session, tn_value params) {
    int64_t token = tn_get_int(params, "progressToken", 0);
    if (!rpc_is_waiting(session->rpc, token)) return;
    rpc_extend_timeout(session->rpc, token);
    session->events.progress(session->events.user, token, params);
}

static void on_cancelled_notification(struct session *session, tn_value params) {
    tn_value id = tn_get(params, "requestId");
    int64_t number = 0;
    if (session->modern) { /* the server ended our subscription */
        if (tn.value->as_int(id, &number) == TN_OK && number == session->listening && number != 0) {
            rpc_discard(session->rpc, number);
            session->listening = 0;
        }
    } else if (id != NULL) {
        session->events.withdrawn(session->events.user, id);
    }
}

static void on_list_changed(struct session *session, enum session_list list) {
    session->listen_empty = 0; /* its stream has delivered something */
    session->events.changed(session->events.user, list);
}

static void on_tools_changed(struct session *session, tn_value params) {
    (void)params;
    on_list_changed(session, LIST_TOOLS);
}
static void on_prompts_changed(struct session *session, tn_value params) {
    (void)params;
    on_list_changed(session, LIST_PROMPTS);
}
static void on_resources_changed(struct session *session, tn_value params) {
    (void)params;
    on_list_changed(session, LIST_RESOURCES);
}
static void on_elicitation_complete(struct session *session, tn_value params) {
    session->events.elicited(session->events.user, tn_get_text(params, "elicitationId", ""));
}
static void on_subscribed(struct session *session, tn_value params) {
    (void)params;
    session->listen_empty = 0; /* the stream works, even if nothing changes before it ends */
}
static void ignore_notification(struct session *session, tn_value params) { (void)session, (void)params; }

static void on_rpc_notification(void *user, const char *method, tn_value params) {
    static const struct {
        const char *method;
        void (*read)(struct session *session, tn_value params);
    } methods[] = {{"notifications/progress", on_progress_notification},
                   {"notifications/message", on_log_notification},
                   {"notifications/cancelled", on_cancelled_notification},
                   {"notifications/tools/list_changed", on_tools_changed},
                   {"notifications/prompts/list_changed", on_prompts_changed},
                   {"notifications/resources/list_changed", on_resources_changed},
                   {"notifications/resources/updated", ignore_notification},
                   {"notifications/elicitation/complete", on_elicitation_complete},
                   {"notifications/tasks/status", ignore_notification}, /* the state is requested */
                   {"notifications/subscriptions/acknowledged", on_subscribed}};
    struct session *session = user;
    if (session->state != SESSION_READY && strcmp(method, "notifications/message") != 0) return;
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        if (strcmp(method, methods[i].method) == 0) {
            methods[i].read(session, params);
            return;
        }
}

/* ---- The conversation and the transport ---- */

static int32_t on_rpc_send(void *user, tn_value message, int64_t id, tn_value extra) {
    struct session *session = user;
    return session->transport->class->send(session->transport, message, id, extra);
}

static void session_cancel_on_server(struct session *session, int64_t id, const char *reason) {
    bool informed = session->transport->class->abort(session->transport, id, session->modern);
    /* `initialize` must not be cancelled, nor requests that the server did not get. */
    if (informed || session->state != SESSION_READY) return;
    tn_value params = tn_build("{s:I,s:s}", "requestId", (int64_t)id, "reason", reason);
    rpc_notify(session->rpc, "notifications/cancelled", params);
    tn_release(params);
}

static void on_rpc_expired(void *user, int64_t id) { session_cancel_on_server(user, id, "the request timed out"); }

static void on_rpc_stray(void *user, const char *what) {
    struct session *session = user;
    if (++session->stray_count <= MCP_STRAYS_MAX)
        log_format(TN_LOG_WARN, "server `%s`: it sent %s%s", session->options.name, what,
                   session->stray_count == MCP_STRAYS_MAX ? "; further ones are not logged" : "");
}

static void on_transport_message(void *user, tn_value message, int64_t origin, const char *why) {
    struct session *session = user;
    if (message != NULL)
        rpc_receive(session->rpc, message, origin);
    else
        on_rpc_stray(session, why);
}

/* With HTTP, the body of an error may be the answer. */
static void on_transport_failed(void *user, int64_t id, int64_t status, tn_value body, const char *code,
                                const char *why) {
    struct session *session = user;
    tn_value error = tn_get(body, "error");
    struct rpc_answer answer = {.failure = code, .message = why, .status = status};
    if (tn.value->kind(tn_get(error, "code")) == TN_INT) {
        answer.code = tn_get_int(error, "code", 0);
        answer.data = tn_get(error, "data");
        answer.message = tn_get_text(error, "message", why);
    }
    rpc_fail(session->rpc, id, &answer);
}

static void on_transport_closed(void *user, const char *why) { session_fail(user, "SERVER_LOST", why); }

struct transport_events session_transport_events(struct session *session) {
    return (struct transport_events){session, on_transport_message, on_transport_failed, on_transport_closed};
}

/* ---- Public functions ---- */

struct session *session_new(const struct session_options *options, const struct session_events *events) {
    struct session *session = mcp_alloc(sizeof *session);
    if (session == NULL) return NULL;
    const struct rpc_events handlers = {session,        on_rpc_send, on_server_rpc_request, on_rpc_notification,
                                        on_rpc_expired, on_rpc_stray};
    session->options = *options;
    session->events = *events;
    session->rpc = rpc_new(&handlers);
    if (session->rpc != NULL) return session;
    mcp_free(session);
    return NULL;
}

void session_free(struct session *session) {
    if (session == NULL) return;
    if (session->listen_timer != 0) (void)tn.core->unpost(tn.host, session->listen_timer);
    session_stop_probe(session);
    if (session->transport != NULL) session->transport->class->close(session->transport);
    rpc_free(session->rpc);
    tn_release(session->capabilities);
    tn_release(session->info);
    tn_release(session->instructions);
    mcp_free(session->refusal);
    mcp_free(session);
}

bool session_end_at_server(struct session *session, void (*ended)(void)) {
    return session->state == SESSION_READY && session->transport->class->end_session(session->transport, ended);
}

static void ignore_response(void *user, const struct rpc_answer *answer) { (void)user, (void)answer; }

int64_t session_call(struct session *session, const char *method, tn_value params, tn_value headers, bool progress,
                     bool modern, int64_t timeout_ms, rpc_done done, void *user) {
    if (session->state == SESSION_FAILED || session->transport == NULL) return 0;
    tn_value params_with_meta = add_meta(session, params, progress ? rpc_next_id(session->rpc) : 0, modern);
    int64_t id = 0;
    if (params_with_meta != NULL || params == NULL)
        id = rpc_call(session->rpc, method, params_with_meta, headers, timeout_ms,
                      done != NULL ? done : ignore_response, user);
    tn_release(params_with_meta);
    return id;
}

int64_t session_request(struct session *session, const char *method, tn_value params, tn_value headers, bool progress,
                        int64_t timeout_ms, rpc_done done, void *user) {
    return session_call(session, method, params, headers, progress, session->modern, timeout_ms, done, user);
}

void session_cancel(struct session *session, int64_t id, const char *reason) {
    if (!rpc_is_waiting(session->rpc, id)) return;
    rpc_discard(session->rpc, id);
    if (session->state != SESSION_FAILED) session_cancel_on_server(session, id, reason);
}

void session_fail_all(struct session *session, const char *code, const char *why) {
    rpc_fail_all(session->rpc, code, why);
}

void session_reply(struct session *session, tn_value id, tn_value result) {
    if (session->state == SESSION_FAILED) return;
    if (result != NULL)
        rpc_reply(session->rpc, id, result);
    else
        rpc_refuse(session->rpc, id, RPC_INTERNAL, "not enough memory");
}

void session_refuse(struct session *session, tn_value id, int64_t code, const char *message) {
    if (session->state != SESSION_FAILED) rpc_refuse(session->rpc, id, code, message);
}

void session_pause_timeout(struct session *session, int64_t id, bool paused) {
    rpc_pause_timeout(session->rpc, id, paused);
}
bool session_is_probing(const struct session *session) { return session->version[0] == '\0' && session->discover_sent; }
int64_t session_refused_status(const struct session *session) { return session->refused_status; }
bool session_is_modern(const struct session *session) { return session->modern; }
bool session_has_capability(const struct session *session, const char *capability) {
    return tn.value->kind(tn_get(session->capabilities, capability)) == TN_OBJECT;
}
tn_value session_capabilities(const struct session *session) { return session->capabilities; }
const char *session_version(const struct session *session) { return session->version; }
tn_value session_info(const struct session *session) { return session->info; }
tn_value session_instructions(const struct session *session) { return session->instructions; }
