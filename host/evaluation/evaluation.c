/*
 * evaluation.c - the runs of one version of a document with one set of models, a bounded number at a time.
 *
 *     slot:  next run ─▶ run the graph ─▶ compare ─▶ ask the judge, for each rubric ─▶ result ─▶ next run
 *
 * A slot is one of `concurrency`; it frees what belonged to a run before it takes the next one.
 */
#include "host/evaluation/evaluation.h"
#include "adl/document/document.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/base/config/config.h"
#include "host/base/loop.h"
#include "host/engine/engine.h"
#include "host/engine/execution/execution.h"
#include "host/engine/graph/graph.h"
#include "host/engine/graph/graph_identity.h"
#include "host/engine/model/model.h"
#include "host/engine/model/model_listing.h"
#include "host/evaluation/grade.h"
#include "host/evaluation/judge.h"
#include "host/evaluation/suite.h"
#include "host/plugin/call/call.h"
#include <string.h>

struct evaluation {
    struct engine *engine;
    struct graph *graph;
    const struct evaluation_options *options;
    const _Atomic bool *cancel;
    struct callable *judge; /* NULL without rubrics */
    tn_value common;        /* what the keys of all runs have in common */
    size_t next, open;      /* the number of the next run; the runs that have not ended */
    struct slot *slots;
    bool cancelled; /* the open runs were cancelled */
};

struct slot {
    struct evaluation *evaluation;
    const struct suite_case *one; /* NULL: free */
    uint32_t repeat;
    tn_value key, checks, answer, output, usage, judge_usage;
    size_t expectation; /* the next one */
    int64_t started_us;
    double ms;
    struct execution *execution;
    struct call *judging;
    struct error error; /* of the run, of the answer's expression, or of the judge */
};

/* ---- Results ---- */

static tn_value run_key(const struct evaluation *evaluation, const struct suite_case *one, uint32_t repeat) {
    char hash[TN_SHA256_TEXT];
    tn_value all = value_object_reserve(6);
    all = value_set_take(all, "common", value_ref(evaluation->common));
    all = value_set_take(all, "input", value_ref(one->input));
    all = value_set_take(all, "answer", one->answer ? value_ref(one->answer) : value_null());
    all = value_set_take(all, "expect", value_ref(one->expect));
    all = value_set_take(all, "case", value_ref(one->id));
    all = value_set_take(all, "repeat", value_int(repeat));
    json_hash(all, JSON_SORTED, hash);
    value_unref(all);
    return value_text(hash);
}

static const char *slot_status(const struct slot *slot) {
    if (slot->error.code) return "error";
    for (size_t i = 0; i < value_count(slot->checks); i++) {
        tn_value passed = value_get(value_at(slot->checks, i), "passed");
        if (!passed || !value_to_bool(passed)) return "failed";
    }
    return "passed";
}

static tn_value slot_result(const struct slot *slot) {
    const struct evaluation_options *options = slot->evaluation->options;
    tn_value out = value_object_reserve(12);
    out = value_set_take(out, "document", value_text(options->document));
    out = value_set_take(out, "model", value_text(options->model));
    out = value_set_take(out, "case", value_ref(slot->one->id));
    out = value_set_take(out, "repeat", value_int(slot->repeat));
    out = value_set_take(out, "status", value_text(slot_status(slot)));
    out = value_set_take(out, "ms", value_double(slot->ms));
    out = value_set_take(out, "checks", value_ref(slot->checks));
    if (slot->answer) out = value_set_take(out, "answer", value_ref(slot->answer));
    if (slot->usage) out = value_set_take(out, "usage", value_ref(slot->usage));
    if (slot->judge_usage) out = value_set_take(out, "judge_usage", value_ref(slot->judge_usage));
    if (slot->error.code) out = value_set_take(out, "error", error_to_value(&slot->error));
    return value_set_take(out, "key", value_ref(slot->key));
}

static void slot_clear(struct slot *slot) {
    tn_value *const owned[] = {&slot->key,    &slot->checks, &slot->answer,
                               &slot->output, &slot->usage,  &slot->judge_usage};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) {
        value_unref(*owned[i]);
        *owned[i] = NULL;
    }
    execution_free(slot->execution);
    call_free(slot->judging);
    slot->execution = NULL;
    slot->judging = NULL;
    slot->one = NULL;
    error_finish(&slot->error);
    slot->error = (struct error)ERROR_INIT;
}

/* The run has its result. The next one starts in evaluation_is_over, not inside the end of this one. */
static void slot_end(struct slot *slot) {
    struct evaluation *evaluation = slot->evaluation;
    if (!evaluation->cancelled) {
        tn_value result = slot_result(slot);
        evaluation->options->result(evaluation->options->user, result);
        value_unref(result);
    }
    evaluation->open--;
    slot->one = NULL; /* what belongs to the run is freed by fill_slots: its execution may be on the stack */
    loop_wake(evaluation->engine->loop);
}

/* ---- Comparing ---- */

