/*
 * plugin_method_end_test.c - requests and subscriptions of plugins end: cancelled, at the limit, with their plugin, its
 * process, or the host.
 */
#include "tests/unit/plugin_method_fixture.h"

#include "host/plugin/abi/abi_host.h"

/* Starts a run that takes long; a new value, its id. */
static tn_value start_slow(struct served *served) {
    tn_value started = served_result_take(served, "run/start", text_params(SLOW));
    tn_value id = value_ref(value_get(started, "run_id"));
    value_unref(started);
    return id;
}

/* Starts a request that waits for the end of the run; returns its number, or the status that is not TN_OK. */
static int64_t wait_for(struct served *served, tn_value id) {
    tn_value name = value_set_take(value_object(), "run_id", value_ref(id));
    tn_value result = use_take(served, "methods.begin", method_input("run/wait", name));
    int64_t status = value_to_int(value_get(result, "status")), number = value_to_int(value_get(result, "value"));
    value_unref(result);
    return status == TN_OK ? number : status;
}

static void end_run_take(struct served *served, tn_value id) {
    tn_value name = value_set_take(value_object(), "run_id", id);
    value_unref(served_result_take(served, "run/cancel", value_ref(name)));
    value_unref(served_result_take(served, "run/wait", name));
}

static void cancelled(struct served *served) {
    tn_value id = start_slow(served);
    skip_init(served);
    int64_t first = wait_for(served, id), second = wait_for(served, id);
    assert_true(first > 0 && second > first);
    assert_int_equal(control(served, "cancel", first), TN_OK);
    assert_int_equal(control(served, "cancel", first), TN_STALE);
    assert_int_equal(control(served, "unsubscribe", second), TN_STALE);
    end_run_take(served, id);
    tn_value all = reported(served, 1);
    assert_int_equal(value_to_int(value_get(value_at(all, 0), "status")), TN_OK);
    assert_true(value_text_is(value_get(value_get(value_at(all, 0), "value"), "status"), "cancelled"));
    value_unref(all);
    assert_int_equal(control(served, "cancel", second), TN_STALE);
}

static void requests_are_cancelled(void **state) {
    (void)state;
    in_each_mode(cancelled);
}

/* The limit counts open requests only. */
static void limited(struct served *served) {
    tn_value id = start_slow(served);
    skip_init(served);
    for (int i = 0; i < TN_HOST_REQUESTS_MAX; i++) assert_true(wait_for(served, id) > 0);
    assert_int_equal(wait_for(served, id), TN_LIMIT);
    end_run_take(served, id);
    value_unref(reported(served, TN_HOST_REQUESTS_MAX));
    expect_use(served, "methods.request", "{\"method\":\"run/list\",\"params\":{\"status\":\"running\"}}",
               "{\"status\":0,\"value\":{\"runs\":[],\"more\":false}}");
}

static void requests_are_limited(void **state) {
    (void)state;
    in_each_mode(limited);
}

/* More calls of one task than the hash tables of isolation have lists: each gets its own end. */
static void many_calls(struct served *served) {
    tn_value id = start_slow(served), input = value_set_take(value_object(), "count", value_int(3000));
    input = value_set_take(input, "run_id", value_ref(id));
    expect_json_take(use_take(served, "methods.many", input), "{\"done\":1500,\"cancelled\":1500}");
    end_run_take(served, id);
}

static void calls_of_a_task_end_by_themselves(void **state) {
    (void)state;
    for (mode = IN_PROCESS; mode < MODES; mode++) {
        struct served served;
        if (mode == CHECKED) continue; /* the loop is blocked longer than check mode allows */
        open_plain(&served);
        many_calls(&served);
        close_quiet(&served);
    }
}

/* A plugin with an open request and a subscription is unloaded, and loaded again. */
static void unloaded(struct served *served) {
    tn_value id = start_slow(served);
    skip_init(served);
    assert_true(wait_for(served, id) > 0);
    (void)subscribe(served, RUN_ENDED, false);
    wait_for_plugin(served);
    served_expect(served, "plugin/unload", "{\"plugin\":\"test.methods\"}", "{\"state\":\"unloaded\"}");
    publish(served, "a");
    end_run_take(served, id);
    turn(served);
    served_expect(served, "plugin/load", "{\"file\":\"" TENON_TEST_METHODS "\"}",
                  "{\"plugin\":\"test.methods\",\"version\":\"1.0.0\"}");
    skip_init(served);
    expect_use(served, "methods.call", "{\"method\":\"component/list\",\"params\":{\"kind\":\"runner\"}}",
               "{\"status\":0,\"value\":{\"components\":[]}}");
}

static void plugins_are_unloaded(void **state) {
    (void)state;
    in_each_mode(unloaded);
}

/* A plugin that has ended, and starts again, as after a reset: it is the same struct plugin. */
static void restarted(struct served *served) {
    tn_value id = start_slow(served);
    skip_init(served);
    assert_true(wait_for(served, id) > 0);
    (void)subscribe(served, RUN_ENDED, false);
    value_unref(use_json(served, "methods.reported", "{}"));
    interface_host_ended(registry_plugin(host_registry(served->host), "test.methods"));
    static const char *const tools[] = {"methods.call", "methods.request"};
    for (size_t i = 0; i < 2; i++)
        expect_use(served, tools[i], "{\"method\":\"component/list\",\"params\":{\"kind\":\"runner\"}}",
                   "{\"status\":0,\"value\":{\"components\":[]}}");
    int64_t number = subscribe(served, RUN_ENDED, false);
    value_unref(use_json(served, "methods.reported", "{}"));
    end_run_take(served, id); /* the event comes once: the first subscription has ended */
    tn_value all = reported(served, 1);
    assert_int_equal(value_to_int(value_get(value_at(all, 0), "status")), TN_CHUNK);
    value_unref(all);
    assert_int_equal(control(served, "unsubscribe", number), TN_OK);
}

