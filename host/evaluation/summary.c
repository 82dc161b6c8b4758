/* summary.c - adds up results, and compares them. */
#include "host/evaluation/summary.h"
#include "adl/value/memory.h"
#include "host/evaluation/suite.h"
#include <stdlib.h>
#include <string.h>

/* A document with a set of models, and what its runs were. */
struct pair {
    tn_value document, model; /* borrowed */
    size_t runs, passed, failed, errors;
    size_t priced, unpriced, judged, judged_unpriced; /* runs with a known cost, and with an unknown one */
    double cost, judge_cost, input_tokens, output_tokens;
    double *times; /* of the runs without an error */
    size_t time_count;
    tn_value rates; /* {case: {runs, passed}} */
};

static double number_of(tn_value object, const char *key) {
    tn_value value = value_get(object, key);
    return value && value_is_number(value) ? value_to_double(value) : 0;
}

/* A run that called no model costs nothing; otherwise, the cost is known if the model has a price. */
static bool has_known_cost(tn_value usage) {
    tn_value cost = value_get(usage, "cost");
    return (cost && value_is_number(cost)) || number_of(usage, "total_tokens") + number_of(usage, "llm_calls") == 0;
}

static bool is_of_pair(const struct pair *pair, tn_value result) {
    return value_equal(value_get(result, "document"), pair->document) &&
           value_equal(value_get(result, "model"), pair->model);
}

/* Counts one result of a case. */
static void add_rate(struct pair *pair, tn_value id, bool passed) {
    tn_value had = value_get_key(pair->rates, id), rate = value_object_reserve(2);
    int64_t runs = (int64_t)number_of(had, "runs") + 1, good = (int64_t)number_of(had, "passed") + passed;
    rate = value_set_take(rate, "runs", value_int(runs));
    rate = value_set_take(rate, "passed", value_int(good));
    pair->rates = value_set_key_take(pair->rates, value_ref(id), rate);
}

static void add_result(struct pair *pair, tn_value result) {
    tn_value status = value_get(result, "status"), usage = value_get(result, "usage");
    tn_value judge = value_get(result, "judge_usage");
    bool passed = value_text_is(status, "passed"), failed = value_text_is(status, "failed");
    pair->runs++;
    pair->passed += passed;
    pair->failed += failed;
    pair->errors += !passed && !failed;
    pair->cost += number_of(usage, "cost");
    pair->judge_cost += number_of(judge, "cost");
    *(has_known_cost(usage) ? &pair->priced : &pair->unpriced) += 1;
    if (judge) *(has_known_cost(judge) ? &pair->judged : &pair->judged_unpriced) += 1;
    pair->input_tokens += number_of(usage, "input_tokens");
    pair->output_tokens += number_of(usage, "output_tokens");
    if (passed || failed) pair->times[pair->time_count++] = number_of(result, "ms");
    add_rate(pair, value_get(result, "case"), passed);
}

