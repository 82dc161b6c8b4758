/*
 * deferred.h - results that a server delivers later: the extension io.modelcontextprotocol/tasks (SEP-2663).
 *
 * From 2026-07-28 on, a server may answer a call with the id of a task instead of a result. The call then asks for the
 * task's state (tasks/get) at the server's interval, answers its questions (tasks/update), and ends with its result. A
 * call that is cancelled cancels the task (tasks/cancel).
 *
 *     if (deferred_is_task(result)) deferred_start(call, result);
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
    bool updating;     /* the open request is tasks/update */
    bool resumed;      /* a person has answered in another process: the server may not know the task any more */
    uint32_t failures; /* requests in a row that failed */
    int64_t poll_ms;   /* the server's interval */
    int64_t until_ms;  /* monotonic clock: not asked any longer then */
    uint64_t timer;    /* a posted call; 0: none */
};

bool deferred_is_task(tn_value result);
void deferred_start(struct call *call, tn_value task); /* what the server answered to tools/call */
/* A task whose question a person has answered in another process. */
void deferred_resume(struct call *call, tn_value id);
/* Returns the method of the next request, with new params. */
const char *deferred_request(struct call *call, tn_value *params);
/* Handles the answer to that request. Returns false if the answer must be handled as that of a call. */
bool deferred_on_response(struct call *call, const struct rpc_answer *answer);
void deferred_cancel(struct call *call); /* informs the server; does nothing without a task */
void deferred_free(struct call *call);

#endif
