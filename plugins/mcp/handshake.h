/*
 * handshake.h - a session before both sides have agreed on a version, and what the handshake shares with the rest.
 *
 * session.c has the messages, handshake.c the two handshakes, changes.c the stream that reports changes of lists. Only
 * these files see the members.
 *
 *     if (id == 0) session_fail(session, "LIMIT", "not enough memory");      // the session may be freed now
 */
#ifndef MCP_HANDSHAKE_H
#define MCP_HANDSHAKE_H

#include "session.h"

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

/* ---- handshake.c ---- */

/* Ends the session: `failed` is called, unless it was. The callback may free the session. */
void session_fail(struct session *session, const char *code, const char *why);
void session_stop_probe(struct session *session);

/* ---- changes.c ---- */

/* Opens one stream for all lists that may change. Sends nothing if none of them does. */
void session_listen(struct session *session);

/* ---- session.c ---- */

void put_client_info(tn_builder *builder, const char *key);
void put_client_capabilities(const struct session *session, tn_builder *builder, const char *key, bool modern);
/* As session_request, with the members of either era. */
int64_t session_call(struct session *session, const char *method, tn_value params, tn_value headers, bool progress,
                     bool modern, int64_t timeout_ms, rpc_done done, void *user);

#define META "io.modelcontextprotocol/" /* the start of names in `_meta` */

#endif
