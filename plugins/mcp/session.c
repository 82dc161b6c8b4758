/*
 * session.c - the handshake of both eras, and what every message of an era has.
 *
 * One state, set in one place; an answer to the handshake is read by the function that its request named. The server's
 * requests are answered here where that needs nobody (ping, roots/list), and refused where we never said that we can.
 */
#include "session.h"

enum state { NEW, HANDSHAKE, READY, FAILED };

struct session {
    struct session_options options;
    struct session_events events;
    struct rpc *rpc;
    struct transport *transport;
    enum state state;
    bool modern;
    char version[16];
    tn_value capabilities, info, instructions;
    int64_t listening; /* the request subscriptions/listen; 0: none */
    uint64_t strays;
    uint64_t timer; /* to listen again */
    uint32_t listens;
    bool discovers_again;
};

/* Those with a handshake, newest first; what differs between them are members that are not there. */
static const char *const legacy_versions[] = {MCP_LEGACY, "2025-06-18", "2025-03-26", "2024-11-05"};

static bool is_legacy(const char *version) {
    for (size_t i = 0; version != NULL && i < sizeof legacy_versions / sizeof *legacy_versions; i++)
        if (strcmp(version, legacy_versions[i]) == 0) return true;
    return false;
}

/* ---- What every message has ---- */

static void put_info(tn_builder *builder, const char *key) {
    tn_put_begin(builder, key, TN_OBJECT);
    tn_put_text(builder, "name", "tenon");
    tn_put_text(builder, "title", "Tenon");
    tn_put_text(builder, "version", TENON_VERSION);
    tn.value->end(builder);
}

static void put_empty(tn_builder *builder, const char *key) {
    tn_put_begin(builder, key, TN_OBJECT);
    tn.value->end(builder);
}

static void put_capabilities(const struct session *session, tn_builder *builder, const char *key) {
    tn_put_begin(builder, key, TN_OBJECT);
    if (session->options.roots != NULL) put_empty(builder, "roots");
    if (session->options.sampling) {
        tn_put_begin(builder, "sampling", TN_OBJECT);
        put_empty(builder, "tools");
        tn.value->end(builder);
    }
    tn_put_begin(builder, "elicitation", TN_OBJECT);
    put_empty(builder, "form");
    put_empty(builder, "url");
    tn.value->end(builder);
    tn.value->end(builder);
}

#define META "io.modelcontextprotocol/"

/* `params` with `_meta`; a new reference, NULL where there is nothing to say. The id of a request is its token. */
static tn_value with_meta(const struct session *session, tn_value params, int64_t token) {
    if (!session->modern && token == 0) return tn_retain(params);
    tn_builder *builder = tn.value->builder();
    tn.value->begin(builder, TN_OBJECT);
    if (session->modern) {
        tn_put_text(builder, META "protocolVersion", MCP_MODERN);
        put_info(builder, META "clientInfo");
        put_capabilities(session, builder, META "clientCapabilities");
        tn_put_text(builder, META "logLevel", session->options.log_level);
    }
    if (token != 0) tn_put_int(builder, "progressToken", token);
    tn.value->end(builder);
    tn_value meta = tn.value->finish(builder);
    return with_take(params != NULL ? tn_retain(params) : empty_object(), "_meta", meta);
}

/* ---- Ending ---- */

static void fail(struct session *session, const char *code, const char *why) {
    char text[512];
    if (session->state == FAILED) return;
    session->state = FAILED;
    (void)snprintf(text, sizeof text, "%s", why);
    session->events.failed(session->events.user, code, text); /* it may free the session */
}

/* ---- The handshake with a session ---- */

/* What is left for the handshake; never 0, which would be no limit. */
static int64_t left_ms(const struct session *session) {
    int64_t left = session->options.until_ms - tn.core->monotonic_ns(tn.host) / 1000000;
    return left > 0 ? left : 1;
}

