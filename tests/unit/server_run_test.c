/*
 * server_run_test.c - runs of a server: start and end, answers, cancel, events with credit, and what is kept.
 */
#include "tests/unit/server_run_fixture.h"

static void a_run_starts_and_ends(void **state) {
    struct served served;
    (void)state;
    served_open(&served, METHOD_RUN);
    tn_value id = run_of(&served, HELLO, "{\"input\":{\"name\":\"Ada\"}}"), run = waited(&served, id);
    is_text(run, "status", "done");
    is_text(run, "client", "test");
    tn_value report = value_get(run, "report");
    is_text(value_get(report, "state"), "greeting", "Hello, Ada!");
    assert_true(value_equal(value_get(report, "run_id"), id));
    value_unref(run);
    run = served_result_take(&served, "run/get", with_id(id));
    is_text(run, "status", "done");
    value_unref(run);
    run = served_result_take(&served, "run/state", with_id(id));
    is_text(value_get(run, "state"), "greeting", "Hello, Ada!");
    value_unref(run);
    value_unref(id);
    served_expect(&served, "run/list", "{\"status\":\"running\"}", "{\"runs\":[],\"more\":false}");
    served_close(&served);
}

static void mistakes_are_reported(void **state) {
    struct served served;
    (void)state;
    served_open(&served, METHOD_RUN);
    tn_value outcome = served_call_as(&served, served.client, "run/start", text_params("version: \"1.0\"\n", "{}"));
    tn_value error = value_get(outcome, "error");
    is_text(error, "code", "INVALID_GRAPH");
    assert_true(value_count(value_get(value_get(error, "detail"), "diagnostics")) > 0);
    value_unref(outcome);
    served_expect_error(&served, "run/start", "{}", "INVALID_INPUT", "run/start");
    served_expect_error(&served, "run/start", "{\"document\":\"/no/such.yaml\"}", "IO", "/no/such.yaml");
    served_expect_error(&served, "run/get", "{\"run_id\":\"x\"}", "NOT_FOUND", "has no run `x`");
    tn_value id = run_of(&served, HELLO, "{\"config\":{\"run_id\":\"mine\"}}");
    assert_true(value_text_is(id, "mine"));
    outcome =
        served_call_as(&served, served.client, "run/start", text_params(HELLO, "{\"config\":{\"run_id\":\"mine\"}}"));
    is_text(value_get(outcome, "error"), "code", "EXISTS");
    value_unref(outcome);
    tn_value run = waited(&served, id);
    value_unref(run);
    value_unref(id);
    id = run_of(&served, HELLO, "{\"input\":{\"nothing\":1}}"); /* the input does not fit: the run fails */
    run = waited(&served, id);
    is_text(run, "status", "failed");
    is_text(value_get(value_get(run, "report"), "error"), "code", "INVALID_INPUT");
    value_unref(run);
    value_unref(id);
    served_close(&served);
}

/* ---- Events ---- */

static void events_come_in_order(void **state) {
    struct served served;
    (void)state;
    served_open(&served, METHOD_RUN);
    served_expect(&served, "event/subscribe", "{\"events\":[\"run/started\",\"run/ended\"]}", "{\"subscription\":1}");
    tn_value id = run_of(&served, COUNTS, "{\"subscribe\":{}}");
    value_unref(waited(&served, id));
    served_settle(&served);
    assert_int_equal(served_count(&served, "run/started"), 1);
    assert_int_equal(served_count(&served, "run/ended"), 2); /* of the host, and of the run */
    assert_int_equal(served_count(&served, "run/event"), 10);
    int64_t seq = 0;
    for (size_t i = 0; i < value_count(served.events); i++) {
        tn_value params = value_get(value_at(served.events, i), "params");
        if (value_get(params, "seq")) assert_int_equal(value_to_int(value_get(params, "seq")), ++seq);
    }
    assert_int_equal(seq, 11);
    /* The subscription has ended with the run. */
    served_expect_error(&served, "event/unsubscribe", "{\"subscription\":2}", "NOT_FOUND", "may have ended");
    value_unref(id);
    served_close(&served);
}

