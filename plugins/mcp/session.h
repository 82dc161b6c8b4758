/*
 * session.h - a conversation with one server: its era, its capabilities, and requests in the form of that era.
 *
 * It starts with `server/discover` (versions from 2026-07-28 on), and `initialize` follows for older servers: those
 * that answer with an error that no modern server sends, do not answer soon, or answer with HTTP 4xx without a modern
 * error. A late answer to `server/discover` is accepted too. Then `ready` or `failed` is called. A failed session can
 * only be freed. No event is called from inside these functions, except `failed` by session_start if memory runs out: a
 * transport calls nothing inside its send.
 *
 *     struct session *session = session_new(&options, &events);
 *     session_start(session, transport);                          // takes the transport
 *     int64_t id = session_request(session, "tools/call", params, NULL, 60000, called, call);
 *     session_free(session);
 */
#ifndef MCP_SESSION_H
#define MCP_SESSION_H

#include "rpc.h"
#include "transport.h"

enum session_list { LIST_TOOLS, LIST_PROMPTS, LIST_RESOURCES };

struct session_options {
    const char *name;           /* for the log; borrowed while the session lives, as are all members */
    const char *era;            /* "auto", or the only version to try */
    const char *log_level;      /* the protocol's word for the lowest level that the server logs */
    tn_value roots;             /* an array of {uri, name}, or NULL */
    bool sampling;              /* a model is available */
    bool legacy;                /* the server ended after server/discover before */
    bool http;                  /* parameters may be sent as headers */
    int64_t until_ms;           /* monotonic clock: limit for the handshake */
    int64_t connect_timeout_ms; /* for requests of the session after the handshake */
};

struct session_events {
    void *user;
    void (*ready)(void *user);
    /* The handshake failed or the server is gone: call session_fail_all and free the session. */
    void (*failed)(void *user, const char *code, const char *why);
    void (*changed)(void *user, enum session_list list);
    void (*progress)(void *user, int64_t request, tn_value params);
    /* The server asks for a model or a person: answer with session_reply or session_refuse. */
    void (*question)(void *user, tn_value id, const char *method, tn_value params, int64_t origin);
    void (*withdrawn)(void *user, tn_value id);
    /* A page that the server sent a person to is done. */
    void (*elicited)(void *user, const char *elicitation_id);
};

struct session;

struct session *session_new(const struct session_options *options, const struct session_events *events);
void session_free(struct session *session); /* NULL is allowed; discards requests and closes the transport */
/* As transport_class.end_session. */
bool session_end_at_server(struct session *session, void (*ended)(void));
/* Returns the events for the session's transport. */
struct transport_events session_transport_events(struct session *session);
void session_start(struct session *session, struct transport *transport);

/*
 * Like rpc_call, with the era's `_meta` added to `params`, which are an object or NULL. `progress`: the server may
 * report progress.
 */
int64_t session_request(struct session *session, const char *method, tn_value params, tn_value headers, bool progress,
                        int64_t timeout_ms, rpc_done done, void *user);
/* Cancels a request here and at the server; its `done` is not called. */
void session_cancel(struct session *session, int64_t id, const char *reason);
/* Stops the timeout while a person is asked. */
void session_pause_timeout(struct session *session, int64_t id, bool paused);
void session_fail_all(struct session *session, const char *code, const char *why); /* every request, now */
void session_reply(struct session *session, tn_value id, tn_value result);
void session_refuse(struct session *session, tn_value id, int64_t code, const char *message);

bool session_is_probing(const struct session *session); /* server/discover was sent, and no version agreed on */
/* The HTTP status with which the server refused `initialize`; 0: it did not, or without one. */
int64_t session_refused_status(const struct session *session);
bool session_is_modern(const struct session *session);
bool session_has_capability(const struct session *session, const char *capability); /* "tools", "resources", … */
tn_value session_capabilities(const struct session *session); /* borrowed; NULL before they are known */
const char *session_version(const struct session *session);   /* "" before it is known */
tn_value session_info(const struct session *session);         /* the server's name and version, or NULL */
tn_value session_instructions(const struct session *session); /* or NULL; both borrowed */

#endif
