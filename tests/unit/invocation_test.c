/*
 * invocation_test.c - the life of an invocation: start, end, resume, cancel and drain in each phase, with and without a
 * thread.
 *
 * A client counts the ends. No end is reported inside a function of the invocation: only the loop, which client_wait
 * runs, reports it.
 */
#include "tests/unit/engine_fixture.h"

#include "host/base/container_of.h"
#include "host/data/thread/thread_admin.h"
#include "host/engine/execution/invocation.h"
#include "host/plugin/call/call.h"

static const char counts[] = "version: '1.0'\nagent: {name: counts}\n"
                             "channels: [{name: n, type: last_value, default: 0}]\n"
                             "nodes: [{id: count, type: set, config: {values: {n: state.n + 1}}}]\n"
                             "edges:\n  - {from: START, to: count}\n"
                             "  - {from: count, type: conditional, conditions: [{expression: state.n % 3 != 0, to: "
                             "count}, {expression: default, to: END}]}\n";
static const char asks[] = "version: '1.0'\nagent: {name: asks}\n"
                           "channels: [{name: n, type: last_value, default: 0}, {name: out, type: last_value}]\n"
                           "nodes:\n  - {id: count, type: set, config: {values: {n: state.n + 1}}}\n"
                           "  - {id: ask, type: test.ask, config: {out: out, schema: {type: string}}}\n"
                           "edges: [{from: START, to: count}, {from: count, to: ask}, {from: ask, to: END}]\n";
static const char waits[] = "version: '1.0'\nagent: {name: waits}\n"
                            "channels: [{name: n, type: last_value, default: 0}]\n"
                            "nodes:\n  - {id: count, type: set, config: {values: {n: state.n + 1}}}\n"
                            "  - {id: wait, type: delay, config: {ms: 600000}}\n"
                            "  - {id: last, type: set, config: {values: {n: state.n + 10}}}\n"
                            "edges: [{from: START, to: count}, {from: count, to: wait}, {from: wait, to: last}, "
                            "{from: last, to: END}]\n";

/* ---- A client ---- */

struct client {
    struct host *host;
    struct graph *graph;
    struct invocation *invocation;
    struct loop_work work; /* cancels, in the turn of the start */
    int events, ends;
    bool full;         /* `event` returns false */
    bool frees;        /* `ended` frees the invocation */
    const char *reply; /* `ended` answers the question with it, once; or NULL */
};

static bool client_on_event(void *user, tn_value event) {
    struct client *client = user;
    assert_non_null(value_get(event, "type"));
    assert_int_equal(invocation_phase(client->invocation), INVOCATION_RUNNING);
    client->events++;
    return !client->full;
}

/* {id: reply} for the only question. */
static tn_value answers_with(struct invocation *invocation, const char *reply) {
    tn_value interrupts = invocation_interrupts(invocation), id = value_get(value_at(interrupts, 0), "id");
    assert_int_equal(value_count(interrupts), 1);
    tn_value answers = value_set_key_take(value_object(), value_ref(id), value_text(reply));
    value_unref(interrupts);
    return answers;
}

static void client_resume(const struct client *client, const char *reply) {
    struct error error = ERROR_INIT;
    tn_value answers = reply ? answers_with(client->invocation, reply) : NULL;
    if (invocation_resume(client->invocation, answers, &error) != TN_OK) fail_msg("%s", error.message);
    value_unref(answers);
}

static void client_on_ended(void *user) {
    struct client *client = user;
    client->ends++;
    assert_int_equal(invocation_phase(client->invocation), INVOCATION_IDLE);
    if (client->reply) {
        client_resume(client, client->reply);
        client->reply = NULL;
    }
    if (!client->frees) return;
    invocation_free(client->invocation);
    client->invocation = NULL;
}

