/*
 * plugin_check_test.c - the findings for each plugin of tests/plugins; the correct ones have none.
 */
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/plugin/conformance/conformance.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tenon/eval.h>

#include <cmocka.h>

#define AT(name) TENON_TEST_PLUGINS "/" name "/" name ".so"

static const char *text_of(tn_value value, uint64_t *length) {
    (void)length;
    return value_is(value, TN_STRING) ? value_chars(value, NULL) : NULL;
}

static tn_value member_of(tn_value object, const char *key, uint64_t length) {
    return length == TN_Z ? value_get(object, key) : value_get_n(object, key, (size_t)length);
}

static const tn_value_1 values = {.size = sizeof(tn_value_1), .get = member_of, .as_text = text_of};
static const struct registry_interface interfaces[] = {
    {TN_VALUE_1, &values, false, NULL}, {TN_EVAL_1, &values, true, NULL}, {NULL, NULL, false, NULL}};
static const struct registry_options options = {.interfaces = interfaces, .allow_drafts = true};

/* Compares "severity code" of each finding, in order. Messages must contain the name of the file. */
static void expect_findings(const char *path, const char *expected) {
    struct conformance check = CONFORMANCE_INIT;
    char actual[2048] = "";
    conformance_check(path, &options, 0, &check);
    for (size_t i = 0; i < check.count; i++) {
        size_t length = strlen(actual);
        snprintf(actual + length, sizeof actual - length, "%s%s %s", length ? ", " : "",
                 conformance_severity_name(check.items[i].severity), check.items[i].code);
        assert_non_null(strstr(check.items[i].message, ".so"));
    }
    if (strcmp(actual, expected) != 0) fail_msg("%s: expected [%s], found [%s]", path, expected, actual);
    conformance_finish(&check);
}

#define QUIET "note LICENCE_MISSING"

static void finds_defects(void **state) {
    (void)state;
    expect_findings(AT("sidecar"), QUIET);
    expect_findings(AT("good"), "warning EFFECTS_MISSING, warning FIELD_UNDOCUMENTED, " QUIET);
    expect_findings(AT("extra"), "error EXTRA_SYMBOL, " QUIET);
    expect_findings(AT("unresolved"), QUIET ", error LOAD_REFUSED");
    expect_findings(AT("declines"), QUIET ", error LOAD_REFUSED");
    expect_findings(AT("missing"), QUIET ", error LOAD_REFUSED");
    expect_findings(AT("later"), QUIET ", error LOAD_REFUSED");
    expect_findings(AT("wrong_size"), QUIET ", error LOAD_REFUSED");
    expect_findings(AT("wrong_component"), QUIET ", error LOAD_REFUSED");
    expect_findings(AT("no_component"), QUIET ", error LOAD_REFUSED");
    expect_findings(AT("refuses"), QUIET ", error LOAD_REFUSED");
    expect_findings(AT("bad_manifest"), "error MANIFEST_INVALID");
    /* The reason for the refused load was already reported: one cause, one finding. */
    expect_findings(AT("broken_schema"),
                    "error MANIFEST_INVALID, warning DOCUMENTATION_MISSING, warning EFFECTS_MISSING, " QUIET);
    expect_findings(AT("library"), "error EXTRA_SYMBOL, error ENTRY_MISSING, error MANIFEST_MISSING");
    expect_findings("/nonexistent/x.so", "error ELF");
    expect_findings("/dev/null.so", "error ELF");
}

/* A plugin that crashes, hangs or prints is a finding; the check continues. */
static void check_continues_after_crash_and_hang(void **state) {
    (void)state;
    expect_findings(AT("aborts"), QUIET ", error CRASHED");
    expect_findings(AT("crashes"), QUIET ", error CRASHED");
    expect_findings(AT("prints"), QUIET ", warning STDOUT");
    struct conformance check = CONFORMANCE_INIT;
    conformance_check(AT("hangs"), &options, 200, &check);
    assert_int_equal(conformance_worst(&check), CONFORMANCE_ERROR);
    assert_string_equal(check.items[check.count - 1].code, "HUNG");
    conformance_finish(&check);
}

/* greedy.so has an optional interface, and crashes without it. */
static void hides_optional_interfaces(void **state) {
    (void)state;
    struct conformance check = CONFORMANCE_INIT;
    conformance_check(AT("greedy"), &options, 0, &check);
    assert_int_equal(check.count, 3); /* with the drafts that are allowed */
    assert_string_equal(check.items[2].code, "CRASHED");
    assert_non_null(strstr(check.items[2].message, "with `" TN_EVAL_1 "` hidden"));
    tn_value value = conformance_to_value(&check);
    assert_true(value_text_is(value_get(value_at(value, 2), "severity"), "error"));
    assert_true(value_text_is(value_get(value_at(value, 2), "code"), "CRASHED"));
    value_unref(value);
    conformance_finish(&check);
    assert_int_equal(conformance_worst(&check), -1);
}

static void bounds_findings(void **state) {
    (void)state;
    struct conformance check = CONFORMANCE_INIT;
    for (size_t i = 0; i < CONFORMANCE_FINDINGS_MAX; i++) conformance_check(AT("library"), NULL, 0, &check);
    assert_int_equal(check.count, CONFORMANCE_FINDINGS_MAX);
    assert_int_equal(check.dropped, 2 * CONFORMANCE_FINDINGS_MAX);
    conformance_finish(&check);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_defects),
        cmocka_unit_test(check_continues_after_crash_and_hang),
        cmocka_unit_test(hides_optional_interfaces),
        cmocka_unit_test(bounds_findings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
