/*
 * model_test.c - wildcards, usage and prices; usage from untrusted providers cannot overflow.
 */
#include "adl/value/json.h"
#include "adl/value/wildcard.h"
#include "host/engine/model/usage.h"
#include <float.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* cmocka.h needs the ones above. */
#include <cmocka.h>

static tn_value json(const char *text) {
    tn_value value = NULL;
    assert_int_equal(json_read(text, strlen(text), NULL, &value, NULL), TN_OK);
    return value;
}

static void test_wildcard(void **state) {
    static const struct {
        const char *pattern, *name;
        bool fits;
    } cases[] = {
        {"", "", true},
        {"*", "", true},
        {"", "a", false},
        {"a", "a", true},
        {"a", "ab", false},
        {"a*", "abc", true},
        {"*c", "abc", true},
        {"a*c", "abcbc", true},
        {"a*c", "abcb", false},
        {"*b*", "abc", true},
        {"a**c", "ac", true},
        {"files.*", "files.read", true},
        {"files.*", "file", false},
        {"*a*a*a*", "aabaa", true},
        {"*ab", "aab", true},
        {"a*b*c", "a1b2b3c", true},
        {"a*b*c", "a1b2b3", false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(wildcard_matches(cases[i].pattern, cases[i].name), cases[i].fits);
}

/* The original of a tool's name: characters that the name cannot have are `_` in it. */
static void test_wildcard_tool(void **state) {
    static const struct {
        const char *pattern, *name;
        bool fits;
    } cases[] = {
        {"github.repos/get", "github.repos_get", true},
        {"github.repos/*", "github.repos_list-for-org", true},
        {"github.repos / get", "github.repos_get", true},
        {"*repos/{x}", "github.repos_x_", true},
        {"github.repos_*", "github.repos_get", true},
        {"github.repos/*", "github.reposget", false},
        {"github.repos/get", "github.repos/get", true},
        {"github.repos_get", "github.repos/get", false},
        {"github.repos.get", "github.repos_get", true},
        {"github.repos.g*", "github.repos_get", true},
        {"drive.files.list/all", "drive.files.list_all", true},
        {"drive.files.list/all", "drive.files_list_all", true},
        {"github.repos/get/", "github.repos_get", true},
        {"github.repos_get", "github.repos.get", false},
        {"github.get", "github_get", false},
        {"github.*_", "github.repos", false},
        {"github./*", "github.repos", false},
        {"*.get", "github_get", false},
    };
    char longest[TN_TOOL_PATTERN_MAX + 2];
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(wildcard_matches_tool(cases[i].pattern, cases[i].name), cases[i].fits);
    memset(longest, '/', sizeof longest - 1);
    longest[sizeof longest - 1] = 0;
    assert_false(wildcard_matches_tool(longest, "_"));
    assert_true(wildcard_matches_tool(longest + 1, "_"));
}

/* A pattern that makes a backtracking matcher take forever. */
static void test_wildcard_hostile(void **state) {
    char pattern[2001], name[20001];
    (void)state;
    for (size_t i = 0; i < 2000; i++) pattern[i] = i % 2 ? '*' : 'a';
    pattern[2000] = 0;
    memset(name, 'a', 20000);
    name[20000] = 0;
    assert_true(wildcard_matches(pattern, name));
    pattern[1999] = 'b';
    assert_false(wildcard_matches(pattern, name));
}

static void test_usage_adds_up(void **state) {
    struct usage sum = {0}, back;
    tn_value one = json("{\"input_tokens\": 10, \"output_tokens\": 3, \"cached_tokens\": 4, \"cost\": 0.5}");
    tn_value wild =
        json("{\"input_tokens\": -5, \"output_tokens\": \"many\", \"reasoning_tokens\": 1.5, \"cost\": -2}");
    tn_value huge = json("{\"input_tokens\": 9223372036854775807}");
    (void)state;
    usage_add_call(&sum, one);
    usage_add_call(&sum, wild);
    usage_add_call(&sum, NULL);
    assert_int_equal(sum.calls, 3);
    assert_int_equal(usage_tokens(&sum), 13);
    assert_int_equal(sum.cached, 4);
    assert_true(sum.cost > 0.49 && sum.cost < 0.51);
    tn_value saved = usage_to_value(&sum);
    usage_from_value(&back, saved);
    tn_value again = usage_to_value(&back);
    assert_true(value_equal(saved, again));
    value_unref(again);
    usage_add_call(&sum, huge);
    usage_add_call(&sum, huge);
    assert_int_equal(sum.input, INT64_MAX);
    assert_int_equal(usage_tokens(&sum), INT64_MAX);
    /* A saturated number does not decrease: otherwise a budget would start again. */
    usage_from_value(&back, huge);
    usage_take_back(&sum, &back);
    assert_int_equal(sum.input, INT64_MAX);
    tn_value dear = value_set_take(value_object_reserve(1), "cost", value_double(DBL_MAX));
    usage_add_call(&sum, dear);
    usage_add_call(&sum, dear);
    usage_from_value(&back, dear);
    usage_take_back(&sum, &back);
    assert_true(sum.cost >= DBL_MAX);
    value_unref(usage_to_value(&sum)); /* values are finite */
    value_unref(dear);
    value_unref(saved);
    value_unref(one);
    value_unref(wild);
    value_unref(huge);
}

static void test_price(void **state) {
    tn_value prices = json("{\"*\": {\"input\": 1000000}, \"a:*\": {\"input\": 2000000, \"output\": 4000000, "
                           "\"cached\": 500000}, \"a:big\": {\"output\": 1000000}}");
    tn_value usage = json("{\"input_tokens\": 10, \"cached_tokens\": 4, \"output_tokens\": 3}");
    double cost = -1;
    (void)state;
    assert_true(usage_price(prices, "a:small", usage, &cost)); /* 6 at 2, 4 at 0.5, 3 at 4 */
    assert_true(cost > 25.99 && cost < 26.01);
    assert_true(usage_price(prices, "a:big", usage, &cost)); /* the longest pattern wins */
    assert_true(cost > 2.99 && cost < 3.01);
    assert_true(usage_price(prices, "b:x", usage, &cost));
    assert_true(cost > 9.99 && cost < 10.01);
    assert_false(usage_price(NULL, "a:small", usage, &cost));
    value_unref(prices);
    value_unref(usage);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wildcard),
        cmocka_unit_test(test_wildcard_tool),
        cmocka_unit_test(test_wildcard_hostile),
        cmocka_unit_test(test_usage_adds_up),
        cmocka_unit_test(test_price),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
