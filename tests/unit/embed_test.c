/*
 * embed_test.c - tenon/embed.h as a program that embeds the host uses it: hosts, runnables, runs, and graphs that
 * are built with calls.
 *
 * Each test checks that no value leaked. A mistake of the caller must be returned as an error; it must not end the
 * process.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <tenon/embed.h>

#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "adl/value/value.h"

static tn_value json(const char *text) {
    tn_value value = NULL;
    assert_int_equal(json_read(text, strlen(text), NULL, &value, NULL), TN_OK);
    return value;
}

/* Expects the JSON text of `value`. Releases the value. */
static void expect(tn_value value, const char *text) {
    assert_non_null(value);
    char *found = json_text(value, JSON_COMPACT);
    assert_string_equal(found, text);
    mem_free(found);
    value_unref(value);
}

static tn_value open_options(void) {
    tn_value options = json("{\"no_config\": true, \"allow_drafts\": true, \"plugin_paths\": []}");
    tn_value paths = value_push_take(value_array(), value_text(TENON_CORE_PLUGIN));
    return value_set_take(options, "plugin_paths", value_push_take(paths, value_text(TENON_TEST_NODES)));
}

/* Takes the options. */
static tenon *open_host_with(tn_value options) {
    char *why = NULL;
    tenon *host = tenon_open(options, &why);
    if (!host) fail_msg("%s", why);
    value_unref(options);
    return host;
}

static tenon *open_host(void) { return open_host_with(open_options()); }

static void expect_error(tenon *host, const char *code, const char *part) {
    tn_value error = tenon_error_value(host);
    assert_non_null(error);
    assert_string_equal(value_chars(value_get(error, "code"), NULL), code);
    if (!strstr(tenon_error(host), part)) fail_msg("expected `%s` in: %s", part, tenon_error(host));
}

static void expect_json(tenon *host, tenon_runnable *runnable, const char *input, const char *output) {
    char *found = tenon_invoke_json(runnable, input);
    if (!found) fail_msg("%s", tenon_error(host));
    assert_string_equal(found, output);
    tenon_free(found);
}

static tn_value add_one(void *user, tn_value input, tn_value *error) {
    int64_t number = 0;
    (void)user;
    if (value_as_int(input, &number)) return value_int(number + 1);
    *error = json("{\"code\": \"NO_NUMBER\", \"message\": \"a number is expected\"}");
    return NULL;
}

static tn_value return_nothing(void *user, tn_value input, tn_value *error) {
    (void)user, (void)input, (void)error;
    return NULL;
}

static tn_value cancel_host(void *user, tn_value input, tn_value *error) {
    (void)error;
    tenon_cancel(user);
    return value_ref(input);
}

/* ---- The host ---- */

static void open_and_close(void **state) {
    (void)state;
    tenon *host = open_host(), *other = open_host();
    assert_string_equal(tenon_version(), "0.1.0");
    assert_non_null(tenon_values());
    assert_string_equal(tenon_error(host), "");
    assert_null(tenon_error_value(host));
    expect(tenon_diagnostics(host), "{\"diagnostics\":[]}");
    tenon_runnable *here = tenon_lambda(host, add_one, NULL), *there = tenon_lambda(other, add_one, NULL);
    expect_json(host, here, "1", "2");
    expect_json(other, there, "5", "6");
    tenon_runnable *mixed[] = {here, there};
    assert_null(tenon_pipe(host, mixed, 2));
    expect_error(host, "INVALID_INPUT", "another host");
    tenon_release(here);
    tenon_close(host);
    expect_json(other, there, "6", "7");
    tenon_release(there);
    tenon_close(other);
}

static void open_rejects_invalid_options(void **state) {
    (void)state;
    tn_value options = json("{\"config\": \"/nowhere/tenon.yaml\"}");
    char *why = NULL;
    assert_null(tenon_open(options, &why));
    assert_non_null(why);
    assert_non_null(strstr(why, "/nowhere/tenon.yaml"));
    tenon_free(why);
    assert_null(tenon_open(options, NULL));
    value_unref(options);
}

