/*
 * session.h - a conversation with one server: which era it is of, what it can do, and requests in that era's form.
 *
 * It begins with `server/discover`, as the versions from 2026-07-28 on have it, and falls back to `initialize` where
 * the server is older: its answer is an error that no modern server gives, it does not answer, or HTTP says 4xx with
 * no modern error in it. Afterwards `ready` comes, or `failed`; once failed, at any time, it can only be freed. No
 * event comes from inside a function that is called here, but for those that a transport gives.
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
    const char *name;           /* the server's, for the log; borrowed for the session's life, as all of these */
    const char *era;            /* "auto", or a version: then no other is tried */
    const char *log_level;      /* of what the server is to log: the protocol's words */
    tn_value roots;             /* an array of {uri, name}, or NULL */
    bool sampling;              /* a model stands ready */
    bool legacy;                /* it did not survive server/discover before */
    bool http;                  /* parameters that are sent as headers matter */
    int64_t until_ms;           /* of the monotonic clock: the handshake has ended by then */
    int64_t connect_timeout_ms; /* for what is asked besides, once it has */
};

struct session_events {
    void *user;
    void (*ready)(void *user);
    /* It cannot begin, or the other end is gone: session_fail_all what waits, and free it. */
    void (*failed)(void *user, const char *code, const char *why);
    void (*changed)(void *user, enum session_list list);
    void (*progress)(void *user, int64_t request, tn_value params);
    /* The server asks for a model or a person: answer with session_reply or session_refuse. */
    void (*asked)(void *user, tn_value id, const char *method, tn_value params, int64_t origin);
    void (*withdrawn)(void *user, tn_value id);
    /* A page that the server sent a person to has done its work. */
    void (*elicited)(void *user, const char *elicitation_id);
};

struct session;

struct session *session_new(const struct session_options *options, const struct session_events *events);
void session_free(struct session *session); /* NULL is allowed; requests are forgotten, the transport is closed */
/* As the transport's leave. */
bool session_leave(struct session *session, void (*left)(void));
/* What a transport's events are to be. */
struct transport_events session_transport_events(struct session *session);
void session_start(struct session *session, struct transport *transport);

/*
 * As rpc_call, with what the era wants in `_meta` added to `params`, which are an object or NULL. `progress`: the
 * server may tell how it gets on.
 */
int64_t session_request(struct session *session, const char *method, tn_value params, tn_value headers, bool progress,
                        int64_t timeout_ms, rpc_done done, void *user);
/* Nobody waits for it any more, and the server is told; its `done` is not called. */
void session_cancel(struct session *session, int64_t id, const char *reason);
/* While a person is asked, no time runs out. */
void session_hold(struct session *session, int64_t id, bool held);
void session_fail_all(struct session *session, const char *code, const char *why); /* every request, now */
void session_reply(struct session *session, tn_value id, tn_value result);
void session_refuse(struct session *session, tn_value id, int64_t code, const char *message);

bool session_probing(const struct session *session); /* nothing is known of its era yet: server/discover was sent */
bool session_modern(const struct session *session);
bool session_can(const struct session *session, const char *capability); /* "tools", "resources", … */
const char *session_version(const struct session *session);              /* "" before it is known */
tn_value session_info(const struct session *session);                    /* the server's name and version, or NULL */
tn_value session_instructions(const struct session *session);            /* or NULL; both borrowed */

#endif
