/*
 * evaluation_test.c - suites with mistakes, files of results, and what a summary says about results.
 */
#include "adl/source/source.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/evaluation/results.h"
#include "host/evaluation/suite.h"
#include "host/evaluation/summary.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- Suites ---- */

static tn_value read_cases(void *user, const char *path, struct error *error) {
    (void)path, (void)error;
    return user ? value_text(user) : NULL;
}

static struct suite *suite_of(const char *text, const char *cases, struct error *error) {
    struct source *source = source_new("s.yaml", text, strlen(text));
    struct suite *suite = suite_read(source, read_cases, (void *)(uintptr_t)cases, error);
    source_unref(source);
    return suite;
}

static void mistakes_are_found_before_anything_runs(void **state) {
    (void)state;
    static const struct {
        const char *suite, *cases, *message;
    } rows[] = {
        {"document: d\ncases: [{expect: {check: 'answer =='}}]", NULL,
         "s.yaml:2:26: /cases/0/expect/check: the expression ends where a value is expected"},
        {"document: d\nanswer: outputt\ncases: [{}]", NULL,
         "s.yaml:2:9: /answer: unknown variable `outputt`; did you mean `output`?"},
        {"document: d\ncases: [{answer: cost}]", NULL, "unknown variable `cost`"},
        {"document: d\nexpect: {check: size(answer)}\ncases: [{}]", NULL, "`size(answer)` is never true or false"},
        {"document: d\ncases: [{}, {expect: {schema: {type: 5}}}]", NULL, "s.yaml:2:31: /cases/1/expect/schema: "},
        {"document: d\ncases: {file: c}", "{}\n\n{\"expect\": {\"check\": \"x\"}}\n",
         "c:3: /expect/check: unknown variable"},
        {"document: d\ncases: {file: c}", "{}\n\n{\"expects\": 1}\n", "c:3: /expects: "},
        {"document: d\ncases: {file: c}", "{}\n\n5\n", "c:3: "},
        {"document: d\ncases: {file: c}", "\n", "c: found an array of 0 items"},
        {"document: d\nrepeat: 0\ncases: {file: c}", "{}\n", "s.yaml:2:9: /repeat: "},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct error error = ERROR_INIT;
        assert_null(suite_of(rows[i].suite, rows[i].cases, &error));
        if (!strstr(error.message, rows[i].message)) fail_msg("expected %s, found %s", rows[i].message, error.message);
        error_finish(&error);
    }
}

/* ---- Results ---- */

static char folder[] = "/tmp/tenon-evaluation-XXXXXX", path[64];

static int create_folder(void **state) {
    (void)state;
    if (!mkdtemp(folder)) return -1;
    snprintf(path, sizeof path, "%s/results.jsonl", folder);
    return 0;
}

static int remove_folder(void **state) {
    (void)state;
    unlink(path);
    return rmdir(folder);
}

static void write_results(const char *text) {
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static tn_value json(const char *text) {
    tn_value value = NULL;
    assert_int_equal(json_read(text, strlen(text), NULL, &value, NULL), TN_OK);
    return value;
}

#define RUN(key, repeat, status, rest)                                                                                 \
    "{\"document\":\"d\",\"model\":\"\",\"case\":\"1\",\"repeat\":" #repeat ",\"key\":\"" key                          \
    "\",\"status\":\"" status "\",\"ms\":" #repeat rest "}\n"

static void one_process_continues_a_file(void **state) {
    (void)state;
    struct error error = ERROR_INIT;
    struct results *results = NULL, *second = NULL;
    tn_value key = value_text("a"), failed = value_text("b"), result = json(RUN("c", 3, "passed", ",\"answer\":[1]"));
    write_results(RUN("a", 1, "passed", "") RUN("b", 2, "error", "") "{\"docu");
    assert_int_equal(results_open(path, false, &results, &error), TN_INVALID);
    assert_non_null(strstr(error.message, "--resume"));
    error_finish(&error);
    assert_int_equal(results_open(path, true, &results, &error), TN_OK);
    assert_non_null(results_lookup(results, key));
    assert_null(results_lookup(results, failed)); /* an error is tried again */
    assert_int_equal(results_open(path, true, &second, &error), TN_INVALID);
    assert_non_null(strstr(error.message, "another process writes to"));
    error_finish(&error);
    assert_true(results_append(results, result));
    results_close(results);
    /* The part of a line is gone. */
    tn_value all = results_read(path, &error);
    assert_int_equal(value_count(all), 3);
    assert_null(value_get(value_at(all, 2), "answer"));
    value_unref(all);
    value_unref(key);
    value_unref(failed);
    value_unref(result);
}

static void files_that_are_no_results(void **state) {
    (void)state;
    static const char slow[] = "{\"document\":\"d\",\"model\":\"\",\"case\":\"1\",\"repeat\":1,\"key\":\"a\","
                               "\"status\":\"passed\",\"ms\":\"slow\"}\n";
    static const char *const texts[] = {"{}\n", "5\n", "x\n", "\n", slow};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct error error = ERROR_INIT;
        struct results *results = NULL;
        write_results(texts[i]);
        assert_null(results_read(path, &error));
        assert_non_null(strstr(error.message, "results.jsonl:1:"));
        error_finish(&error);
        assert_int_equal(results_open(path, true, &results, &error), TN_INVALID);
        error_finish(&error);
    }
}