static void drafts_are_allowed_per_plugin(void **state) {
    (void)state;
    static const char text[] = "version: \"1.0\"\nnodes: [{id: a, type: test.draft}]\n"
                               "edges: [{from: START, to: a}, {from: a, to: END}]\n";
    for (int allowed = 0; allowed < 2; allowed++) {
        tn_value options = json(allowed ? "{\"no_config\": true, \"drafts\": [\"test.draft\"]}"
                                        : "{\"no_config\": true, \"drafts\": [\"test.good\"]}");
        tn_value paths = value_push_take(value_array(), value_text(TENON_TEST_PLUGINS "/draft/draft.so"));
        tenon *host = open_host_with(value_set_take(options, "plugin_paths", paths));
        tenon_runnable *graph = tenon_graph_text(host, "draft.yaml", text, strlen(text));
        assert_int_equal(graph != NULL, allowed);
        if (graph)
            expect_json(host, graph, "{}", "{}");
        else
            expect_error(host, "INVALID_GRAPH", "drafts: [test.draft]");
        tenon_release(graph);
        tenon_close(host);
    }
}

static void opens_installed_documents(void **state) {
    (void)state;
    tenon *host = open_host();
    tenon_runnable *graph = tenon_graph_file(host, "tenon:hello");
    if (!graph) fail_msg("%s", tenon_error(host));
    expect_json(host, graph, "{}", "{\"name\":\"world\",\"greeting\":\"Hello, world!\"}");
    tenon_release(graph);
    assert_null(tenon_graph_file(host, "tenon:../documents/hello.yaml"));
    expect_error(host, "INVALID_GRAPH", "is installed with Tenon");
    tenon_close(host);
}

static void functions_accept_null(void **state) {
    (void)state;
    tenon *host = open_host();
    tenon_close(NULL);
    tenon_free(NULL);
    tenon_release(NULL);
    tenon_builder_free(NULL);
    tenon_cancel(NULL);
    assert_null(tenon_retain(NULL));
    assert_null(tenon_invoke(NULL, NULL, NULL));
    expect_error(NULL, "INVALID_INPUT", "tenon_invoke: the first argument is NULL");
    assert_null(tenon_invoke_json(NULL, "{}"));
    assert_null(tenon_stream(NULL, NULL, NULL, "all", NULL, NULL));
    assert_null(tenon_batch(NULL, NULL, NULL, 0, NULL, NULL));
    assert_null(tenon_compile(NULL));
    assert_null(tenon_builder_new(NULL, "x"));
    assert_null(tenon_identity(NULL));
    expect_error(NULL, "INVALID_INPUT", "tenon_identity: the first argument is NULL");
    assert_int_equal(tenon_add_edge(NULL, "a", "b"), TN_INVALID);
    assert_null(tenon_graph_text(host, NULL, NULL, 0));
    expect_error(host, "INVALID_INPUT", "text is NULL");
    assert_null(tenon_graph_file(host, NULL));
    expect_error(host, "INVALID_INPUT", "path is NULL");
    assert_null(tenon_component(host, NULL, "core.set", NULL));
    expect_error(host, "INVALID_INPUT", "kind is NULL");
    assert_null(tenon_component(host, "node", NULL, NULL));
    expect_error(host, "INVALID_INPUT", "id is NULL");
    assert_null(tenon_pipe(host, NULL, 1));
    expect_error(host, "INVALID_INPUT", "is NULL");
    tenon_runnable *none[] = {NULL}, *identity = tenon_identity(host);
    assert_null(tenon_parallel(host, none, NULL, 1));
    expect_error(host, "INVALID_INPUT", "a runnable is NULL");
    const char *names[] = {NULL};
    assert_null(tenon_parallel(host, &identity, names, 1));
    expect_error(host, "INVALID_INPUT", "name of branch 0");
    assert_null(tenon_lambda(host, NULL, NULL));
    expect_error(host, "INVALID_INPUT", "function is NULL");
    expect_json(host, identity, NULL, "null");
    assert_null(tenon_error_value(host)); /* a successful call clears the error */
    tenon_release(identity);
    tenon_close(host);
}

