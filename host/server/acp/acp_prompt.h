/*
 * acp_prompt.h - one prompt of a session: the runs that answer it, its questions, and its events.
 *
 *     session/prompt ─▶ [continue what was interrupted] ─▶ run ─▶ done ─▶ end_turn
 *                                                          │ ▲
 *                                        interrupted: ask ─┘ └─ answers
 *
 * All functions are [loop].
 */
#ifndef TENON_HOST_SERVER_ACP_ACP_PROMPT_H
#define TENON_HOST_SERVER_ACP_ACP_PROMPT_H

#include "host/server/acp/acp_internal.h"

/* A prompt that is not answered yet. */
struct acp_turn {
    struct acp_session *session;
    struct peer_request *request;
    char *run_id;                /* of the run that is active or waits; NULL before a run has started */
    tn_value message;            /* the content of the prompt; NULL when a run has got it */
    bool cancelled;              /* the next prompt discards the turn */
    bool stopped;                /* the process ends: the next prompt continues the turn */
    bool resuming;               /* the run continues an earlier turn */
    bool starting;               /* a call of run/start, run/resume or run/answer is open */
    bool idle;                   /* the run waits: nothing runs that would end */
    struct loop_timer calls_run; /* ACP_CALL_MS: pending calls that need no approval are being executed */
    /* Questions (acp_question.c). */
    tn_value interrupts;           /* that the run waits for; NULL when it has got the answers */
    size_t asked;                  /* index of the one that is being asked */
    tn_value answers;              /* {id: answer} so far; NULL before the first one */
    struct acp_question *question; /* the open request to the client; NULL when nothing is asked */
    /* What the client has got (acp_events.c). */
    char message_id[40]; /* of the streamed text; "" between two messages */
    struct buffer text;  /* the streamed text of this message */
    tn_value sent;       /* texts that were sent, {text: true} */
    tn_value nested;     /* {path: true}: graphs that report messages themselves */
    size_t known;        /* messages of the thread before this run; those of a channel `append` have no id */
    tn_value seen;       /* {id of a message: true}: messages of earlier turns, and of this one */
    tn_value last_usage; /* of the last call of a model; NULL before one has ended */
    const char *finish;  /* stop reason of the last answer: "end_turn", "max_tokens", "refusal" */
};

void acp_prompt(struct acp *acp, struct peer_request *request);
/* No effect if no prompt is open. */
void acp_prompt_cancel(struct acp_session *session);
/* The same, but the next prompt continues the turn. Its run ends after its super-step. */
void acp_prompt_stop(struct acp_session *session);
/* An event of a subscription. */
void acp_prompt_event(struct acp *acp, const char *run_id, const char *event, tn_value params);

/* ---- acp_prompt.c, for acp_question.c ---- */

/* Continues the run with turn->answers. */
void acp_turn_answer(struct acp_turn *turn);
/* Ends the turn with a stop reason. What the run waits for, is asked with the next prompt. */
void acp_turn_end(struct acp_turn *turn, const char *stop_reason);

/* {id: true} of the messages that have one; a new reference. */
tn_value acp_message_ids(tn_value messages);
bool acp_turn_has_answer(const struct acp_turn *turn, tn_value interrupt);

/* ---- acp_prompt.c, for acp_events.c and acp_question.c ---- */

/* The run has pending calls, or continues with some: those that need no approval run if it goes on for ACP_CALL_MS. */
void acp_turn_watch_calls(struct acp_turn *turn);
/* The run waits, or has ended. */
void acp_turn_watch_calls_end(struct acp_turn *turn);

/* ---- acp_question.c ---- */

/* Asks what the run waits for, then calls acp_turn_answer or acp_turn_end. Takes `interrupts`. */
void acp_turn_ask_take(struct acp_turn *turn, tn_value interrupts);
/* Withdraws the question that is open; it is not answered. */
void acp_turn_withdraw(struct acp_turn *turn);
/* The text of a prompt as the answer to an interrupt; a new reference. */
tn_value acp_answer_of_text(tn_value interrupt, tn_value text);
/* True if a prompt cannot answer it: it is asked again. */
bool acp_is_approval(tn_value interrupt);
/* The question, for people; a new reference. */
tn_value acp_question_text(tn_value interrupt);

/* ---- acp_form.c ---- */

/*
 * The schema of a form for an answer of this schema (NULL accepts any answer). NULL when a form cannot have it. *wraps:
 * the form has one member, which is the answer.
 */
tn_value acp_form_schema(tn_value schema, bool *wraps);
/* True if the schema accepts null: the question can be declined. */
bool acp_form_accepts_null(tn_value schema);

/* ---- acp_events.c ---- */

void acp_turn_show(struct acp_turn *turn, tn_value event);
/* At the end of a run: texts that were not streamed, and the usage. */
void acp_turn_show_rest(struct acp_turn *turn, tn_value report);
void acp_turn_say(struct acp_turn *turn, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The result of a document without messages, for people; a new reference. NULL when it has no members. */
tn_value acp_result_text(const struct acp *acp, tn_value state);

/* ---- acp_tool.c ---- */

/* Sends `tool_call` for a call in a message of a model, {id, name, arguments}: it is pending. */
void acp_tool_start(struct acp_session *session, tn_value call);
/* Pending calls of tools that need no approval are in progress now. */
void acp_tools_run(struct acp_session *session);
/* Sends `tool_call_update` for the message with its result. */
void acp_tool_end(struct acp_session *session, tn_value message);
/* The turn is over, and no later prompt continues it: calls without a result have failed. */
void acp_tools_abandon(struct acp_session *session);
/*
 * {toolCallId, title, kind, status, rawInput} of the open call that an approval is about. *made: no message has such a
 * call (a node asks, or a tool of a tool), so the client has just got it, and it gets no result.
 */
tn_value acp_tool_of_approval(struct acp_session *session, tn_value payload, bool *made);
/* An approval was given without asking: the open call that it is about is in progress. */
void acp_tool_approved(struct acp_session *session, tn_value payload);
/* Sends the status of the call, unless `tool_call` is NULL. */
void acp_tool_status(struct acp_session *session, tn_value tool_call, const char *status);

/* ---- acp_plan.c ---- */

/* The entries of a plan in the form of the protocol; NULL if the value is not a plan. A new reference. */
tn_value acp_plan_entries(tn_value value);

#endif
