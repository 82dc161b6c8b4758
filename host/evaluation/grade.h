/*
 * grade.h - compares an answer with what a case expects, except for rubrics, which need a model (judge.h).
 *
 *     tn_value answer = grade_answer(one, output, &error);
 *     struct graded graded = {.answer = answer, .output = output, .input = one->input, .usage = usage, .ms = 812};
 *     tn_value check = grade_expectation(&graded, expectation);     // {kind, passed, why?}
 *
 * Thread: any.
 */
#ifndef TENON_HOST_EVALUATION_GRADE_H
#define TENON_HOST_EVALUATION_GRADE_H

#include "adl/value/error.h"
#include "adl/value/value.h"

struct suite_case;

/* What expressions of a case can use; borrowed. `usage` may be NULL. */
struct graded {
    tn_value answer, output, input, usage;
    double ms;
};

/* Fail with the mistake in an expression or a schema of a suite, before anything runs. */
int32_t grade_check_answer(tn_value text, struct error *error);
int32_t grade_check_expectation(tn_value kind, tn_value value, struct error *error);

/* What the case compares; a new reference. NULL with the error of its expression. */
tn_value grade_answer(const struct suite_case *one, tn_value output, struct error *error);
/* The result of an expectation that is not a rubric: {kind, passed, why?}; a new reference. */
tn_value grade_expectation(const struct graded *graded, tn_value expectation);
/* {kind, passed, why?}; `why` may be NULL. A new reference. */
tn_value grade_check(tn_value kind, bool passed, const char *why);

#endif
