/*
 * plugin_check_test.c - each plugin of tests/plugins gets the findings it deserves, and the good ones none.
 */
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/plugin/check.h"
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

static const tn_value_1 values = {.size = sizeof(tn_value_1), .get = value_get, .as_text = text_of};
static const struct registry_interface interfaces[] = {
    {TN_VALUE_1, &values, false, NULL}, {TN_EVAL_DRAFT, &values, true, NULL}, {NULL, NULL, false, NULL}};
static const struct registry_options options = {.interfaces = interfaces, .allow_drafts = true};

/* "severity code" of each finding, sorted as found, against what is expected; messages have the file's name. */
static void has(const char *path, const char *expected) {
    struct check check = CHECK_INIT;
    char found[2048] = "";
    plugin_check(path, &options, 0, &check);
    for (size_t i = 0; i < check.count; i++) {
        size_t length = strlen(found);
        snprintf(found + length, sizeof found - length, "%s%s %s", length ? ", " : "",
                 check_severity_name(check.items[i].severity), check.items[i].code);
        assert_non_null(strstr(check.items[i].message, ".so"));
    }
    if (strcmp(found, expected) != 0) fail_msg("%s: expected [%s], found [%s]", path, expected, found);
    check_finish(&check);
}

#define QUIET "note LICENCE_MISSING"

static void finds_what_is_wrong(void **state) {
    (void)state;
    has(AT("sidecar"), QUIET);
    has(AT("good"), "warning EFFECTS_MISSING, warning FIELD_UNDOCUMENTED, " QUIET);
    has(AT("extra"), "error EXTRA_SYMBOL, " QUIET);
    has(AT("unresolved"), QUIET ", error LOAD_REFUSED");
    has(AT("declines"), QUIET ", error LOAD_REFUSED");
    has(AT("missing"), QUIET ", error LOAD_REFUSED");
    has(AT("later"), QUIET ", error LOAD_REFUSED");
    has(AT("wrong_size"), QUIET ", error LOAD_REFUSED");
    has(AT("wrong_component"), QUIET ", error LOAD_REFUSED");
    has(AT("no_component"), QUIET ", error LOAD_REFUSED");
    has(AT("refuses"), QUIET ", error LOAD_REFUSED");
    has(AT("bad_manifest"), "error MANIFEST_INVALID");
    /* What it is refused for when it is loaded has been said: one cause, one finding. */
    has(AT("broken_schema"), "error MANIFEST_INVALID, warning DOCUMENTATION_MISSING, warning EFFECTS_MISSING, " QUIET);
    has(AT("library"), "error EXTRA_SYMBOL, error ENTRY_MISSING, error MANIFEST_MISSING");
    has("/nonexistent/x.so", "error ELF");
    has("/dev/null.so", "error ELF");
}

/* Code that crashes, waits for ever or writes where it must not is a finding, and not the end of the check. */
static void outlives_what_it_runs(void **state) {
    (void)state;
    has(AT("aborts"), QUIET ", error CRASHED");
    has(AT("crashes"), QUIET ", error CRASHED");
    has(AT("prints"), QUIET ", warning STDOUT");
    struct check check = CHECK_INIT;
    plugin_check(AT("hangs"), &options, 200, &check);
    assert_int_equal(check_worst(&check), CHECK_ERROR);
    assert_string_equal(check.items[check.count - 1].code, "HUNG");
    check_finish(&check);
}

/* greedy.so has an optional interface, and crashes without it. */
static void hides_optional_interfaces(void **state) {
    (void)state;
    struct check check = CHECK_INIT;
    plugin_check(AT("greedy"), &options, 0, &check);
    assert_int_equal(check.count, 2);
    assert_string_equal(check.items[1].code, "CRASHED");
    assert_non_null(strstr(check.items[1].message, "with `" TN_EVAL_DRAFT "` hidden"));
    tn_value value = check_to_value(&check);
    assert_true(value_text_is(value_get(value_at(value, 1), "severity"), "error"));
    assert_true(value_text_is(value_get(value_at(value, 1), "code"), "CRASHED"));
    value_unref(value);
    check_finish(&check);
    assert_int_equal(check_worst(&check), -1);
}

static void bounds_findings(void **state) {
    (void)state;
    struct check check = CHECK_INIT;
    for (size_t i = 0; i < CHECK_FINDINGS_MAX; i++) plugin_check(AT("library"), NULL, 0, &check);
    assert_int_equal(check.count, CHECK_FINDINGS_MAX);
    assert_int_equal(check.dropped, 2 * CHECK_FINDINGS_MAX);
    check_finish(&check);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_what_is_wrong),
        cmocka_unit_test(outlives_what_it_runs),
        cmocka_unit_test(hides_optional_interfaces),
        cmocka_unit_test(bounds_findings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