static void slot_compare(struct slot *slot);

/* The sum of what the judge used for this run. */
static void add_judge_usage(struct slot *slot, tn_value usage) {
    static const char *const members[] = {"input_tokens", "output_tokens", "total_tokens", "cost"};
    if (!value_is(usage, TN_OBJECT)) return;
    tn_value sum = slot->judge_usage ? slot->judge_usage : value_object();
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        tn_value more = value_get(usage, members[i]), had = value_get(sum, members[i]);
        if (!more || !value_is_number(more)) continue;
        double total = value_to_double(more) + (had ? value_to_double(had) : 0);
        bool whole = value_is(more, TN_INT);
        sum = value_set_take(sum, members[i], whole ? value_int((int64_t)total) : value_double(total));
    }
    slot->judge_usage = sum;
}

static void slot_judged(struct slot *slot) {
    tn_value expectation = value_at(slot->one->expect, slot->expectation - 1), output = call_output(slot->judging);
    if (call_outcome(slot->judging) == CALL_COMPLETED) {
        tn_value check = judge_check(value_get(expectation, "kind"), output, &slot->error);
        if (check) slot->checks = value_push_take(slot->checks, check);
        add_judge_usage(slot, value_get(output, "usage"));
    } else {
        const struct error *why = call_error(slot->judging);
        error_set(&slot->error, TN_FAILED, why && why->code ? why->code : "CANCELLED", "the judge failed: %s",
                  why && why->message ? why->message : "it was cancelled");
    }
    call_free(slot->judging);
    slot->judging = NULL;
    slot_compare(slot);
}

static void judge_on_ended(struct call *call) { slot_judged(call_owner(call)); }

static const struct call_ops judge_ops = {.ended = judge_on_ended};

static struct graded slot_graded(const struct slot *slot) {
    return (struct graded){.answer = slot->answer,
                           .output = slot->output,
                           .input = slot->one->input,
                           .usage = slot->usage,
                           .ms = slot->ms};
}

/* Compares the answer with one expectation after the other. A rubric is continued in slot_judged. */
static void slot_compare(struct slot *slot) {
    const struct evaluation *evaluation = slot->evaluation;
    tn_value list = slot->one->expect;
    struct graded graded = slot_graded(slot);
    while (!slot->error.code && slot->expectation < value_count(list)) {
        tn_value expectation = value_at(list, slot->expectation++);
        if (!value_text_is(value_get(expectation, "kind"), "rubric")) {
            slot->checks = value_push_take(slot->checks, grade_expectation(&graded, expectation));
            continue;
        }
        tn_value input = judge_input(&graded, value_get(expectation, "value"));
        slot->judging = call_new(evaluation->engine->loop, evaluation->judge, &judge_ops, slot);
        bool ended = call_start(slot->judging, input);
        value_unref(input);
        if (ended) slot_judged(slot); /* it continues with the next expectation */
        return;
    }
    slot_end(slot);
}

/* ---- Running ---- */

static void slot_ran(struct execution *execution, void *user) {
    struct slot *slot = user;
    const struct evaluation *evaluation = slot->evaluation;
    tn_value report = execution_report(execution), usage = value_get(report, "usage");
    const struct error *why = execution_error(execution);
    slot->ms = (double)(loop_clock_us(evaluation->engine->loop) - slot->started_us) / 1000;
    slot->output = execution_output(execution);
    slot->usage = usage ? value_ref(usage) : NULL;
    value_unref(report);
    if (execution_status(execution) == RUN_INTERRUPTED)
        error_set(
            &slot->error, TN_FAILED, "INTERRUPTED",
            "the run asks a person, so it cannot be evaluated: allow the tools that it asks for, or answer in the "
            "document");
    else if (!slot->output && why && why->code)
        error_copy(&slot->error, why);
    else if (!slot->output)
        error_set(&slot->error, TN_FAILED, "STOPPED", "the run ended without an output");
    else
        slot->answer = grade_answer(slot->one, slot->output, &slot->error);
    slot_compare(slot);
}

static void slot_start(struct slot *slot, const struct suite_case *one, uint32_t repeat, tn_value key) {
    struct evaluation *evaluation = slot->evaluation;
    struct run_options options = RUN_OPTIONS_INIT;
    slot->one = one;
    slot->repeat = repeat;
    slot->key = key;
    slot->checks = value_array();
    slot->expectation = 0;
    slot->started_us = loop_clock_us(evaluation->engine->loop);
    options.seed = repeat;
    evaluation->open++;
    slot->execution = execution_new(evaluation->engine, &evaluation->graph->callable, &options, slot_ran, slot);
    if (execution_start(slot->execution, one->input)) slot_ran(slot->execution, slot);
}

static size_t evaluation_total(const struct evaluation *evaluation) {
    const struct suite *suite = evaluation->options->suite;
    return suite->case_count * suite->repeat;
}

