/*
 * exchange_internal.h - the state of a request, and what its steps share.
 */
#ifndef AI_SDK_EXCHANGE_INTERNAL_H
#define AI_SDK_EXCHANGE_INTERNAL_H

#include "exchange.h"
#include "request.h"

struct exchange {
    struct exchange *next;
    struct exchanges *all;
    uint64_t request, caller;
    bool resets;                   /* `?version=7`: the client knows reset-step */
    uint64_t call;                 /* that is open */
    struct serving_lookup *lookup; /* that is open */
    struct leg *leg;               /* that is starting */
    struct chat_request chat;      /* of POST */
    char *chat_id, *active;        /* active: the run that the message replaces, or that is followed */
    int64_t continued_from;        /* of GET: the host has continued the run `active` after this checkpoint */
    tn_value graphs, thread;       /* of POST */
    struct serving_graph graph;
    void (*with_run)(struct exchange *exchange, tn_value run); /* of GET and DELETE; `run` is NULL if none is active */
    char *graph_name;                                          /* of GET; NULL if the client names none */
};

struct exchanges {
    const struct serving *serving;
    struct legs *legs;
    struct exchange *first;
    uint64_t count;
};

/* NULL: there are too many, or the version is not known; that was answered. */
struct exchange *exchange_new(struct exchanges *all, uint64_t request, tn_value value);
void exchange_free(struct exchange *exchange);

/* These end the exchange. */
void answer(struct exchange *exchange, int32_t status, const char *text);
void answer_nothing(struct exchange *exchange);
void answer_error(struct exchange *exchange, tn_value error);

/* Calls a method; the exchange may have ended when it returns. Takes `params`. */
void call_take(struct exchange *exchange, const char *method, tn_value params, tn_host_handler handler);
/* The active run of the chat. */
void list_active(struct exchange *exchange, tn_host_handler handler);
/* Looks up the graph of this name, or all of them if it is NULL. */
struct serving_lookup *look_up_graph(struct exchange *exchange, const char *name, serving_graphs_handler *handler);
/* Reads the graph of this name, or the only one, from `graphs`; false if there is none, which was answered. */
bool select_graph(struct exchange *exchange, const char *name, tn_value graphs, tn_value error);

#endif
