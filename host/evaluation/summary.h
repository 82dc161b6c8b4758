/*
 * summary.h - what the results of an evaluation say: rates, cost and times of each pair of document and model, the
 * cases in which pairs differ, and what has changed since an earlier evaluation.
 *
 *     tn_value summary = evaluation_summary(suite, results, before);   // before: earlier results, or NULL
 *     bool good = evaluation_meets(summary);
 *
 * {pairs: [{document, model, runs, passed, failed, errors, pass_rate, cost, judge_cost, input_tokens, output_tokens,
 *           p50_ms, p95_ms, meets}],
 *  differences: [{case, rates: [number or null for each pair]}],
 *  changes: [{document, model, case, before, after}]}
 *
 * Thread: any.
 */
#ifndef TENON_HOST_EVALUATION_SUMMARY_H
#define TENON_HOST_EVALUATION_SUMMARY_H

#include "adl/value/value.h"
#include <stdbool.h>

struct suite;

/* `results` and `before` are arrays of results (evaluation.h). A new reference. */
tn_value evaluation_summary(const struct suite *suite, tn_value results, tn_value before);
/* True if every pair has reached the thresholds of the suite. */
bool evaluation_meets(tn_value summary);

#endif