/* Returns the next run that has no result yet, with its key, a new reference; NULL if there is none. */
static const struct suite_case *next_run(struct evaluation *evaluation, uint32_t *repeat, tn_value *key) {
    const struct evaluation_options *options = evaluation->options;
    while (!*evaluation->cancel && evaluation->next < evaluation_total(evaluation)) {
        size_t at = evaluation->next++;
        const struct suite_case *one = &options->suite->cases[at / options->suite->repeat];
        if (options->only && !value_text_is(one->id, options->only)) continue;
        *repeat = (uint32_t)(at % options->suite->repeat) + 1;
        *key = run_key(evaluation, one, *repeat);
        if (!options->known || !options->known(options->user, *key)) return one;
        value_unref(*key);
    }
    return NULL;
}

static void fill_slots(struct evaluation *evaluation) {
    uint32_t repeat;
    tn_value key;
    for (uint32_t i = 0; i < evaluation->options->suite->concurrency; i++) {
        struct slot *slot = &evaluation->slots[i];
        if (slot->one) continue;
        slot_clear(slot);
        const struct suite_case *one = next_run(evaluation, &repeat, &key);
        if (one) slot_start(slot, one, repeat, key);
    }
}

static void cancel_slots(struct evaluation *evaluation) {
    evaluation->cancelled = true;
    for (uint32_t i = 0; i < evaluation->options->suite->concurrency; i++) {
        const struct slot *slot = &evaluation->slots[i];
        if (slot->one && slot->judging)
            call_cancel(slot->judging);
        else if (slot->one && slot->execution)
            execution_cancel(slot->execution);
    }
}

static bool evaluation_is_over(void *user) {
    struct evaluation *evaluation = user;
    if (*evaluation->cancel && !evaluation->cancelled) cancel_slots(evaluation);
    fill_slots(evaluation);
    return evaluation->open == 0 && (*evaluation->cancel || evaluation->next == evaluation_total(evaluation));
}

/* ---- An evaluation ---- */

/* {role: binding} of the document, which are not in the identity of its graph. */
static tn_value document_bindings(const struct document *document) {
    tn_value bindings = value_object();
    for (uint32_t i = 0; i < document->model_count; i++)
        bindings =
            value_set_key_take(bindings, value_ref(document->models[i].role), value_ref(document->models[i].binding));
    return bindings;
}

static tn_value common_key(struct evaluation *evaluation) {
    const struct evaluation_options *options = evaluation->options;
    tn_value common = value_object_reserve(7);
    common = value_set_take(common, "names", value_format("%s\n%s", options->document, options->model));
    common = value_set_take(common, "document", value_text(graph_identity(evaluation->graph)));
    common = value_set_take(common, "models", document_bindings(evaluation->graph->document));
    common = value_set_take(common, "bindings", value_ref(options->bindings));
    common = value_set_take(common, "roles", model_list_roles(evaluation->engine));
    tn_value judge = options->suite->judge;
    return value_set_take(common, "judge", judge ? value_ref(judge) : value_null());
}

static int32_t open_judge(struct evaluation *evaluation, struct error *error) {
    const struct suite *suite = evaluation->options->suite;
    tn_value role = value_get(config_models(evaluation->engine->config), "judge");
    tn_value binding = suite->judge ? suite->judge : role;
    if (!suite->judges) return TN_OK;
    if (!binding)
        return error_set(
            error, TN_INVALID, "INVALID_CONFIG",
            "the suite has a rubric, and no model that grades it: add `judge: PROVIDER:MODEL` to the suite, "
            "or bind the role `judge` in tenon.yaml");
    struct error why = ERROR_INIT;
    int32_t status = model_new(evaluation->engine, "judge", binding, NULL, &evaluation->judge, &why);
    if (status != TN_OK) error_set(error, status, why.code, "the judge: %s", why.message);
    error_finish(&why);
    return status;
}

int32_t evaluation_run(struct engine *engine, struct graph *graph, const struct evaluation_options *options,
                       const _Atomic bool *cancel, struct error *error) {
    struct evaluation evaluation = {.engine = engine, .graph = graph, .options = options, .cancel = cancel};
    int32_t status = open_judge(&evaluation, error);
    if (status != TN_OK) return status;
    evaluation.common = common_key(&evaluation);
    evaluation.slots = mem_zalloc(options->suite->concurrency * sizeof *evaluation.slots);
    for (uint32_t i = 0; i < options->suite->concurrency; i++) {
        evaluation.slots[i].evaluation = &evaluation;
        evaluation.slots[i].error = (struct error)ERROR_INIT;
    }
    if (!loop_run(engine->loop, evaluation_is_over, &evaluation))
        status =
            error_set(error, TN_ERROR, "STALLED", "a run has not ended, and no event is pending that could end it");
    for (uint32_t i = 0; i < options->suite->concurrency; i++) slot_clear(&evaluation.slots[i]);
    mem_free(evaluation.slots);
    value_unref(evaluation.common);
    callable_unref(evaluation.judge);
    return status;
}
