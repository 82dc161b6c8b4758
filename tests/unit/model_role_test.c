/*
 * model_role_test.c - what a role of `models` says: its models and groups, retries, fallbacks, cache; and its mistakes.
 */
#include "adl/document/model_role.h"
#include "adl/value/json.h"
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

static void test_forms(void **state) {
    static const struct {
        const char *text;
        const char *groups; /* one digit for each model */
    } cases[] = {
        {"\"a:b\"", "0"},
        {"{\"provider\": \"a\"}", "0"},
        {"[\"a\", {\"provider\": \"b\"}, \"c\"]", "012"},
        {"{\"models\": [\"a\", \"b\"]}", "01"},
        {"{\"models\": [\"a\", \"b\"], \"balance\": \"round_robin\"}", "00"},
        {"{\"models\": [\"a\", \"b\"], \"balance\": false}", "01"},
        {"{\"models\": [[\"a\", \"b\"], \"c\"]}", "001"},
        {"{\"models\": [\"c\", [\"a\", \"b\"]], \"balance\": \"least_busy\", \"x-note\": 1}", "011"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct model_role role = MODEL_ROLE_INIT;
        tn_value binding = json(cases[i].text);
        assert_int_equal(model_role_read(binding, &role, NULL), TN_OK);
        assert_int_equal(role.count, strlen(cases[i].groups));
        for (uint32_t j = 0; j < role.count; j++) assert_int_equal(role.models[j].group, cases[i].groups[j] - '0');
        assert_non_null(model_role_first(binding));
        value_unref(binding);
    }
    assert_null(model_role_first(NULL));
}

static void test_values(void **state) {
    struct model_role role = MODEL_ROLE_INIT;
    tn_value binding =
        json("{\"models\": [{\"provider\": \"a\", \"context_tokens\": 9, \"retry\": false}, \"b\"], \"retry\": "
             "{\"attempts\": 3, \"initial\": 1, \"max\": \"4s\", \"retry_after_max\": \"1m\"}, \"fallback\": "
             "{\"on\": [\"QUOTA\", \"retryable\"]}, \"cooldown\": \"2m\", \"cache\": {\"ttl\": \"1s\"}}");
    (void)state;
    assert_int_equal(model_role_read(binding, &role, NULL), TN_OK);
    assert_int_equal(role.models[0].context_tokens, 9);
    assert_true(role.models[0].retry.set && role.models[0].retry.attempts == 0);
    assert_false(role.models[1].retry.set);
    assert_true(role.retry.set && role.retry.attempts == 3 && role.retry.initial_ms == 1000);
    assert_true(role.retry.max_ms == 4000 && role.retry.after_max_ms == 60000);
    assert_true(role.cooldown_ms == 120000 && role.cache_ttl_ms == 1000);
    assert_true(model_role_falls_back(&role, "QUOTA", false));
    assert_true(model_role_falls_back(&role, "TIMEOUT", true));
    assert_false(model_role_falls_back(&role, "AUTH", false));
    value_unref(binding);
    struct model_role usual = MODEL_ROLE_INIT;
    assert_true(model_role_falls_back(&usual, "AUTH", false));
    assert_true(model_role_falls_back(&usual, "OWN", true));
    assert_false(model_role_falls_back(&usual, "INVALID_REQUEST", false));
    assert_false(model_role_falls_back(&usual, "BUDGET_EXCEEDED", true));
}

static void test_mistakes(void **state) {
    static const struct {
        const char *text, *code, *words;
    } cases[] = {
        {"[]", "LIMIT", "empty list"},
        {"{\"models\": []}", "INVALID_CONFIG", "`models`: found array"},
        {"{\"models\": \"a\"}", "INVALID_CONFIG", "`models`: found `a`"},
        {"{\"models\": [\"a\"], \"ballance\": 1}", "INVALID_CONFIG", "did you mean `balance`?"},
        {"{\"models\": [\"a\"], \"balance\": 1}", "INVALID_CONFIG", "`balance`: found 1"},
        {"{\"models\": [\"a\"], \"fallback\": [\"AUTH\"]}", "INVALID_CONFIG", "`fallback`: found array"},
        {"{\"models\": [\"a\"], \"fallback\": {\"on\": \"AUTH\"}}", "INVALID_CONFIG", "`fallback.on`: found `AUTH`"},
        {"{\"models\": [\"a\"], \"fallback\": {\"on\": [1]}}", "INVALID_CONFIG", "`fallback.on`: found 1"},
        {"{\"models\": [\"a\"], \"fallback\": {\"on\": [\"429\"]}}", "INVALID_CONFIG", "`fallback.on`: found `429`"},
        {"{\"models\": [\"a\"], \"fallback\": {\"on\": [\"no code\"]}}", "INVALID_CONFIG", "found `no code`"},
        {"{\"models\": [\"a\"], \"fallback\": {\"on\": [\"QOUTA\"]}}", "INVALID_CONFIG", "did you mean `QUOTA`?"},
        {"{\"models\": [\"a\"], \"cooldown\": \"soon\"}", "INVALID_CONFIG", "`cooldown`: found `soon`"},
        {"{\"models\": [\"a\"], \"cooldown\": -1}", "INVALID_CONFIG", "`cooldown`: found -1"},
        {"{\"provider\": \"a\", \"retry\": 3}", "INVALID_CONFIG", "`retry`: found 3"},
        {"{\"provider\": \"a\", \"retry\": {\"attempts\": -1}}", "INVALID_CONFIG", "`retry.attempts`: found -1"},
        {"{\"provider\": \"a\", \"retry\": {\"attempts\": 1.5}}", "INVALID_CONFIG", "`retry.attempts`: found double"},
        {"{\"provider\": \"a\", \"cache\": \"yes\"}", "INVALID_CONFIG", "`cache`: found `yes`"},
        {"{\"provider\": \"a\", \"context_tokens\": 0}", "INVALID_CONFIG", "`context_tokens`: found 0"},
        {"[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17]", "LIMIT", "more than 16 models"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct model_role role = MODEL_ROLE_INIT;
        struct error error = ERROR_INIT;
        tn_value binding = json(cases[i].text);
        assert_int_not_equal(model_role_read(binding, &role, &error), TN_OK);
        assert_string_equal(error.code, cases[i].code);
        assert_non_null(strstr(error.message, cases[i].words));
        error_finish(&error);
        value_unref(binding);
    }
}

static void test_limits(void **state) {
    struct model_limits limits;
    tn_value value = json("{\"requests_per_minute\": 5, \"tokens_per_minute\": 1000, \"concurrent\": 2}");
    tn_value wrong = json("{\"queue\": -1}");
    (void)state;
    assert_int_equal(model_limits_read(value, "K", &limits, NULL), TN_OK);
    assert_true(limits.requests == 5 && limits.tokens == 1000 && limits.concurrent == 2 && limits.queue == MODEL_QUEUE);
    assert_int_equal(model_limits_read(wrong, "K", &limits, NULL), TN_INVALID);
    assert_int_equal(model_limits_read(NULL, "K", &limits, NULL), TN_INVALID);
    value_unref(value);
    value_unref(wrong);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forms),
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