/* The configuration is released at once: the invocation keeps it. */
static struct invocation *invocation_for(struct client *client, struct callable *callable, const char *config,
                                         struct error *error) {
    struct invocation_options options = {.run = RUN_OPTIONS_INIT, .ended = client_on_ended};
    options.config = parse_json(config);
    assert_int_equal(run_request_read(&options.run, &options.request, options.config, error), TN_OK);
    options.run.modes = RUN_MODE_VALUES | RUN_MODE_CUSTOM;
    options.run.event = client_on_event;
    options.run.user = client;
    struct invocation *invocation = invocation_new(host_engine(client->host), callable, &options, error);
    value_unref(options.config);
    return invocation;
}

static struct client client_open(const char *document) {
    struct client client = {.host = host_for_tests()};
    loop_fake_clock(host_loop(client.host));
    client.graph = graph_for_tests(client.host, "test.yaml", document, NULL);
    return client;
}

/* The next invocation of the graph. */
static void client_new(struct client *client, const char *config) {
    struct error error = ERROR_INIT;
    invocation_free(client->invocation);
    client->events = client->ends = 0;
    client->invocation = invocation_for(client, &client->graph->callable, config, &error);
    if (!client->invocation) fail_msg("%s", error.message);
    assert_int_equal(invocation_status(client->invocation), RUN_NEW);
}

static void client_start(struct client *client, const char *config) {
    client_new(client, config);
    invocation_start(client->invocation);
    assert_int_equal(client->ends, 0);
    assert_int_equal(invocation_phase(client->invocation), INVOCATION_QUEUED);
    assert_int_equal(invocation_status(client->invocation), RUN_RUNNING);
}

static void client_close(struct client *client) {
    invocation_free(client->invocation);
    graph_unref(client->graph);
    host_free(client->host);
}

static bool client_is_idle(void *user) {
    const struct client *client = user;
    return !client->invocation || invocation_phase(client->invocation) == INVOCATION_IDLE;
}

static bool client_is_running(void *user) {
    const struct client *client = user;
    return invocation_phase(client->invocation) == INVOCATION_RUNNING && client->events >= 2; /* after two steps */
}

/* Waits for the end number `ends`. */
static void client_wait(struct client *client, enum run_status status, int ends) {
    assert_true(loop_run(host_loop(client->host), client_is_idle, client));
    assert_int_equal(client->ends, ends);
    if (invocation_status(client->invocation) == status) return;
    tn_value report = invocation_report(client->invocation);
    fail_msg("expected %s: %s", run_status_name(status), json_text(report, JSON_COMPACT));
}

/* Releases the value. */
static void expect(tn_value value, const char *text) {
    assert_non_null(value);
    char *found = json_text(value, JSON_COMPACT);
    assert_string_equal(found, text);
    mem_free(found);
    value_unref(value);
}

static void expect_output(const struct client *client, const char *text) {
    assert_non_null(invocation_output(client->invocation));
    expect(value_ref(invocation_output(client->invocation)), text);
}

/* Finishes the error. */
static void expect_error(struct error *error, const char *code, const char *part) {
    assert_non_null(error->code);
    assert_string_equal(error->code, code);
    if (!strstr(error->message, part)) fail_msg("expected `%s` in: %s", part, error->message);
    error_finish(error);
}

static void expect_failure(const struct client *client, const char *code) {
    const struct error *error = invocation_error(client->invocation);
    assert_non_null(error->code);
    assert_string_equal(error->code, code);
    assert_null(invocation_output(client->invocation));
}

static const char *const configs[] = {"{}", "{\"thread_id\": \"t\"}"};

/* ---- Start and end ---- */