static int compare_times(const void *a, const void *b) {
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* The smallest time that this part of the runs does not exceed; 0 without runs. */
static double percentile(const struct pair *pair, size_t percent) {
    return pair->time_count ? pair->times[(pair->time_count * percent + 99) / 100 - 1] : 0;
}

static struct pair pair_of(tn_value document, tn_value model, tn_value results) {
    struct pair pair = {.document = document, .model = model, .rates = value_object()};
    pair.times = mem_zalloc((value_count(results) + 1) * sizeof *pair.times);
    for (size_t i = 0; i < value_count(results); i++)
        if (is_of_pair(&pair, value_at(results, i))) add_result(&pair, value_at(results, i));
    qsort(pair.times, pair.time_count, sizeof *pair.times, compare_times);
    return pair;
}

static void pair_finish(struct pair *pair) {
    mem_free(pair->times);
    value_unref(pair->rates);
}

static double pass_rate(const struct pair *pair) { return pair->runs ? (double)pair->passed / (double)pair->runs : 0; }

static tn_value cost_value(double cost, size_t priced, size_t unpriced) {
    return priced || !unpriced ? value_double(cost) : value_null();
}

static tn_value pair_value(const struct suite *suite, const struct pair *pair) {
    double p95 = percentile(pair, 95);
    bool meets = pass_rate(pair) >= suite->pass_rate &&
                 (suite->cost < 0 || (pair->cost <= suite->cost && !pair->unpriced)) &&
                 (suite->p95_ms < 0 || p95 <= suite->p95_ms);
    tn_value out = value_object_reserve(15);
    out = value_set_take(out, "document", value_ref(pair->document));
    out = value_set_take(out, "model", value_ref(pair->model));
    out = value_set_take(out, "runs", value_int((int64_t)pair->runs));
    out = value_set_take(out, "passed", value_int((int64_t)pair->passed));
    out = value_set_take(out, "failed", value_int((int64_t)pair->failed));
    out = value_set_take(out, "errors", value_int((int64_t)pair->errors));
    out = value_set_take(out, "pass_rate", value_double(pass_rate(pair)));
    out = value_set_take(out, "cost", cost_value(pair->cost, pair->priced, pair->unpriced));
    out = value_set_take(out, "unpriced", value_int((int64_t)pair->unpriced));
    out = value_set_take(out, "judge_cost", cost_value(pair->judge_cost, pair->judged, pair->judged_unpriced));
    out = value_set_take(out, "input_tokens", value_int((int64_t)pair->input_tokens));
    out = value_set_take(out, "output_tokens", value_int((int64_t)pair->output_tokens));
    out = value_set_take(out, "p50_ms", value_double(percentile(pair, 50)));
    out = value_set_take(out, "p95_ms", value_double(p95));
    return value_set_take(out, "meets", value_bool(meets));
}

/* The share of passed runs of a case; null if it has not run. */
static tn_value case_rate(const struct pair *pair, tn_value id) {
    tn_value rate = value_get_key(pair->rates, id);
    return rate ? value_double(number_of(rate, "passed") / number_of(rate, "runs")) : value_null();
}

/* The cases whose rates are not the same for all pairs. */
static tn_value case_differences(const struct suite *suite, const struct pair *pairs, size_t count) {
    tn_value list = value_array();
    for (size_t i = 0; i < suite->case_count; i++) {
        tn_value rates = value_array();
        bool differ = false;
        for (size_t k = 0; k < count; k++) {
            rates = value_push_take(rates, case_rate(&pairs[k], suite->cases[i].id));
            differ = differ || !value_equal(value_at(rates, k), value_at(rates, 0));
        }
        if (differ) {
            tn_value one = value_set_take(value_object_reserve(2), "case", value_ref(suite->cases[i].id));
            list = value_push_take(list, value_set_take(one, "rates", value_ref(rates)));
        }
        value_unref(rates);
    }
    return list;
}

/* The cases of a pair whose rate is another one than before. */
static tn_value add_changes(tn_value list, const struct suite *suite, const struct pair *now, tn_value before,
                            int64_t *compared) {
    struct pair old = pair_of(now->document, now->model, before);
    for (size_t i = 0; i < suite->case_count; i++) {
        tn_value id = suite->cases[i].id, from = case_rate(&old, id), to = case_rate(now, id);
        bool both = value_get_key(old.rates, id) && value_get_key(now->rates, id);
        *compared += both;
        if (both && !value_equal(from, to)) {
            tn_value one = value_set_take(value_object_reserve(5), "document", value_ref(now->document));
            one = value_set_take(one, "model", value_ref(now->model));
            one = value_set_take(one, "case", value_ref(id));
            one = value_set_take(one, "before", value_ref(from));
            list = value_push_take(list, value_set_take(one, "after", value_ref(to)));
        }
        value_unref(from);
        value_unref(to);
    }
    pair_finish(&old);
    return list;
}

/* The runs that did not pass, and why. */
static tn_value list_failures(tn_value results) {
    static const char *const members[] = {"document", "model", "case", "repeat", "status", "why"};
    tn_value list = value_array();
    for (size_t i = 0; i < value_count(results); i++) {
        tn_value result = value_at(results, i), one = value_object();
        if (value_text_is(value_get(result, "status"), "passed")) continue;
        for (size_t k = 0; k < sizeof members / sizeof *members; k++) {
            tn_value value = value_get(result, members[k]);
            if (value) one = value_set_take(one, members[k], value_ref(value));
        }
        list = value_push_take(list, one);
    }
    return list;
}

tn_value evaluation_summary(const struct suite *suite, tn_value results, tn_value before) {
    size_t models = value_count(suite->models), count = value_count(suite->documents) * models;
    struct pair *pairs = mem_zalloc((count + 1) * sizeof *pairs);
    tn_value list = value_array(), changes = value_array();
    int64_t compared = 0;
    for (size_t i = 0; i < count; i++) {
        pairs[i] =
            pair_of(value_key_at(suite->documents, i / models), value_key_at(suite->models, i % models), results);
        list = value_push_take(list, pair_value(suite, &pairs[i]));
        if (before) changes = add_changes(changes, suite, &pairs[i], before, &compared);
    }
    tn_value summary = value_set_take(value_object_reserve(5), "pairs", list);
    summary = value_set_take(summary, "failures", list_failures(results));
    summary = value_set_take(summary, "differences", case_differences(suite, pairs, count));
    summary = value_set_take(summary, "changes", changes);
    summary = value_set_take(summary, "compared", value_int(compared));
    for (size_t i = 0; i < count; i++) pair_finish(&pairs[i]);
    mem_free(pairs);
    return summary;
}

bool evaluation_meets(tn_value summary) {
    tn_value pairs = value_get(summary, "pairs");
    for (size_t i = 0; i < value_count(pairs); i++)
        if (!value_to_bool(value_get(value_at(pairs, i), "meets"))) return false;
    return true;
}
