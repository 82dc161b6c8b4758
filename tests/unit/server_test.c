/*
 * server_test.c - the method table: its rows and examples, parameters, rights, subscriptions and plugins. Runs are in
 * server_run_test.c.
 */
#include "tests/unit/server_fixture.h"

/* ---- The table ---- */

/* Every row has what the reference shows, and its example has the form that its schemas declare. */
static void rows_are_complete(void **state) {
    const struct method *method;
    struct error error = ERROR_INIT;
    (void)state;
    for (size_t i = 0; (method = method_at(i)) != NULL; i++) {
        tn_value example = value_get(method->row, "example"), read = NULL;
        size_t length = strlen(method->summary);
        if (length < 10 || method->summary[length - 1] != '.') fail_msg("%s: the summary", method->name);
        if (!example) fail_msg("%s: no example", method->name);
        if (method_read_params(method, value_get(example, "params"), &read, &error) != TN_OK ||
            method_check_result(method, value_get(example, "result"), &error) != TN_OK)
            fail_msg("%s", error.message);
        value_unref(read);
        assert_true(value_is(value_get(value_get(method->row, "params"), "properties"), TN_OBJECT));
        assert_ptr_equal(method_find(method->name), method);
    }
    for (size_t i = 0; i < value_count(method_events()); i++)
        assert_non_null(value_get(value_value_at(method_events(), i), "summary"));
}

static void unknown_methods_have_a_hint(void **state) {
    struct error error = ERROR_INIT;
    (void)state;
    assert_null(method_find("run/strat"));
    assert_int_equal(method_refuse_unknown("run/strat", &error), TN_NOT_FOUND);
    assert_non_null(strstr(error.message, "did you mean `run/start`?"));
    error_finish(&error);
}

static void parameters_are_validated(void **state) {
    struct served served;
    (void)state;
    served_open(&served, METHOD_ADMIN);
    served_expect_error(&served, "run/get", "{}", "INVALID_INPUT", "run_id");
    served_expect_error(&served, "run/get", "{\"run_id\":7}", "INVALID_INPUT", "at /run_id");
    served_expect_error(&served, "run/get", "[]", "INVALID_INPUT", "the parameters of the method `run/get`");
    served_expect_error(&served, "run/get", "{\"run_id\":\"a\\u0000b\"}", "INVALID_INPUT", "U+0000");
    served_expect_error(&served, "host/info", "{\"more\":1}", "INVALID_INPUT", "more");
    served_close(&served);
}

/* ---- Rights ---- */

static void scopes_limit_clients(void **state) {
    struct served served;
    (void)state;
    served_open(&served, METHOD_ADMIN);
    struct client *reader = served_client(&served, "reader", METHOD_READ);
    struct client *runner = served_client(&served, "runner", METHOD_RUN);
    served_expect_error_as(&served, reader, "run/start", "{\"text\":\"\"}", "PERMISSION_DENIED",
                           "needs the scope `run`; reader has `read`");
    served_expect_error_as(&served, runner, "plugin/unload", "{\"plugin\":\"x\"}", "PERMISSION_DENIED",
                           "needs the scope `admin`");
    tn_value info = served_call_as(&served, reader, "host/info", value_object());
    tn_value methods = value_get(value_get(info, "result"), "methods");
    for (size_t i = 0; i < value_count(methods); i++)
        assert_int_equal(method_find(value_chars(value_at(methods, i), NULL))->scope, METHOD_READ);
    assert_true(value_text_is(value_get(value_get(info, "result"), "scope"), "read"));
    value_unref(info);
    served_close(&served);
}

/* ---- Subscriptions ---- */

static void subscriptions_have_numbers_and_limits(void **state) {
    struct served served;
    (void)state;
    served_open(&served, METHOD_ADMIN);
    served_expect(&served, "event/subscribe", "{\"events\":[\"component/changed\"]}", "{\"subscription\":1}");
    served_expect(&served, "event/subscribe", "{\"events\":[\"run/ended\"],\"credit\":0}", "{\"subscription\":2}");
    served_expect_error(&served, "event/subscribe", "{\"events\":[\"run/event\"]}", "INVALID_INPUT", "events");
    served_expect_error(&served, "event/grant", "{\"subscription\":1,\"credit\":5}", "INVALID_INPUT", "unlimited");
    served_expect_error(&served, "event/grant", "{\"subscription\":9,\"credit\":5}", "NOT_FOUND", "no subscription 9");
    served_expect(&served, "event/grant", "{\"subscription\":2,\"credit\":1000000}", "{}");
    served_expect_error(&served, "event/grant", "{\"subscription\":2,\"credit\":1}", "INVALID_INPUT", "1000001");
    served_expect(&served, "event/unsubscribe", "{\"subscription\":1}", "{}");
    served_expect_error(&served, "event/unsubscribe", "{\"subscription\":1}", "NOT_FOUND", "no subscription 1");
    for (unsigned i = 1; i < CLIENT_SUBSCRIPTIONS_MAX; i++)
        value_unref(served_result(&served, "event/subscribe", "{\"events\":[\"run/ended\"]}"));
    served_expect_error(&served, "event/subscribe", "{\"events\":[\"run/ended\"]}", "LIMIT", "1024 subscriptions");
    served_close(&served);
}