static void initialised(void *user, const struct rpc_answer *answer) {
    struct session *session = user;
    char why[400];
    if (answer->result == NULL) {
        (void)snprintf(why, sizeof why, "it does not take `initialize`: %s", answer->message);
        fail(session, answer->failure != NULL ? answer->failure : "PROTOCOL", why);
        return;
    }
    const char *version = tn_get_text(answer->result, "protocolVersion", "");
    if (!is_legacy(version)) {
        (void)snprintf(why, sizeof why,
                       "it wants to speak version `%.40s` of the protocol, expected one from 2024-11-05 to " MCP_MODERN,
                       version);
        fail(session, "PROTOCOL", why);
        return;
    }
    (void)snprintf(session->version, sizeof session->version, "%s", version);
    session->capabilities = tn_retain(tn.value->get(answer->result, "capabilities"));
    session->info = tn_retain(tn.value->get(answer->result, "serverInfo"));
    session->instructions = tn_retain(tn.value->get(answer->result, "instructions"));
    /* The version goes with every message from the next one on, so it is told first. */
    session->transport->class->agreed(session->transport, session->version, false);
    rpc_notify(session->rpc, "notifications/initialized", NULL);
    if (tn.value->get(session->capabilities, "logging") != NULL) {
        tn_builder *builder = tn.value->builder();
        tn.value->begin(builder, TN_OBJECT);
        tn_put_text(builder, "level", session->options.log_level);
        tn.value->end(builder);
        tn_value params = tn.value->finish(builder);
        (void)session_request(session, "logging/setLevel", params, NULL, false, session->options.connect_timeout_ms,
                              NULL, NULL);
        tn_release(params);
    }
    session->state = READY;
    session->events.ready(session->events.user);
}

static void initialise(struct session *session, const char *version) {
    session->modern = false;
    tn_builder *builder = tn.value->builder();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_text(builder, "protocolVersion", version);
    put_capabilities(session, builder, "capabilities");
    put_info(builder, "clientInfo");
    tn.value->end(builder);
    tn_value params = tn.value->finish(builder);
    if (rpc_call(session->rpc, "initialize", params, NULL, left_ms(session), initialised, session) == 0)
        fail(session, "LIMIT", "`initialize` cannot be sent: there is no memory left");
    tn_release(params);
}

/* ---- The handshake without ---- */

static void listen(struct session *session);

static void listen_again(void *argument) {
    struct session *session = argument;
    session->timer = 0;
    listen(session);
}

/* A stream that has ended is opened again, a few times; one that is refused is not. */
static void listened(void *user, const struct rpc_answer *answer) {
    struct session *session = user;
    session->listening = 0;
    if (answer->result == NULL && (answer->code != 0 || answer->status != 0)) {
        say(TN_LOG_INFO, "server `%s`: it tells of no changes: %s", session->options.name, answer->message);
    } else if (session->state == READY && session->options.http && session->listens++ < MCP_RECONNECTS_MAX) {
        session->timer = tn.core->post(tn.host, (uint64_t)1000 << session->listens, listen_again, session);
    }
}

static bool put_changes(const struct session *session, tn_builder *builder, const char *capability, const char *name) {
    if (!value_true(value_in(session->capabilities, capability, "listChanged"))) return false;
    tn_put_bool(builder, name, 1);
    return true;
}

/* One stream for all lists that may change. */
static void listen(struct session *session) {
    tn_builder *builder = tn.value->builder();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_begin(builder, "notifications", TN_OBJECT);
    bool any = put_changes(session, builder, "tools", "toolsListChanged");
    any |= put_changes(session, builder, "prompts", "promptsListChanged");
    any |= put_changes(session, builder, "resources", "resourcesListChanged");
    tn.value->end(builder);
    tn.value->end(builder);
    tn_value params = tn.value->finish(builder);
    if (any)
        session->listening =
            session_request(session, "subscriptions/listen", params, NULL, false, 0, listened, session);
    tn_release(params);
}

/* The newest version of the list that needs a handshake; NULL where there is none that is known. */
static const char *newest_legacy(tn_value list) {
    for (size_t i = 0; i < sizeof legacy_versions / sizeof *legacy_versions; i++)
        for (uint64_t k = 0, count = tn.value->count(list); k < count; k++)
            if (value_is(tn.value->at(list, k), legacy_versions[i])) return legacy_versions[i];
    return NULL;
}

/* It is modern, and does not speak what we do: it says what it speaks. */
static void choose_version(struct session *session, tn_value supported) {
    const char *older = strcmp(session->options.era, "auto") == 0 ? newest_legacy(supported) : NULL;
    tn_value list = tn.value->to_json(supported);
    char why[300];
    if (older != NULL) {
        initialise(session, older);
    } else {
        const char *text = tn_chars(list, NULL);
        (void)snprintf(why, sizeof why, "it speaks the versions %.150s of the protocol, expected " MCP_MODERN,
                       text != NULL ? text : "?");
        fail(session, "PROTOCOL", why);
    }
    tn_release(list);
}

static bool has_version(tn_value list, const char *version) {
    for (uint64_t i = 0, count = tn.value->count(list); i < count; i++)
        if (value_is(tn.value->at(list, i), version)) return true;
    return false;
}

