/*
 * session.c - the handshakes of both eras, and the members that every message of an era has.
 *
 * The life of a session; session_set_state is the only setter:
 *
 *     NEW ---- session_start ----> HANDSHAKE ---- the server agreed on a version ----> READY
 *                                      |                                                 |
 *                                      +------ no version, no server ---> FAILED <-------+ the server is gone
 *
 * In HANDSHAKE, server/discover is open, or initialize, or both: a server that needs long to start, and one that
 * ignores unknown methods, cannot be told apart, so initialize follows an unanswered server/discover after
 * MCP_PROBE_MS, and whichever answer comes first decides. Requests of the server that need no person or model (ping,
 * roots/list) are answered here; requests for capabilities that we did not announce are refused. All functions run on
 * the loop's thread.
 */
#include "session.h"
#include "deferred.h"
#include <assert.h>

enum session_state {
    SESSION_NEW,       /* without a transport */
    SESSION_HANDSHAKE, /* server/discover or initialize is open */
    SESSION_READY,     /* `ready` was called; the version and the capabilities are known */
    SESSION_FAILED     /* `failed` was called; nothing more is sent */
};

struct session {
    struct session_options options;
    struct session_events events;
    struct rpc *rpc;             /* owned */
    struct transport *transport; /* owned; NULL in SESSION_NEW */
    enum session_state state;
    bool modern;      /* the handshake agreed on MCP_MODERN: every request has the members of that era */
    char version[16]; /* the version that the handshake agreed on; "" before */

    /* The handshake. */
    uint32_t discovering;   /* open requests server/discover */
    bool discover_sent;     /* the server may have ended because of it */
    bool discover_refused;  /* it was answered with an error */
    bool discover_retried;  /* server/discover was sent a second time */
    bool initializing;      /* initialize is open */
    uint64_t probe_timer;   /* the post that sends initialize if server/discover has no answer by then; 0: none */
    int64_t refused_status; /* the HTTP status with which initialize was refused; 0: none */
    char *refusal;          /* why the server refused initialize; NULL if it did not. Owned */

    /* What the server said in the handshake. Owned; NULL if it said nothing. */
    tn_value capabilities, info, instructions;

    /* Modern era: one request subscriptions/listen stays open, and its stream reports changes of lists. */
    int64_t listening;     /* id of that request; 0 if it is not open */
    uint64_t listen_timer; /* the post that opens it again; 0 if it is not posted */
    uint32_t listen_empty; /* streams in a row that delivered nothing */
    uint32_t listen_short; /* streams in a row that ended within LISTEN_STEADY_MS */
    int64_t listen_ms;     /* monotonic clock: when it was opened */

    uint64_t stray_count; /* messages that belong to no request */
    uint32_t log_count;   /* messages of its log since log_ms, on the monotonic clock */
    int64_t log_ms;
};

/* A session never returns to an earlier state. */
static void session_set_state(struct session *session, enum session_state state) {
    assert(state > session->state);
    session->state = state;
}

/* Versions with a handshake, newest first. They differ only in members that are missing. */
static const char *const legacy_versions[] = {MCP_LEGACY, "2025-06-18", "2025-03-26", "2024-11-05"};

static bool is_legacy(const char *version) {
    for (size_t i = 0; version != NULL && i < sizeof legacy_versions / sizeof *legacy_versions; i++)
        if (strcmp(version, legacy_versions[i]) == 0) return true;
    return false;
}

/* ---- Members of every message ---- */

