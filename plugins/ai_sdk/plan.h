/*
 * plan.h - what a request does to its thread: the method and its parameters.
 *
 *     the last message is    the thread            the request
 *     the user's             does not exist, done  starts a run with the message
 *                            asks a question       resumes it with the answer
 *                            waits for an approval, has failed, was cancelled or stopped
 *                                                  discards what was unfinished, and starts a run
 *                            has the message       removes what follows it (regenerate, edit), and starts a run
 *     the assistant's        waits                 resumes it with the approvals and the outputs of the client's tools
 *                            is done               starts a run with the outputs of the client's tools
 *                            has failed, stopped   resumes it
 */
#ifndef AI_SDK_PLAN_H
#define AI_SDK_PLAN_H

#include "request.h"

struct chat_plan {
    const char *method; /* run/start or run/resume; NULL if the request is refused */
    tn_value params;
    bool continues; /* the answer has the message id of the request */
    bool repeats;   /* what was unfinished is done again */
    int32_t status; /* of the refusal */
    char reason[512];
};

/* `thread` and `state` are the results of thread/get and thread/state; NULL if the thread does not exist. */
void chat_plan_make(struct chat_plan *plan, const struct chat_request *request, const struct serving_graph *graph,
                    tn_value thread, tn_value state);
void chat_plan_finish(struct chat_plan *plan);

#endif
