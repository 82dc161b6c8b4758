/*
 * rpc.h - one end of a JSON-RPC conversation: requests of ours that wait, and what comes in, told apart.
 *
 * It does no I/O: messages leave through `send`, and come in through rpc_receive as values. Every request ends exactly
 * once, by its answer, its timeout, rpc_fail or rpc_fail_all, unless rpc_forget takes it back; an answer that nobody
 * waits for (a wrong id, a second one) is told to `stray` and changes nothing.
 *
 *     struct rpc *rpc = rpc_new(&events);
 *     int64_t id = rpc_call(rpc, "tools/list", params, NULL, 60000, listed, server);
 *     rpc_receive(rpc, message, 0);           // listed(server, &answer)
 *     rpc_free(rpc);                          // what still waits is forgotten
 */
#ifndef MCP_RPC_H
#define MCP_RPC_H

#include "base.h"

/* JSON-RPC's own codes, and the protocol's. */
#define RPC_INVALID_REQUEST   (-32600)
#define RPC_METHOD_NOT_FOUND  (-32601)
#define RPC_INVALID_PARAMS    (-32602)
#define RPC_INTERNAL          (-32603)
#define RPC_HEADER_MISMATCH   (-32020)
#define RPC_CAPABILITY_NEEDED (-32021)
#define RPC_VERSION           (-32022)
#define RPC_URL_NEEDED        (-32042)

/* How a request ended; everything is borrowed. */
struct rpc_answer {
    tn_value result;     /* NULL: it failed */
    int64_t code;        /* of the server's error; 0 where the server gave none */
    tn_value data;       /* of that error; may be NULL */
    const char *failure; /* where it is not the server's error: TIMEOUT, SERVER_LOST, CONNECT, … */
    const char *message; /* why it failed */
    int64_t status;      /* HTTP's, where that is why; else 0 */
};

typedef void (*rpc_done)(void *user, const struct rpc_answer *answer);

struct rpc_events {
    void *user;
    /* Sends `message`; `id` is the request's, 0 for all else; `extra` is what rpc_call was given. Not TN_OK: it cannot,
     * and the request (if it is one) fails. */
    int32_t (*send)(void *user, tn_value message, int64_t id, tn_value extra);
    /* The other end asks. `origin`: the request of ours to whose stream it belongs; 0 where that is not known. */
    void (*request)(void *user, tn_value id, const char *method, tn_value params, int64_t origin);
    void (*notification)(void *user, const char *method, tn_value params);
    void (*expired)(void *user, int64_t id); /* timed out: let the other end stop; may be NULL */
    void (*stray)(void *user, const char *what);
};

struct rpc;

struct rpc *rpc_new(const struct rpc_events *events); /* NULL without memory */
void rpc_free(struct rpc *rpc);                       /* NULL is allowed */

/*
 * Begins a request; its id, never 0. `params` and `extra` are borrowed and may be NULL; timeout_ms 0 is none. `done` is
 * never called inside; where the request cannot be sent it comes soon. 0: too many wait, or no memory; no done.
 */
int64_t rpc_call(struct rpc *rpc, const char *method, tn_value params, tn_value extra, int64_t timeout_ms,
                 rpc_done done, void *user);
void rpc_forget(struct rpc *rpc, int64_t id); /* its done is not called; unknown ids do nothing */
void rpc_touch(struct rpc *rpc, int64_t id);  /* it goes on: the timeout begins anew, at most MCP_EXTENSIONS times */
void rpc_hold(struct rpc *rpc, int64_t id, bool held); /* no time runs out while held; then it begins anew */
void rpc_fail(struct rpc *rpc, int64_t id, const struct rpc_answer *answer);
void rpc_fail_all(struct rpc *rpc, const char *failure, const char *message);
int64_t rpc_next(const struct rpc *rpc); /* the id that the next request will have */
bool rpc_waits(const struct rpc *rpc, int64_t id);

void rpc_notify(struct rpc *rpc, const char *method, tn_value params); /* params may be NULL */
void rpc_reply(struct rpc *rpc, tn_value id, tn_value result);
void rpc_refuse(struct rpc *rpc, tn_value id, int64_t code, const char *message);

/* A message, or an array of them. It may end in rpc_free (in a done): then nothing of `rpc` is touched any more. */
void rpc_receive(struct rpc *rpc, tn_value message, int64_t origin);

#endif
