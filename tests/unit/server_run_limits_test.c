/*
 * server_run_limits_test.c - what clients cannot do to runs and to the host: stall, fill, keep plugins, pass limits.
 */
#include "tests/unit/server_run_fixture.h"

#include "host/engine/graph/run.h"

/* Works for a while. */
#define DELAYS                                                                                                         \
    "version: \"1.0\"\nagent: {name: delays}\nchannels: []\nnodes: [{id: wait, type: delay, config: {ms: 600000}}]\n"  \
    "edges: [{from: START, to: wait}, {from: wait, to: END}]\n"

static void run_is(struct served *served, tn_value id, const char *status) {
    tn_value run = served_result_take(served, "run/get", with_id(id));
    is_text(run, "status", status);
    value_unref(run);
}

static tn_value subscribe_params(tn_value id, const char *more) {
    return value_set_take(served_json(more), "run_id", value_ref(id));
}

/* ---- Stalling ---- */

/* A subscription that drops what it has no credit for does not stall a run whose events it would drop or not get. */
static void dropping_does_not_stall(void **state) {
    struct served served;
    (void)state;
    served_open(&served, METHOD_RUN);
    tn_value id =
        run_of(&served, COUNTS, "{\"subscribe\":{\"credit\":0,\"when_full\":\"drop\",\"modes\":[\"messages\"]}}");
    served_settle(&served);
    run_is(&served, id, "done");
    value_unref(id);
    id = run_of(&served, COUNTS, "{\"subscribe\":{\"credit\":0,\"modes\":[]}}");
    served_settle(&served);
    run_is(&served, id, "done");
    value_unref(id);
    served_close(&served);
}

/* Only those who may cancel a run may slow it. */
static void readers_do_not_stall(void **state) {
    struct served served;
    (void)state;
    served_open(&served, METHOD_RUN);
    struct client *reader = served_client(&served, "reader", METHOD_READ);
    tn_value id = run_of(&served, COUNTS, "{}");
    value_unref(served_call_as(&served, reader, "run/subscribe", subscribe_params(id, "{\"credit\":0,\"after\":0}")));
    served_settle(&served);
    run_is(&served, id, "done");
    assert_int_equal(value_count(served.events), 0);
    value_unref(served_call_as(&served, reader, "event/grant", served_json("{\"subscription\":1,\"credit\":1}")));
    served_settle(&served);
    assert_int_equal(value_to_int(value_get(served_last(&served, "run/ended"), "missed")), 10);
    value_unref(id);
    served_close(&served);
}

/* `missed` is in the event before which events are missing. */
static void missed_events_are_counted_in_place(void **state) {
    struct served served;
    const struct subscription_options options = {.modes = RUN_MODE_ALL, .full = SUBSCRIPTION_DROPS};
    (void)state;
    served_open(&served, METHOD_RUN);
    struct subscription *subscription = subscription_new(served.client, &options, NULL);
    for (int i = 1; i <= 4; i++) {
        tn_value params = served_json("{\"run_id\":\"r\",\"event\":{\"type\":\"updates\"}}");
        params = value_set_take(params, "seq", value_int(i));
        subscription_deliver(subscription, "run/event", params,
                             i == 2 || i == 3 ? RUN_MODE_MESSAGES : RUN_MODE_UPDATES);
        value_unref(params);
    }
    assert_int_equal(subscription_grant(subscription, 10, NULL), TN_OK);
    served_settle(&served);
    assert_int_equal(value_count(served.events), 2);
    assert_null(value_get(value_get(value_at(served.events, 0), "params"), "missed"));
    assert_int_equal(value_to_int(value_get(served_last(&served, "run/event"), "missed")), 2);
    served_close(&served);
}

/* ---- What is kept ---- */

/* A run that is over keeps no graph: its plugins can be unloaded. */
static void a_run_that_is_over_releases_plugins(void **state) {
    struct served served;
    (void)state;
    served_skip_with_loops();
    served_open(&served, METHOD_ADMIN);
    tn_value id = run_of(&served, HELLO, "{}");
    value_unref(waited(&served, id));
    served_settle(&served);
    served_expect(&served, "plugin/unload", "{\"plugin\":\"tenon.core\"}", "{\"state\":\"unloaded\"}");
    run_is(&served, id, "done"); /* its report is still there */
    tn_value state_of = served_result_take(&served, "run/state", with_id(id));
    is_text(value_get(state_of, "state"), "greeting", "Hello, world!");
    value_unref(state_of);
    value_unref(id);
    served_close(&served);
}

static void a_run_that_waits_is_cancelled(void **state) {
    struct served served;
    (void)state;
    served_skip_with_loops();
    served_open(&served, METHOD_ADMIN);
    tn_value id = run_of(&served, ASKS, "{\"subscribe\":{}}");
    value_unref(waited(&served, id));
    value_unref(served_result_take(&served, "run/cancel", with_id(id)));
    served_settle(&served);
    run_is(&served, id, "cancelled");
    is_text(served_last(&served, "run/ended"), "status", "cancelled");
    assert_int_equal(served_count(&served, "run/ended"), 2);
    served_expect_error(&served, "event/unsubscribe", "{\"subscription\":1}", "NOT_FOUND", "may have ended");
    served_expect(&served, "plugin/unload", "{\"plugin\":\"tenon.core\"}", "{\"state\":\"unloaded\"}");
    tn_value outcome = served_call_as(&served, served.client, "run/answer", with_id(id));
    is_text(value_get(outcome, "error"), "code", "INVALID_INPUT");
    value_unref(outcome);
    value_unref(id);
    served_close(&served);
}

