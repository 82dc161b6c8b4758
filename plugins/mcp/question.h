/*
 * question.h - questions of a server to a model or a person, which must be answered before a call can continue.
 *
 * Questions to people are asked one after the other; any number of models can run at the same time. The origin of a
 * question decides where its answer goes: to the request of a server before 2026-07-28 (`id`), or into the responses of
 * the round (`key`). If it has neither, the call is repeated.
 *
 *     questions_add(call, QUESTION_MODEL, id, NULL, params);
 *     call_advance(call);
 */
#ifndef MCP_QUESTION_H
#define MCP_QUESTION_H

#include "call.h"
#include "deferred.h"

enum question_kind { QUESTION_PERSON, QUESTION_MODEL };

struct question {
    struct question *next;
    struct call *call;
    enum question_kind kind;
    tn_value id;     /* of the server's request, or NULL */
    tn_value key;    /* in the round, or NULL */
    tn_value params; /* of the question */
    bool withdrawn;  /* the answer is no longer needed */
};

struct call {
    struct call *next;
    struct server *server;
    struct tool *tool;
    tn_task task;   /* 0: it ended with an interrupt, and mcp_call_start with the answer sets a new one */
    uint32_t model; /* what bind_call returned, or TN_UNBOUND */
    tn_value key;   /* the idempotency key; NULL if memory ran out */
    tn_value arguments;
    int64_t request; /* 0: no request is running */
    bool waiting;    /* until the server is ready */
    bool resent;     /* the request was sent again, in a new session */
    bool must_send;  /* send the request (again) when all questions are answered */
    /* The round, for servers that keep no state between two requests. */
    tn_value state, input_requests, responses;
    uint32_t rounds;
    struct deferred deferred; /* the task that the server answered with, if any */
    bool repeated; /* the server did not accept the state of its round, and the call was made again without it */
    int64_t permission_count; /* how often a person was asked for permission to use the server */
    struct question *person_questions;
    struct question *model_questions;   /* not started */
    struct question *running_questions; /* a model works on each */
    uint32_t running_count;
    tn_value answers; /* of people: [{question, result}] */
    char token[40];   /* identifies the call in its continuation */
    /* The outcome. */
    bool decided;
    tn_value output, error; /* both NULL: memory ran out */
};

/* Keeps `params` and copies id and key. Returns false if there are too many questions or memory runs out. */
bool questions_add(struct call *call, enum question_kind kind, tn_value id, tn_value key, tn_value params);
void questions_add_input_requests(struct call *call); /* adds the members of `input_requests` without a response */
void questions_start_models(struct call *call);
void questions_withdraw(struct call *call, tn_value id);
void questions_handle_session_end(struct call *call); /* the session with the server has ended */
void questions_free_all(struct call *call);           /* no model may be running */
/* Sends the answer to the origin of the question and frees the question. */
void question_answer(struct call *call, struct question *question, tn_value result);

/* In call.c. Both set an error as the outcome, unless the call has one, and take the values; `detail` may be NULL. */
void call_decide(struct call *call, const char *code, tn_value message, tn_value detail);
void call_decide_error(struct call *call, tn_value error);
void call_decide_result(struct call *call, tn_value result); /* of tools/call; borrowed */
/* Makes the call again, once: when the server asks the same questions, it gets the answers that are known. */
void call_repeat(struct call *call);
void call_advance(struct call *call);

#endif