static void a_run_that_ends_at_once_is_reported_by_the_loop(void **state) {
    (void)state;
    struct client client = client_open(counts);
    struct error error = ERROR_INIT;
    for (size_t i = 0; i < 2; i++) {
        client_start(&client, configs[i]);
        assert_false(invocation_has_begun(client.invocation));
        expect(invocation_report(client.invocation), "{\"type\":\"result\",\"status\":\"running\"}");
        assert_null(invocation_state(client.invocation));
        client_wait(&client, RUN_DONE, 1);
        assert_true(invocation_has_begun(client.invocation));
        assert_true(client.events >= 3);
        expect_output(&client, "{\"n\":3}");
        expect(invocation_state(client.invocation), "{\"n\":3}");
        assert_int_equal(invocation_steps(client.invocation), 3);
        assert_null(invocation_usage(client.invocation));
        assert_null(invocation_error(client.invocation)->code);
        expect(invocation_interrupts(client.invocation), "[]");
        assert_int_equal(invocation_resume(client.invocation, NULL, &error), TN_INVALID);
        expect_error(&error, "INVALID_INPUT", "the run is done: there is nothing to continue");
    }
    client_close(&client);
}

/* After that, the engine may be freed. */
static void a_cleared_invocation_has_only_a_status(void **state) {
    (void)state;
    struct client client = client_open(asks);
    struct error error = ERROR_INIT;
    client_start(&client, configs[1]);
    client_wait(&client, RUN_INTERRUPTED, 1);
    invocation_clear(client.invocation);
    assert_int_equal(invocation_status(client.invocation), RUN_INTERRUPTED);
    expect(invocation_interrupts(client.invocation), "[]");
    assert_int_equal(invocation_resume(client.invocation, NULL, &error), TN_INVALID);
    expect_error(&error, "INVALID_INPUT", "the run is interrupted: there is nothing to continue");
    client_close(&client);
}

static void modes_are_set_before_the_start(void **state) {
    (void)state;
    struct client client = client_open(counts);
    client_start(&client, "{}");
    invocation_set_modes(client.invocation, 0);
    client_wait(&client, RUN_DONE, 1);
    assert_int_equal(client.events, 0);
    client_close(&client);
}

static void the_end_may_free_the_invocation(void **state) {
    (void)state;
    struct client client = client_open(counts);
    client.frees = true;
    for (size_t i = 0; i < 2; i++)
        for (int cancel = 0; cancel < 2; cancel++) {
            client_start(&client, configs[i]);
            if (cancel) invocation_cancel(client.invocation);
            assert_true(loop_run(host_loop(client.host), client_is_idle, &client));
            assert_int_equal(client.ends, 1);
        }
    client_close(&client);
}

/* ---- Interrupts ---- */

static void an_interrupted_run_is_resumed_with_answers(void **state) {
    (void)state;
    struct client client = client_open(asks);
    for (size_t i = 0; i < 2; i++) {
        struct error error = ERROR_INIT;
        client_start(&client, configs[i]);
        client_wait(&client, RUN_INTERRUPTED, 1);
        assert_null(invocation_output(client.invocation));
        tn_value unknown = parse_json("{\"nothing\": 1}"), list = parse_json("[]"), null = value_null();
        assert_int_not_equal(invocation_resume(client.invocation, unknown, &error), TN_OK);
        expect_error(&error, "INVALID_INPUT", "no open interrupt with the id `nothing`");
        assert_int_not_equal(invocation_resume(client.invocation, list, &error), TN_OK);
        expect_error(&error, "INVALID_INPUT", "expected an object by interrupt id");
        if (i == 0) { /* with a thread, the answer may have been saved there */
            assert_int_not_equal(invocation_resume(client.invocation, null, &error), TN_OK);
            expect_error(&error, "INVALID_INPUT", "has no answer");
        }
        value_unref(unknown);
        value_unref(list);
        value_unref(null);
        assert_int_equal(invocation_status(client.invocation), RUN_INTERRUPTED); /* nothing has changed */
        client_resume(&client, "yes");
        assert_int_equal(client.ends, 1);
        expect(invocation_interrupts(client.invocation), "[]");
        client_wait(&client, RUN_DONE, 2);
        expect_output(&client, "{\"n\":1,\"out\":\"yes\"}");
    }
    client_close(&client);
}

static void the_end_may_resume_the_invocation(void **state) {
    (void)state;
    struct client client = client_open(asks);
    for (size_t i = 0; i < 2; i++) {
        client.reply = "at once";
        client_start(&client, configs[i]);
        client_wait(&client, RUN_DONE, 2);
        expect_output(&client, "{\"n\":1,\"out\":\"at once\"}");
    }
    client_close(&client);
}