/* The types of the events that were received so far, and forgets them; a new reference. */
static tn_value received_types(struct served *served) {
    tn_value types = value_object();
    served_settle(served);
    for (size_t i = 0; i < value_count(served->events); i++) {
        tn_value event = value_get(value_get(value_at(served->events, i), "params"), "event");
        if (event) types = value_set_take(types, value_chars(value_get(event, "type"), NULL), value_bool(true));
    }
    value_unref(served->events);
    served->events = value_array();
    return types;
}

/* Fails unless exactly these types of events were received: {"updates":true}. */
static void received(struct served *served, const char *expected) {
    tn_value types = received_types(served), wanted = served_json(expected);
    char *text = json_text(types, JSON_COMPACT);
    if (!value_equal(types, wanted)) fail_msg("received %s\nexpected: %s", text, expected);
    mem_free(text);
    value_unref(wanted);
    value_unref(types);
}

/* A run has its modes and those of its first subscription; another subscription has all of them, or names some. */
static void modes_of_subscriptions(void **state) {
    struct served served;
    (void)state;
    served_open(&served, METHOD_RUN);
    tn_value id = run_of(&served, COUNTS, "{\"modes\":[\"updates\"],\"subscribe\":{\"modes\":[\"values\"]}}");
    value_unref(waited(&served, id));
    received(&served, "{\"values\":true}");
    value_unref(served_result_take(&served, "run/subscribe", value_set_take(with_id(id), "after", value_int(0))));
    received(&served, "{\"values\":true,\"updates\":true}");
    tn_value run = served_result_take(&served, "run/get", with_id(id)), modes = served_json("[\"values\",\"updates\"]");
    assert_true(value_equal(value_get(run, "modes"), modes));
    value_unref(modes);
    value_unref(run);
    tn_value params = value_set_take(with_id(id), "modes", served_json("[\"updates\",\"tasks\"]"));
    tn_value outcome = served_call_as(&served, served.client, "run/subscribe", params);
    tn_value error = value_get(outcome, "error");
    is_text(error, "code", "INVALID_INPUT");
    const char *message = value_chars(value_get(error, "message"), NULL);
    if (!strstr(message, "found `tasks`") || !strstr(message, "[\"values\",\"updates\"]")) fail_msg("%s", message);
    value_unref(outcome);
    value_unref(id);
    id = run_of(&served, COUNTS, "{\"modes\":[\"tasks\"],\"subscribe\":{}}"); /* by default, all modes of the run */
    value_unref(waited(&served, id));
    received(&served, "{\"tasks\":true}");
    value_unref(id);
    id = run_of(&served, COUNTS, "{\"subscribe\":{\"modes\":[\"checkpoints\"]}}");
    value_unref(waited(&served, id));
    received(&served, "{\"checkpoints\":true}");
    value_unref(id);
    served_close(&served);
}

/* Without credit the run waits after few events; it makes no more steps until it gets some. */
static void credit_slows_a_run(void **state) {
    struct served served;
    (void)state;
    served_skip_with_loops();
    served_open(&served, METHOD_RUN);
    tn_value id = run_of(&served, COUNTS, "{\"input\":{\"n\":100},\"subscribe\":{\"credit\":5}}");
    served_settle(&served);
    assert_int_equal(served_count(&served, "run/event"), 5);
    tn_value run = served_result_take(&served, "run/get", with_id(id));
    is_text(run, "status", "running");
    assert_true(value_to_int(value_get(run, "steps")) <= 7);
    value_unref(run);
    for (unsigned granted = 5; granted < 101; granted += 8) {
        served_expect(&served, "event/grant", "{\"subscription\":1,\"credit\":8}", "{}");
        served_settle(&served);
    }
    assert_int_equal(served_count(&served, "run/event"), 100);
    assert_int_equal(served_count(&served, "run/ended"), 1);
    value_unref(id);
    served_close(&served);
}

