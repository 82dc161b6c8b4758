/*
 * deferred.h - results that a server delivers later: tasks of 2025-11-25, and the extension
 * io.modelcontextprotocol/tasks of 2026-07-28 (SEP-2663).
 *
 * A server answers a call with the id of a task instead of a result: in 2025-11-25 if the call asks for one, which it
 * does if the tool requires it; from 2026-07-28 on as it likes. The call then asks for the task's state (tasks/get) at
 * the server's interval, and ends with its result. In 2025-11-25 the result is requested by tasks/result, and questions
 * are requests of the server; later, both are in the state, and answers are sent by tasks/update. A call that is
 * cancelled cancels the task (tasks/cancel).
 *
 *     params = deferred_ask_take(call, params);
 *     if ((task = deferred_find_task(call, result)) != NULL) deferred_start(call, task);
 *     if (call->deferred.id != NULL) method = deferred_request(call, &params);
 */
#ifndef MCP_DEFERRED_H
#define MCP_DEFERRED_H

#include "rpc.h"

#define MCP_TASKS_EXTENSION "io.modelcontextprotocol/tasks"

struct call;

/* The task of a call; all zero: none. */
struct deferred {
    tn_value id;       /* owned; NULL: the server has not answered with a task */
    tn_value answered; /* keys of the questions that were answered: an object; owned */
    bool core;         /* of 2025-11-25; set before there is a task */
    bool fetching;     /* the next or the open request is tasks/result */
    bool updating;     /* the open request is tasks/update */
    bool resumed;      /* a person has answered in another process: the server may not know the task any more */
    uint32_t failures; /* requests in a row that failed */
    int64_t poll_ms;   /* the server's interval */
    int64_t until_ms;  /* monotonic clock: not asked any longer then */
    uint64_t timer;    /* a posted call; 0: none */
};

/* Adds to the params of tools/call, which it takes, what asks for a task, if the tool requires one in this version.
 * Returns NULL, and decides the call, if the server does not offer tasks. */
tn_value deferred_ask_take(struct call *call, tn_value params);
/* The task in the result of tools/call: borrowed; NULL if it is not a task. */
tn_value deferred_find_task(const struct call *call, tn_value result);
void deferred_start(struct call *call, tn_value task);
/* True if the server's request belongs to this call's task, by its `_meta`. */
bool deferred_is_related(const struct call *call, tn_value params);
/* A task whose question a person has answered in another process. */
void deferred_resume(struct call *call, tn_value id);
/* Returns the method of the next request, with new params. */
const char *deferred_request(struct call *call, tn_value *params);
/* Handles the answer to that request. Returns false if the answer must be handled as that of a call. */
bool deferred_on_response(struct call *call, const struct rpc_answer *answer);
void deferred_cancel(struct call *call); /* informs the server; does nothing without a task */
void deferred_free(struct call *call);

#endif