static void another_invocation_continues_the_thread(void **state) {
    (void)state;
    struct client client = client_open(asks);
    struct error error = ERROR_INIT;
    tn_value list = parse_json("[]");
    client_new(&client, "{}");
    assert_int_equal(invocation_resume(client.invocation, NULL, &error), TN_INVALID);
    expect_error(&error, "INVALID_INPUT", "the run is new: there is nothing to continue");
    client_new(&client, "{\"thread_id\": \"t\", \"replace\": true}");
    assert_int_equal(invocation_resume(client.invocation, NULL, &error), TN_INVALID);
    expect_error(&error, "INVALID_INPUT", "`replace` must not be true");
    client_new(&client, configs[1]);
    assert_int_equal(invocation_resume(client.invocation, list, &error), TN_TYPE);
    expect_error(&error, "INVALID_INPUT", "expected an object by interrupt id");
    value_unref(list);
    client_resume(&client, NULL); /* the same invocation: a refused request has changed nothing */
    client_wait(&client, RUN_FAILED, 1);
    expect_failure(&client, "NOT_FOUND");
    client_start(&client, configs[1]);
    client_wait(&client, RUN_INTERRUPTED, 1);
    /* New input is refused until the thread is done, and is not replaced by what the thread was doing. */
    client_start(&client, configs[1]);
    client_wait(&client, RUN_FAILED, 1);
    expect_failure(&client, "UNFINISHED");
    assert_false(invocation_has_begun(client.invocation));
    assert_int_equal(invocation_resume(client.invocation, NULL, &error), TN_INVALID);
    expect_error(&error, "INVALID_INPUT", "the run is failed: there is nothing to continue");
    /* Without answers, the questions are asked again. */
    client_new(&client, configs[1]);
    client_resume(&client, NULL);
    client_wait(&client, RUN_INTERRUPTED, 1);
    client_resume(&client, "later");
    client_wait(&client, RUN_DONE, 2);
    expect_output(&client, "{\"n\":1,\"out\":\"later\"}");
    client_close(&client);
}

/* ---- Cancelling and draining ---- */

static void a_run_is_cancelled_before_it_starts(void **state) {
    (void)state;
    struct client client = client_open(counts);
    struct error error = ERROR_INIT;
    tn_value record = NULL;
    for (size_t i = 0; i < 2; i++) {
        client_new(&client, configs[i]);
        invocation_cancel(client.invocation); /* no effect: it was not started */
        invocation_start(client.invocation);
        invocation_cancel(client.invocation);
        invocation_cancel(client.invocation);
        assert_int_equal(client.ends, 0);
        client_wait(&client, RUN_CANCELLED, 1);
        assert_int_equal(client.events, 0);
        assert_false(invocation_has_begun(client.invocation));
        expect_failure(&client, "CANCELLED");
        assert_int_equal(invocation_resume(client.invocation, NULL, &error), TN_INVALID);
        expect_error(&error, "INVALID_INPUT", "the run is cancelled: there is nothing to continue");
    }
    assert_int_not_equal(thread_show_wait(host_store(client.host, NULL), "t", &record, &error), TN_OK);
    expect_error(&error, "NOT_FOUND", "`t`");
    client_close(&client);
}

static void cancel_in_the_turn_of_the_start(struct loop_work *work) {
    struct client *client = CONTAINER_OF(work, struct client, work);
    assert_int_equal(invocation_phase(client->invocation), INVOCATION_PREPARING);
    assert_int_equal(invocation_status(client->invocation), RUN_RUNNING);
    invocation_cancel(client->invocation);
}