/* ---- Runnables ---- */

static void composes_runnables(void **state) {
    (void)state;
    tenon *host = open_host();
    tenon_runnable *one = tenon_lambda(host, add_one, NULL), *same = tenon_identity(host);
    tenon_runnable *both[] = {one, same};
    const char *names[] = {"more", "same"};
    tenon_runnable *list = tenon_parallel(host, both, NULL, 2), *named = tenon_parallel(host, both, names, 2);
    tenon_runnable *stages[] = {one, one, named};
    tenon_runnable *pipe = tenon_pipe(host, stages, 3), *nothing = tenon_pipe(host, NULL, 0);
    /* The compositions hold references to their parts. */
    tenon_release(one);
    tenon_release(same);
    tenon_release(named);
    expect_json(host, list, "1", "[2,1]");
    expect_json(host, pipe, "1", "{\"more\":4,\"same\":3}");
    expect_json(host, nothing, "[1]", "[1]");
    assert_null(tenon_invoke_json(pipe, "\"x\""));
    expect_error(host, "NO_NUMBER", "a number is expected");
    assert_null(tenon_invoke_json(pipe, "{"));
    expect_error(host, "PARSE", "line 1");
    assert_ptr_equal(tenon_retain(list), list);
    tenon_release(list);
    expect_json(host, list, "1", "[2,1]");
    tenon_release(list);
    tenon_release(pipe);
    tenon_release(nothing);
    tenon_runnable *silent = tenon_lambda(host, return_nothing, NULL);
    assert_null(tenon_invoke(silent, NULL, NULL));
    expect_error(host, "NODE_EXECUTION", "neither an output nor an error");
    tenon_release(silent);
    tenon_close(host);
}

/* Branch 0 is cancelled because branch 1 failed. The error is that of branch 1. */
static void parallel_reports_the_first_failure(void **state) {
    (void)state;
    tenon *host = open_host();
    tn_value hour = json("{\"ms\": 3600000}");
    tenon_runnable *branches[] = {tenon_component(host, "node", "delay", hour), tenon_lambda(host, add_one, NULL)};
    value_unref(hour);
    assert_non_null(branches[0]);
    tenon_runnable *parallel = tenon_parallel(host, branches, NULL, 2);
    assert_null(tenon_invoke_json(parallel, "null"));
    expect_error(host, "NO_NUMBER", "a number is expected");
    tenon_release(parallel);
    tenon_release(branches[0]);
    tenon_release(branches[1]);
    tenon_close(host);
}

static const char interrupt_document[] =
    "version: '1.0'\nagent: {name: asks}\nchannels: [{name: out, type: last_value}]\n"
    "nodes: [{id: ask, type: test.ask, config: {out: out}}]\n"
    "edges: [{from: START, to: ask}, {from: ask, to: END}]\n";

static void interrupts_are_errors(void **state) {
    (void)state;
    tenon *host = open_host();
    tenon_runnable *graph = tenon_graph_text(host, "ask.yaml", interrupt_document, strlen(interrupt_document));
    if (!graph) fail_msg("%s", tenon_error(host));
    tenon_runnable *pipe = tenon_pipe(host, &graph, 1);
    assert_null(tenon_invoke(graph, NULL, NULL));
    expect_error(host, "INTERRUPTED", "interrupted");
    assert_null(tenon_invoke(pipe, NULL, NULL));
    expect_error(host, "INTERRUPTED", "");
    tenon_release(pipe);
    tenon_release(graph);
    tenon_close(host);
}