/* If the slow client goes, the run continues. */
static void a_run_outlives_its_client(void **state) {
    struct served served;
    (void)state;
    served_open(&served, METHOD_RUN);
    struct client *leaves = served_client(&served, "leaves", METHOD_RUN);
    tn_value outcome =
        served_call_as(&served, leaves, "run/start", text_params(COUNTS, "{\"subscribe\":{\"credit\":1}}"));
    tn_value id = value_ref(value_get(value_get(outcome, "result"), "run_id"));
    value_unref(outcome);
    served_settle(&served);
    client_free(leaves);
    tn_value run = waited(&served, id);
    is_text(run, "status", "done");
    assert_null(value_get(run, "client"));
    value_unref(run);
    value_unref(id);
    served_close(&served);
}

/* One that was started with `ends_with_client` does not. When the host ends, it is stopped, as any other run. */
static void a_run_ends_with_its_client(void **state) {
    static const char wanted[] = "{\"ends_with_client\":true,\"input\":{\"n\":4000},\"subscribe\":{\"credit\":1}}";
    (void)state;
    for (int drains = 0; drains < 2; drains++) {
        struct served served;
        served_open(&served, METHOD_RUN);
        struct client *leaves = served_client(&served, "leaves", METHOD_RUN);
        tn_value other = run_of(&served, COUNTS, wanted);
        tn_value outcome = served_call_as(&served, leaves, "run/start", text_params(COUNTS, wanted));
        tn_value id = value_ref(value_get(value_get(outcome, "result"), "run_id"));
        value_unref(outcome);
        served_settle(&served);
        if (drains) server_drain(served.server);
        client_free(leaves);
        tn_value run = waited(&served, id);
        is_text(run, "status", drains ? "stopped" : "cancelled");
        value_unref(run);
        run = served_result_take(&served, "run/get", with_id(other));
        if (!drains) is_text(run, "status", "running");
        value_unref(run);
        value_unref(other);
        value_unref(id);
        served_close(&served);
    }
}

/* A client that was away gets what it has missed, and run/ended also after the end. */
static void events_are_sent_again(void **state) {
    struct served served;
    (void)state;
    served_open(&served, METHOD_RUN);
    tn_value id = run_of(&served, COUNTS, "{}");
    value_unref(waited(&served, id));
    tn_value params = value_set_take(with_id(id), "after", value_int(7));
    value_unref(served_result_take(&served, "run/subscribe", params));
    served_settle(&served);
    assert_int_equal(served_count(&served, "run/event"), 3);
    assert_int_equal(served_count(&served, "run/ended"), 1);
    assert_int_equal(value_to_int(value_get(served_last(&served, "run/ended"), "seq")), 11);
    value_unref(id);
    /* More events than are kept. */
    id = run_of(&served, COUNTS, "{\"input\":{\"n\":1000}}");
    value_unref(waited(&served, id));
    value_unref(served_result_take(&served, "run/subscribe", value_set_take(with_id(id), "after", value_int(0))));
    served_settle(&served);
    assert_int_equal(served_count(&served, "run/event"), 3 + SERVER_EVENTS_KEPT - 1);
    tn_value first = value_get(value_at(served.events, 4), "params");
    assert_int_equal(value_to_int(value_get(first, "missed")), 1001 - SERVER_EVENTS_KEPT);
    value_unref(id);
    served_close(&served);
}

