/*
 * question.h - what a run waits for, as requests for input of the client, and the client's answers.
 *
 * An interrupt becomes one request: an approval and a question are `elicitation/create`. A payload with the member
 * `mcp: {requests: {KEY: {method, params}}}` (of `detail`, too) states its requests itself, and is answered with an
 * object {KEY: result}. The functions here know neither a run nor a connection.
 *
 *     tn_value questions = questions_new(interrupts);
 *     tn_value requests = questions_requests(questions, capabilities, &missing);
 *     ... the client answers ...
 *     switch (questions_answer(questions, capabilities, responses, &answers)) ...
 */
#ifndef MCPS_QUESTION_H
#define MCPS_QUESTION_H

#include "base.h"

/* [{key, interrupt, form, method, params, wraps, nullable}, …]; `name`, if a caller adds it, is the key in the answer
 * of the graph: a new reference, empty if nothing can be asked. */
tn_value questions_new(tn_value interrupts);
/*
 * {KEY: {method, params}}: those that the client can answer, because it has declared the capability. NULL if there is
 * none: then *missing (new) is an object with the capabilities that are needed.
 */
tn_value questions_requests(tn_value questions, tn_value capabilities, tn_value *missing);
/* The ids of the interrupts, for a requestState: a new array. */
tn_value questions_ids(tn_value questions);

enum questions_state {
    QUESTIONS_COMPLETE,   /* *answers: {INTERRUPT: answer}, a new reference */
    QUESTIONS_INCOMPLETE, /* an answer is missing or has the wrong form: ask again */
    QUESTIONS_DECLINED    /* a person declined, and the run does not accept that as an answer */
};
/* `responses`: {KEY: result}; other keys are ignored. */
enum questions_state questions_answer(tn_value questions, tn_value capabilities, tn_value responses, tn_value *answers);

#endif