static void documents_are_checked(void **state) {
    (void)state;
    tenon *host = open_host();
    static const char bad[] = "version: '1.0'\nagent: {name: x}\nnodes: [{id: a, type: core.sett}]\n"
                              "edges: [{from: START, to: a}]\n";
    assert_null(tenon_graph_text(host, "bad.yaml", bad, strlen(bad)));
    assert_non_null(strstr(tenon_error(host), "bad.yaml"));
    tn_value found = tenon_diagnostics(host);
    assert_true(value_count(value_get(found, "diagnostics")) > 0);
    value_unref(found);
    assert_null(tenon_graph_file(host, "/nowhere.yaml"));
    expect_error(host, "INVALID_GRAPH", "/nowhere.yaml");
    expect(tenon_diagnostics(host), "{\"diagnostics\":[]}");
    tenon_runnable *hello = tenon_graph_file(host, TENON_SOURCE_DIR "/samples/hello/hello.yaml");
    if (!hello) fail_msg("%s", tenon_error(host));
    expect_json(host, hello, "{\"name\": \"Ada\"}", "{\"name\":\"Ada\",\"greeting\":\"Hello, Ada!\"}");
    tenon_release(hello);
    assert_null(tenon_component(host, "node", "core.sett", NULL));
    assert_non_null(strstr(tenon_error(host), "core.set"));
    tenon_close(host);
}

/* A text has no folder: the name that the program passes with it permits no access to files. */
static void texts_read_only_below_roots(void **state) {
    (void)state;
    static const char text[] =
        "version: '1.0'\nagent: {name: x}\nchannels: [{name: out, type: last_value}]\n"
        "nodes: [{id: a, type: subgraph, config: {document: hello.yaml, output: {greeting: out}}}]\n"
        "edges: [{from: START, to: a}, {from: a, to: END}]\n";
    static const char refused[] = "such a document reads no files unless";
    tenon *host = open_host();
    assert_null(tenon_graph_text(host, TENON_SOURCE_DIR "/samples/hello/x.yaml", text, strlen(text)));
    assert_non_null(strstr(tenon_error(host), refused));
    tenon_builder *builder = tenon_builder_new(host, TENON_SOURCE_DIR "/samples/hello/x");
    tn_value config = json("{\"document\": \"hello.yaml\"}");
    assert_int_equal(tenon_add_node(builder, "a", "subgraph", config), TN_OK);
    assert_int_equal(tenon_set_entry_point(builder, "a"), TN_OK);
    assert_int_equal(tenon_set_finish_point(builder, "a"), TN_OK);
    assert_null(tenon_compile(builder));
    assert_non_null(strstr(tenon_error(host), refused));
    value_unref(config);
    tenon_builder_free(builder);
    tenon_close(host);

    tn_value roots = value_push_take(value_array(), value_text(TENON_SOURCE_DIR "/samples/hello"));
    host = open_host_with(value_set_take(open_options(), "file_roots", roots));
    tenon_runnable *graph = tenon_graph_text(host, "x.yaml", text, strlen(text));
    if (!graph) fail_msg("%s", tenon_error(host));
    expect_json(host, graph, "{}", "{\"out\":\"Hello, world!\"}");
    tenon_release(graph);
    tenon_close(host);
}

/* ---- Running ---- */

static void note_progress(void *user, uint64_t ended, uint64_t total) {
    uint64_t *last = user;
    assert_int_equal(ended, *last + 1);
    assert_int_equal(total, 4);
    *last = ended;
}

static void batch_runs_and_cancels(void **state) {
    (void)state;
    tenon *host = open_host();
    tenon_runnable *one = tenon_lambda(host, add_one, NULL);
    tn_value inputs = json("[3, \"x\", 1, null]");
    uint64_t last = 0;
    tn_value results = tenon_batch(one, inputs, NULL, 2, note_progress, &last);
    assert_int_equal(last, 4);
    expect(value_ref(value_get(value_at(results, 0), "output")), "4");
    assert_string_equal(value_chars(value_get(value_get(value_at(results, 1), "error"), "code"), NULL), "NO_NUMBER");
    expect(value_ref(value_get(value_at(results, 2), "output")), "2");
    assert_non_null(value_get(value_at(results, 3), "error"));
    value_unref(results);
    assert_null(tenon_batch(one, value_int(1), NULL, 0, NULL, NULL));
    expect_error(host, "INVALID_INPUT", "array");
    value_unref(inputs);
    /* The first run cancels the batch. With a concurrency of 1, the others are not started. */
    tenon_runnable *cancels = tenon_lambda(host, cancel_host, host);
    inputs = json("[1, 2]");
    results = tenon_batch(cancels, inputs, NULL, 1, NULL, NULL);
    expect(value_ref(value_get(value_at(results, 0), "output")), "1");
    assert_string_equal(value_chars(value_get(value_get(value_at(results, 1), "error"), "code"), NULL), "CANCELLED");
    value_unref(results);
    value_unref(inputs);
    tenon_release(cancels);
    tenon_release(one);
    tenon_close(host);
}