static void a_client_without_notify_cannot_subscribe(void **state) {
    struct served served;
    (void)state;
    served_open(&served, METHOD_ADMIN);
    struct client *deaf = client_new(served.server, &(struct client_options){.name = "deaf", .scope = METHOD_READ});
    served_expect_error_as(&served, deaf, "event/subscribe", "{\"events\":[\"run/ended\"]}", "UNSUPPORTED", "`deaf`");
    served_close(&served);
}

/* Events of the host that wait are limited: the oldest is dropped and counted. */
static void waiting_events_are_limited(void **state) {
    struct served served;
    (void)state;
    served_open(&served, METHOD_ADMIN);
    served_expect(&served, "event/subscribe", "{\"events\":[\"run/ended\"],\"credit\":0}", "{\"subscription\":1}");
    for (unsigned i = 0; i < SUBSCRIPTION_WAITING_MAX + 10; i++) {
        tn_value params = value_set_take(value_object(), "run_id", value_format("r%u", i));
        server_publish_take(served.server, "run/ended", value_set_take(params, "status", value_text("done")));
    }
    served_settle(&served);
    assert_int_equal(served_count(&served, "run/ended"), 0);
    served_expect(&served, "event/grant", "{\"subscription\":1,\"credit\":2}", "{}");
    served_settle(&served);
    assert_int_equal(served_count(&served, "run/ended"), 2);
    tn_value first = value_get(value_at(served.events, 0), "params");
    assert_string_equal(value_chars(value_get(first, "run_id"), NULL), "r10");
    assert_int_equal(value_to_int(value_get(first, "missed")), 10);
    assert_null(value_get(served_last(&served, "run/ended"), "missed"));
    served_close(&served);
}

/* ---- Plugins and components ---- */

static void plugins_come_and_go(void **state) {
    struct served served;
    (void)state;
    served_open(&served, METHOD_ADMIN);
    served_expect(&served, "event/subscribe", "{\"events\":[\"component/changed\"]}", "{\"subscription\":1}");
    served_expect_error(&served, "component/show", "{\"kind\":\"node\",\"id\":\"test.versioned\"}", "NOT_FOUND",
                        "test.versioned");
    served_expect(&served, "plugin/load", "{\"file\":\"" TENON_TEST_BUILDS "/test_versioned_1.so\"}",
                  "{\"plugin\":\"test.versioned\",\"version\":\"1.0.0\"}");
    served_settle(&served);
    assert_int_equal(served_count(&served, "component/changed"), 1);
    assert_true(value_count(value_get(served_last(&served, "component/changed"), "added")) > 0);
    served_expect(&served, "plugin/upgrade", "{\"file\":\"" TENON_TEST_BUILDS "/test_versioned_2.so\"}",
                  "{\"plugin\":\"test.versioned\",\"version\":\"2.0.0\",\"was\":\"1.0.0\"}");
    served_settle(&served);
    assert_int_equal(served_count(&served, "component/changed"), 2);
    served_expect(&served, "plugin/unload", "{\"plugin\":\"test.versioned\"}", "{\"state\":\"unloaded\"}");
    served_settle(&served);
    assert_int_equal(served_count(&served, "component/changed"), 3);
    assert_int_equal(value_count(value_get(served_last(&served, "component/changed"), "added")), 0);
    served_expect_error(&served, "plugin/unload", "{\"plugin\":\"test.versioned\"}", "NOT_FOUND", "does not exist");
    served_expect_error(&served, "plugin/load", "{\"file\":\"/no/such.so\"}", "IO", "/no/such.so");
    served_close(&served);
}

static void plugins_are_listed(void **state) {
    struct served served;
    (void)state;
    served_open(&served, METHOD_READ);
    value_unref(served_result(&served, "plugin/list", "{}"));
    value_unref(served_result(&served, "component/list", "{}"));
    tn_value nodes = served_result(&served, "component/list", "{\"kind\":\"node\",\"plugin\":\"tenon.core\"}");
    assert_true(value_count(value_get(nodes, "components")) > 5);
    value_unref(nodes);
    value_unref(served_result(&served, "plugin/show", "{\"plugin\":\"tenon.core\"}"));
    value_unref(served_result(&served, "component/show", "{\"kind\":\"node\",\"id\":\"prompt\"}"));
    served_expect_error(&served, "plugin/show", "{\"plugin\":\"acme.none\"}", "NOT_FOUND", "acme.none");
    served_close(&served);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_complete),
        cmocka_unit_test(unknown_methods_have_a_hint),
        cmocka_unit_test(parameters_are_validated),
        cmocka_unit_test(scopes_limit_clients),
        cmocka_unit_test(subscriptions_have_numbers_and_limits),
        cmocka_unit_test(a_client_without_notify_cannot_subscribe),
        cmocka_unit_test(waiting_events_are_limited),
        cmocka_unit_test(plugins_come_and_go),
        cmocka_unit_test(plugins_are_listed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
