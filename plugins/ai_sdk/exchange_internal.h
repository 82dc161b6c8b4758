/*
 * exchange_internal.h - the state of a request, and what its steps share.
 */
#ifndef AI_SDK_EXCHANGE_INTERNAL_H
#define AI_SDK_EXCHANGE_INTERNAL_H

#include "exchange.h"
#include "request.h"

struct exchange {
    SERVING_EXCHANGE;
    struct ai_sdk *all;
    bool starts;                     /* it is counted in `all->starting` */
    bool resets;                     /* `?version=7`: the client knows reset-step */
    uint64_t call;                   /* that is open */
    struct serving_lookup *lookup;   /* that is open */
    struct serving_reading *reading; /* that is open */
    struct leg *leg;                 /* that is starting */
    struct chat_request chat;        /* of POST */
    char *chat_id, *active;          /* active: the run that the message replaces, or that is followed */
    int64_t continued_from;          /* of GET: the host has continued the run `active` after this checkpoint */
    tn_value graphs, thread;         /* of POST */
    struct serving_graph graph;
    void (*with_run)(struct exchange *exchange, tn_value run); /* of GET and DELETE; `run` is NULL if none is active */
    char *graph_name;                                          /* of GET; NULL if the client names none */
};

/* The steps are over: their calls are cancelled. A leg may have the request now. */
void exchange_end(struct exchange *exchange);

/* These end the steps. */
void answer(struct exchange *exchange, int32_t status, const char *text);
void answer_nothing(struct exchange *exchange);
void answer_error(struct exchange *exchange, tn_value error);

/* Calls a method; the steps may have ended when it returns. Takes `params`. */
void call_take(struct exchange *exchange, const char *method, tn_value params, tn_host_handler handler);
/* The active run of the chat. */
void list_active(struct exchange *exchange, tn_host_handler handler);
/* Looks up the graph of this name, or all of them if it is NULL. */
struct serving_lookup *look_up_graph(struct exchange *exchange, const char *name, serving_graphs_handler *handler);
/* Reads the graph of this name, or the first one, from `graphs`; false if there is none, which was answered. */
bool select_graph(struct exchange *exchange, const char *name, tn_value graphs, tn_value error);

/* The routes. */
void exchange_post(struct exchange *exchange);
void exchange_resume(struct exchange *exchange);
void exchange_history(struct exchange *exchange);
void exchange_cancel(struct exchange *exchange);

#endif