/* Large events are kept only up to a size. */
static void kept_events_have_a_size(void **state) {
    struct served served;
    (void)state;
    served_open(&served, METHOD_RUN);
    char *long_text = mem_zalloc(SERVER_EVENTS_SIZE / 4 + 1);
    memset(long_text, 'x', SERVER_EVENTS_SIZE / 4);
    tn_value params = text_params(COUNTS, "{\"modes\":[\"values\"],\"input\":{}}");
    tn_value input = value_set_take(value_object(), "n", value_int(10));
    input = value_set_take(input, "i", value_int(0));
    params = value_set_take(params, "input", value_set_take(input, "more", value_text(long_text)));
    params = value_set_take(params, "text", value_text(COUNTS_MORE));
    tn_value started = served_result_take(&served, "run/start", params), id = value_ref(value_get(started, "run_id"));
    value_unref(started);
    value_unref(waited(&served, id));
    value_unref(served_result_take(
        &served, "run/subscribe",
        value_set_take(value_set_take(with_id(id), "after", value_int(0)), "modes", served_json("[\"values\"]"))));
    served_settle(&served);
    size_t again = served_count(&served, "run/event");
    assert_true(again >= 1 && again <= 4);
    assert_int_equal(served_count(&served, "run/ended"), 1);
    tn_value first = value_get(value_at(served.events, 0), "params");
    assert_int_equal(value_to_int(value_get(first, "missed")), value_to_int(value_get(first, "seq")) - 1);
    value_unref(id);
    mem_free(long_text);
    served_close(&served);
}

/* A subscription of a run that is over, by a client that has all of its events, ends without an event. */
static void nothing_is_left_to_send(void **state) {
    struct served served;
    (void)state;
    served_open(&served, METHOD_RUN);
    tn_value id = run_of(&served, HELLO, "{}");
    value_unref(waited(&served, id));
    value_unref(served_result_take(&served, "run/subscribe", value_set_take(with_id(id), "after", value_int(1000))));
    served_settle(&served);
    assert_int_equal(value_count(served.events), 0);
    served_expect_error(&served, "event/unsubscribe", "{\"subscription\":1}", "NOT_FOUND", "no subscription 1");
    value_unref(id);
    served_close(&served);
}

/* For a schema, 5.0 is an integer. */
static void numbers_may_have_a_point(void **state) {
    struct served served;
    (void)state;
    served_open(&served, METHOD_RUN);
    tn_value id = run_of(&served, COUNTS, "{\"subscribe\":{\"credit\":5.0}}");
    served_settle(&served);
    assert_int_equal(served_count(&served, "run/event"), 5);
    served_expect(&served, "event/grant", "{\"subscription\":1,\"credit\":20.0}", "{}");
    value_unref(waited(&served, id));
    served_settle(&served);
    assert_int_equal(served_count(&served, "run/event"), 10);
    value_unref(served_result_take(&served, "run/subscribe", value_set_take(with_id(id), "after", value_double(8))));
    served_settle(&served);
    assert_int_equal(served_count(&served, "run/event"), 12);
    value_unref(id);
    served_close(&served);
}

/* ---- Answers, cancel ---- */

static void a_run_is_answered(void **state) {
    struct served served;
    (void)state;
    served_open(&served, METHOD_RUN);
    tn_value id = run_of(&served, ASKS, "{\"subscribe\":{}}"), run = waited(&served, id);
    is_text(run, "status", "interrupted");
    served_settle(&served);
    is_text(served_last(&served, "run/ended"), "status", "interrupted");
    value_unref(run);
    tn_value outcome = served_call_as(&served, served.client, "run/answer",
                                      value_set_take(with_id(id), "answers", served_json("{\"nothing\":1}")));
    is_text(value_get(outcome, "error"), "code", "INVALID_INPUT");
    value_unref(outcome);
    value_unref(served_result_take(&served, "run/answer", with_id(id)));
    run = waited(&served, id);
    is_text(run, "status", "done");
    value_unref(run);
    served_settle(&served);
    is_text(served_last(&served, "run/ended"), "status", "done"); /* the subscription has stayed */
    outcome = served_call_as(&served, served.client, "run/answer", with_id(id));
    is_text(value_get(outcome, "error"), "code", "INVALID_INPUT");
    value_unref(outcome);
    value_unref(id);
    served_close(&served);
}

