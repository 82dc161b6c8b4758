/*
 * session.c - sessions: creating, looking up and ending them, their streams, and requests of the server.
 */
#include "session.h"
#include "exchange.h"
#include "stream.h"

/* ---- Life ---- */

static int64_t now_ms(void) { return tn.core->monotonic_ns(tn.host) / 1000000; }

static void end_idle_sessions(void *argument) {
    struct plugin *plugin = argument;
    int64_t now = now_ms(), next = MCPS_SESSION_IDLE_MS;
    plugin->timer = 0;
    for (struct session **at = &plugin->sessions; *at != NULL;) {
        bool used = (*at)->exchange_count > 0 || ((*at)->messages != NULL && (*at)->messages->http != 0);
        int64_t left = used ? MCPS_SESSION_IDLE_MS : (*at)->used_ms + MCPS_SESSION_IDLE_MS - now;
        if (left <= 0) {
            session_end(*at); /* *at is the next one */
            continue;
        }
        if (left < next) next = left;
        at = &(*at)->next;
    }
    if (plugin->sessions != NULL) plugin->timer = tn_post((uint64_t)next, end_idle_sessions, plugin);
}

/* True if there is room for another session of the caller. Ends the one of the caller that was idle longest. */
static bool make_room(struct plugin *plugin, const char *caller) {
    struct session *oldest = NULL;
    uint32_t count = 0;
    for (struct session *session = plugin->sessions; session != NULL; session = session->next) {
        if (strcmp(session->caller, caller) != 0) continue;
        count++;
        if (session->exchange_count == 0 && (oldest == NULL || session->used_ms <= oldest->used_ms)) oldest = session;
    }
    bool full = count >= MCPS_SESSIONS_KEY_MAX || plugin->session_count >= MCPS_SESSIONS_MAX;
    if (full && oldest != NULL) session_end(oldest);
    return !full || oldest != NULL;
}

/* What of the client's capabilities is looked at: the rest could be large. */
static tn_value known_capabilities(tn_value declared) {
    static const char *const names[] = {"sampling", "roots", "elicitation"};
    tn_value known = tn_build("{}");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        tn_value one = tn_get(declared, names[i]);
        if (!value_is_object(one)) continue;
        known = tn_set_take(known, names[i], tn_get(one, "url") != NULL ? tn_build("{s:{}}", "url") : tn_build("{}"));
    }
    return known;
}

struct session *session_new(struct plugin *plugin, tn_value request, tn_value params) {
    char caller[256];
    caller_text(request, caller);
    struct session *session = make_room(plugin, caller) ? serving_alloc(sizeof *session) : NULL;
    const char *wanted = tn_get_text(params, "protocolVersion", "");
    if (session == NULL) return NULL;
    *session = (struct session){.plugin = plugin, .next = plugin->sessions, .used_ms = now_ms()};
    (void)snprintf(session->caller, sizeof session->caller, "%s", caller);
    (void)snprintf(session->version, sizeof session->version, "%.15s",
                   message_is_legacy_version(wanted) ? wanted : MCPS_LEGACY);
    serving_random_hex(session->id, 32);
    session->capabilities = known_capabilities(tn_get(params, "capabilities"));
    session->log_level = events_log_level("info");
    plugin->sessions = session;
    plugin->session_count++;
    if (plugin->timer == 0) plugin->timer = tn_post(MCPS_SESSION_IDLE_MS, end_idle_sessions, plugin);
    return session;
}

struct session *session_find(struct plugin *plugin, tn_value request) {
    const char *id = message_header(request, "mcp-session-id");
    char caller[256];
    caller_text(request, caller);
    for (struct session *session = plugin->sessions; id != NULL && session != NULL; session = session->next)
        if (strcmp(session->id, id) == 0 && strcmp(session->caller, caller) == 0) {
            session->used_ms = now_ms();
            return session;
        }
    return NULL;
}

void session_end(struct session *session) {
    struct plugin *plugin = session->plugin;
    for (struct session **at = &plugin->sessions; *at != NULL; at = &(*at)->next)
        if (*at == session) {
            *at = session->next;
            break;
        }
    plugin->session_count--;
    exchanges_end_session(plugin, session);
    while (session->pending != NULL) {
        struct pending *pending = session->pending;
        session->pending = pending->next;
        tn_release(pending->key);
        serving_free(pending);
    }
    while (session->streams != NULL) {
        struct stream *stream = session->streams;
        session->streams = stream->next;
        if (stream->http != 0) (void)plugin->serving.server->finish(tn.host, stream->http);
        stream_free(stream);
    }
    tn_release(session->capabilities);
    tn_release(session->subscriptions);
    serving_free(session);
}

/* ---- Streams ---- */

void session_add_stream(struct session *session, struct stream *stream) {
    struct stream **oldest = NULL;
    uint32_t ended = 0;
    stream->id = ++session->next_stream;
    stream->next = session->streams;
    session->streams = stream;
    for (struct stream **at = &session->streams; *at != NULL; at = &(*at)->next)
        if ((*at)->finished) {
            ended++;
            oldest = at;
        }
    if (ended <= MCPS_STREAMS_MAX) return; /* those that are open are bounded by MCPS_CALLS_MAX */
    struct stream *forgotten = *oldest;
    *oldest = forgotten->next;
    stream_free(forgotten);
}

