/*
 * server_span_test.c - the event span/ended: what is reported, to whom, and that nothing is measured without a
 * subscription. With TENON_TEST_LOOPS the runs are on other loops.
 */
#include "host/base/trace.h"
#include "tests/unit/server_run_fixture.h"

/* The span of this kind that was received last, borrowed; NULL. */
static tn_value span_of(const struct served *served, const char *kind) {
    tn_value found = NULL;
    for (size_t i = 0; i < value_count(served->events); i++) {
        tn_value params = value_get(value_at(served->events, i), "params");
        if (value_text_is(value_get(params, "kind"), kind)) found = params;
    }
    return found;
}

static size_t spans_of(struct served *served) {
    served_settle(served);
    return served_count(served, "span/ended");
}

static void run_to_end(struct served *served, const char *text, const char *more) {
    tn_value id = run_of(served, text, more);
    value_unref(waited(served, id));
    value_unref(id);
}

static void a_run_its_steps_and_nodes(void **state) {
    struct served served;
    (void)state;
    served_open(&served, METHOD_RUN);
    served_expect(&served, "event/subscribe", "{\"events\":[\"span/ended\"]}", "{\"subscription\":1}");
    run_to_end(&served, HELLO,
               "{\"config\":{\"metadata\":{\"traceparent\":"
               "\"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\",\"tracestate\":\"a=1\"}}}");
    while (spans_of(&served) < 3) loop_run_turn(server_loop(served.server));
    tn_value run = span_of(&served, "run"), step = span_of(&served, "step"), node = span_of(&served, "node");
    assert_non_null(run);
    is_text(run, "name", "hello");
    is_text(run, "outcome", "done");
    is_text(node, "name", "greet");
    is_text(node, "component", "prompt");
    is_text(node, "graph", "hello");
    assert_null(value_get(run, "parent"));
    assert_true(value_equal(value_get(node, "parent"), value_get(step, "id")));
    assert_true(value_equal(value_get(step, "parent"), value_get(run, "id")));
    assert_true(value_to_int(value_get(step, "us")) >= value_to_int(value_get(node, "us")));
    assert_true(value_to_int(value_get(run, "us")) >= value_to_int(value_get(step, "us")));
    is_text(step, "name", "hello");
    is_text(step, "outcome", "done");
    assert_int_equal(value_to_int(value_get(step, "nodes")), 1);
    assert_int_equal(value_to_int(value_get(value_get(step, "context"), "step")), 1);
    tn_value context = value_get(run, "context");
    is_text(context, "traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
    is_text(context, "tracestate", "a=1");
    served_close(&served);
}

static void a_failure_has_a_code(void **state) {
    struct served served;
    (void)state;
    served_open(&served, METHOD_RUN);
    served_expect(&served, "event/subscribe", "{\"events\":[\"span/ended\"]}", "{\"subscription\":1}");
    run_to_end(&served, COUNTS, "{\"input\":{\"n\":9000},\"config\":{\"recursion_limit\":20}}");
    while (!span_of(&served, "run")) (void)spans_of(&served);
    is_text(span_of(&served, "run"), "outcome", "failed");
    is_text(span_of(&served, "run"), "code", "RECURSION_LIMIT");
    served_close(&served);
}

/* A malformed context is left out. */
static void a_malformed_context(void **state) {
    struct served served;
    (void)state;
    served_open(&served, METHOD_RUN);
    served_expect(&served, "event/subscribe", "{\"events\":[\"span/ended\"]}", "{\"subscription\":1}");
    run_to_end(&served, HELLO, "{\"config\":{\"metadata\":{\"traceparent\":\"00-x\\r\\nhost: y\",\"tracestate\":7}}}");
    while (!span_of(&served, "run")) (void)spans_of(&served);
    tn_value context = value_get(span_of(&served, "run"), "context");
    assert_null(value_get(context, "traceparent"));
    assert_null(value_get(context, "tracestate"));
    served_close(&served);
}

static void nothing_without_a_subscription(void **state) {
    struct served served;
    (void)state;
    served_open(&served, METHOD_RUN);
    struct loop *loop = server_loop(served.server);
    served_expect(&served, "event/subscribe", "{\"events\":[\"run/ended\"]}", "{\"subscription\":1}");
    assert_false(trace_wanted(loop));
    assert_int_equal(trace_start(loop), 0);
    served_expect(&served, "event/subscribe", "{\"events\":[\"span/ended\"],\"sample\":0.25}", "{\"subscription\":2}");
    assert_true(trace_wanted(loop));
    assert_true(loop_trace(loop)->sample == 0.25);
    served_expect(&served, "event/unsubscribe", "{\"subscription\":2}", "{}");
    assert_false(trace_wanted(loop));
    run_to_end(&served, HELLO, "{}");
    assert_int_equal(spans_of(&served), 0);
    served_close(&served);
}

/* Only subscriptions that ask for contents receive them. */
static void contents_on_request(void **state) {
    struct served served;
    (void)state;
    served_open(&served, METHOD_RUN);
    served_expect(&served, "event/subscribe", "{\"events\":[\"span/ended\"]}", "{\"subscription\":1}");
    assert_false(loop_trace(server_loop(served.server))->contents);
    served_expect(&served, "event/subscribe", "{\"events\":[\"span/ended\"],\"contents\":true}",
                  "{\"subscription\":2}");
    assert_true(loop_trace(server_loop(served.server))->contents);
    tn_value span = served_json("{\"kind\":\"model\",\"name\":\"x\",\"outcome\":\"done\",\"start_us\":1,\"us\":1}");
    server_publish_take(served.server, "span/ended", value_set_take(span, "input", value_text("x")));
    served_settle(&served);
    assert_int_equal(value_count(served.events), 2);
    for (size_t i = 0; i < 2; i++) {
        tn_value params = value_get(value_at(served.events, i), "params");
        bool asked = value_to_int(value_get(params, "subscription")) == 2;
        assert_int_equal(value_get(params, "input") != NULL, asked);
    }
    served_expect(&served, "event/unsubscribe", "{\"subscription\":2}", "{}");
    assert_false(loop_trace(server_loop(served.server))->contents);
    served_close(&served);
}

static void measurements(void **state) {
    struct served served;
    (void)state;
    served_open(&served, METHOD_READ);
    tn_value result = served_result_take(&served, "host/metrics", value_object()), rows = value_get(result, "metrics");
    bool memory = false;
    for (size_t i = 0; i < value_count(rows); i++) {
        tn_value row = value_at(rows, i);
        const char *name = value_chars(value_get(row, "name"), NULL);
        bool total = strlen(name) > 6 && strcmp(name + strlen(name) - 6, "_total") == 0;
        is_text(row, "type", total ? "counter" : "gauge");
        if (strcmp(name, "process_memory_bytes") == 0) memory = value_to_double(value_get(row, "value")) > 0;
    }
    assert_true(memory);
    value_unref(result);
    served_close(&served);
}

static void trace_contexts(void **state) {
    static const char *const wrong[] = {
        "",
        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0",
        "01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        "00-00000000000000000000000000000000-b7ad6b7169203331-01",
        "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
        "00-0AF7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        "00-0af7651916cd43dd8448eb211c80319c_b7ad6b7169203331-01",
    };
    static const char right[] = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00";
    char out[TRACE_PARENT_TEXT], longest[514];
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_false(trace_parent_is_valid(wrong[i], strlen(wrong[i])));
    assert_true(trace_parent_is_valid(right, strlen(right)));
    memset(longest, 'a', sizeof longest);
    assert_true(trace_state_is_valid(longest, 512));
    assert_false(trace_state_is_valid(longest, 513));
    assert_false(trace_state_is_valid("a\n", 2));
    assert_false(trace_state_is_valid("", 0));
    trace_parent_write("id", right, 1, out); /* the flags are those of the client */
    assert_memory_equal(out, right, 36);
    assert_string_equal(out + 52, "-00");
    trace_parent_write("id", NULL, 1, out);
    assert_true(trace_parent_is_valid(out, strlen(out)));
    assert_string_equal(out + 52, "-01");
    trace_parent_write("id", NULL, 0, out);
    assert_string_equal(out + 52, "-00");
    int sampled = 0;
    for (int i = 0; i < 1000; i++) {
        char id[16];
        snprintf(id, sizeof id, "%d", i);
        trace_parent_write(id, NULL, 0.25, out);
        sampled += strcmp(out + 52, "-01") == 0;
    }
    assert_in_range(sampled, 200, 300);
}

/* What a request passes on to the runs that it starts. */
static void contexts_of_headers(void **state) {
#define PARENT "\"traceparent\":\"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\""
    static const char *const headers[][2] = {
        {"{}", NULL},
        {"{\"tracestate\":\"a=1\"}", NULL}, /* alone it has no meaning */
        {"{\"traceparent\":\"00-1\",\"tracestate\":\"a=1\"}", NULL},
        {"{\"traceparent\":7}", NULL},
        {"{" PARENT ",\"tracestate\":\"a\\u0007\",\"host\":\"x\"}", "{" PARENT "}"},
        {"{" PARENT ",\"tracestate\":\"a=1\"}", "{" PARENT ",\"tracestate\":\"a=1\"}"}};
    static const char *const params[][3] = {
        {"run/start", "{}", "{\"config\":{\"metadata\":{" PARENT "}}}"},
        {"run/resume", "{\"config\":{\"metadata\":{\"a\":1}}}", "{\"config\":{\"metadata\":{\"a\":1," PARENT "}}}"},
        {"run/start", "{\"config\":{\"metadata\":{\"traceparent\":\"own\"}}}",
         "{\"config\":{\"metadata\":{\"traceparent\":\"own\"}}}"},
        {"run/start", "{\"config\":7}", "{\"config\":7}"}, /* the method refuses it */
        {"run/start", "{\"config\":{\"metadata\":[]}}", "{\"config\":{\"metadata\":[]}}"},
        {"run/start", "[]", "[]"},
        {"run/list", "{}", "{}"}};
    (void)state;
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
        tn_value given = served_json(headers[i][0]), found = trace_of_headers(given);
        tn_value expected = headers[i][1] ? served_json(headers[i][1]) : NULL;
        if (!found != !expected || (found && !value_equal(found, expected))) fail_msg("%s", headers[i][0]);
        value_unref(given);
        value_unref(found);
        value_unref(expected);
    }
    tn_value trace = served_json("{" PARENT "}");
    for (size_t i = 0; i < sizeof params / sizeof *params; i++) {
        tn_value given = served_json(params[i][1]), expected = served_json(params[i][2]);
        tn_value without = trace_run_params_take(params[i][0], value_ref(given), NULL);
        assert_true(value_equal(without, given));
        given = trace_run_params_take(params[i][0], given, trace);
        if (!value_equal(given, expected)) fail_msg("%s %s", params[i][0], params[i][1]);
        value_unref(without);
        value_unref(given);
        value_unref(expected);
    }
    assert_null(trace_run_params_take("run/start", NULL, trace)); /* a method needs its parameters */
    value_unref(trace);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_its_steps_and_nodes),
        cmocka_unit_test(a_failure_has_a_code),
        cmocka_unit_test(a_malformed_context),
        cmocka_unit_test(nothing_without_a_subscription),
        cmocka_unit_test(measurements),
        cmocka_unit_test(contents_on_request),
        cmocka_unit_test(trace_contexts),
        cmocka_unit_test(contexts_of_headers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