static void a_run_is_cancelled_while_its_thread_is_read(void **state) {
    (void)state;
    struct client client = client_open(counts);
    client_start(&client, configs[1]);
    client.work.run = cancel_in_the_turn_of_the_start;
    loop_defer(host_loop(client.host), &client.work);
    client_wait(&client, RUN_CANCELLED, 1);
    assert_int_equal(client.events, 0);
    expect_failure(&client, "CANCELLED");
    /* The thread is free. */
    client_start(&client, configs[1]);
    client_wait(&client, RUN_DONE, 1);
    client_close(&client);
}

static void a_run_is_cancelled_while_it_runs(void **state) {
    (void)state;
    struct client client = client_open(waits);
    struct error error = ERROR_INIT;
    for (size_t i = 0; i < 2; i++) {
        client_start(&client, configs[i]);
        assert_true(loop_run(host_loop(client.host), client_is_running, &client));
        expect(invocation_state(client.invocation), "{\"n\":1}");
        assert_int_equal(invocation_steps(client.invocation), 2);
        assert_null(invocation_usage(client.invocation));
        assert_int_equal(invocation_resume(client.invocation, NULL, &error), TN_INVALID);
        expect_error(&error, "INVALID_INPUT", "the run is running: there is nothing to continue");
        invocation_cancel(client.invocation);
        assert_int_equal(client.ends, 0);
        client_wait(&client, RUN_CANCELLED, 1);
        expect_failure(&client, "CANCELLED");
    }
    client_resume(&client, NULL); /* the thread had accepted it */
    client_wait(&client, RUN_DONE, 2);
    expect_output(&client, "{\"n\":11}");
    client_close(&client);
}

static void a_drained_run_is_resumed(void **state) {
    (void)state;
    struct client client = client_open(waits);
    for (size_t i = 0; i < 2; i++)
        for (int running = 0; running < 2; running++) {
            client_start(&client, configs[i]);
            if (running) assert_true(loop_run(host_loop(client.host), client_is_running, &client));
            invocation_drain(client.invocation);
            assert_int_equal(client.ends, 0);
            client_wait(&client, RUN_STOPPED, 1);
            /* With a thread, the request reaches the run while its first commit is written. */
            bool first = i == 1 && !running;
            tn_value report = invocation_report(client.invocation);
            expect(value_ref(value_get(report, "next")), first ? "[\"count\"]" : "[\"last\"]");
            value_unref(report);
            client_resume(&client, NULL); /* does not drain again */
            client_wait(&client, RUN_DONE, 2);
            assert_null(invocation_error(client.invocation)->code);
        }
    client_close(&client);
}

/* ---- A full subscriber ---- */

/* Emits three chunks, and ends. */
static int32_t emitting_start(struct callable *callable, struct call *call, tn_value input) {
    (void)callable, (void)input;
    for (int i = 0; i < 3; i++) {
        tn_value chunk = value_int(i);
        assert_int_equal(call_emit(call_token(call), chunk), TN_OK);
        value_unref(chunk);
    }
    return call_complete(call_token(call), NULL);
}

static void emitting_free(struct callable *callable) { (void)callable; }

static const struct callable_ops emitting_ops = {.start = emitting_start, .free = emitting_free};

/* The number of times that the subscriber had to be emptied. */
static int client_empty_until_idle(struct client *client) {
    int count = 0;
    while (!loop_run(host_loop(client->host), client_is_idle, client)) { /* the loop has nothing to do */
        int events = client->events;
        invocation_continue(client->invocation);
        assert_int_equal(client->events, events); /* the loop calls it */
        count++;
    }
    return count;
}

