/*
 * ask.h - what a server wants to know before a call can go on: from a model, from a person.
 *
 * A call has a queue of questions for people, which are asked one after the other, and any number of models at work.
 * An answer goes where the question came from: to the request of a server of the older era (`id`), among the responses
 * of the round (`key`), or nowhere, where the call is simply made again.
 *
 *     asks_add(call, ASK_MODEL, id, NULL, params);
 *     call_advance(call);
 */
#ifndef MCP_ASK_H
#define MCP_ASK_H

#include "call.h"

enum ask_kind { ASK_PERSON, ASK_MODEL };

struct ask {
    struct ask *next;
    struct call *call;
    enum ask_kind kind;
    tn_value id;     /* of the server's request; NULL */
    char *key;       /* in the round; NULL */
    tn_value params; /* of the question */
    bool lost;       /* nobody waits for the answer any more */
};

struct call {
    struct call *next;
    struct server *server;
    struct tool *tool;
    tn_task task; /* 0: it has ended by an interrupt, and the call waits for the next one */
    uint32_t model;
    tn_value arguments;
    int64_t request; /* 0: none is under way */
    bool waiting;    /* for the server to be ready */
    bool again;      /* it has been sent again, in a new session */
    bool sends;      /* once every question has its answer, the request is sent (again) */
    /* The round, of servers that keep nothing between two requests. */
    tn_value state, inputs, responses;
    uint32_t rounds;
    int64_t permits;       /* times that a person was asked whether the server may be used */
    struct ask *asks;      /* questions for people, in their order */
    struct ask *to_models; /* not begun */
    struct ask *at_models;
    uint32_t models;  /* how many at_models */
    tn_value answers; /* that people gave: [{question, result}] */
    char token[40];
    /* The outcome. */
    bool decided;
    char code[40];
    tn_value output, message, more;
};

/* `params` are kept, and id and key copied. False: too many, or no memory. */
bool asks_add(struct call *call, enum ask_kind kind, tn_value id, const char *key, tn_value params);
void asks_of_round(struct call *call); /* those of `inputs` that have no response yet */
void asks_start_models(struct call *call);
void asks_withdraw(struct call *call, tn_value id);
void asks_lost(struct call *call); /* the server is gone */
void asks_drop(struct call *call); /* no model is at work */
/* Sends the answer where it belongs, and forgets the question. */
void ask_answer(struct call *call, struct ask *ask, tn_value result);

/* call.c's */
void call_decide(struct call *call, const char *code, tn_value message, tn_value more);
void call_advance(struct call *call);

#endif