static void put_client_info(tn_builder *builder, const char *key) {
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

static void put_client_capabilities(const struct session *session, tn_builder *builder, const char *key, bool modern) {
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

#define META "io.modelcontextprotocol/"

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

/* ---- The end of the handshake ---- */

static void session_stop_probe(struct session *session) {
    if (session->probe_timer != 0) (void)tn.core->unpost(tn.host, session->probe_timer);
    session->probe_timer = 0;
}

/* Keeps what the server said about itself. Every later message contains the version, so the transport gets it first. */
static void session_agree(struct session *session, const char *version, tn_value result, tn_value info) {
    session_stop_probe(session);
    session->modern = strcmp(version, MCP_MODERN) == 0;
    (void)snprintf(session->version, sizeof session->version, "%s", version);
    session->capabilities = tn_retain(tn_get(result, "capabilities"));
    session->info = tn_retain(info);
    session->instructions = tn_retain(tn_get(result, "instructions"));
    session->transport->class->set_version(session->transport, session->version, session->modern);
}

static void session_become_ready(struct session *session) {
    session_set_state(session, SESSION_READY);
    session->events.ready(session->events.user);
}

static void session_fail(struct session *session, const char *code, const char *why) {
    char text[512];
    if (session->state == SESSION_FAILED) return;
    session_set_state(session, SESSION_FAILED);
    session_stop_probe(session);
    (void)snprintf(text, sizeof text, "%s", why);
    session->events.failed(session->events.user, code, text); /* the callback may free the session */
}

/* ---- The handshake of older versions ---- */

/* Time left for the handshake; never 0, which would mean no limit. */
static int64_t session_time_left_ms(const struct session *session) {
    int64_t left = session->options.until_ms - tn.core->monotonic_ns(tn.host) / 1000000;
    return left > 0 ? left : 1;
}

static void session_discover(struct session *session);

static bool is_failure(const struct rpc_answer *answer, const char *failure) {
    return answer->failure != NULL && strcmp(answer->failure, failure) == 0;
}

/* Neither handshake succeeded in time. */
static void session_fail_late(struct session *session) {
    char why[256];
    if (session->refusal != NULL) {
        session_fail(session, "PROTOCOL", session->refusal);
        return;
    }
    (void)snprintf(why, sizeof why, "it has not answered %s`initialize` within %lld ms (`connect_timeout_ms`)",
                   session->discover_sent && !session->discover_refused ? "`server/discover` or " : "",
                   (long long)session->options.connect_timeout_ms);
    session_fail(session, "TIMEOUT", why);
}

static bool has_version(tn_value list, const char *version) {
    for (uint64_t i = 0, count = tn.value->count(list); i < count; i++)
        if (value_is(tn.value->at(list, i), version)) return true;
    return false;
}

/*
 * The server refused initialize. If server/discover is not answered yet, its answer decides: a server that was slow to
 * start may have got both requests at once, and have chosen the newer era by the first. In case it has lost that
 * request, or its error lists our version, the request is sent again, once.
 */
static void session_read_refusal(struct session *session, const struct rpc_answer *answer) {
    char why[400];
    bool names_ours = answer->code == RPC_VERSION && has_version(tn_get(answer->data, "supported"), MCP_MODERN);
    (void)snprintf(why, sizeof why, "it refused `initialize`: %s", answer->message);
    if (answer->failure != NULL || !session->discover_sent || (session->discovering == 0 && !names_ours)) {
        session_fail(session, answer->failure != NULL ? answer->failure : "PROTOCOL", why);
        return;
    }
    mcp_free(session->refusal);
    session->refusal = copy_text(why);
    if (session->discover_retried) return;
    session->discover_retried = true;
    session_discover(session);
}

static void on_initialize_response(void *user, const struct rpc_answer *answer) {
    struct session *session = user;
    char why[400];
    session->initializing = false;
    session->refused_status = answer->status;
    if (session->state != SESSION_HANDSHAKE) return; /* server/discover has decided */
    if (answer->result == NULL) {
        if (is_failure(answer, "TIMEOUT"))
            session_fail_late(session);
        else
            session_read_refusal(session, answer);
        return;
    }
    const char *version = tn_get_text(answer->result, "protocolVersion", "");
    if (!is_legacy(version)) {
        (void)snprintf(why, sizeof why,
                       "it chose version `%.40s` of the protocol; expected one from 2024-11-05 to " MCP_MODERN,
                       version);
        session_fail(session, "PROTOCOL", why);
        return;
    }
    session_agree(session, version, answer->result, tn_get(answer->result, "serverInfo"));
    rpc_notify(session->rpc, "notifications/initialized", NULL);
    if (tn_get(session->capabilities, "logging") != NULL) {
        tn_value params = tn_build("{s:s}", "level", session->options.log_level);
        (void)session_request(session, "logging/setLevel", params, NULL, false, session->options.connect_timeout_ms,
                              NULL, NULL);
        tn_release(params);
    }
    session_become_ready(session);
}

static void session_initialize(struct session *session, const char *version) {
    session_stop_probe(session);
    if (session->initializing) return; /* its answer decides */
    session->initializing = true;
    tn_builder *builder = tn_builder_new();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_text(builder, "protocolVersion", version);
    put_client_capabilities(session, builder, "capabilities", false);
    put_client_info(builder, "clientInfo");
    tn.value->end(builder);
    tn_value params = tn_finish(builder);
    if (rpc_call(session->rpc, "initialize", params, NULL, session_time_left_ms(session), on_initialize_response,
                 session) == 0)
        session_fail(session, "LIMIT", "cannot send `initialize`: not enough memory");
    tn_release(params);
}

/* ---- The handshake from 2026-07-28 on ---- */

static void session_listen(struct session *session);

static void on_listen_delay_over(void *argument) {
    struct session *session = argument;
    session->listen_timer = 0;
    session_listen(session);
}

#define LISTEN_STEADY_MS 10000 /* a stream that lived longer is opened again soon */
#define LISTEN_DOUBLINGS 5     /* of the delay before it is opened again: at most 32 s */

/* A stream that has ended is opened again, unless several in a row have delivered nothing; a refused one is not. */
static void on_listen_response(void *user, const struct rpc_answer *answer) {
    struct session *session = user;
    session->listening = 0;
    if (session->state != SESSION_READY) return;
    if (answer->result == NULL && (answer->code != 0 || (answer->status != 0 && answer->status < 500))) {
        log_format(TN_LOG_INFO, "server `%s`: it does not report changes: %s", session->options.name, answer->message);
    } else if (session->options.http && session->listen_empty++ < MCP_RECONNECTS_MAX) {
        bool steady = tn.core->monotonic_ns(tn.host) / 1000000 - session->listen_ms > LISTEN_STEADY_MS;
        session->listen_short = steady ? 0 : session->listen_short + 1;
        if (session->listen_short > LISTEN_DOUBLINGS) session->listen_short = LISTEN_DOUBLINGS;
        session->listen_timer = tn_post((uint64_t)1000 << session->listen_short, on_listen_delay_over, session);
    }
}

static bool put_change_subscription(const struct session *session, tn_builder *builder, const char *capability,
                                    const char *name) {
    if (!value_is_true(value_get_nested(session->capabilities, capability, "listChanged"))) return false;
    tn_put_bool(builder, name, 1);
    return true;
}

/* Opens one stream for all lists that may change. Sends nothing if none of them does. */
static void session_listen(struct session *session) {
    tn_builder *builder = tn_builder_new();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_begin(builder, "notifications", TN_OBJECT);
    bool any = put_change_subscription(session, builder, "tools", "toolsListChanged");
    any |= put_change_subscription(session, builder, "prompts", "promptsListChanged");
    any |= put_change_subscription(session, builder, "resources", "resourcesListChanged");
    tn.value->end(builder);
    tn.value->end(builder);
    tn_value params = tn_finish(builder);
    session->listen_ms = tn.core->monotonic_ns(tn.host) / 1000000;
    if (any)
        session->listening =
            session_request(session, "subscriptions/listen", params, NULL, false, 0, on_listen_response, session);
    tn_release(params);
}

/* Returns the newest known version in the list that needs a handshake, or NULL. */
static const char *newest_legacy_version(tn_value list) {
    for (size_t i = 0; i < sizeof legacy_versions / sizeof *legacy_versions; i++)
        for (uint64_t k = 0, count = tn.value->count(list); k < count; k++)
            if (value_is(tn.value->at(list, k), legacy_versions[i])) return legacy_versions[i];
    return NULL;
}

/* A modern server that does not support our version lists its versions. */
static void session_choose_version(struct session *session, tn_value supported) {
    const char *older = strcmp(session->options.era, "auto") == 0 ? newest_legacy_version(supported) : NULL;
    tn_value list = tn_to_json(supported);
    char why[300];
    if (older != NULL) {
        session_initialize(session, older);
    } else {
        const char *text = tn_chars(list, NULL);
        (void)snprintf(why, sizeof why, "it supports the versions %.150s of the protocol; expected " MCP_MODERN,
                       text != NULL ? text : "?");
        session_fail(session, "PROTOCOL", why);
    }
    tn_release(list);
}

static void on_discover_response(void *user, const struct rpc_answer *answer);

static int64_t session_call(struct session *session, const char *method, tn_value params, tn_value headers,
                            bool progress, bool modern, int64_t timeout_ms, rpc_done done, void *user);

static void on_probe_delay_over(void *argument) {
    struct session *session = argument;
    session->probe_timer = 0;
    session_initialize(session, MCP_LEGACY);
}

/* An older server may not answer over stdio: initialize then follows. HTTP always answers. */
static void session_discover(struct session *session) {
    int64_t left_ms = session_time_left_ms(session);
    bool may_be_silent = strcmp(session->options.era, "auto") == 0 && !session->options.http && !session->discover_sent;
    session->discover_sent = true;
    session->discovering++;
    if (session_call(session, "server/discover", NULL, NULL, false, true, left_ms, on_discover_response, session) == 0)
        session_fail(session, "LIMIT", "cannot send `server/discover`: not enough memory");
    else if (may_be_silent)
        session->probe_timer = tn_post((uint64_t)(left_ms / 2 > MCP_PROBE_MS ? MCP_PROBE_MS : left_ms / 2 + 1),
                                       on_probe_delay_over, session);
}

/* A result of server/discover. `supported` is an array. */
static void session_read_discovery(struct session *session, tn_value result, tn_value supported) {
    if (!has_version(supported, MCP_MODERN)) {
        session_choose_version(session, supported);
        return;
    }
    session_agree(session, MCP_MODERN, result, value_get_nested(result, "_meta", META "serverInfo"));
    session_listen(session);
    session_become_ready(session);
}

/* The server refused the version of server/discover, and lists those that it supports. */
static void session_read_version_error(struct session *session, tn_value supported) {
    if (has_version(supported, MCP_MODERN) && !session->discover_retried) { /* it lists our version: try again, once */
        session->discover_retried = true;
        session_discover(session);
    } else {
        session_choose_version(session, supported);
    }
}

/*
 * The response decides the era of the server; the first row that fits counts:
 *
 *     a result with a list of versions                         modern, or initialize with a version from the list
 *     the error "unsupported version", with a list             again once, or initialize with a version from the list
 *     another error that only modern servers send              fail
 *     anything else, and the options allow only our version    fail
 *     a failure other than a timeout, without an HTTP status   fail: the server did not answer, so its era is unknown
 *     HTTP status 401, 403 or 5xx                              fail
 *     anything else, for example "method not found"            initialize: the server is older
 *
 * If initialize was sent already, its answer is awaited instead; see session_read_refusal.
 */
static void on_discover_response(void *user, const struct rpc_answer *answer) {
    struct session *session = user;
    bool only_modern = strcmp(session->options.era, MCP_MODERN) == 0;
    bool modern_error = answer->code == RPC_CAPABILITY_NEEDED || answer->code == RPC_HEADER_MISMATCH;
    char why[400];
    tn_value supported = tn_get(answer->result, "supportedVersions");
    session->discovering--;
    session->discover_refused |= answer->failure == NULL;
    if (session->state != SESSION_HANDSHAKE) return; /* initialize has decided */
    if (answer->result != NULL && tn.value->kind(supported) == TN_ARRAY) {
        session_read_discovery(session, answer->result, supported);
    } else if (answer->code == RPC_VERSION) {
        session_read_version_error(session, tn_get(answer->data, "supported"));
    } else if (modern_error || only_modern) {
        (void)snprintf(why, sizeof why, "it refused `server/discover`: %s", answer->message);
        session_fail(session, answer->failure != NULL ? answer->failure : "PROTOCOL", why);
    } else if (answer->failure != NULL && !is_failure(answer, "TIMEOUT") && answer->status == 0) {
        session_fail(session, answer->failure, answer->message);
    } else if (answer->status == 401 || answer->status == 403 || answer->status >= 500) {
        session_fail(session, answer->failure != NULL ? answer->failure : "PROTOCOL", answer->message);
    } else if (session->initializing || session->discovering > 0) {
        return; /* the other answer decides */
    } else if (session->refusal != NULL || is_failure(answer, "TIMEOUT")) {
        session_fail_late(session);
    } else {
        session_initialize(session, MCP_LEGACY);
    }
}

void session_start(struct session *session, struct transport *transport) {
    const char *era = session->options.era;
    session->transport = transport;
    session_set_state(session, SESSION_HANDSHAKE);
    if (is_legacy(era) || session->options.legacy) {
        session_initialize(session, is_legacy(era) ? era : MCP_LEGACY);
        return;
    }
    session->transport->class->set_version(session->transport, MCP_MODERN, true);
    session_discover(session);
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

static int64_t session_call(struct session *session, const char *method, tn_value params, tn_value headers,
                            bool progress, bool modern, int64_t timeout_ms, rpc_done done, void *user) {
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