/* ---- Summaries ---- */

static tn_value summary_of(const char *suite_text, const char *results_text, tn_value before) {
    struct error error = ERROR_INIT;
    struct suite *suite = suite_of(suite_text, NULL, &error);
    assert_non_null(suite);
    write_results(results_text);
    tn_value results = results_read(path, &error), summary = evaluation_summary(suite, results, before);
    value_unref(results);
    suite_free(suite);
    return summary;
}

static double pair_number(tn_value summary, const char *name) {
    return value_to_double(value_get(value_at(value_get(summary, "pairs"), 0), name));
}

static tn_value pair_member(tn_value summary, const char *name) {
    return value_get(value_at(value_get(summary, "pairs"), 0), name);
}

static void percentiles_are_times_that_occurred(void **state) {
    (void)state;
    char text[8192];
    size_t length = 0;
    for (int i = 1; i <= 20; i++) {
        length += (size_t)snprintf(text + length, sizeof text - length,
                                   "{\"document\":\"d\",\"model\":\"\",\"case\":\"1\",\"repeat\":%d,\"key\":\"%d\","
                                   "\"status\":\"passed\",\"ms\":%d}\n",
                                   i, i, i);
        tn_value summary = summary_of("document: d\ncases: [{}]", text, NULL);
        /* The nearest rank: of 20 runs, 19 are 95 %; of two, the first is 50 %. */
        assert_int_equal((int)pair_number(summary, "p95_ms"), (95 * i + 99) / 100);
        assert_int_equal((int)pair_number(summary, "p50_ms"), (i + 1) / 2);
        value_unref(summary);
    }
}

static void an_unknown_price_is_not_a_cost_of_nothing(void **state) {
    (void)state;
    static const char suite[] = "document: d\ncases: [{}]\nthresholds: {cost: 1}";
    static const struct {
        const char *results;
        bool meets;
        int unpriced;
        double cost; /* -1: null */
    } rows[] = {
        {RUN("a", 1, "passed", ""), true, 0, 0}, /* called no model */
        {RUN("a", 1, "passed", ",\"usage\":{\"llm_calls\":1}"), false, 1, -1},
        {RUN("a", 1, "passed", ",\"usage\":{\"llm_calls\":1,\"cost\":0.5}"), true, 0, 0.5},
        {RUN("a", 1, "passed", ",\"usage\":{\"llm_calls\":1,\"cost\":0.5}")
             RUN("b", 2, "passed", ",\"usage\":{\"llm_calls\":1}"),
         false, 1, 0.5},
        {RUN("a", 1, "passed", ",\"usage\":{\"llm_calls\":1,\"cost\":\"0.5\"}"), false, 1, -1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tn_value summary = summary_of(suite, rows[i].results, NULL), cost = pair_member(summary, "cost");
        assert_int_equal(value_to_bool(pair_member(summary, "meets")), rows[i].meets);
        assert_int_equal(value_to_int(pair_member(summary, "unpriced")), rows[i].unpriced);
        if (rows[i].cost < 0)
            assert_true(value_is(cost, TN_NULL));
        else
            assert_true(value_to_double(cost) == rows[i].cost);
        value_unref(summary);
    }
}

static void changes_compare_the_last_result_of_each_run(void **state) {
    (void)state;
    struct error error = ERROR_INIT;
    /* The run was an error, and passed when the evaluation was continued. */
    write_results(RUN("a", 1, "error", "") RUN("a", 1, "passed", ""));
    tn_value before = results_read(path, &error), empty = value_array();
    assert_int_equal(value_count(before), 1);
    tn_value summary = summary_of("document: d\ncases: [{}]", RUN("a", 1, "passed", ""), before);
    assert_int_equal(value_count(value_get(summary, "changes")), 0);
    assert_int_equal(value_to_int(value_get(summary, "compared")), 1);
    value_unref(summary);
    summary = summary_of("document: d\ncases: [{}]",
                         RUN("a", 1, "failed", ",\"checks\":[{\"kind\":\"equals\",\"passed\":false,\"why\":\"no\"}]"),
                         before);
    assert_int_equal(value_count(value_get(summary, "changes")), 1);
    assert_true(value_text_is(value_get(value_at(value_get(summary, "failures"), 0), "why"), "no"));
    value_unref(summary);
    summary = summary_of("document: d\ncases: [{}]", RUN("a", 1, "passed", ""), empty);
    assert_int_equal(value_to_int(value_get(summary, "compared")), 0);
    value_unref(summary);
    value_unref(before);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mistakes_are_found_before_anything_runs),
        cmocka_unit_test(one_process_continues_a_file),
        cmocka_unit_test(files_that_are_no_results),
        cmocka_unit_test(percentiles_are_times_that_occurred),
        cmocka_unit_test(an_unknown_price_is_not_a_cost_of_nothing),
        cmocka_unit_test(changes_compare_the_last_result_of_each_run),
    };
    return cmocka_run_group_tests(tests, create_folder, remove_folder);
}
