/*
 * session.h - sessions of 2025-11-25 and before: what a client has declared, its streams, and questions to it.
 *
 * A session belongs to one user: for others it does not exist. It ends by DELETE, when it has been idle for
 * MCPS_SESSION_IDLE_MS, or for a new session of the same user that has MCPS_SESSIONS_KEY_MAX.
 *
 *     struct session *session = session_new(plugin, request, params);
 *     session = session_find(plugin, request);       // by Mcp-Session-Id
 */
#ifndef MCPS_SESSION_H
#define MCPS_SESSION_H

#include "plugin.h"

struct stream;

/* A request that the server has sent. */
struct pending {
    struct pending *next;
    int64_t id;
    struct exchange *exchange; /* that waits for it; NULL: it has ended */
    tn_value key;              /* of the question */
};

struct session {
    struct session *next;
    struct plugin *plugin;
    char id[33], caller[256], version[16];
    tn_value capabilities;  /* of the client */
    tn_value subscriptions; /* array of URIs */
    int32_t log_level;
    struct stream *streams;  /* the newest first */
    struct stream *messages; /* of GET: what belongs to no request; one of `streams`, or NULL */
    struct pending *pending;
    uint64_t next_stream;
    int64_t next_request, used_ms;
    uint32_t exchange_count;
};

/* `params` are those of initialize. NULL if memory runs out, or the host has MCPS_SESSIONS_MAX. */
struct session *session_new(struct plugin *plugin, tn_value request, tn_value params);
struct session *session_find(struct plugin *plugin, tn_value request);
/* Ends it, with its streams, its questions and the requests that are open. */
void session_end(struct session *session);
void session_add_stream(struct session *session, struct stream *stream);
struct stream *session_find_stream(const struct session *session, uint64_t id);
/* The stream whose response is this HTTP request, of any session; NULL. */
struct stream *session_stream_of(const struct plugin *plugin, uint64_t http);
/* Sends a request of the server on the stream, for a question of the exchange. False if memory runs out. */
bool session_ask(struct session *session, struct exchange *exchange, struct stream *stream, tn_value key,
                 tn_value request);
/* The exchange and the key of a response's id; removes it. False if it is not known. */
bool session_take_pending(struct session *session, tn_value id, struct exchange **exchange, tn_value *key);
void session_forget_exchange(struct session *session, const struct exchange *exchange);
/* Sends a notification that belongs to no request. */
void session_notify(struct session *session, tn_value notification);
/* GET: a new stream, or the rest of one that was interrupted. */
void session_get(struct plugin *plugin, uint64_t http, tn_value request);
/* DELETE. */
void session_delete(struct plugin *plugin, uint64_t http, tn_value request);
void session_subscribe(struct session *session, const char *uri, bool on, struct problem *problem);
bool session_has_subscribed(const struct session *session, const char *uri);

#endif