static void discovered(void *user, const struct rpc_answer *answer);

/* An older server may keep silent, through pipes, and is then asked as such in the same time; HTTP has an answer. */
static void discover(struct session *session) {
    int64_t timeout_ms = left_ms(session);
    bool may_be_silent = strcmp(session->options.era, "auto") == 0 && !session->options.http;
    if (may_be_silent) timeout_ms = timeout_ms / 2 > MCP_PROBE_MS ? MCP_PROBE_MS : timeout_ms / 2 + 1;
    if (session_request(session, "server/discover", NULL, NULL, false, timeout_ms, discovered, session) == 0)
        fail(session, "LIMIT", "`server/discover` cannot be sent: there is no memory left");
}

static void discovered(void *user, const struct rpc_answer *answer) {
    struct session *session = user;
    bool only_modern = strcmp(session->options.era, MCP_MODERN) == 0;
    bool modern_error =
        answer->code == RPC_VERSION || answer->code == RPC_CAPABILITY_NEEDED || answer->code == RPC_HEADER_MISMATCH;
    char why[400];
    tn_value supported = tn.value->get(answer->result, "supportedVersions");
    if (answer->result != NULL && tn.value->kind(supported) == TN_ARRAY) {
        if (!has_version(supported, MCP_MODERN)) {
            choose_version(session, supported);
            return;
        }
        (void)snprintf(session->version, sizeof session->version, "%s", MCP_MODERN);
        session->capabilities = tn_retain(tn.value->get(answer->result, "capabilities"));
        session->info = tn_retain(value_in(answer->result, "_meta", META "serverInfo"));
        session->instructions = tn_retain(tn.value->get(answer->result, "instructions"));
        session->transport->class->agreed(session->transport, session->version, true);
        listen(session);
        session->state = READY;
        session->events.ready(session->events.user);
    } else if (answer->code == RPC_VERSION) {
        supported = tn.value->get(answer->data, "supported");
        if (has_version(supported, MCP_MODERN) && !session->discovers_again) { /* it says that it speaks ours */
            session->discovers_again = true;
            discover(session);
        } else {
            choose_version(session, supported);
        }
    } else if (modern_error || only_modern) {
        (void)snprintf(why, sizeof why, "it does not take `server/discover`: %s", answer->message);
        fail(session, answer->failure != NULL ? answer->failure : "PROTOCOL", why);
    } else if (answer->failure != NULL && strcmp(answer->failure, "TIMEOUT") != 0 && answer->status == 0) {
        fail(session, answer->failure, answer->message); /* it did not get there: nothing is known of the server */
    } else if (answer->status == 401 || answer->status == 403 || answer->status >= 500) {
        fail(session, answer->failure != NULL ? answer->failure : "PROTOCOL", answer->message);
    } else {
        initialise(session, MCP_LEGACY);
    }
}

void session_start(struct session *session, struct transport *transport) {
    const char *era = session->options.era;
    session->transport = transport;
    session->state = HANDSHAKE;
    if (is_legacy(era) || session->options.legacy) {
        initialise(session, is_legacy(era) ? era : MCP_LEGACY);
        return;
    }
    session->modern = true;
    session->transport->class->agreed(transport, MCP_MODERN, true);
    discover(session);
}

/* ---- What the server says by itself ---- */

static void on_roots(struct session *session, tn_value id) {
    tn_builder *builder = tn.value->builder();
    tn.value->begin(builder, TN_OBJECT);
    tn_put(builder, "roots", session->options.roots);
    tn.value->end(builder);
    tn_value result = tn.value->finish(builder);
    session_reply(session, id, result);
    tn_release(result);
}

static void on_request(void *user, tn_value id, const char *method, tn_value params, int64_t origin) {
    struct session *session = user;
    const struct session_events *events = &session->events;
    bool sampling = strcmp(method, "sampling/createMessage") == 0 && session->options.sampling;
    if (session->state == HANDSHAKE && (strcmp(method, "initialize") == 0 || strcmp(method, "server/discover") == 0)) {
        char said[128];
        (void)snprintf(said, sizeof said, "it sends our own `%s` back, and so is no server of MCP: is `command` right?",
                       method);
        fail(session, "PROTOCOL", said);
    } else if (session->modern) { /* a client of this era writes no responses */
        say(TN_LOG_WARN, "server `%s`: it asks for `%.60s` by a request, which version " MCP_MODERN " has not",
            session->options.name, method);
    } else if (strcmp(method, "ping") == 0) {
        tn_value result = empty_object();
        session_reply(session, id, result);
        tn_release(result);
    } else if (strcmp(method, "roots/list") == 0 && session->options.roots != NULL) {
        on_roots(session, id);
    } else if (sampling || strcmp(method, "elicitation/create") == 0) {
        events->asked(events->user, id, method, params, origin);
    } else {
        char why[128];
        (void)snprintf(why, sizeof why, "this client has no method `%.60s`", method);
        session_refuse(session, id, RPC_METHOD_NOT_FOUND, why);
    }
}

