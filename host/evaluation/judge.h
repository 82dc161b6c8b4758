/*
 * judge.h - asks a model whether an answer meets a criterion.
 *
 *     tn_value input = judge_input(&graded, criterion);            // of a model (tenon/message.h)
 *     tn_value check = judge_check(kind, output, &error);          // {kind, passed, why?}
 *
 * Thread: any.
 */
#ifndef TENON_HOST_EVALUATION_JUDGE_H
#define TENON_HOST_EVALUATION_JUDGE_H

#include "adl/value/error.h"
#include "adl/value/value.h"

struct graded;

/* The input of the model: the task, the input of the run, its answer, and the criterion. A new reference. */
tn_value judge_input(const struct graded *graded, tn_value criterion);
/* Reads the model's output. NULL with INVALID_RESPONSE if it has not decided. */
tn_value judge_check(tn_value kind, tn_value output, struct error *error);

#endif