struct stream *session_find_stream(const struct session *session, uint64_t id) {
    struct stream *stream = session->streams;
    while (stream != NULL && stream->id != id) stream = stream->next;
    return stream;
}

struct stream *session_stream_of(const struct plugin *plugin, uint64_t http) {
    for (const struct session *session = plugin->sessions; session != NULL; session = session->next)
        for (struct stream *stream = session->streams; stream != NULL; stream = stream->next)
            if (stream->http == http) return stream;
    return NULL;
}

void session_notify(struct session *session, tn_value notification) {
    if (session->messages != NULL) stream_send_or_abort(session->messages, notification);
}

/* ---- Requests of the server ---- */

bool session_ask(struct session *session, struct exchange *exchange, struct stream *stream, tn_value key,
                 tn_value request) {
    struct pending *pending = serving_alloc(sizeof *pending);
    int64_t id = ++session->next_request;
    tn_value message = tn_build("{s:s, s:I, s:v, s:v}", "jsonrpc", "2.0", "id", id, "method", tn_get(request, "method"),
                                "params", tn_get(request, "params"));
    if (pending == NULL || message == NULL) {
        serving_free(pending);
        tn_release(message);
        return false;
    }
    *pending = (struct pending){session->pending, id, exchange, tn_retain(key)};
    session->pending = pending;
    (void)stream_send(stream, message);
    tn_release(message);
    return true;
}

bool session_take_pending(struct session *session, tn_value id, struct exchange **exchange, tn_value *key) {
    int64_t number = 0;
    if (tn.value->as_int(id, &number) != TN_OK) return false;
    for (struct pending **at = &session->pending; *at != NULL; at = &(*at)->next) {
        struct pending *pending = *at;
        if (pending->id != number) continue;
        *at = pending->next;
        *exchange = pending->exchange;
        *key = pending->key;
        serving_free(pending);
        return true;
    }
    return false;
}

void session_forget_exchange(struct session *session, const struct exchange *exchange) {
    for (struct pending **at = &session->pending; *at != NULL;) {
        struct pending *pending = *at;
        if (pending->exchange != exchange) {
            at = &pending->next;
            continue;
        }
        *at = pending->next;
        tn_release(pending->key);
        serving_free(pending);
    }
}

/* ---- GET and DELETE ---- */

/* Answers a request that names no session of the user. */
static void respond_no_session(const struct plugin *plugin, uint64_t http, tn_value request) {
    struct problem problem = {0};
    if (message_header(request, "mcp-session-id") == NULL)
        (void)problem_set(&problem, 400, MCPS_INVALID_REQUEST,
                          "the header Mcp-Session-Id is missing: begin with `initialize`");
    else
        (void)problem_set(&problem, 404, MCPS_INVALID_REQUEST, "the session does not exist, or has ended");
    plugin_respond_take(plugin, http, problem.status, NULL, reply_error(NULL, &problem));
}

void session_get(struct plugin *plugin, uint64_t http, tn_value request) {
    struct session *session = session_find(plugin, request);
    struct problem problem = {0};
    uint64_t id, number;
    const char *last = message_header(request, "last-event-id");
    if (session == NULL) {
        respond_no_session(plugin, http, request);
        return;
    }
    struct stream *stream = stream_read_id(last, &id, &number) ? session_find_stream(session, id) : NULL;
    if (stream != NULL) {
        stream_take_up(stream, http, number);
        return;
    }
    if (!message_accepts(request, "text/event-stream"))
        (void)problem_set(&problem, 406, MCPS_INVALID_REQUEST, "`Accept` must contain text/event-stream");
    else if (session->messages != NULL && session->messages->http != 0)
        (void)problem_set(&problem, 409, MCPS_INVALID_REQUEST, "this session has such a stream already");
    if (problem.status != 0) {
        plugin_respond_take(plugin, http, problem.status, NULL, reply_error(NULL, &problem));
        return;
    }
    if (session->messages != NULL) session->messages->finished = true;
    session->messages = stream_new(plugin, session, http);
}

void session_delete(struct plugin *plugin, uint64_t http, tn_value request) {
    struct session *session = session_find(plugin, request);
    if (session == NULL) {
        respond_no_session(plugin, http, request);
        return;
    }
    session_end(session);
    plugin_respond_take(plugin, http, 204, NULL, NULL);
}

/* ---- Subscriptions ---- */

bool session_has_subscribed(const struct session *session, const char *uri) {
    for (uint64_t i = 0, count = tn.value->count(session->subscriptions); i < count; i++)
        if (serving_is(tn.value->at(session->subscriptions, i), uri)) return true;
    return false;
}

void session_subscribe(struct session *session, const char *uri, bool on, struct problem *problem) {
    uint64_t count = tn.value->count(session->subscriptions);
    if (on && !session_has_subscribed(session, uri)) {
        if (count >= MCPS_SUBSCRIPTIONS)
            (void)problem_set(problem, 200, MCPS_INVALID_PARAMS, "a session has at most %d subscriptions",
                              MCPS_SUBSCRIPTIONS);
        else
            (void)tn_append_take(&session->subscriptions, tn_text(uri));
    }
    for (uint64_t i = 0; !on && i < count; i++)
        if (serving_is(tn.value->at(session->subscriptions, i), uri)) {
            (void)tn.value->splice(&session->subscriptions, i, 1, NULL);
            return;
        }
}
