/*
 * schema_suite_test.c - the official JSON Schema test suite, draft 2020-12.
 *
 * Every case of every required file must pass, and every optional file except those in the table below, which are
 * listed with their result. Remote documents are served from the suite's remotes/ folder, which by its convention is at
 * http://localhost:1234/. The test is skipped with a message if the suite is missing (TENON_SUITES, by default
 * ../shared/suites relative to the source tree).
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "tests/unit/schema_checks.h" /* before cmocka.h, which defines a macro `fail` */

#include "adl/schema/schema.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "tests/unit/corpus.h"

#define REMOTE    "http://localhost:1234/"
#define PATH_SIZE 1024

/* Optional files that need not pass completely, with the reason. */
static const char *const partial[] = {
    "optional/format/ecmascript-regex.json", /* PCRE2 does not support lookbehind of variable width */
    "optional/format/hostname.json",         /* punycode is not decoded */
    "optional/format/idn-email.json",        /* from here on, only annotations */
    "optional/format/idn-hostname.json",     "optional/format/iri-reference.json", "optional/format/iri.json",
    "optional/format/uri-template.json",
};

struct count {
    int passed, total;
};

static char suite[PATH_SIZE];

static tn_value read_json(const char *path) {
    size_t length;
    char *text = corpus_load(path, &length);
    tn_value value = NULL;
    struct error error = ERROR_INIT;
    if (json_read(text, length, NULL, &value, &error) != TN_OK) fail_msg("%s: %s", path, error.message);
    error_finish(&error);
    free(text);
    return value;
}

static tn_value resolve(void *self, const char *uri) {
    (void)self;
    char path[PATH_SIZE * 2];
    struct stat info;
    if (strncmp(uri, REMOTE, strlen(REMOTE)) != 0) return NULL;
    snprintf(path, sizeof path, "%s/remotes/%s", suite, uri + strlen(REMOTE));
    return stat(path, &info) == 0 && S_ISREG(info.st_mode) ? read_json(path) : NULL;
}

/* The errors must agree with the result and be complete. */
static bool agrees(const struct schema *schema, tn_value data, bool valid) {
    struct schema_errors errors = SCHEMA_ERRORS_INIT;
    int32_t verdict = schema_validate(schema, data, NULL), status = schema_validate(schema, data, &errors);
    assert_int_equal(verdict, status);
    assert_int_equal(verdict, validate_by_checks(schema, data));
    assert_int_equal(errors.count > 0, status != TN_OK);
    for (size_t i = 0; i < errors.count; i++) {
        assert_non_null(errors.items[i].pointer);
        assert_non_null(errors.items[i].schema_pointer);
        assert_true(strlen(errors.items[i].message) > 0);
    }
    schema_errors_finish(&errors);
    value_unref(schema_with_defaults(schema, data)); /* never fails, whatever the instance */
    return verdict == (valid ? TN_OK : TN_INVALID);
}

static void run_group(const char *name, tn_value group, struct count *count, bool required) {
    const char *title = value_chars(value_get(group, "description"), NULL);
    struct schema_options options = {.resolve = resolve, .assert_format = strstr(name, "optional/format/") != NULL};
    struct schema *schema = NULL;
    struct error error = ERROR_INIT;
    tn_value tests = value_get(group, "tests");
    count->total += (int)value_count(tests);
    if (schema_compile(value_get(group, "schema"), &options, &schema, &error) != TN_OK) {
        printf("  %s: %s: does not compile: %s\n", name, title, error.message);
        error_finish(&error);
        return;
    }
    for (size_t i = 0; i < value_count(tests); i++) {
        tn_value test = value_at(tests, i);
        bool valid = value_to_bool(value_get(test, "valid"));
        if (agrees(schema, value_get(test, "data"), valid))
            count->passed++;
        else if (required || getenv("TENON_VERBOSE"))
            printf("  %s: %s: %s: expected %s\n", name, title, value_chars(value_get(test, "description"), NULL),
                   valid ? "valid" : "invalid");
    }
    schema_unref(schema);
}

static struct count run_file(const char *name, bool required) {
    char path[PATH_SIZE * 2];
    int length = snprintf(path, sizeof path, "%s/tests/draft2020-12/%s", suite, name);
    assert_in_range(length, 1, sizeof path - 1);
    tn_value groups = read_json(path);
    struct count count = {0, 0};
    for (size_t i = 0; i < value_count(groups); i++) run_group(name, value_at(groups, i), &count, required);
    value_unref(groups);
    printf("%4d of %4d  %s\n", count.passed, count.total, name);
    return count;
}

static bool may_fail(const char *name) {
    for (size_t i = 0; i < sizeof partial / sizeof *partial; i++)
        if (strcmp(name, partial[i]) == 0) return true;
    return false;
}

static int json_file(const struct dirent *entry) {
    size_t length = strlen(entry->d_name);
    return length > 5 && strcmp(entry->d_name + length - 5, ".json") == 0;
}

/* Runs the .json files of a folder: "" or a name that ends in a slash. */
static struct count run_folder(const char *folder, bool required) {
    char path[PATH_SIZE * 2], name[PATH_SIZE];
    snprintf(path, sizeof path, "%s/tests/draft2020-12/%s", suite, folder);
    struct dirent **entries;
    int found = scandir(path, &entries, json_file, alphasort);
    assert_true(found > 0);
    struct count all = {0, 0};
    for (int i = 0; i < found; i++) {
        snprintf(name, sizeof name, "%s%s", folder, entries[i]->d_name);
        struct count count = run_file(name, required);
        if (!required && !may_fail(name) && count.passed != count.total) fail_msg("%s must pass as a whole", name);
        all.passed += count.passed;
        all.total += count.total;
        free(entries[i]);
    }
    free(entries);
    return all;
}

static bool find_suite(void) {
    const char *suites = getenv("TENON_SUITES");
    snprintf(suite, sizeof suite, "%s%s/json-schema", suites ? suites : TENON_SOURCE_DIR,
             suites ? "" : "/../shared/suites");
    struct stat info;
    if (stat(suite, &info) == 0) return true;
    printf("skipped: no test suite at %s\n", suite);
    return false;
}

static void required_cases_pass(void **state) {
    (void)state;
    if (!find_suite()) skip();
    int64_t live = value_live_count();
    struct count count = run_folder("", true);
    printf("%4d of %4d  required\n", count.passed, count.total);
    assert_true(count.total > 1000);
    assert_int_equal(count.passed, count.total);
    assert_int_equal(value_live_count(), live);
}

static void optional_cases_are_counted(void **state) {
    (void)state;
    if (!find_suite()) skip();
    int64_t live = value_live_count();
    struct count count = run_folder("optional/", false), formats = run_folder("optional/format/", false);
    printf("%4d of %4d  optional\n", count.passed + formats.passed, count.total + formats.total);
    assert_int_equal(value_live_count(), live);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(required_cases_pass),
        cmocka_unit_test(optional_cases_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
