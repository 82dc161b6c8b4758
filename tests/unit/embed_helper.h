/*
 * embed_helper.h - what the tests of tenon/embed.h share: a host with the bundled plugins, values from JSON, expected
 * results and errors.
 */
#ifndef TENON_TESTS_EMBED_HELPER_H
#define TENON_TESTS_EMBED_HELPER_H

#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "adl/value/value.h"
#include <string.h>
#include <tenon/embed.h>

static tn_value json(const char *text) {
    tn_value value = NULL;
    struct error error = ERROR_INIT;
    if (json_read(text, strlen(text), NULL, &value, &error) != TN_OK) fail_msg("%s: %s", text, error.message);
    return value;
}

/* Expects the JSON text of `value`. Releases the value. */
static inline void expect(tn_value value, const char *text) {
    assert_non_null(value);
    char *found = json_text(value, JSON_COMPACT);
    assert_string_equal(found, text);
    mem_free(found);
    value_unref(value);
}

/* The bundled plugins are found beside this program. */
static tenon *open_host(void) {
    char *why = NULL;
    tn_value options = json("{\"no_config\": true}");
    tenon *host = tenon_open(options, &why);
    if (!host) fail_msg("%s", why);
    value_unref(options);
    return host;
}

static inline void expect_error(tenon *host, const char *code, const char *part) {
    tn_value error = tenon_error_value(host);
    if (!error) fail_msg("expected the error %s (%s)", code, part);
    if (strcmp(value_chars(value_get(error, "code"), NULL), code) != 0 || !strstr(tenon_error(host), part))
        fail_msg("expected %s and `%s` in: %s: %s", code, part, value_chars(value_get(error, "code"), NULL),
                 tenon_error(host));
}

static inline void expect_json(tenon *host, tenon_runnable *runnable, const char *input, const char *output) {
    char *found = runnable ? tenon_invoke_json(runnable, input) : NULL;
    if (!found) fail_msg("%s", tenon_error(host));
    assert_string_equal(found, output);
    tenon_free(found);
}

static inline tenon_runnable *graph_of(tenon *host, const char *text) {
    tenon_runnable *graph = tenon_graph_text(host, "test.yaml", text, strlen(text));
    if (!graph) fail_msg("%s", tenon_error(host));
    return graph;
}

static int64_t values_before;

static int count_values_before(void **state) {
    (void)state;
    values_before = value_live_count();
    return 0;
}

static int expect_no_value_leaked(void **state) {
    (void)state;
    int64_t after = value_live_count();
    if (after != values_before) print_error("%lld values leaked\n", (long long)(after - values_before));
    return after != values_before;
}

#endif