static void a_run_is_cancelled(void **state) {
    struct served served;
    (void)state;
    served_open(&served, METHOD_RUN);
    tn_value id = run_of(&served, COUNTS, "{\"input\":{\"n\":4000},\"subscribe\":{\"credit\":1}}");
    served_settle(&served);
    value_unref(served_result_take(&served, "run/cancel", with_id(id)));
    tn_value run = waited(&served, id);
    is_text(run, "status", "cancelled");
    value_unref(run);
    value_unref(id);
    /* Draining stops it after its step. */
    id = run_of(&served, COUNTS, "{\"input\":{\"n\":4000},\"subscribe\":{\"credit\":1}}");
    served_settle(&served);
    value_unref(served_result_take(&served, "run/cancel", value_set_take(with_id(id), "drain", value_bool(true))));
    served_expect(&served, "event/grant", "{\"subscription\":2,\"credit\":100}", "{}");
    run = waited(&served, id);
    is_text(run, "status", "stopped");
    value_unref(run);
    value_unref(id);
    served_close(&served);
}

/* ---- Threads ---- */

static void a_thread_is_resumed(void **state) {
    struct served served;
    (void)state;
    served_open(&served, METHOD_RUN);
    tn_value id = run_of(&served, ASKS, "{\"config\":{\"thread_id\":\"t1\"}}"), run = waited(&served, id);
    is_text(run, "status", "interrupted");
    is_text(run, "thread_id", "t1");
    value_unref(run);
    value_unref(id);
    tn_value outcome =
        served_call_as(&served, served.client, "run/start", text_params(ASKS, "{\"config\":{\"thread_id\":\"t1\"}}"));
    id = value_ref(value_get(value_get(outcome, "result"), "run_id"));
    value_unref(outcome);
    run = waited(&served, id); /* the thread is not done: the run fails, and the thread stays as it is */
    is_text(run, "status", "failed");
    is_text(value_get(value_get(run, "report"), "error"), "code", "UNFINISHED");
    value_unref(run);
    value_unref(id);
    tn_value resumed =
        served_result_take(&served, "run/resume", text_params(ASKS, "{\"config\":{\"thread_id\":\"t1\"}}"));
    id = value_ref(value_get(resumed, "run_id"));
    value_unref(resumed);
    run = waited(&served, id);
    is_text(run, "status", "done");
    value_unref(run);
    value_unref(id);
    served_close(&served);
}

/* ---- Plugins ---- */

/* A plugin that works cannot be unloaded; the message names the node that is open. */
static void a_busy_plugin_stays(void **state) {
    struct served served;
    (void)state;
    served_skip_with_loops();
    served_open(&served, METHOD_ADMIN);
    tn_value id =
        run_of(&served,
               "version: \"1.0\"\nagent: {name: waits}\nchannels: []\nnodes: [{id: wait, type: delay, config: "
               "{ms: 100000}}]\nedges: [{from: START, to: wait}, {from: wait, to: END}]\n",
               "{\"config\":{\"run_id\":\"r1\"}}");
    while (call_open_count() == 0) loop_run_turn(host_loop(served.host));
    served_expect_error(&served, "plugin/unload", "{\"plugin\":\"tenon.core\"}", "PLUGIN_BUSY",
                        "node `wait` of run r1");
    value_unref(served_result(&served, "run/cancel", "{\"run_id\":\"r1\"}"));
    value_unref(waited(&served, id));
    value_unref(id);
    served_close(&served);
}

/* ---- Many ---- */

/* Many runs, each with a subscriber that reads nothing, use little memory, and all end when they get credit. */
static void many_runs_wait(void **state) {
    enum { RUNS = 300 };
    struct served served;
    (void)state;
    served_open(&served, METHOD_RUN);
    for (unsigned i = 0; i < RUNS; i++) value_unref(run_of(&served, COUNTS, "{\"subscribe\":{\"credit\":0}}"));
    served_settle(&served);
    assert_int_equal(value_count(served.events), 0);
    for (unsigned i = 1; i <= RUNS; i++) {
        tn_value params = value_set_take(value_object(), "subscription", value_int(i));
        value_unref(served_result_take(&served, "event/grant", value_set_take(params, "credit", value_int(100))));
    }
    served_settle(&served);
    assert_int_equal(served_count(&served, "run/ended"), RUNS);
    assert_int_equal(served_count(&served, "run/event"), 10 * RUNS);
    served_close(&served);
}

