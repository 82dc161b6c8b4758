/*
 * exchange.h - one request of a client, from its message to its answer.
 *
 * The answer is one JSON document, unless something has to be sent before it: then the response becomes a stream. An
 * exchange of a session continues when its client is away, and its answer waits in the stream; in 2026-07-28 the client
 * cancels a request by closing its connection.
 *
 *     exchange_start(plugin, session, http, request, &message);
 *     exchange_notify(exchange, notification);            // any number of times
 *     exchange_result_take(exchange, result);             // or exchange_fail: the exchange is freed
 */
#ifndef MCPS_EXCHANGE_H
#define MCPS_EXCHANGE_H

#include "plugin.h"

struct session;
struct stream;
struct method;

struct exchange {
    struct exchange *next;
    struct plugin *plugin;
    struct session *session; /* NULL: 2026-07-28, or initialize */
    const struct method *method;
    uint64_t http, caller; /* http: 0 if the client is away, or a stream has the response */
    char owner[256];       /* caller_text */
    bool modern, may_stream;
    tn_value request, id, params, meta, capabilities; /* retained */
    struct stream *stream;                            /* NULL: nothing was sent yet */
    void (*then)(struct exchange *exchange);          /* when the catalogue was read */
    /* What it waits for. */
    struct serving_lookup *lookup;
    uint64_t call;
    struct serving_run *run;
    /* tools/call, prompts/get, resources/read: call.c */
    tn_value catalogue, entry, variables, graphs, questions, responses, state_ids;
    struct events events;
    char thread[64];
    char *run_id;
    int64_t steps;  /* of the run that waits: an old requestState is not accepted for a later question */
    uint64_t asked; /* requests of the server that wait for a response */
    bool answering; /* the run is continued with answers of this request */
    /* Tasks: tasks.h */
    tn_value task, record; /* the memory, and the thread; NULL: there is none */
    tn_value found, made;  /* what was read, and what is answered */
    char task_id[40];      /* of the task that the request begins, or is about */
    uint64_t post, at;     /* post: it waits */
    bool begins_task;      /* until it is answered */
    bool holds_task, waits_for_task;
    bool detached; /* it continues when the client has gone */
    void (*with_task)(struct exchange *exchange);
    void (*with_result)(struct exchange *exchange, tn_value result, struct problem *problem);
    void (*step)(struct exchange *exchange, bool ok, tn_value value);
};

/* Takes nothing; retains what it needs. The exchange answers, now or later. */
void exchange_start(struct plugin *plugin, struct session *session, uint64_t http, tn_value request,
                    const struct message *message);
/* Sends a notification about this request. */
void exchange_notify(struct exchange *exchange, tn_value notification);
/* The response as a stream; NULL if the client does not read one, or memory ran out. */
struct stream *exchange_stream(struct exchange *exchange);
/* Answers, and frees the exchange. Takes the result; NULL: memory ran out. */
void exchange_result_take(struct exchange *exchange, tn_value result);
/* Answers with an error. Takes problem->data. */
void exchange_fail(struct exchange *exchange, struct problem *problem);
/* Frees it, but not its stream, which continues. */
void exchange_leave_stream(struct exchange *exchange);
/* Ends it without an answer: the client has cancelled it. */
void exchange_cancel(struct exchange *exchange);
struct exchange *exchange_find(const struct plugin *plugin, const struct session *session, tn_value id);
/* The one whose response this HTTP request gets; NULL. */
struct exchange *exchange_of(const struct plugin *plugin, uint64_t http);
/* The client of this HTTP request has gone, or can take more. */
void exchanges_on_closed(struct plugin *plugin, uint64_t http);
void exchanges_on_room(const struct plugin *plugin, uint64_t http);
/* Cancels all exchanges of a session. */
void exchanges_end_session(struct plugin *plugin, const struct session *session);
void exchanges_free(struct plugin *plugin);

#endif