/* A run without a thread that has reached its recursion limit continues, and so do its subscriptions. */
static void a_recursion_limit_is_continued(void **state) {
    struct served served;
    (void)state;
    served_open(&served, METHOD_RUN);
    tn_value id = run_of(&served, COUNTS, "{\"config\":{\"recursion_limit\":6},\"subscribe\":{}}");
    value_unref(waited(&served, id));
    served_settle(&served);
    is_text(served_last(&served, "run/ended"), "status", "failed");
    value_unref(served_result_take(&served, "run/answer", with_id(id)));
    value_unref(waited(&served, id));
    served_settle(&served);
    is_text(served_last(&served, "run/ended"), "status", "done");
    assert_int_equal(served_count(&served, "run/event"), 10);
    value_unref(id);
    served_close(&served);
}

/* ---- Limits ---- */

/* An answer counts like a start. */
static void active_runs_have_a_limit(void **state) {
    struct served served;
    (void)state;
    served_open(&served, METHOD_RUN);
    struct client *plugin =
        client_new(served.server, &(struct client_options){.name = "plugin x", .scope = METHOD_RUN, .plugin = true});
    tn_value asks = run_of(&served, ASKS, "{}");
    value_unref(waited(&served, asks));
    tn_value outcome = served_call_as(&served, plugin, "run/start", text_params(ASKS, "{}"));
    tn_value asked = value_ref(value_get(value_get(outcome, "result"), "run_id"));
    value_unref(outcome);
    value_unref(waited(&served, asked));
    for (unsigned i = 0; i < SERVER_RUNS_PLUGIN_MAX; i++)
        value_unref(served_call_as(&served, plugin, "run/start", text_params(DELAYS, "{}")));
    outcome = served_call_as(&served, plugin, "run/start", text_params(DELAYS, "{}"));
    is_text(value_get(outcome, "error"), "code", "LIMIT");
    value_unref(outcome);
    outcome = served_call_as(&served, plugin, "run/answer", with_id(asked));
    is_text(value_get(outcome, "error"), "code", "LIMIT");
    value_unref(outcome);
    value_unref(asked);
    for (unsigned i = SERVER_RUNS_PLUGIN_MAX; i < SERVER_RUNS_MAX; i++) value_unref(run_of(&served, DELAYS, "{}"));
    outcome = served_call_as(&served, served.client, "run/start", text_params(DELAYS, "{}"));
    is_text(value_get(outcome, "error"), "code", "LIMIT");
    value_unref(outcome);
    outcome = served_call_as(&served, served.client, "run/answer", with_id(asks));
    is_text(value_get(outcome, "error"), "code", "LIMIT");
    value_unref(outcome);
    value_unref(asks);
    served_close(&served);
}

/* Many calls wait for one run, most of which are cancelled again. */
static void many_calls_wait_for_a_run(void **state) {
    enum { CALLS = 5000 };
    struct served served;
    struct served_call *calls = mem_zalloc(CALLS * sizeof *calls);
    (void)state;
    served_open(&served, METHOD_RUN);
    tn_value id = run_of(&served, DELAYS, "{}");
    for (unsigned i = 0; i < CALLS; i++) {
        served_start(&served, served.client, "run/wait", with_id(id), &calls[i]);
        if (i % 10 == 0) continue;
        call_cancel(calls[i].call);
        value_unref(served_finish(&served, &calls[i]));
    }
    value_unref(served_result_take(&served, "run/cancel", with_id(id)));
    for (unsigned i = 0; i < CALLS; i += 10) {
        tn_value outcome = served_finish(&served, &calls[i]);
        is_text(value_get(outcome, "result"), "status", "cancelled");
        value_unref(outcome);
    }
    value_unref(id);
    mem_free(calls);
    served_close(&served);
}

/* ---- The end of the host ---- */

struct supervisor {
    struct served *served;
    struct client *client;
    struct served_call call;
    bool called;
};

/* Starts a run whenever one has ended. */
static void supervise(void *user, uint64_t subscription, const char *event, tn_value params) {
    struct supervisor *supervisor = user;
    (void)subscription, (void)event, (void)params;
    if (supervisor->called) return;
    supervisor->called = true;
    served_start(supervisor->served, supervisor->client, "run/start", text_params(DELAYS, "{}"), &supervisor->call);
}

static void a_host_that_ends_starts_no_runs(void **state) {
    struct served served;
    struct supervisor supervisor = {.served = &served};
    (void)state;
    served_open(&served, METHOD_RUN);
    supervisor.client = client_new(
        served.server,
        &(struct client_options){.name = "supervisor", .scope = METHOD_RUN, .notify = supervise, .user = &supervisor});
    value_unref(
        served_call_as(&served, supervisor.client, "event/subscribe", served_json("{\"events\":[\"run/ended\"]}")));
    value_unref(run_of(&served, HELLO, "{}")); /* ends in the first turn of the end */
    value_unref(run_of(&served, DELAYS, "{}"));
    server_free(served.server);
    if (supervisor.called) {
        tn_value outcome = served_finish(&served, &supervisor.call);
        is_text(value_get(outcome, "error"), "code", "CANCELLED");
        value_unref(outcome);
    }
    value_unref(served.events);
    host_free(served.host);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dropping_does_not_stall),
        cmocka_unit_test(readers_do_not_stall),
        cmocka_unit_test(missed_events_are_counted_in_place),
        cmocka_unit_test(a_run_that_is_over_releases_plugins),
        cmocka_unit_test(a_run_that_waits_is_cancelled),
        cmocka_unit_test(a_recursion_limit_is_continued),
        cmocka_unit_test(active_runs_have_a_limit),
        cmocka_unit_test(many_calls_wait_for_a_run),
        cmocka_unit_test(a_host_that_ends_starts_no_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