/* Ended runs are forgotten, the oldest first. */
static void ended_runs_are_forgotten(void **state) {
    struct served served;
    (void)state;
    served_open(&served, METHOD_RUN);
    tn_value first = run_of(&served, HELLO, "{}");
    value_unref(waited(&served, first));
    for (unsigned i = 0; i < SERVER_RUNS_KEPT - 1; i++) value_unref(run_of(&served, HELLO, "{}"));
    served_settle(&served);
    value_unref(served_result_take(&served, "run/get", with_id(first)));
    value_unref(run_of(&served, HELLO, "{}"));
    served_settle(&served);
    tn_value outcome = served_call_as(&served, served.client, "run/get", with_id(first));
    is_text(value_get(outcome, "error"), "code", "NOT_FOUND");
    value_unref(outcome);
    value_unref(first);
    served_close(&served);
}

/* A run that waits for an answer is not forgotten because others end, until it is cancelled. */
static void waiting_runs_are_kept(void **state) {
    struct served served;
    (void)state;
    served_open(&served, METHOD_RUN);
    tn_value answered = run_of(&served, ASKS, "{}"), cancelled = run_of(&served, ASKS, "{}");
    for (unsigned i = 0; i <= SERVER_RUNS_KEPT; i++) value_unref(run_of(&served, HELLO, "{}"));
    served_settle(&served);
    value_unref(served_result_take(&served, "run/answer", with_id(answered)));
    tn_value run = waited(&served, answered);
    is_text(run, "status", "done");
    value_unref(run);
    value_unref(served_result_take(&served, "run/cancel", with_id(cancelled)));
    for (unsigned i = 0; i < SERVER_RUNS_KEPT; i++) value_unref(run_of(&served, HELLO, "{}"));
    served_settle(&served);
    tn_value outcome = served_call_as(&served, served.client, "run/get", with_id(cancelled));
    is_text(value_get(outcome, "error"), "code", "NOT_FOUND");
    value_unref(outcome);
    value_unref(answered);
    value_unref(cancelled);
    served_close(&served);
}

/* Open runs, calls that wait for them and subscriptions end with the server. */
static void a_server_ends_with_open_runs(void **state) {
    struct served served;
    struct served_call call;
    (void)state;
    served_open(&served, METHOD_RUN);
    tn_value id = run_of(&served, COUNTS, "{\"input\":{\"n\":4000},\"subscribe\":{\"credit\":1}}");
    served_settle(&served);
    served_start(&served, served.client, "run/wait", with_id(id), &call);
    assert_false(call.ended);
    call_cancel(call.call);
    value_unref(served_finish(&served, &call));
    served_start(&served, served.client, "run/wait", with_id(id), &call);
    server_free(served.server);
    tn_value outcome = served_finish(&served, &call);
    is_text(value_get(outcome, "result"), "status", "cancelled");
    value_unref(outcome);
    value_unref(id);
    value_unref(served.events);
    host_free(served.host);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_starts_and_ends),
        cmocka_unit_test(mistakes_are_reported),
        cmocka_unit_test(events_come_in_order),
        cmocka_unit_test(modes_of_subscriptions),
        cmocka_unit_test(credit_slows_a_run),
        cmocka_unit_test(a_run_outlives_its_client),
        cmocka_unit_test(events_are_sent_again),
        cmocka_unit_test(numbers_may_have_a_point),
        cmocka_unit_test(nothing_is_left_to_send),
        cmocka_unit_test(kept_events_have_a_size),
        cmocka_unit_test(a_busy_plugin_stays),
        cmocka_unit_test(a_run_is_answered),
        cmocka_unit_test(a_run_is_cancelled),
        cmocka_unit_test(a_thread_is_resumed),
        cmocka_unit_test(many_runs_wait),
        cmocka_unit_test(ended_runs_are_forgotten),
        cmocka_unit_test(waiting_runs_are_kept),
        cmocka_unit_test(a_server_ends_with_open_runs),
        cmocka_unit_test(a_run_ends_with_its_client),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