static void plugins_start_again(void **state) {
    (void)state;
    in_each_mode(restarted);
}

/* A plugin is replaced while a task of it waits for a method, and a request is open: the task ends as it would have. */
static void upgraded(struct served *served) {
    struct use use;
    tn_value id = start_slow(served), name = value_set_take(value_object(), "run_id", value_ref(id));
    skip_init(served);
    use_start(served, "methods.call", method_input("run/wait", name), &use);
    assert_true(wait_for(served, id) > 0);
    (void)subscribe(served, RUN_ENDED, false);
    served_expect(served, "plugin/upgrade", "{\"file\":\"" TENON_TEST_METHODS_2 "\"}",
                  "{\"plugin\":\"test.methods\",\"version\":\"2.0.0\",\"was\":\"1.0.0\"}");
    expect_use(served, "methods.call", "{\"method\":\"component/list\",\"params\":{\"kind\":\"runner\"}}",
               "{\"status\":0,\"value\":{\"components\":[]}}");
    skip_init(served); /* of the new version, which has no requests and subscriptions of the old one */
    end_run_take(served, id);
    tn_value outcome = use_finish(served, &use), run = value_get(value_get(outcome, "result"), "value");
    assert_true(value_text_is(value_get(run, "status"), "cancelled"));
    value_unref(outcome);
    publish(served, "a");
    turn(served);
    expect_use(served, "methods.reported", "{}", "[]");
}

static void plugins_are_upgraded(void **state) {
    (void)state;
    in_each_mode(upgraded);
}

static tn_value start_slow_by_plugin(struct served *served, bool ends_with_client) {
    tn_value params = value_set_take(text_params(SLOW), "ends_with_client", value_bool(ends_with_client));
    tn_value started = use_take(served, "methods.call", method_input("run/start", params));
    tn_value id = value_ref(value_get(value_get(started, "value"), "run_id"));
    value_unref(started);
    return id;
}

/* The run of this id, which it takes, ends as `cancelled`. */
static void expect_cancelled_take(struct served *served, tn_value id) {
    tn_value run = served_result_take(served, "run/wait", value_set_take(value_object(), "run_id", id));
    assert_true(value_text_is(value_get(run, "status"), "cancelled"));
    value_unref(run);
}

/* A run that a plugin has started continues when the plugin has gone, with its rights. */
static void survives(struct served *served) {
    tn_value id = start_slow_by_plugin(served, false), ends = start_slow_by_plugin(served, true);
    wait_for_plugin(served);
    served_expect(served, "plugin/unload", "{\"plugin\":\"test.methods\"}", "{\"state\":\"unloaded\"}");
    tn_value name = value_set_take(value_object(), "run_id", value_ref(id));
    tn_value run = served_result_take(served, "run/get", name);
    assert_true(value_text_is(value_get(run, "status"), "running"));
    assert_null(value_get(run, "client"));
    value_unref(run);
    expect_cancelled_take(served, ends);
    end_run_take(served, id);
}

static void runs_survive_their_plugin(void **state) {
    (void)state;
    in_each_mode(survives);
}

/* The process of the child is killed: its requests and subscriptions end, and those of the next one work. */
static void children_die(void **state) {
    struct served served;
    (void)state;
    mode = ISOLATED;
    open_plain(&served);
    tn_value id = start_slow(&served);
    for (int round = 0; round < 2; round++) {
        skip_init(&served);
        for (int i = 0; i < 700; i++) assert_true(wait_for(&served, id) > 0); /* two rounds are above the limit */
        (void)subscribe(&served, RUN_ENDED, false);
        tn_value ends = start_slow_by_plugin(&served, true);
        const tn_plugin *remote = registry_plugin(host_registry(served.host), "test.methods")->plugin;
        struct use use;
        use_start(&served, "methods.crash", value_object(), &use);
        tn_value outcome = use_finish(&served, &use);
        assert_true(value_text_is(value_get(value_get(outcome, "error"), "code"), "PLUGIN_CRASHED"));
        value_unref(outcome);
        assert_int_equal(remote_deaths(remote), round + 1);
        expect_cancelled_take(&served, ends);
        publish(&served, "a");
    }
    expect_use(&served, "methods.fill", "{}", "{\"status\":-5,\"value\":1024}");
    end_run_take(&served, id);
    close_quiet(&served);
}

/* The host ends while requests and subscriptions are open. */
static void ends(struct served *served) {
    tn_value id = start_slow(served);
    assert_true(wait_for(served, id) > 0);
    (void)subscribe(served, RUN_ENDED, false);
    value_unref(id);
}

static void hosts_end_with_open_requests(void **state) {
    (void)state;
    in_each_mode(ends);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_are_cancelled),
        cmocka_unit_test(requests_are_limited),
        cmocka_unit_test(plugins_start_again),
        cmocka_unit_test(plugins_are_unloaded),
        cmocka_unit_test(plugins_are_upgraded),
        cmocka_unit_test(runs_survive_their_plugin),
        cmocka_unit_test(children_die),
        cmocka_unit_test(hosts_end_with_open_requests),
        cmocka_unit_test(calls_of_a_task_end_by_themselves),
    };
    METHOD_TESTS_RUN(tests);
}