static void on_log(struct session *session, tn_value params) {
    static const struct {
        const char *word;
        int32_t level;
    } levels[] = {{"debug", TN_LOG_DEBUG}, {"info", TN_LOG_INFO}, {"notice", TN_LOG_INFO}, {"warning", TN_LOG_WARN}};
    int32_t level = TN_LOG_ERROR;
    const char *word = tn_get_text(params, "level", "error"), *logger = tn_get_text(params, "logger", NULL);
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++)
        if (strcmp(word, levels[i].word) == 0) level = levels[i].level;
    tn_value data = tn.value->get(params, "data"), json = NULL;
    const char *text = tn_chars(data, NULL);
    if (text == NULL) {
        json = tn.value->to_json(data);
        text = tn_chars(json, NULL);
    }
    say(level, "server `%s`: %s%s%s", session->options.name, logger != NULL ? logger : "", logger != NULL ? ": " : "",
        text != NULL ? text : "");
    tn_release(json);
}

static void on_progress(struct session *session, tn_value params) {
    int64_t token = tn_get_int(params, "progressToken", 0);
    if (!rpc_waits(session->rpc, token)) return;
    rpc_touch(session->rpc, token);
    session->events.progress(session->events.user, token, params);
}

static void on_cancelled(struct session *session, tn_value params) {
    tn_value id = tn.value->get(params, "requestId");
    int64_t number = 0;
    if (session->modern) { /* it ends our subscription */
        if (tn.value->as_int(id, &number) == TN_OK && number == session->listening && number != 0) {
            rpc_forget(session->rpc, number);
            session->listening = 0;
        }
    } else if (id != NULL) {
        session->events.withdrawn(session->events.user, id);
    }
}

static void on_changed(struct session *session, enum session_list list) {
    session->events.changed(session->events.user, list);
}

static void on_tools(struct session *session, tn_value params) {
    (void)params;
    on_changed(session, LIST_TOOLS);
}
static void on_prompts(struct session *session, tn_value params) {
    (void)params;
    on_changed(session, LIST_PROMPTS);
}
static void on_resources(struct session *session, tn_value params) {
    (void)params;
    on_changed(session, LIST_RESOURCES);
}
static void on_elicited(struct session *session, tn_value params) {
    session->events.elicited(session->events.user, tn_get_text(params, "elicitationId", ""));
}
static void on_nothing(struct session *session, tn_value params) { (void)session, (void)params; }

static void on_notification(void *user, const char *method, tn_value params) {
    static const struct {
        const char *method;
        void (*read)(struct session *session, tn_value params);
    } methods[] = {{"notifications/progress", on_progress},
                   {"notifications/message", on_log},
                   {"notifications/cancelled", on_cancelled},
                   {"notifications/tools/list_changed", on_tools},
                   {"notifications/prompts/list_changed", on_prompts},
                   {"notifications/resources/list_changed", on_resources},
                   {"notifications/resources/updated", on_nothing},
                   {"notifications/elicitation/complete", on_elicited},
                   {"notifications/subscriptions/acknowledged", on_nothing}};
    struct session *session = user;
    if (session->state != READY && strcmp(method, "notifications/message") != 0) return;
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        if (strcmp(method, methods[i].method) == 0) {
            methods[i].read(session, params);
            return;
        }
}

/* ---- Between the conversation and the transport ---- */

static int32_t on_send(void *user, tn_value message, int64_t id, tn_value extra) {
    struct session *session = user;
    return session->transport->class->send(session->transport, message, id, extra);
}

static void tell_server_to_stop(struct session *session, int64_t id, const char *reason) {
    bool told = session->transport->class->abort(session->transport, id, session->modern);
    if (told || session->state != READY) return; /* `initialize` must not be cancelled, nor what no server knows */
    tn_builder *builder = tn.value->builder();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_int(builder, "requestId", id);
    tn_put_text(builder, "reason", reason);
    tn.value->end(builder);
    tn_value params = tn.value->finish(builder);
    rpc_notify(session->rpc, "notifications/cancelled", params);
    tn_release(params);
}