static void note_each(void *user, uint64_t ended, uint64_t total) {
    uint64_t *last = user;
    assert_int_equal(ended, *last + 1);
    assert_int_equal(total, 40);
    *last = ended;
}

/* A graph runs on all loops; a function of the program on its own thread; the results are those of one loop. */
static void batch_uses_loops(void **state) {
    (void)state;
    static const char text[] = "version: '1.0'\nagent: {recursion_limit: 100}\n"
                               "channels: [{name: n, type: last_value, default: 0}]\n"
                               "nodes: [{id: add, type: set, config: {values: {n: state.n + 1}}}]\n"
                               "edges:\n  - {from: START, to: add}\n  - {from: add, type: conditional, conditions:"
                               " [{expression: state.n < 50, to: add}, {expression: default, to: END}]}\n";
    tn_value inputs = value_array(), expected = NULL;
    for (int i = 0; i < 40; i++) inputs = value_push_take(inputs, value_set_take(value_object(), "n", value_int(i)));
    for (int loops = 1; loops <= 3; loops++) {
        tenon *host = open_host_with(value_set_take(open_options(), "loops", value_int(loops)));
        tenon_runnable *graph = tenon_graph_text(host, "count.yaml", text, strlen(text));
        uint64_t last = 0;
        tn_value results = tenon_batch(graph, inputs, NULL, 0, note_each, &last);
        assert_int_equal(last, 40);
        if (expected)
            assert_true(value_identical(results, expected));
        else
            expected = value_ref(results);
        value_unref(results);
        tenon_runnable *one = tenon_lambda(host, add_one, NULL); /* asserts its thread */
        tn_value numbers = json("[1, 2, 3]");
        results = tenon_batch(one, numbers, NULL, 0, NULL, NULL);
        expect(value_ref(value_get(value_at(results, 2), "output")), "4");
        value_unref(results);
        value_unref(numbers);
        tenon_release(one);
        tenon_release(graph);
        tenon_close(host);
    }
    value_unref(expected);
    value_unref(inputs);
    static const char *const wrong[][2] = {{"0", "is 0, expected a whole number from 1 to 64"},
                                           {"65", "is 65, expected"},
                                           {"\"many\"", "is string, expected a whole number from 1 to 64, or `auto`"},
                                           {"2.5", "is double, expected"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        tn_value options = value_set_take(open_options(), "loops", json(wrong[i][0]));
        char *why = NULL;
        assert_null(tenon_open(options, &why));
        if (!strstr(why, wrong[i][1])) fail_msg("expected `%s` in: %s", wrong[i][1], why);
        tenon_free(why);
        value_unref(options);
    }
    tenon *host = open_host_with(value_set_take(open_options(), "loops", value_text("auto")));
    assert_int_equal(tenon_close(host), 0);
}

static void configurations_are_checked(void **state) {
    (void)state;
    tenon *host = open_host();
    tenon_runnable *same = tenon_identity(host);
    static const char *const rows[][2] = {{"[]", "expected an object"},
                                          {"{\"tag\": []}", "did you mean `tags`"},
                                          {"{\"tags\": 1}", "`tags`"},
                                          {"{\"tags\": [\"a\", 1]}", "item 1 of the configuration's `tags` is int"},
                                          {"{\"run_id\": \"\"}", "`run_id` is empty"},
                                          {"{\"run_id\": \"a\\u0000b\"}", "`run_id` contains a NUL"},
                                          {"{\"runner_id\": \"\"}", "`runner_id` is empty"},
                                          {"{\"recursion_limit\": -1}", "`recursion_limit` is -1"},
                                          {"{\"recursion_limit\": 0}", "`recursion_limit` is 0, expected 1 to"},
                                          {"{\"concurrency\": 0}", "`concurrency` is 0, expected 1 to"},
                                          {"{\"concurrency\": \"x\"}", "an integer"},
                                          {"{\"strategy\": \"x\"}", "pick_first"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tn_value config = json(rows[i][0]);
        assert_null(tenon_invoke(same, NULL, config));
        expect_error(host, "INVALID_INPUT", rows[i][1]);
        value_unref(config);
    }
    assert_null(tenon_stream(same, NULL, NULL, "valuess", NULL, NULL));
    assert_non_null(strstr(tenon_error(host), "values"));
    tenon_release(same);
    tenon_close(host);
}

/* tests/unit/pool_test.c resets a plugin whose processes have ended. */
static void resets_plugins(void **state) {
    (void)state;
    tenon *host = open_host();
    assert_int_equal(tenon_reset_plugin(host, "tenon.core"), 0);
    assert_int_equal(tenon_reset_plugin(host, "acme.none"), -1);
    expect_error(host, "NOT_FOUND", "cannot reset the plugin `acme.none`: it does not exist");
    assert_int_equal(tenon_reset_plugin(host, NULL), -1);
    tenon_close(host);
}

static void *cancel_from_there(void *host) {
    tenon_cancel(host);
    return NULL;
}

static int32_t cancel_at_start(void *user, tn_value event) {
    pthread_t thread;
    if (!value_text_is(value_get(event, "event"), "start")) return 1;
    assert_int_equal(pthread_create(&thread, NULL, cancel_from_there, user), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    return 1;
}

static const char hanging[] = "version: '1.0'\nagent: {name: hangs}\nchannels: [{name: out, type: last_value}]\n"
                              "nodes: [{id: hang, type: delay, config: {ms: 3600000}}]\n"
                              "edges: [{from: START, to: hang}, {from: hang, to: END}]\n";

static void cancels_from_another_thread(void **state) {
    (void)state;
    tenon *host = open_host();
    tenon_runnable *graph = tenon_graph_text(host, NULL, hanging, strlen(hanging));
    if (!graph) fail_msg("%s", tenon_error(host));
    assert_null(tenon_stream(graph, NULL, NULL, "tasks", cancel_at_start, host));
    expect_error(host, "CANCELLED", "");
    tenon_release(graph);
    tenon_close(host);
}

/* What a thread that does not own the host does with it. */
static void *call_there(void *user) {
    tenon_runnable *const *objects = user;
    tenon_runnable *same = objects[0];
    tenon *host = *(tenon *const *)objects[1];
    assert_null(tenon_error_value(host));
    assert_null(tenon_identity(host));
    expect_error(host, "WRONG_THREAD", "tenon_identity was called on another OS thread");
    assert_null(tenon_invoke_json(same, "1"));
    expect_error(NULL, "WRONG_THREAD", "tenon_invoke_json");
    assert_null(tenon_retain(same));
    tenon_release(same);
    expect_error(host, "WRONG_THREAD", "tenon_release");
    assert_int_not_equal(tenon_close(host), TN_OK);
    expect_error(host, "WRONG_THREAD", "tenon_close");
    assert_null(tenon_diagnostics(host));
    expect_error(host, "WRONG_THREAD", "tenon_diagnostics");
    assert_int_equal(tenon_reset_plugin(host, "tenon.core"), -1);
    expect_error(host, "WRONG_THREAD", "tenon_reset_plugin");
    tenon_cancel(host);
    return NULL;
}

/* The calls change nothing, and their errors are those of the calling thread. */
static void a_wrong_thread_is_reported(void **state) {
    (void)state;
    tenon *host = open_host();
    tenon_runnable *same = tenon_identity(host);
    assert_null(tenon_invoke_json(same, "{"));
    void *objects[] = {same, &host};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, call_there, objects), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    expect_error(host, "PARSE", "line 1");
    expect_json(host, same, "1", "1");
    tenon_release(same);
    assert_int_equal(tenon_close(host), TN_OK);
}

/* A host may be closed before what belongs to it is released. */
static void objects_may_outlive_their_host(void **state) {
    (void)state;
    tenon *host = open_host();
    tenon_runnable *same = tenon_identity(host), *pipe = tenon_pipe(host, &same, 1);
    tenon_builder *builder = tenon_builder_new(host, "late");
    assert_int_equal(tenon_close(host), TN_OK);
    assert_null(tenon_invoke_json(pipe, "1"));
    expect_error(NULL, "CLOSED", "tenon_invoke_json: the host is closed");
    assert_null(tenon_pipe(host, &same, 1));
    assert_int_equal(tenon_add_edge(builder, "a", "b"), TN_INVALID);
    expect_error(NULL, "CLOSED", "tenon_add_edge");
    assert_ptr_equal(tenon_retain(same), same);
    tenon_release(same);
    tenon_release(pipe);
    tenon_builder_free(builder);
    tenon_release(same);
}

static void *use_there(void *user) {
    tenon *host = open_host();
    tenon_runnable *one = tenon_lambda(host, add_one, NULL);
    expect_json(host, one, "1", "2");
    tenon_release(one);
    tenon_close(host);
    *(int *)user = 1;
    return NULL;
}

static void each_thread_can_have_hosts(void **state) {
    (void)state;
    tenon *host = open_host();
    pthread_t thread;
    int used = 0;
    assert_int_equal(pthread_create(&thread, NULL, use_there, &used), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(used, 1);
    tenon_close(host);
}

/* ---- Building ---- */

static tn_value count_up(void *user, tn_value state, tn_value *error) {
    int64_t count = 0;
    (void)user, (void)error;
    value_as_int(value_get(state, "count"), &count);
    return value_set_take(value_object(), "count", value_int(count + 1));
}

static tenon_builder *counter(tenon *host) {
    static const char *const expressions[] = {"state.count < 3", "default"};
    static const char *const targets[] = {"count", TENON_END};
    tenon_builder *builder = tenon_builder_new(host, "counter");
    tenon_runnable *node = tenon_lambda(host, count_up, NULL);
    assert_int_equal(tenon_add_channel(builder, "count", "last_value", value_int(0)), TN_OK);
    assert_int_equal(tenon_add_node_runnable(builder, "count", node), TN_OK);
    assert_int_equal(tenon_set_entry_point(builder, "count"), TN_OK);
    assert_int_equal(tenon_add_conditional_edges(builder, "count", expressions, targets, 2), TN_OK);
    tenon_release(node);
    return builder;
}

struct events {
    int count, stop_at;
};

static int32_t note_event(void *user, tn_value event) {
    struct events *events = user;
    assert_true(value_text_is(value_get(event, "type"), "values"));
    return ++events->count != events->stop_at;
}

static void builds_and_streams(void **state) {
    (void)state;
    tenon *host = open_host();
    tenon_builder *builder = counter(host);
    tenon_runnable *graph = tenon_compile(builder), *again = tenon_compile(builder);
    if (!graph || !again) fail_msg("%s", tenon_error(host));
    tenon_builder_free(builder);
    struct events events = {0, 0};
    expect(tenon_stream(graph, NULL, NULL, "values", note_event, &events), "{\"count\":3}");
    assert_int_equal(events.count, 4);
    events = (struct events){0, 2};
    assert_null(tenon_stream(again, NULL, NULL, "values", note_event, &events));
    expect_error(host, "CANCELLED", "");
    assert_int_equal(events.count, 2); /* no event follows the one that the callback rejected */
    tenon_release(graph);
    expect_json(host, again, "{\"count\": 1}", "{\"count\":3}");
    tenon_release(again);
    tenon_close(host);
}

/* Each mistake is added to a graph that is valid without it. */
static void builder_reports_mistakes(void **state) {
    (void)state;
    tenon *host = open_host();
    for (int mistake = 0; mistake < 5; mistake++) {
        static const char *const parts[] = {"core.sett", "missing", "missing", "last_valu", "nosuch"};
        static const char *const expression[] = {"state.nosuch > 1"};
        static const char *const target[] = {"count"};
        tenon_builder *builder = counter(host);
        switch (mistake) {
        case 0: tenon_add_node(builder, "set", "core.sett", NULL); break;
        case 1: tenon_add_edge(builder, "count", "missing"); break;
        case 2: tenon_set_finish_point(builder, "missing"); break;
        case 3: tenon_add_channel(builder, "other", "last_valu", NULL); break;
        default: tenon_add_conditional_edges(builder, "count", expression, target, 1); break;
        }
        assert_null(tenon_compile(builder));
        tn_value found = tenon_diagnostics(host);
        char *text = json_text(found, JSON_COMPACT);
        if (!strstr(text, parts[mistake])) fail_msg("%d: %s", mistake, text);
        mem_free(text);
        value_unref(found);
        tenon_builder_free(builder);
    }
    tenon_builder *builder = tenon_builder_new(host, NULL);
    assert_int_equal(tenon_add_node(builder, "a", "core.passthrough", NULL), TN_OK);
    assert_null(tenon_compile(builder)); /* the graph has no entry */
    assert_int_equal(tenon_add_node(builder, NULL, "core.set", NULL), TN_INVALID);
    expect_error(host, "INVALID_INPUT", "id is NULL");
    assert_int_equal(tenon_add_node_runnable(builder, "b", NULL), TN_INVALID);
    expect_error(host, "INVALID_INPUT", "runnable is NULL");
    assert_int_equal(tenon_add_edge(builder, "a", "\xff"), TN_INVALID);
    expect_error(host, "INVALID_INPUT", "not UTF-8");
    assert_int_equal(tenon_add_conditional_edges(builder, "a", NULL, NULL, 1), TN_INVALID);
    assert_int_equal(tenon_add_channel(builder, NULL, "topic", NULL), TN_INVALID);
    tenon_builder_free(builder);
    assert_null(tenon_builder_new(host, "\xff"));
    expect_error(host, "INVALID_INPUT", "not UTF-8");
    tenon_close(host);
}

static int64_t values_before;

static int count_values_before(void **state) {
    (void)state;
    values_before = value_live_count();
    return 0;
}

static int expect_no_value_leaked(void **state) {
    (void)state;
    (void)tenon_identity(NULL); /* replaces the error of this thread, which may have a value */
    return value_live_count() == values_before
               ? 0
               : (print_error("%lld values leaked\n", (long long)(value_live_count() - values_before)), -1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, count_values_before, expect_no_value_leaked)

static void open_rejects_invalid_recording_folders(void **state) {
    (void)state;
    tn_value options = json("{\"no_config\": true, \"replay_dir\": \"/nowhere/at/all\"}");
    char *why = NULL;
    assert_null(tenon_open(options, &why));
    if (!strstr(why, "cannot read the folder /nowhere/at/all")) fail_msg("%s", why);
    tenon_free(why);
    options = value_set_take(options, "record_dir", value_text("/tmp"));
    assert_null(tenon_open(options, &why));
    if (!strstr(why, "at the same time")) fail_msg("%s", why);
    tenon_free(why);
    value_unref(options);
}

int main(void) {
    tenon_close(open_host()); /* loads plugins that stay loaded, so that the tests can compare value counts */
    const struct CMUnitTest tests[] = {cmocka_unit_test(open_rejects_invalid_recording_folders),
                                       TEST(open_and_close),
                                       TEST(open_rejects_invalid_options),
                                       TEST(drafts_are_allowed_per_plugin),
                                       TEST(opens_installed_documents),
                                       TEST(functions_accept_null),
                                       TEST(composes_runnables),
                                       TEST(parallel_reports_the_first_failure),
                                       TEST(interrupts_are_errors),
                                       TEST(documents_are_checked),
                                       TEST(texts_read_only_below_roots),
                                       TEST(batch_runs_and_cancels),
                                       TEST(batch_uses_loops),
                                       TEST(configurations_are_checked),
                                       TEST(resets_plugins),
                                       TEST(cancels_from_another_thread),
                                       TEST(each_thread_can_have_hosts),
                                       TEST(a_wrong_thread_is_reported),
                                       TEST(objects_may_outlive_their_host),
                                       TEST(builds_and_streams),
                                       TEST(builder_reports_mistakes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