static void a_full_subscriber_stops_a_run(void **state) {
    (void)state;
    struct client client = client_open(counts);
    struct callable emitting = {&emitting_ops, 1};
    client.full = true;
    for (size_t i = 0; i < 2; i++) {
        client_start(&client, configs[i]);
        assert_int_equal(client_empty_until_idle(&client), 4); /* the input, and each step */
        client_wait(&client, RUN_DONE, 1);
        expect_output(&client, "{\"n\":3}");
        /* A run that waits for its subscriber can be cancelled. */
        client_start(&client, configs[i]);
        assert_false(loop_run(host_loop(client.host), client_is_idle, &client));
        invocation_cancel(client.invocation);
        client_wait(&client, RUN_CANCELLED, 1);
    }
    client_new(&client, "{}");
    invocation_free(client.invocation);
    client.invocation = invocation_for(&client, &emitting, "{}", NULL);
    invocation_start(client.invocation);
    assert_int_equal(client_empty_until_idle(&client), 2); /* the last chunk is followed by the end */
    assert_int_equal(client.events, 3);
    client_wait(&client, RUN_DONE, 1);
    expect_output(&client, "null");
    expect(invocation_report(client.invocation), "{\"type\":\"result\",\"status\":\"done\"}");
    assert_null(invocation_state(client.invocation));
    assert_int_equal(invocation_steps(client.invocation), 0);
    invocation_continue(client.invocation); /* no effect */
    client_close(&client);
}

static void only_a_graph_has_a_thread(void **state) {
    (void)state;
    struct client client = client_open(counts);
    struct callable emitting = {&emitting_ops, 1};
    struct error error = ERROR_INIT;
    assert_null(invocation_for(&client, &emitting, configs[1], &error));
    expect_error(&error, "INVALID_INPUT", "only the run of a graph can be saved in a thread");
    client_close(&client);
}

/* ---- The store ---- */

/* A store that cannot be found fails inside the start of the preparation; one that does not open fails later. */
static void a_store_that_fails_is_the_error_of_the_end(void **state) {
    (void)state;
    static const char *const stores[] = {"{\"use\": \"nothing\"}",
                                         "{\"use\": \"memory\", \"path\": \"x\", \"colour\": \"red\"}"};
    for (size_t i = 0; i < 2; i++) {
        struct client client = client_open(counts);
        host_set_store_options_take(client.host, parse_json(stores[i]));
        client_start(&client, configs[1]);
        client_wait(&client, RUN_FAILED, 1);
        assert_int_equal(client.events, 0);
        assert_false(invocation_has_begun(client.invocation));
        tn_value report = invocation_report(client.invocation);
        expect_failure(&client, value_chars(value_get(value_get(report, "error"), "code"), NULL));
        value_unref(report);
        client_close(&client);
    }
}

/* The thread is deleted while its run waits: the next commit fails. */
static void a_commit_that_fails_is_the_error_of_the_end(void **state) {
    (void)state;
    struct client client = client_open(waits);
    struct error error = ERROR_INIT;
    client_start(&client, configs[1]);
    assert_true(loop_run(host_loop(client.host), client_is_running, &client));
    assert_int_equal(thread_delete_wait(host_store(client.host, NULL), "t", true, &error), TN_OK);
    client_wait(&client, RUN_FAILED, 1);
    expect_failure(&client, "FENCED");
    client_close(&client);
}

/* ---- All ---- */

static int begin(void **state) {
    static int64_t live;
    live = value_live_count();
    *state = &live;
    return 0;
}

static int end(void **state) {
    assert_int_equal(value_live_count(), *(int64_t *)*state);
    return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void) {
    const struct CMUnitTest tests[] = {TEST(a_run_that_ends_at_once_is_reported_by_the_loop),
                                       TEST(a_cleared_invocation_has_only_a_status),
                                       TEST(modes_are_set_before_the_start),
                                       TEST(the_end_may_free_the_invocation),
                                       TEST(an_interrupted_run_is_resumed_with_answers),
                                       TEST(the_end_may_resume_the_invocation),
                                       TEST(another_invocation_continues_the_thread),
                                       TEST(a_run_is_cancelled_before_it_starts),
                                       TEST(a_run_is_cancelled_while_its_thread_is_read),
                                       TEST(a_run_is_cancelled_while_it_runs),
                                       TEST(a_drained_run_is_resumed),
                                       TEST(a_full_subscriber_stops_a_run),
                                       TEST(only_a_graph_has_a_thread),
                                       TEST(a_store_that_fails_is_the_error_of_the_end),
                                       TEST(a_commit_that_fails_is_the_error_of_the_end)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
