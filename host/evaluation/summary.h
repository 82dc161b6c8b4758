/*
 * summary.h - what the results of an evaluation say: rates, cost and times of each pair of document and model, the
 * cases in which pairs differ, and what has changed since an earlier evaluation.
 *
 *     tn_value summary = evaluation_summary(suite, results, before);   // before: earlier results, or NULL
 *     bool good = evaluation_meets(summary);
 *
 * {pairs: [{document, model, runs, passed, failed, errors, pass_rate, cost, unpriced, judge_cost, input_tokens,
 *           output_tokens, p50_ms, p95_ms, meets}],
 *  failures: [{document, model, case, repeat, status, why?}],
 *  differences: [{case, rates: [number or null for each pair]}],
 *  changes: [{document, model, case, before, after}],
 *  compared: the number of cases of pairs that `before` has, too}
 *
 * `unpriced` runs used a model that has no price in tenon.yaml; `cost` is that of the others, null if there are none. A
 * threshold of the cost is not met then. `judge_cost` is null if the judge has no price.
 *
 * Thread: any.
 */
#ifndef TENON_HOST_EVALUATION_SUMMARY_H
#define TENON_HOST_EVALUATION_SUMMARY_H

#include "adl/value/value.h"
#include <stdbool.h>

struct suite;

/* `results` and `before` are arrays of short results (results.h). A new reference. */
tn_value evaluation_summary(const struct suite *suite, tn_value results, tn_value before);
/* True if every pair has reached the thresholds of the suite. */
bool evaluation_meets(tn_value summary);

#endif