static void on_expired(void *user, int64_t id) { tell_server_to_stop(user, id, "it took too long"); }

static void on_stray(void *user, const char *what) {
    struct session *session = user;
    if (++session->strays <= MCP_STRAYS_MAX)
        say(TN_LOG_WARN, "server `%s`: it sent %s%s", session->options.name, what,
            session->strays == MCP_STRAYS_MAX ? "; more of that is not logged" : "");
}

static void on_message(void *user, tn_value message, int64_t origin, const char *why) {
    struct session *session = user;
    if (message != NULL)
        rpc_receive(session->rpc, message, origin);
    else
        on_stray(session, why);
}

/* HTTP: the body of an error may be an answer after all. */
static void on_failed(void *user, int64_t id, int64_t status, tn_value body, const char *code, const char *why) {
    struct session *session = user;
    tn_value error = tn.value->get(body, "error");
    struct rpc_answer answer = {.failure = code, .message = why, .status = status};
    if (tn.value->kind(tn.value->get(error, "code")) == TN_INT) {
        answer.code = tn_get_int(error, "code", 0);
        answer.data = tn.value->get(error, "data");
        answer.message = tn_get_text(error, "message", why);
    }
    rpc_fail(session->rpc, id, &answer);
}

static void on_closed(void *user, const char *why) { fail(user, "SERVER_LOST", why); }

struct transport_events session_transport_events(struct session *session) {
    return (struct transport_events){session, on_message, on_failed, on_closed};
}

/* ---- What others call ---- */

struct session *session_new(const struct session_options *options, const struct session_events *events) {
    struct session *session = take(sizeof *session);
    if (session == NULL) return NULL;
    const struct rpc_events heard = {session, on_send, on_request, on_notification, on_expired, on_stray};
    session->options = *options;
    session->events = *events;
    session->rpc = rpc_new(&heard);
    if (session->rpc != NULL) return session;
    give(session);
    return NULL;
}

void session_free(struct session *session) {
    if (session == NULL) return;
    if (session->timer != 0) (void)tn.core->unpost(tn.host, session->timer);
    if (session->transport != NULL) session->transport->class->close(session->transport);
    rpc_free(session->rpc);
    tn_release(session->capabilities);
    tn_release(session->info);
    tn_release(session->instructions);
    give(session);
}

bool session_leave(struct session *session, void (*left)(void)) {
    return session->state == READY && session->transport->class->leave(session->transport, left);
}

static void nobody(void *user, const struct rpc_answer *answer) { (void)user, (void)answer; }

int64_t session_request(struct session *session, const char *method, tn_value params, tn_value headers, bool progress,
                        int64_t timeout_ms, rpc_done done, void *user) {
    if (session->state == FAILED || session->transport == NULL) return 0;
    tn_value whole = with_meta(session, params, progress ? rpc_next(session->rpc) : 0);
    int64_t id = 0;
    if (whole != NULL || params == NULL)
        id = rpc_call(session->rpc, method, whole, headers, timeout_ms, done != NULL ? done : nobody, user);
    tn_release(whole);
    return id;
}

void session_cancel(struct session *session, int64_t id, const char *reason) {
    if (!rpc_waits(session->rpc, id)) return;
    rpc_forget(session->rpc, id);
    if (session->state != FAILED) tell_server_to_stop(session, id, reason);
}

void session_fail_all(struct session *session, const char *code, const char *why) {
    rpc_fail_all(session->rpc, code, why);
}

void session_reply(struct session *session, tn_value id, tn_value result) {
    if (session->state == FAILED) return;
    if (result != NULL)
        rpc_reply(session->rpc, id, result);
    else
        rpc_refuse(session->rpc, id, RPC_INTERNAL, "there is no memory left");
}

void session_refuse(struct session *session, tn_value id, int64_t code, const char *message) {
    if (session->state != FAILED) rpc_refuse(session->rpc, id, code, message);
}

void session_hold(struct session *session, int64_t id, bool held) { rpc_hold(session->rpc, id, held); }
bool session_probing(const struct session *session) { return session->state != READY && session->modern; }
bool session_modern(const struct session *session) { return session->modern; }
bool session_can(const struct session *session, const char *capability) {
    return tn.value->kind(tn.value->get(session->capabilities, capability)) == TN_OBJECT;
}
const char *session_version(const struct session *session) { return session->version; }
tn_value session_info(const struct session *session) { return session->info; }
tn_value session_instructions(const struct session *session) { return session->instructions; }
