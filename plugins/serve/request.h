/*
 * request.h - one request: what libmicrohttpd calls for it, the events that its handler receives, and its end.
 *
 * The callbacks of libmicrohttpd only store what has arrived, in members of `struct request`. Handlers are called by
 * requests_deliver, after libmicrohttpd has returned, so they may call every function. While a request waits for its
 * handler, its connection is suspended; request_wake makes libmicrohttpd ask again what to do.
 *
 *     HEAD ─▶ OFFERED ─▶ RECEIVING ─▶ RECEIVED ─▶ ANSWERED ─▶ CLOSED (number 0, freed)
 *      │        │            (only with a body)      ▲
 *      │        └── response ───────────────────────┘
 *      └─▶ REFUSED: by us or by libmicrohttpd
 */
#ifndef TENON_PLUGINS_SERVE_REQUEST_H
#define TENON_PLUGINS_SERVE_REQUEST_H

#include "base.h"

struct listener;
struct connection;
struct socket;

enum request_state {
    REQUEST_HEAD,      /* libmicrohttpd has the request line */
    REQUEST_REFUSED,   /* answered by us */
    REQUEST_OFFERED,   /* the handler decides */
    REQUEST_RECEIVING, /* the body arrives */
    REQUEST_RECEIVED,  /* the body has arrived; the handler decides */
    REQUEST_ANSWERED   /* libmicrohttpd has the response */
};

struct request {
    TAILQ_ENTRY(request) in_listener, in_ready, in_unwatched;
    struct listener *listener;     /* one reference */
    struct connection *connection; /* NULL after libmicrohttpd has ended the request */
    uint64_t number;               /* 0: not known to the host */
    uint32_t references;
    enum request_state state;
    bool suspended, ready, unwatched, paused, aborted, closed;
    bool admitted, over_limit; /* receive was called; the body is too large */
    uint64_t watch;     /* of the connection's socket, while the request is suspended: notices that the client leaves */
    const char *reason; /* of CLOSED; NULL: what libmicrohttpd reports */

    /* The head: a copy of the target, where it was in the buffer of libmicrohttpd, and facts for the answer. */
    char *target;
    uintptr_t target_at;
    bool http10, websocket;
    char key[32];

    /* The body. */
    int64_t body; /* -1: chunked */
    uint64_t limit, received, discarded;
    struct tn_text_buffer arrived; /* not delivered yet */

    /* Events that wait for requests_deliver, beside `arrived` and `closed`. */
    tn_value head, refusal;
    tn_value messages; /* an array; NULL: none */
    bool body_ended, room;

    /* The response. */
    struct MHD_Response *response; /* until libmicrohttpd has it */
    int status;
    bool answered, more, finished, full; /* answered: `respond` or `accept` was called */
    uint64_t length, sent;
    struct tn_text_buffer out; /* of a response with more = 1; the bytes before `out_begin` were taken */
    uint64_t out_begin;
    uint64_t waiting;      /* bytes for the client, as request_note_waiting was told */
    struct socket *socket; /* WebSocket, after the upgrade */
};
TAILQ_HEAD(request_list, request);

/* Callbacks of libmicrohttpd; `user` is the listener. */
void *request_on_line(void *user, const char *target, struct MHD_Connection *connection);
enum MHD_Result request_on_access(void *user, struct MHD_Connection *connection, const char *url, const char *method,
                                  const char *version, const char *upload, size_t *size, void **context);
void request_on_completed(void *user, struct MHD_Connection *connection, void **context,
                          enum MHD_RequestTerminationCode code);

struct request *request_find(uint64_t number); /* NULL: it has ended */
int32_t request_receive(struct request *request, uint64_t limit);
int32_t request_pause(struct request *request, bool on);
/* Ends the connection; CLOSED has `reason`, unless the request had one already. */
void request_abort(struct request *request, const char *reason);
/* Makes libmicrohttpd continue with a suspended request, in this turn of the loop or the next. */
void request_wake(struct request *request);
/* Inside a callback of libmicrohttpd for this request. */
void request_suspend(struct request *request);
void request_unwatch(struct request *request); /* its socket is not watched for a client that leaves */
/*
 * So many bytes wait for the client, after some were written, or taken. What may wait is write_bytes, or WRITE_LEAST if
 * much waits for all clients of the listener: with more the request is `full`, and with less than half of it ROOM is
 * due.
 */
void request_note_written(struct request *request, uint64_t bytes);
void request_note_taken(struct request *request, uint64_t bytes);
/* Something is to be delivered. */
void request_set_ready(struct request *request);
/* An event REFUSED of the listener, without a request. Takes `refusal`. */
void request_refuse_take(struct listener *listener, tn_value refusal);
/* Watches the sockets of requests that are still suspended. */
void requests_watch(struct listener *listener);
/* Calls handlers until there are no more events; those of `only`, or of all listeners if NULL. */
void requests_deliver(struct listener *only);
/* All requests have ended. */
void requests_close(void);

#endif
