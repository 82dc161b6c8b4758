/*
 * handshake.c - the handshakes of both eras.
 *
 * In SESSION_HANDSHAKE, server/discover is open, or initialize, or both: a server that needs long to start, and one
 * that ignores unknown methods, cannot be told apart, so initialize follows an unanswered server/discover after
 * MCP_PROBE_MS, and whichever answer comes first decides.
 */
#include "handshake.h"
#include <assert.h>

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

/* ---- The end of the handshake ---- */

void session_stop_probe(struct session *session) {
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

void session_fail(struct session *session, const char *code, const char *why) {
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
