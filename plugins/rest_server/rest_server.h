/*
 * rest_server.h - the method table of the host over HTTP and WebSocket.
 *
 *     rest_server.c  routes, and the requests that are open
 *     method.c       POST and GET /api/FAMILY/METHOD
 *     query.c        the query of a GET as parameters of a method
 *     message.c      messages of JSON-RPC
 *     rpc.c          POST /rpc
 *     socket.c       GET /rpc: a WebSocket; subscription.c, its subscriptions
 *     events.c       GET /api/runs/{run_id}/events
 *     upload.c       PUT /api/artifacts/{name};  download.c, GET /api/artifacts/{id}/body
 *     document.c     GET /openrpc.json and /openapi.json; openapi.c, the second one
 *
 * query.c, message.c and openapi.c are pure. Everything is [loop].
 */
#ifndef REST_SERVER_H
#define REST_SERVER_H

#include "serving.h"

/* Limits; README.md has the table. */
#define BODY_MAX          (32 << 20)   /* bytes of a request */
#define UPLOAD_MAX        (1 << 30)    /* bytes of an Artifact */
#define ID_MAX            256u         /* bytes of an id that is a text */
#define CALLS_MAX         256u         /* open requests of a WebSocket */
#define SUBSCRIPTIONS_MAX 256u         /* of a WebSocket */
#define CREDIT_MAX        1000000      /* of a subscription */
#define PART_MAX          (256u << 10) /* bytes of a body that one method call carries */
#define NAME_MAX_BYTES    512u         /* of an uploaded file */

struct rest {
    struct serving serving;
    struct serving_exchanges exchanges;
    tn_value table; /* the OpenRPC document of what this plugin may call; NULL until it is needed */
};

/* A request of a client, from its first event to CLOSED. */
struct exchange {
    SERVING_EXCHANGE;
    struct rest *rest;
    uint64_t call; /* an open call; it is cancelled when the exchange ends */
    bool responded;
    /* All other events. At CLOSED the object is freed; afterwards the exchange is. NULL: nothing to do. */
    void (*on_event)(struct exchange *exchange, int32_t event, tn_value value);
    void *object;
};

typedef void exchange_begin(struct exchange *exchange);
exchange_begin method_post, method_get, rpc_post, socket_get, events_get, upload_put, download_get, openapi_get,
    openrpc_get;

/* Takes `json`. */
void exchange_reply(struct exchange *exchange, int32_t status, tn_value json);
/* Takes the response. */
void exchange_respond(struct exchange *exchange, tn_value response);
/* {error: ERROR with its status}: the ERROR of a method, borrowed. */
void exchange_fail(struct exchange *exchange, tn_value error);
/* The same with this status and these words. */
void exchange_refuse(struct exchange *exchange, int32_t status, const char *code, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void exchange_abort(struct exchange *exchange);
const char *exchange_param(const struct exchange *exchange, const char *name);
const char *exchange_header(const struct exchange *exchange, const char *name); /* NULL if it is absent */

/*
 * Calls a method for the user. Takes `params`. NULL: the handler will be called, unless the call is cancelled. Else an
 * ERROR, new; NOT_FOUND if there is no such method.
 */
tn_value rest_call_take(struct rest *rest, uint64_t caller, const char *method, tn_value params,
                        tn_host_handler handler, void *user, uint64_t *number);
/* The same for an exchange, as its open call. */
tn_value exchange_call_take(struct exchange *exchange, const char *method, tn_value params, tn_host_handler handler);

/* Methods that need a connection: those of events. */
bool rest_is_of_events(const char *method);

/* ---- Documents ---- */

/* The row of an OpenRPC document: borrowed, NULL if it is not there. */
tn_value openrpc_find(tn_value document, const char *method);
/* The schema, or the one that it refers to: borrowed. */
tn_value openrpc_resolve(tn_value document, tn_value schema);
/* Without the member `subscribe` of parameters, which `run/subscribe` replaces: new. Takes the document. */
tn_value openrpc_trim_take(tn_value document);
tn_value openapi_build(tn_value openrpc, const char *origin); /* new */

/* True if a GET can have the parameters of the row: its scope is `read`, and they are flat. */
bool query_is_flat(tn_value document, tn_value row);
/* The parameters: new. What does not have the form of its type stays a text, which the host refuses. */
tn_value query_params(tn_value document, tn_value row, tn_value query);

/* ---- JSON-RPC ---- */

#define RPC_PARSE_ERROR      (-32700)
#define RPC_INVALID_REQUEST  (-32600)
#define RPC_METHOD_NOT_FOUND (-32601)
#define RPC_INVALID_PARAMS   (-32602)
#define RPC_FAILED           (-32000)

struct rpc_message {
    tn_value id;        /* borrowed; NULL: a notification */
    const char *method; /* borrowed */
    tn_value params;    /* borrowed; NULL: none */
};

/* False: *error is the response, new. */
bool rpc_read(tn_value json, struct rpc_message *message, tn_value *error);
tn_value rpc_result(tn_value id, tn_value result);                            /* new */
tn_value rpc_error(tn_value id, int number, const char *text, tn_value data); /* new; id NULL is null */
tn_value rpc_failure(tn_value id, tn_value error);                            /* of an ERROR: new */

/* ---- WebSockets ---- */

struct socket {
    struct exchange *exchange;
    struct socket_call *calls;
    struct subscription *subscriptions;
    uint64_t last_subscription;
    uint32_t calls_open, subscriptions_open;
    bool full, draining;
};

void socket_send_take(struct socket *socket, tn_value message);
/* The methods event/… and run/subscribe. */
void subscription_request(struct socket *socket, const struct rpc_message *message);
void subscriptions_flow(struct socket *socket); /* after `full` has changed */
void subscriptions_free(struct socket *socket);

#endif
