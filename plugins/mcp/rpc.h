/*
 * rpc.h - one end of a JSON-RPC conversation: our waiting requests, and the dispatch of incoming messages.
 *
 * It does no I/O: messages leave through `send` and arrive as values in rpc_receive. Every request ends exactly once:
 * by its answer, its timeout, rpc_fail or rpc_fail_all, unless rpc_discard removes it. An answer without a waiting
 * request (a wrong id, a second answer) is reported to `stray` and ignored.
 *
 *     struct rpc *rpc = rpc_new(&events);
 *     int64_t id = rpc_call(rpc, "tools/list", params, NULL, 60000, listed, server);
 *     rpc_receive(rpc, message, 0);           // listed(server, &answer)
 *     rpc_free(rpc);                          // discards waiting requests
 */
#ifndef MCP_RPC_H
#define MCP_RPC_H

#include "base.h"

/* Codes of JSON-RPC and of the protocol. */
#define RPC_INVALID_REQUEST   (-32600)
#define RPC_METHOD_NOT_FOUND  (-32601)
#define RPC_INVALID_PARAMS    (-32602)
#define RPC_INTERNAL          (-32603)
#define RPC_HEADER_MISMATCH   (-32020)
#define RPC_CAPABILITY_NEEDED (-32021)
#define RPC_VERSION           (-32022)
#define RPC_URL_NEEDED        (-32042)

/* How a request ended; all members are borrowed. */
struct rpc_answer {
    tn_value result;     /* NULL: it failed */
    int64_t code;        /* of the server's error; 0 if the server sent none */
    tn_value data;       /* of the server's error; may be NULL */
    const char *failure; /* if the server sent no error: TIMEOUT, SERVER_LOST, CONNECT, … */
    const char *message; /* why it failed */
    int64_t status;      /* the HTTP status if that is the reason, else 0 */
};

typedef void (*rpc_done)(void *user, const struct rpc_answer *answer);

struct rpc_events {
    void *user;
    /* Sends `message`. `id` is the request's, 0 for other messages; `extra` is what rpc_call got. If it does not return
     * TN_OK, the message was not sent, and its request fails. */
    int32_t (*send)(void *user, tn_value message, int64_t id, tn_value extra);
    /* The other end sends a request. `origin` is the request of ours whose stream it came with; 0 if unknown. */
    void (*request)(void *user, tn_value id, const char *method, tn_value params, int64_t origin);
    void (*notification)(void *user, const char *method, tn_value params);
    void (*expired)(void *user, int64_t id); /* a timeout: the other end should stop; may be NULL */
    void (*stray)(void *user, const char *what);
};

struct rpc;

struct rpc *rpc_new(const struct rpc_events *events); /* NULL if memory runs out */
void rpc_free(struct rpc *rpc);                       /* NULL is allowed */

/*
 * Starts a request and returns its id, which is never 0. `params` and `extra` are borrowed and may be NULL; timeout_ms
 * 0 means no timeout. `done` is never called inside; if the request cannot be sent, it is called soon. Returns 0,
 * without calling `done`, if too many requests wait or memory runs out.
 */
int64_t rpc_call(struct rpc *rpc, const char *method, tn_value params, tn_value extra, int64_t timeout_ms,
                 rpc_done done, void *user);
void rpc_discard(struct rpc *rpc, int64_t id); /* removes the request without calling `done`; unknown ids are ignored */
/* Restarts the timeout because of progress, at most MCP_EXTENSIONS times. */
void rpc_extend_timeout(struct rpc *rpc, int64_t id);
/* Stops the timeout, or restarts it from its beginning. */
void rpc_pause_timeout(struct rpc *rpc, int64_t id, bool paused);
void rpc_fail(struct rpc *rpc, int64_t id, const struct rpc_answer *answer);
void rpc_fail_all(struct rpc *rpc, const char *failure, const char *message);
int64_t rpc_next_id(const struct rpc *rpc); /* the id of the next request */
bool rpc_is_waiting(const struct rpc *rpc, int64_t id);

void rpc_notify(struct rpc *rpc, const char *method, tn_value params); /* params may be NULL */
void rpc_reply(struct rpc *rpc, tn_value id, tn_value result);
void rpc_refuse(struct rpc *rpc, tn_value id, int64_t code, const char *message);

/* Handles a message, or an array of messages. A `done` callback may call rpc_free; then `rpc` is not touched any more.
 */
void rpc_receive(struct rpc *rpc, tn_value message, int64_t origin);

#endif
