/*
 * expr_suite_test.c - the conformance cases of CEL (google/cel-spec) that need only JSON values.
 *
 * Every case must return its value, or fail if failure is expected; there is no intended difference. (Outside the suite
 * there is one: int and double mix in arithmetic, which CEL refuses.) Cases run unchecked, as most of the suite
 * requires, and again checked; then a mistake may refuse a case but never change its value. The test is skipped with a
 * message if the suite is missing (TENON_SUITES).
 */
#include "adl/expr/expr.h"
#include "adl/expr/zone.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "tests/unit/corpus.h"
#include <math.h>
#include <unistd.h>

#define VARIABLES_MAX 8
#define ZONES         "/usr/share/zoneinfo"

static tn_value binding(void *self, uint32_t variable) { return value_value_at((tn_value)self, variable); }

static bool zone_file(void *self, const char *name, size_t length, int64_t utc, int32_t *offset) {
    (void)self;
    char path[512];
    if (length > 100 || memchr(name, '.', length)) return false;
    snprintf(path, sizeof path, "%s/%.*s", ZONES, (int)length, name);
    if (access(path, R_OK) != 0) return false;
    char *data = corpus_load(path, &length);
    bool found = zone_offset(data, length, utc, offset);
    free(data);
    return found;
}

/* Compared as JSON: conditions treat 1 and 1.0 alike, but a document that stores the value can distinguish them. */
static bool same(tn_value a, tn_value b) { return value_equal(a, b) && value_kind(a) == value_kind(b); }

/* Returns TN_OK and the value, or the failure. */
static int32_t evaluate(tn_value test, bool unchecked, tn_value *out, struct error *error) {
    struct expr_variable variables[VARIABLES_MAX];
    tn_value bindings = value_get(test, "bindings"), text = value_get(test, "expr");
    struct expr_scope scope = {.variables = variables, .variable_count = value_count(bindings), .unchecked = unchecked};
    assert_true(scope.variable_count <= VARIABLES_MAX);
    for (size_t i = 0; i < scope.variable_count; i++)
        variables[i] = (struct expr_variable){.name = value_chars(value_key_at(bindings, i), NULL)};
    struct expr *expr = NULL;
    size_t length;
    const char *chars = value_chars(text, &length);
    int32_t status = expr_compile(chars, length, &scope, NULL, &expr, error);
    if (status != TN_OK) return status;
    struct expr_env env = {.self = (void *)(uintptr_t)bindings, .variable = binding, .zone = zone_file};
    status = expr_eval(expr, &env, out, error);
    expr_unref(expr);
    return status;
}

static bool run_case(tn_value test, const char *name) {
    struct error error = ERROR_INIT;
    tn_value result = NULL, expected = value_get(test, "value");
    int32_t status = evaluate(test, true, &result, &error);
    bool passed = expected ? status == TN_OK && same(result, expected) : status == TN_FAILED || status == TN_INVALID;
    if (!passed) {
        char *shown = result ? json_text(result, JSON_COMPACT) : mem_text(error.message ? error.message : "");
        char *wanted = expected ? json_text(expected, JSON_COMPACT) : mem_text("an error");
        print_message("%s: %s\n  expected %s, found %s\n", name, value_chars(value_get(test, "expr"), NULL), wanted,
                      shown);
        mem_free(shown);
        mem_free(wanted);
    }
    error_finish(&error);
    value_unref(result);
    result = NULL;
    /* With checks, a case may be refused, but must never return another value. */
    if (evaluate(test, false, &result, NULL) == TN_OK) assert_true(expected && same(result, expected));
    value_unref(result);
    return passed;
}

static void test_suite(void **state) {
    (void)state;
    const char *suites = getenv("TENON_SUITES");
    char path[1024], name[256];
    snprintf(path, sizeof path, "%s/cel/cases.jsonl", suites ? suites : TENON_SOURCE_DIR "/../shared/suites");
    if (access(path, R_OK) != 0) {
        print_message("skipped: there is no %s; set TENON_SUITES\n", path);
        skip();
    }
    size_t length, passed = 0, total = 0;
    char *text = corpus_load(path, &length);
    bool zones = access(ZONES "/UTC", R_OK) == 0;
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        tn_value test = NULL;
        assert_int_equal(json_read(line, strlen(line), NULL, &test, NULL), TN_OK);
        snprintf(name, sizeof name, "%s/%s/%s", value_chars(value_get(test, "file"), NULL),
                 value_chars(value_get(test, "section"), NULL), value_chars(value_get(test, "name"), NULL));
        if (zones || !strstr(name, "_name_")) {
            total++;
            passed += run_case(test, name);
        }
        value_unref(test);
    }
    free(text);
    print_message("CEL: %zu of %zu cases as expected\n", passed, total);
    assert_true(total > 0);
    assert_int_equal(passed, total);
    assert_int_equal(value_live_count(), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_suite)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
