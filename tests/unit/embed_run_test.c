/*
 * embed_run_test.c - tenon/embed.h: options of the host, runs, threads, and the loop of the program.
 *
 * A mistake of the caller must be returned as an error; it must not end the process.
 */
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <limits.h>
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

static void expect_code(tn_value error, const char *code) {
    assert_non_null(error);
    assert_string_equal(value_chars(value_get(error, "code"), NULL), code);
}

static void expect_error(tenon *host, const char *code, const char *part) {
    expect_code(tenon_error_value(host), code);
    if (!strstr(tenon_error(host), part)) fail_msg("expected `%s` in: %s", part, tenon_error(host));
}

/* A host with these options in addition. Unless they set it, its store is another one than that of each other host. */
static tenon *open_with(const char *members) {
    static unsigned count;
    char *why = NULL;
    tn_value options = json("{\"no_config\": true, \"allow_drafts\": true}"), given = json(members);
    tn_value store = value_set_take(json("{\"use\": \"memory\"}"), "path", value_format("embed-run-%u", ++count));
    options = value_set_take(options, "store", store);
    tn_value paths = value_push_take(value_array(), value_text(TENON_TEST_NODES));
    options = value_set_take(options, "plugin_paths", paths);
    for (size_t i = 0; i < value_count(given); i++)
        options = value_set_key_take(options, value_ref(value_key_at(given, i)), value_ref(value_value_at(given, i)));
    tenon *host = tenon_open(options, &why);
    if (!host) fail_msg("%s", why);
    value_unref(options);
    value_unref(given);
    return host;
}

static tenon *open_host(void) { return open_with("{}"); }

static tenon_runnable *graph(tenon *host, const char *text) {
    tenon_runnable *found = tenon_graph_text(host, "test.yaml", text, strlen(text));
    if (!found) fail_msg("%s", tenon_error(host));
    return found;
}

static const char asks[] = "version: '1.0'\nagent: {name: asks}\n"
                           "channels: [{name: n, type: last_value, default: 0}, {name: out, type: last_value}]\n"
                           "nodes:\n  - {id: count, type: set, config: {values: {n: state.n + 1}}}\n"
                           "  - {id: ask, type: test.ask, config: {out: out, schema: {type: string}}}\n"
                           "edges: [{from: START, to: count}, {from: count, to: ask}, {from: ask, to: END}]\n";
static const char asks_twice[] = "version: '1.0'\nagent: {name: asks}\n"
                                 "channels: [{name: a, type: last_value}, {name: b, type: last_value}]\n"
                                 "nodes: [{id: one, type: test.ask, config: {out: a}}, "
                                 "{id: two, type: test.ask, config: {out: b}}]\n"
                                 "edges: [{from: START, to: [one, two]}, {from: one, to: END}, {from: two, to: END}]\n";
static const char counts[] = "version: '1.0'\nagent: {name: counts}\n"
                             "channels: [{name: n, type: last_value, default: 0}]\n"
                             "nodes: [{id: count, type: set, config: {values: {n: state.n + 1}}}]\n"
                             "edges:\n  - {from: START, to: count}\n"
                             "  - {from: count, type: conditional, conditions: [{expression: state.n % 3 != 0, to: "
                             "count}, {expression: default, to: END}]}\n";
static const char hangs[] =
    "version: '1.0'\nagent: {name: hangs}\nnodes: [{id: hang, type: delay, config: {ms: 600000}}]\n"
    "edges: [{from: START, to: hang}, {from: hang, to: END}]\n";
static const char delays[] = "version: '1.0'\nagent: {name: delays}\n"
                             "channels: [{name: n, type: last_value, default: 0}]\n"
                             "nodes: [{id: wait, type: delay, config: {ms: 40}}, "
                             "{id: count, type: set, config: {values: {n: state.n + 1}}}]\n"
                             "edges: [{from: START, to: wait}, {from: wait, to: count}, {from: count, to: END}]\n";

static const char waits_for_file[] =
    "version: '1.0'\nagent: {name: crashes}\n"
    "channels: [{name: n, type: last_value, default: 0}]\n"
    "nodes:\n  - {id: count, type: set, config: {values: {n: state.n + 1}}}\n"
    "  - {id: wait, type: test.await_file, config: {file: '%s/go'}}\n"
    "edges: [{from: START, to: count}, {from: count, to: wait}, {from: wait, to: END}]\n";

static void write_text(const char *path, const char *text) {
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* A folder in which a file opens the gate for the node `wait` of waits_for_file. */
struct gate {
    char folder[32], file[64], document[600];
};

static void make_gate(struct gate *gate) {
    strcpy(gate->folder, "/tmp/embed-run-XXXXXX");
    assert_non_null(mkdtemp(gate->folder));
    snprintf(gate->file, sizeof gate->file, "%s/go", gate->folder);
    snprintf(gate->document, sizeof gate->document, waits_for_file, gate->folder);
}

static void remove_gate(const struct gate *gate) {
    (void)unlink(gate->file);
    assert_int_equal(rmdir(gate->folder), 0);
}

static tn_value config_of_thread(const char *id) { return value_set_take(value_object(), "thread_id", value_text(id)); }

/* Starts a run with a thread. */
static tenon_run *start_in(tenon_runnable *runnable, const char *id, tn_value input) {
    tn_value config = config_of_thread(id);
    tenon_run *run = tenon_start(runnable, input, config);
    value_unref(config);
    assert_non_null(run);
    return run;
}

static void expect_end(tenon_run *run, int32_t status) {
    assert_int_equal(tenon_run_wait(run, -1), TN_OK);
    if (tenon_run_status(run) == status) return;
    tn_value report = tenon_run_report(run);
    char *text = json_text(report, JSON_COMPACT);
    fail_msg("expected status %d: %s", status, text);
}

/* ---- Options ---- */

static void options_are_checked(void **state) {
    (void)state;
    static const char *const rows[][2] = {
        {"[]", "the options of a host are array, expected an object"},
        {"{\"plugin_path\": []}", "no option `plugin_path`; did you mean `plugin_paths`"},
        {"{\"plugin_paths\": \"x\"}", "`plugin_paths` is string, expected an array of strings"},
        {"{\"plugin_paths\": [\"a\", 1]}", "item 1 of the host's option `plugin_paths` is int, expected a string"},
        {"{\"plugin_paths\": [\"a\\u0000b\"]}", "`plugin_paths` is a string with a NUL, expected a string"},
        {"{\"config\": \"a\\u0000b\"}", "`config` is a string with a NUL, expected a string"},
        {"{\"config\": 1}", "`config` is int, expected a string"},
        {"{\"no_config\": \"yes\"}", "`no_config` is string, expected a bool"},
        {"{\"store\": 1}", "`store` is int, expected a path"},
        {"{\"store\": {}}", "expected a path, or an object"},
        {"{\"models\": []}", "`models` is array, expected an object"},
        {"{\"no_config\": true, \"models\": {\"planner\": 1}}", "models.planner: expected"},
        {"{\"no_config\": true, \"isolate\": [\"acme.none\"]}", "cannot isolate the unknown plugin `acme.none`"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tn_value options = json(rows[i][0]);
        char *why = NULL;
        assert_null(tenon_open(options, &why));
        if (!strstr(why, rows[i][1])) fail_msg("expected `%s` in: %s", rows[i][1], why);
        assert_string_equal(tenon_error(NULL), why);
        assert_non_null(tenon_error_value(NULL));
        tenon_free(why);
        value_unref(options);
    }
}

static void models_are_options(void **state) {
    (void)state;
    static const char talks[] = "version: '1.0'\nagent: {name: talks}\nmodels: {talker: {}}\n"
                                "channels: [{name: messages, type: reduce, reducer: messages}]\n"
                                "nodes: [{id: talk, type: llm, config: {model: talker}}]\n"
                                "edges: [{from: START, to: talk}, {from: talk, to: END}]\n";
    static const char *const bindings[] = {"\"scripted\"", "{\"provider\": \"scripted\"}"};
    for (size_t i = 0; i < 2; i++) {
        char members[200];
        snprintf(members, sizeof members, "{\"models\": {\"talker\": %s}}", bindings[i]);
        tenon *host = open_with(members);
        tenon_runnable *talk = graph(host, talks);
        char *result = tenon_invoke_json(talk, "{\"messages\": \"hello\"}");
        if (!result) fail_msg("%s", tenon_error(host));
        assert_non_null(strstr(result, "hello"));
        tenon_free(result);
        tenon_release(talk);
        tenon_close(host);
    }
}

static void plugins_are_isolated(void **state) {
    (void)state;
    tenon *host = open_with("{\"isolate\": [\"test.nodes\"], \"quiet\": true}");
    tenon_runnable *asking = graph(host, asks);
    tenon_run *run = tenon_start(asking, NULL, NULL);
    expect_end(run, TENON_RUN_INTERRUPTED);
    tn_value yes = value_text("yes");
    assert_int_equal(tenon_run_answer(run, yes), TN_OK);
    value_unref(yes);
    expect_end(run, TENON_RUN_DONE);
    expect(tenon_run_output(run), "{\"n\":1,\"out\":\"yes\"}");
    tenon_run_release(run);
    tenon_release(asking);
    tenon_close(host);
}

static void remove_store(const char *file) {
    static const char *const ends[] = {"", "-wal", "-shm", "-owners"};
    char path[100];
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        snprintf(path, sizeof path, "%s%s", file, ends[i]);
        (void)unlink(path);
    }
}

static void a_store_is_a_path(void **state) {
    (void)state;
    char folder[] = "/tmp/embed-run-XXXXXX", text[200], file[64];
    assert_non_null(mkdtemp(folder));
    snprintf(file, sizeof file, "%s/threads.db", folder);
    snprintf(text, sizeof text, "{\"no_config\": true, \"store\": \"%s\"}", file);
    tn_value options = json(text);
#ifdef TENON_HAS_SQLITE
    tenon *host = tenon_open(options, NULL);
    tenon_runnable *counting = graph(host, counts);
    tenon_run *run = start_in(counting, "one", NULL);
    expect_end(run, TENON_RUN_DONE);
    tenon_run_release(run);
    tenon_release(counting);
    tenon_close(host);
    assert_int_equal(access(file, F_OK), 0);
    host = tenon_open(options, NULL);
    expect(tenon_thread_state(host, "one", -1), "{\"n\":3}");
    tenon_close(host);
    /* A relative path is below the folder in which the program is when it opens the host. */
    char before[PATH_MAX];
    tn_value relative = json("{\"no_config\": true, \"store\": {\"path\": \"threads.db\"}}");
    assert_non_null(getcwd(before, sizeof before));
    assert_int_equal(chdir(folder), 0);
    host = tenon_open(relative, NULL);
    assert_int_equal(chdir(before), 0);
    expect(tenon_thread_state(host, "one", -1), "{\"n\":3}");
    tenon_close(host);
    value_unref(relative);
    remove_store(file);
#endif
    value_unref(options);
    (void)rmdir(folder);
}

static void configurations_are_checked(void **state) {
    (void)state;
    static const char *const rows[][2] = {
        {"{\"thread_ids\": \"x\"}", "no key `thread_ids`; did you mean `thread_id`"},
        {"{\"thread_id\": 1}", "`thread_id` is int, expected string"},
        {"{\"replace\": true}", "`replace` needs `thread_id`"},
        {"{\"thread_id\": \"x\", \"force\": 1}", "`force` is int, expected bool"},
        {"{\"thread_id\": \"x\", \"durability\": \"never\"}", "`durability` must be sync or exit"}};
    tenon *host = open_host();
    tenon_runnable *counting = graph(host, counts), *same = tenon_identity(host);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tn_value config = json(rows[i][0]);
        assert_null(tenon_start(counting, NULL, config));
        expect_error(host, "INVALID_INPUT", rows[i][1]);
        assert_null(tenon_invoke(counting, NULL, config));
        expect_error(host, "INVALID_INPUT", rows[i][1]);
        value_unref(config);
    }
    tn_value config = config_of_thread("x"), inputs = json("[{}]");
    assert_null(tenon_invoke(same, NULL, config));
    expect_error(host, "INVALID_INPUT", "only the run of a graph can be saved");
    assert_null(tenon_batch(counting, inputs, config, 1, NULL, NULL));
    expect_error(host, "INVALID_INPUT", "not saved in threads");
    value_unref(config);
    value_unref(inputs);
    tenon_release(same);
    tenon_release(counting);
    tenon_close(host);
}

/* ---- A node of the program by itself ---- */

/* Adds `by` of the state to `sum`. */
static tn_value add_up(void *user, tenon_task *task, tn_value state, tn_value *error) {
    int64_t sum = 0, by = 0;
    tn_value context = tenon_task_context(task);
    (void)user, (void)error;
    (void)value_as_int(value_get(state, "sum"), &sum);
    (void)value_as_int(value_get(state, "by"), &by);
    assert_true(value_text_is(value_get(context, "node"), "program.add"));
    assert_true(value_text_is(value_get(context, "thread_id"), "sum"));
    value_unref(context);
    return value_set_take(value_object_reserve(1), "sum", value_int(sum + by));
}

static int32_t on_any_event(void *user, tn_value event) {
    struct buffer *types = user;
    if (value_text_is(value_get(event, "type"), "updates")) {
        char *writes = json_text(value_get(event, "writes"), JSON_COMPACT);
        buffer_text(types, writes);
        mem_free(writes);
    }
    return 1;
}

static void a_node_of_the_program_is_saved_in_a_thread(void **state) {
    (void)state;
    tenon *host = open_host();
    struct buffer events;
    tn_value two = json("{\"by\": 2}"), five = json("{\"by\": 5}"), config = config_of_thread("sum");
    assert_int_equal(tenon_register(host, "node", "program.add", NULL, add_up, NULL, NULL), TN_OK);
    tenon_runnable *node = tenon_component(host, "node", "program.add", NULL);
    buffer_init(&events, 1000);
    expect(tenon_stream(node, two, config, "all", on_any_event, &events), "{\"sum\":2}");
    assert_string_equal(buffer_cstr(&events), "{\"state\":{\"sum\":2},\"output\":{\"sum\":2}}");
    buffer_finish(&events);
    expect(tenon_invoke(node, NULL, config), "{\"sum\":4}");
    expect(tenon_invoke(node, five, config), "{\"sum\":9}");
    expect(tenon_thread_state(host, "sum", -1), "{\"state\":{\"by\":5,\"sum\":9},\"output\":{\"sum\":9}}");
    value_unref(two);
    value_unref(five);
    value_unref(config);
    tenon_release(node);
    tenon_close(host);
}

/* ---- Runs ---- */

struct noted {
    tenon *host;
    int events, ends, status;
    bool release;
};

static int32_t note_event(void *user, tn_value event) {
    struct noted *noted = user;
    assert_true(value_text_is(value_get(event, "type"), "values"));
    noted->events++;
    return 1;
}

static void note_end(void *user, tenon_run *run) {
    struct noted *noted = user;
    noted->ends++;
    noted->status = tenon_run_status(run);
    if (noted->release) tenon_run_release(run);
}

static void several_runs_advance_together(void **state) {
    (void)state;
    struct gate gate;
    make_gate(&gate);
    tenon *host = open_host();
    tenon_runnable *waiting = graph(host, gate.document), *counting = graph(host, counts);
    struct noted noted[3] = {{.host = host}, {.host = host}, {.host = host, .release = true}};
    tenon_run *runs[3];
    for (int i = 0; i < 3; i++) {
        runs[i] = tenon_start(i == 1 ? counting : waiting, NULL, NULL);
        assert_int_equal(tenon_run_on_event(runs[i], "values", note_event, &noted[i]), TN_OK);
        assert_int_equal(tenon_run_on_ended(runs[i], note_end, &noted[i]), TN_OK);
        assert_int_equal(tenon_run_status(runs[i]), TENON_RUN_RUNNING);
        assert_int_equal(noted[i].events, 0);
    }
    tenon_release(waiting); /* a run keeps what it runs */
    tenon_release(counting);
    assert_int_equal(tenon_run_wait(runs[1], -1), TN_OK);
    assert_int_equal(noted[1].ends, 1);
    assert_int_equal(noted[0].ends, 0);
    assert_int_equal(tenon_run_wait(runs[0], 0), TN_AGAIN);
    assert_int_not_equal(tenon_run_on_ended(runs[0], NULL, NULL), TN_OK);
    expect_error(host, "INVALID_INPUT", "before the next turn");
    write_text(gate.file, "");
    assert_int_equal(tenon_wait(host, -1), TN_OK);
    remove_gate(&gate);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(noted[i].ends, 1);
        assert_int_equal(noted[i].status, TENON_RUN_DONE);
        assert_true(noted[i].events > 1);
    }
    expect(tenon_run_output(runs[0]), "{\"n\":1}");
    expect(tenon_run_output(runs[1]), "{\"n\":3}");
    assert_null(tenon_run_error(runs[0]));
    expect(tenon_run_questions(runs[0]), "[]");
    tn_value report = tenon_run_report(runs[1]);
    assert_true(value_text_is(value_get(report, "status"), "done"));
    assert_int_equal(value_to_int(value_get(report, "steps")), 3);
    value_unref(report);
    tenon_run_release(runs[0]);
    tenon_run_release(runs[1]);
    tenon_close(host);
}

/* The program waits for a run that its callback releases. */
static void a_callback_may_release_the_run_that_is_waited_for(void **state) {
    (void)state;
    tenon *host = open_host();
    tenon_runnable *counting = graph(host, counts);
    struct noted noted = {.host = host, .release = true};
    tenon_run *run = tenon_start(counting, NULL, NULL);
    assert_int_equal(tenon_run_on_ended(run, note_end, &noted), TN_OK);
    assert_int_not_equal(tenon_run_on_event(run, "valuess", note_event, &noted), TN_OK);
    expect_error(host, "INVALID_INPUT", "did you mean `values`");
    assert_int_equal(tenon_run_wait(run, -1), TN_OK);
    assert_int_equal(noted.ends, 1);
    tenon_release(counting);
    tenon_close(host);
}

static void inputs_that_do_not_fit_are_errors_of_the_run(void **state) {
    (void)state;
    static const char *const inputs[] = {"1", "[]", "{\"m\": 1}"};
    tenon *host = open_host();
    tenon_runnable *counting = graph(host, counts);
    for (size_t i = 0; i < 6; i++) {
        tn_value input = json(inputs[i % 3]);
        tenon_run *run = i < 3 ? tenon_start(counting, input, NULL) : start_in(counting, "x", input);
        expect_end(run, TENON_RUN_FAILED);
        expect_code(tenon_run_error(run), "INVALID_INPUT");
        assert_int_not_equal(tenon_run_resume(run, NULL), TN_OK);
        expect_error(host, "INVALID_INPUT", "nothing to continue");
        tenon_run_release(run);
        value_unref(input);
    }
    assert_int_equal(tenon_wait(host, -1), TN_OK);
    tenon_release(counting);
    tenon_close(host);
}

static void runs_of_functions_have_results(void **state) {
    (void)state;
    tenon *host = open_host();
    tenon_runnable *same = tenon_identity(host);
    tn_value one = value_int(1);
    tenon_run *run = tenon_start(same, one, NULL);
    expect_end(run, TENON_RUN_DONE);
    expect(tenon_run_output(run), "1");
    expect(tenon_run_report(run), "{\"type\":\"result\",\"status\":\"done\"}");
    assert_int_not_equal(tenon_run_resume(run, NULL), TN_OK);
    expect_error(host, "INVALID_INPUT", "the run is done: there is nothing to continue");
    tenon_run_release(run);
    tenon_release(same);
    tenon_close(host);
}

/* ---- Cancelling and releasing ---- */

static void *cancel_there(void *run) {
    tenon_run_cancel(run);
    return NULL;
}

static void one_run_is_cancelled_from_another_thread(void **state) {
    (void)state;
    tenon *host = open_host();
    tenon_runnable *hanging = graph(host, hangs), *delaying = graph(host, delays);
    tenon_run *hung = tenon_start(hanging, NULL, NULL), *other = tenon_start(delaying, NULL, NULL);
    assert_int_equal(tenon_run_wait(hung, 1), TN_AGAIN);
    assert_int_equal(tenon_run_status(hung), TENON_RUN_RUNNING);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, cancel_there, hung), 0);
    expect_end(hung, TENON_RUN_CANCELLED);
    assert_int_equal(pthread_join(thread, NULL), 0);
    expect_code(tenon_run_error(hung), "CANCELLED");
    assert_null(tenon_run_output(hung));
    expect_error(host, "INVALID_INPUT", "the run is cancelled: it has no output");
    expect_end(other, TENON_RUN_DONE);
    tenon_run_release(hung);
    tenon_run_release(other);
    tenon_release(hanging);
    tenon_release(delaying);
    tenon_close(host);
}

#define STRESS_RUNS    40
#define STRESS_THREADS 3

static void *cancel_all_there(void *runs) {
    for (int i = 0; i < STRESS_RUNS; i++) tenon_run_cancel(((tenon_run **)runs)[i]);
    return NULL;
}

/* Several OS threads cancel the same runs, some of which end by themselves meanwhile. */
static void runs_are_cancelled_by_several_threads(void **state) {
    (void)state;
    tenon *host = open_host();
    tenon_runnable *hanging = graph(host, hangs), *delaying = graph(host, delays);
    tenon_run *runs[STRESS_RUNS];
    pthread_t threads[STRESS_THREADS];
    for (int i = 0; i < STRESS_RUNS; i++) runs[i] = tenon_start(i % 2 ? hanging : delaying, NULL, NULL);
    assert_int_equal(tenon_run_wait(runs[1], 35), TN_AGAIN);
    for (int i = 0; i < STRESS_THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, cancel_all_there, runs), 0);
    assert_int_equal(tenon_wait(host, -1), TN_OK);
    for (int i = 0; i < STRESS_THREADS; i++) assert_int_equal(pthread_join(threads[i], NULL), 0);
    for (int i = 0; i < STRESS_RUNS; i++) {
        int32_t status = tenon_run_status(runs[i]);
        assert_true(status == TENON_RUN_CANCELLED || (status == TENON_RUN_DONE && i % 2 == 0));
        tenon_run_release(runs[i]);
    }
    tenon_release(hanging);
    tenon_release(delaying);
    tenon_close(host);
}

static void a_run_is_cancelled_before_it_starts(void **state) {
    (void)state;
    tenon *host = open_host();
    tenon_runnable *counting = graph(host, counts);
    tenon_run *run = tenon_start(counting, NULL, NULL), *saved = start_in(counting, "c", NULL);
    tenon_run_cancel(run);
    tenon_run_cancel(saved);
    tenon_run_cancel(saved);
    tenon_run *later = tenon_start(counting, NULL, NULL);
    expect_end(run, TENON_RUN_CANCELLED);
    expect_end(saved, TENON_RUN_CANCELLED);
    expect_end(later, TENON_RUN_DONE);
    tenon_cancel(host); /* all of them have ended */
    assert_int_equal(tenon_wait(host, -1), TN_OK);
    assert_null(tenon_thread_show(host, "c"));
    expect_error(host, "NOT_FOUND", "`c`");
    tenon_run_release(run);
    tenon_run_release(saved);
    tenon_run_release(later);
    tenon_release(counting);
    tenon_close(host);
}

static void runs_are_released_in_any_order(void **state) {
    (void)state;
    tenon *host = open_host();
    tenon_runnable *hanging = graph(host, hangs), *counting = graph(host, counts);
    struct noted noted = {.host = host};
    tenon_run *first = tenon_start(hanging, NULL, NULL), *second = tenon_start(hanging, NULL, NULL),
              *third = start_in(counting, "r", NULL), *fourth = tenon_start(counting, NULL, NULL);
    tenon_run_on_ended(first, note_end, &noted);
    tenon_run_on_ended(second, note_end, &noted);
    assert_int_equal(tenon_run_wait(fourth, -1), TN_OK);
    tenon_run_release(first); /* it runs */
    tenon_run *never = tenon_start(counting, NULL, NULL);
    tenon_run_cancel(never);
    tenon_run_release(never); /* it has not begun, and a request to cancel it is on its way */
    tenon_run_release(NULL);
    assert_int_equal(tenon_close(host), TN_OK); /* cancels `second` */
    assert_int_equal(noted.ends, 0);
    assert_int_equal(tenon_run_status(second), -1);
    expect_error(host, "CLOSED", "tenon_run_status: the host is closed");
    tenon_run_cancel(second);
    tenon_run_release(second);
    tenon_run_release(third);
    tenon_release(hanging);
    tenon_release(counting);
    tenon_run_release(fourth);
}

static tn_value refuse_to_work(void *user, tenon_task *task, tn_value input, tn_value *error) {
    (void)user, (void)task, (void)input, (void)error;
    return NULL;
}

/* Uses the host while it is being closed, and releases its last object. */
static void destroy_late(void *user) {
    tenon_runnable *same = user;
    assert_null(tenon_invoke_json(same, "1"));
    expect_error(NULL, "CLOSED", "tenon_invoke_json");
    tenon_release(same);
}

static void functions_may_release_objects_while_the_host_is_closed(void **state) {
    (void)state;
    tenon *host = open_host();
    tenon_runnable *same = tenon_identity(host), *other = tenon_identity(host);
    assert_int_equal(tenon_register(host, "tool", "test.late", NULL, refuse_to_work, same, destroy_late), TN_OK);
    assert_int_equal(tenon_register(host, "tool", "test.other", NULL, refuse_to_work, other, destroy_late), TN_OK);
    assert_int_equal(tenon_close(host), TN_OK);
}

static void a_closed_host_has_no_diagnostics(void **state) {
    (void)state;
    tenon *host = open_host();
    tenon_runnable *same = tenon_identity(host);
    assert_null(tenon_graph_text(host, NULL, "nodes: 1", 8));
    assert_int_equal(tenon_close(host), TN_OK);
    expect(tenon_diagnostics(host), "{\"diagnostics\":[]}");
    tenon_release(same);
}

/* ---- Callbacks ---- */

/* Calls what a callback must not call, then starts another run. */
static int32_t misuse_host(void *user, tn_value event) {
    struct noted *noted = user;
    (void)event;
    if (noted->events++) return 1;
    tenon *host = noted->host;
    tenon_runnable *same = tenon_identity(host);
    assert_null(tenon_invoke_json(same, "1"));
    expect_error(host, "NESTED", "tenon_invoke_json was called in a callback");
    assert_null(tenon_stream(same, NULL, NULL, NULL, NULL, NULL));
    expect_error(host, "NESTED", "tenon_stream");
    assert_null(tenon_batch(same, NULL, NULL, 0, NULL, NULL));
    expect_error(host, "NESTED", "tenon_batch");
    assert_null(tenon_thread_show(host, "x"));
    expect_error(host, "NESTED", "tenon_thread_show");
    assert_int_not_equal(tenon_wait(host, -1), TN_OK);
    expect_error(host, "NESTED", "tenon_wait");
    assert_int_not_equal(tenon_turn(host), TN_OK);
    expect_error(host, "NESTED", "tenon_turn");
    assert_int_not_equal(tenon_close(host), TN_OK);
    expect_error(host, "NESTED", "tenon_close");
    tenon_run *run = tenon_start(same, NULL, NULL);
    noted->release = true;
    assert_int_equal(tenon_run_on_ended(run, note_end, noted), TN_OK);
    tenon_release(same);
    return 1;
}

static void callbacks_may_start_runs_but_not_wait(void **state) {
    (void)state;
    tenon *host = open_host();
    tenon_runnable *counting = graph(host, counts);
    struct noted noted = {.host = host};
    tn_value output = tenon_stream(counting, NULL, NULL, "values", misuse_host, &noted);
    expect(output, "{\"n\":3}");
    assert_null(tenon_error_value(host)); /* errors in callbacks are not those of the call */
    assert_int_equal(tenon_wait(host, -1), TN_OK);
    assert_int_equal(noted.ends, 1);
    assert_int_equal(noted.status, TENON_RUN_DONE);
    tenon_release(counting);
    tenon_close(host);
}

static tn_value misuse_in_batch(void *user, tn_value input, tn_value *error) {
    (void)error;
    assert_null(tenon_invoke_json(*(tenon_runnable **)user, "1"));
    return value_ref(input);
}

static void the_functions_of_a_batch_cannot_wait(void **state) {
    (void)state;
    tenon *host = open_host();
    tenon_runnable *same = tenon_identity(host), *misuse = tenon_lambda(host, misuse_in_batch, &same);
    tn_value inputs = json("[1]");
    expect(tenon_batch(misuse, inputs, NULL, 1, NULL, NULL), "[{\"output\":1}]");
    value_unref(inputs);
    tenon_release(misuse);
    tenon_release(same);
    tenon_close(host);
}

/* A question is answered in the callback that reports it. */
static void answer_at_end(void *user, tenon_run *run) {
    struct noted *noted = user;
    noted->ends++;
    tn_value yes = value_text("from the callback");
    if (tenon_run_status(run) == TENON_RUN_INTERRUPTED) assert_int_equal(tenon_run_answer(run, yes), TN_OK);
    value_unref(yes);
}

static void callbacks_may_answer(void **state) {
    (void)state;
    tenon *host = open_host();
    tenon_runnable *asking = graph(host, asks);
    for (int saved = 0; saved < 2; saved++) {
        struct noted noted = {.host = host};
        tenon_run *run = saved ? start_in(asking, "callback", NULL) : tenon_start(asking, NULL, NULL);
        assert_int_equal(tenon_run_on_ended(run, answer_at_end, &noted), TN_OK);
        assert_int_equal(tenon_wait(host, -1), TN_OK);
        assert_int_equal(noted.ends, 2);
        expect(tenon_run_output(run), "{\"n\":1,\"out\":\"from the callback\"}");
        tenon_run_release(run);
    }
    tenon_release(asking);
    tenon_close(host);
}

/* ---- Questions ---- */

static void questions_are_answered_in_the_process(void **state) {
    (void)state;
    tenon *host = open_host();
    tenon_runnable *asking = graph(host, asks);
    tenon_run *run = tenon_start(asking, NULL, NULL);
    expect_end(run, TENON_RUN_INTERRUPTED);
    tn_value questions = tenon_run_questions(run), first = value_at(questions, 0);
    assert_int_equal(value_count(questions), 1);
    assert_true(value_text_is(value_get(first, "node"), "ask"));
    assert_true(value_text_is(value_get(first, "payload"), "may I?"));
    assert_non_null(value_get(first, "schema"));
    assert_null(tenon_run_output(run));
    assert_null(tenon_run_error(run));
    assert_int_not_equal(tenon_run_resume(run, NULL), TN_OK);
    expect_error(host, "INVALID_INPUT", "has no answer");
    tn_value wrong = json("{\"nothing\": 1}");
    assert_int_not_equal(tenon_run_resume(run, wrong), TN_OK);
    expect_error(host, "INVALID_INPUT", "no open interrupt with the id `nothing`");
    assert_int_not_equal(tenon_run_answer(run, wrong), TN_OK);
    expect_error(host, "INVALID_INPUT", "the answer for `ask`");
    value_unref(wrong);
    assert_int_equal(tenon_run_status(run), TENON_RUN_INTERRUPTED); /* refused answers change nothing */
    tn_value yes = value_text("yes");
    tn_value answers = value_set_key_take(value_object(), value_ref(value_get(first, "id")), yes);
    assert_int_equal(tenon_run_resume(run, answers), TN_OK);
    assert_int_equal(tenon_run_status(run), TENON_RUN_RUNNING);
    expect(tenon_run_questions(run), "[]");
    value_unref(answers);
    value_unref(questions);
    expect_end(run, TENON_RUN_DONE);
    expect(tenon_run_output(run), "{\"n\":1,\"out\":\"yes\"}");
    tenon_run_release(run);
    tenon_release(asking);
    tenon_close(host);
}

static void several_questions_are_answered_by_id(void **state) {
    (void)state;
    tenon *host = open_host();
    tenon_runnable *asking = graph(host, asks_twice);
    tenon_run *run = tenon_start(asking, NULL, NULL);
    expect_end(run, TENON_RUN_INTERRUPTED);
    assert_int_not_equal(tenon_run_answer(run, value_int(1)), TN_OK);
    expect_error(host, "INVALID_INPUT", "asks 2 questions");
    tn_value questions = tenon_run_questions(run);
    tn_value answers =
        value_set_key_take(value_object(), value_ref(value_get(value_at(questions, 1), "id")), value_int(2));
    value_unref(questions);
    assert_int_equal(tenon_run_resume(run, answers), TN_OK);
    value_unref(answers);
    expect_end(run, TENON_RUN_INTERRUPTED); /* the other question is still open */
    assert_int_equal(tenon_run_answer(run, value_int(1)), TN_OK);
    expect_end(run, TENON_RUN_DONE);
    expect(tenon_run_output(run), "{\"a\":1,\"b\":2}");
    tenon_run_release(run);
    tenon_release(asking);
    tenon_close(host);
}

/* A node by itself asks, and is saved, as in a graph. */
static void a_single_node_asks(void **state) {
    (void)state;
    tenon *host = open_host();
    tn_value node = json("{\"out\": \"answer\"}"), config = config_of_thread("single");
    tenon_runnable *ask = tenon_component(host, "node", "test.ask", node);
    if (!ask) fail_msg("%s", tenon_error(host));
    tenon_run *run = tenon_start(ask, NULL, config);
    expect_end(run, TENON_RUN_INTERRUPTED);
    tenon_run_release(run);
    run = tenon_resume(ask, NULL, config);
    expect_end(run, TENON_RUN_INTERRUPTED);
    assert_int_equal(tenon_run_answer(run, value_int(5)), TN_OK);
    expect_end(run, TENON_RUN_DONE);
    expect(tenon_run_output(run), "{\"answer\":5}");
    tenon_run_release(run);
    value_unref(node);
    value_unref(config);
    tenon_release(ask);
    tenon_close(host);
}

/* ---- Threads ---- */

/* Another host with the same store stands for another process. */
static void a_thread_is_continued_elsewhere(void **state) {
    (void)state;
    tenon *host = open_with("{\"quiet\": true}");
    tenon_runnable *asking = graph(host, asks);
    tenon_run *run = start_in(asking, "t", NULL);
    expect_end(run, TENON_RUN_INTERRUPTED);
    tenon_run_release(run);
    tn_value config = config_of_thread("t");
    /* Without answers, the questions are asked again. */
    run = tenon_resume(asking, NULL, config);
    expect_end(run, TENON_RUN_INTERRUPTED);
    tn_value questions = tenon_run_questions(run), id = value_get(value_at(questions, 0), "id");
    assert_non_null(id);
    tn_value answers = value_set_key_take(value_object(), value_ref(id), value_text("later"));
    value_unref(questions);
    tenon_run_release(run);
    /* New input is refused until the thread is done. */
    run = tenon_start(asking, NULL, config);
    expect_end(run, TENON_RUN_FAILED);
    expect_code(tenon_run_error(run), "UNFINISHED");
    tenon_run_release(run);
    run = tenon_resume(asking, answers, config);
    expect_end(run, TENON_RUN_DONE);
    expect(tenon_run_output(run), "{\"n\":1,\"out\":\"later\"}");
    assert_int_not_equal(tenon_run_resume(run, answers), TN_OK);
    tenon_run_release(run);
    run = tenon_resume(asking, answers, config);
    expect_end(run, TENON_RUN_FAILED);
    expect_code(tenon_run_error(run), "DONE");
    tenon_run_release(run);
    /* New input continues with the state. */
    run = tenon_start(asking, NULL, config);
    expect_end(run, TENON_RUN_INTERRUPTED);
    /* An answer that was saved with the thread needs no other one. */
    questions = tenon_run_questions(run);
    value_unref(answers);
    answers =
        value_set_key_take(value_object(), value_ref(value_get(value_at(questions, 0), "id")), value_text("saved"));
    value_unref(questions);
    assert_int_equal(tenon_thread_answer(host, "t", answers), TN_OK);
    assert_int_equal(tenon_run_resume(run, NULL), TN_OK);
    expect_end(run, TENON_RUN_DONE);
    expect(tenon_run_output(run), "{\"n\":2,\"out\":\"saved\"}");
    tenon_run_release(run);
    value_unref(answers);
    value_unref(config);
    tenon_release(asking);
    tenon_close(host);
}

static void invoke_saves_a_thread(void **state) {
    (void)state;
    tenon *host = open_host();
    tenon_runnable *counting = graph(host, counts);
    tn_value config = json("{\"thread_id\": \"i\", \"durability\": \"exit\", \"tags\": [\"a\"]}"),
             input = json("{\"n\": 3}");
    expect(tenon_invoke(counting, NULL, config), "{\"n\":3}");
    expect(tenon_invoke(counting, input, config), "{\"n\":6}");
    tn_value record = tenon_thread_show(host, "i");
    assert_true(value_text_is(value_get(record, "status"), "done"));
    value_unref(record);
    value_unref(config);
    value_unref(input);
    tenon_release(counting);
    tenon_close(host);
}

static void threads_have_a_history(void **state) {
    (void)state;
    tenon *host = open_host();
    tenon_runnable *counting = graph(host, counts);
    tenon_run *run = start_in(counting, "h", NULL);
    expect_end(run, TENON_RUN_DONE);
    tenon_run_release(run);
    tn_value history = tenon_thread_history(host, "h", 0), newest = tenon_thread_history(host, "h", 1);
    tn_value most = tenon_thread_history(host, "h", INT64_MAX);
    assert_int_equal(value_count(history), 4);
    assert_true(value_equal(most, history));
    value_unref(most);
    assert_int_equal(value_count(newest), 1);
    assert_int_equal(value_to_int(value_get(value_at(newest, 0), "seq")), 3);
    value_unref(history);
    value_unref(newest);
    expect(tenon_thread_state(host, "h", 1), "{\"n\":1}");
    expect(tenon_thread_state(host, "h", -1), "{\"n\":3}");
    /* A fork of an earlier checkpoint continues from there. */
    assert_int_equal(tenon_thread_fork(host, "h", 1, "again"), TN_OK);
    assert_int_not_equal(tenon_thread_fork(host, "h", 1, "again"), TN_OK);
    expect_error(host, "EXISTS", "again");
    tn_value changed = json("{\"n\": 4}"), config = config_of_thread("again");
    assert_int_equal(tenon_thread_update(counting, "again", NULL, changed), TN_OK);
    run = tenon_resume(counting, NULL, config);
    expect_end(run, TENON_RUN_DONE);
    expect(tenon_run_output(run), "{\"n\":6}");
    tenon_run_release(run);
    expect(tenon_thread_state(host, "h", -1), "{\"n\":3}");
    tn_value unknown = json("{\"m\": 4}");
    assert_int_not_equal(tenon_thread_update(counting, "again", NULL, unknown), TN_OK);
    assert_int_not_equal(tenon_thread_update(counting, "again", "nowhere", changed), TN_OK);
    assert_non_null(strstr(tenon_error(host), "nowhere"));
    /* Export, delete, import. */
    tn_value exported = tenon_thread_export(host, "h"), list = tenon_thread_list(host, NULL);
    assert_int_equal(value_count(value_get(list, "threads")), 2);
    value_unref(list);
    assert_int_equal(tenon_thread_delete(host, "h"), TN_OK);
    assert_int_not_equal(tenon_thread_delete(host, "h"), TN_OK);
    expect_error(host, "NOT_FOUND", "`h`");
    assert_int_equal(tenon_thread_import(host, "h", exported, 0), TN_OK);
    assert_int_not_equal(tenon_thread_import(host, "h", exported, 0), TN_OK);
    assert_int_equal(tenon_thread_import(host, "h", exported, 1), TN_OK);
    tn_value filter = json("{\"status\": \"done\", \"limit\": 1}");
    list = tenon_thread_list(host, filter);
    assert_int_equal(value_count(value_get(list, "threads")), 1);
    expect(value_ref(value_get(list, "more")), "true");
    value_unref(list);
    value_unref(filter);
    static const char *const times[] = {"2000-01-01", "2000-01-01T02:00:00+02:00"};
    for (size_t i = 0; i < 4; i++) {
        filter = value_set_take(value_object(), i % 2 ? "before" : "since", value_text(times[i / 2]));
        list = tenon_thread_list(host, filter);
        assert_int_equal(value_count(value_get(list, "threads")), i % 2 ? 0 : 2);
        value_unref(list);
        value_unref(filter);
    }
    value_unref(exported);
    value_unref(unknown);
    value_unref(changed);
    value_unref(config);
    tenon_release(counting);
    tenon_close(host);
}

static void threads_reject_invalid_arguments(void **state) {
    (void)state;
    tenon *host = open_host();
    tenon_runnable *counting = graph(host, counts), *same = tenon_identity(host);
    char endless[400];
    memset(endless, 'x', sizeof endless - 1);
    endless[sizeof endless - 1] = '\0';
    const char *const ids[] = {"", endless, "\xff"};
    for (size_t i = 0; i < 3; i++) {
        assert_null(tenon_thread_show(host, ids[i]));
        expect_error(host, "INVALID_INPUT", "thread id");
        assert_int_not_equal(tenon_thread_fork(host, "a", -1, ids[i]), TN_OK);
        expect_error(host, "INVALID_INPUT", "thread id");
    }
    assert_null(tenon_thread_state(host, NULL, -1));
    expect_error(host, "INVALID_INPUT", "the thread's id is NULL");
    assert_int_not_equal(tenon_thread_fork(host, "a", -1, NULL), TN_OK);
    expect_error(host, "INVALID_INPUT", "the id of the new thread is NULL");
    assert_int_not_equal(tenon_thread_answer(host, "a", NULL), TN_OK);
    assert_int_not_equal(tenon_thread_import(host, "a", NULL, 0), TN_OK);
    tn_value broken = json("{\"format\": \"other\"}"), config = config_of_thread("a");
    assert_int_not_equal(tenon_thread_import(host, "a", broken, 0), TN_OK);
    assert_int_not_equal(tenon_thread_update(same, "a", NULL, broken), TN_OK);
    expect_error(host, "INVALID_INPUT", "only a thread of a graph");
    assert_int_not_equal(tenon_thread_update(counting, "a", NULL, NULL), TN_OK);
    assert_int_not_equal(tenon_thread_update(NULL, "a", NULL, broken), TN_OK);
    assert_null(tenon_thread_list(host, broken));
    expect_error(host, "INVALID_INPUT", "no member `format`");
    static const char *const filters[][2] = {
        {"[]", "expected an object"},
        {"{\"limit\": 0}", "from 1 to 10000"},
        {"{\"limit\": 10001}", "from 1 to 10000"},
        {"{\"status\": 1}", "must be a string"},
        {"{\"status\": \"don\"}", "cancelled or done; did you mean `done`"},
        {"{\"since\": \"yesterday\"}", "`since` is `yesterday`, expected a date or a time in ISO 8601"},
        {"{\"before\": \"2026-13-01\"}", "`before` is `2026-13-01`"},
        {"{\"after\": \"\"}", "thread id"}};
    for (size_t i = 0; i < sizeof filters / sizeof *filters; i++) {
        tn_value filter = json(filters[i][0]);
        assert_null(tenon_thread_list(host, filter));
        expect_error(host, "INVALID_INPUT", filters[i][1]);
        value_unref(filter);
    }
    assert_null(tenon_thread_history(host, "a", -5));
    expect_error(host, "INVALID_INPUT", "the limit of the history is -5");
    assert_null(tenon_thread_state(host, "a", -2));
    expect_error(host, "INVALID_INPUT", "the checkpoint is -2");
    assert_int_not_equal(tenon_thread_fork(host, "a", -2, "b"), TN_OK);
    expect_error(host, "INVALID_INPUT", "the checkpoint is -2");
    assert_null(tenon_resume(counting, NULL, NULL));
    expect_error(host, "INVALID_INPUT", "needs a `thread_id`");
    tn_value list = json("[]");
    assert_null(tenon_resume(counting, list, config));
    expect_error(host, "INVALID_INPUT", "expected an object by interrupt id");
    assert_null(tenon_resume(NULL, NULL, config));
    assert_null(tenon_start(NULL, NULL, NULL));
    assert_int_equal(tenon_run_status(NULL), -1);
    assert_null(tenon_run_output(NULL));
    assert_null(tenon_run_error(NULL));
    assert_null(tenon_run_questions(NULL));
    assert_null(tenon_run_report(NULL));
    assert_int_not_equal(tenon_run_wait(NULL, -1), TN_OK);
    assert_int_not_equal(tenon_run_answer(NULL, NULL), TN_OK);
    assert_int_not_equal(tenon_run_drain(NULL), TN_OK);
    tenon_run_cancel(NULL);
    assert_int_equal(tenon_descriptor(NULL), -1);
    assert_int_equal(tenon_timeout(NULL), -1);
    value_unref(list);
    value_unref(broken);
    value_unref(config);
    tenon_release(same);
    tenon_release(counting);
    tenon_close(host);
}

/* The thread stays with the run that has it until that ends. */
static void a_thread_has_one_run(void **state) {
    (void)state;
#ifdef TENON_HAS_SQLITE
    char folder[] = "/tmp/embed-run-XXXXXX", text[128], file[64];
    assert_non_null(mkdtemp(folder));
    snprintf(file, sizeof file, "%s/threads.db", folder);
    snprintf(text, sizeof text, "{\"store\": \"%s\"}", file);
    tenon *host = open_with(text);
    tenon_runnable *delaying = graph(host, hangs);
    tenon_run *first = start_in(delaying, "one", NULL);
    tn_value record = NULL;
    while (!record) { /* until its first commit */
        assert_int_equal(tenon_run_wait(first, 1), TN_AGAIN);
        record = tenon_thread_show(host, "one");
    }
    value_unref(record);
    tenon_run *second = start_in(delaying, "one", NULL);
    expect_end(second, TENON_RUN_FAILED);
    expect_code(tenon_run_error(second), "OWNED");
    tenon_run_cancel(first);
    expect_end(first, TENON_RUN_CANCELLED);
    assert_int_not_equal(tenon_run_resume(second, NULL), TN_OK); /* it would continue the first run */
    assert_int_equal(tenon_run_resume(first, NULL), TN_OK);
    assert_int_equal(tenon_run_wait(first, 1), TN_AGAIN);
    tenon_run_release(first);
    tenon_run_release(second);
    tenon_release(delaying);
    tenon_close(host);
    remove_store(file);
    (void)rmdir(folder);
#endif
}

#ifdef TENON_HAS_SQLITE
/* `tenon run` of the document in the folder, with its configuration. */
static pid_t start_program(const char *folder) {
    char document[64], config[64];
    pid_t child = 0;
    snprintf(document, sizeof document, "%s/test.yaml", folder);
    snprintf(config, sizeof config, "%s/tenon.yaml", folder);
    const char *arguments[] = {
        TENON_PROGRAM_FILE, "run",       document,         "--config", config, "--thread", "crash",
        "--quiet",          "--plugins", TENON_TEST_NODES, NULL};
    assert_int_equal(posix_spawn(&child, TENON_PROGRAM_FILE, NULL, NULL, (char **)(uintptr_t)arguments, environ), 0);
    return child;
}
#endif

/* The command line starts a thread, and is killed in the second super-step. The library continues the thread. */
static void a_thread_survives_a_crash(void **state) {
    (void)state;
#ifdef TENON_HAS_SQLITE
    static const char *const names[] = {"test.yaml", "tenon.yaml", "go", NULL};
    char folder[] = "/tmp/embed-run-XXXXXX", file[64], path[64], options[128], text[600];
    assert_non_null(mkdtemp(folder));
    snprintf(file, sizeof file, "%s/threads.db", folder);
    snprintf(options, sizeof options, "{\"store\": \"%s\"}", file);
    snprintf(text, sizeof text, "store: {use: sqlite, path: %s}\n", file);
    snprintf(path, sizeof path, "%s/tenon.yaml", folder);
    write_text(path, text);
    snprintf(text, sizeof text, waits_for_file, folder);
    snprintf(path, sizeof path, "%s/test.yaml", folder);
    write_text(path, text);
    pid_t child = start_program(folder);
    tenon *host = open_with(options);
    tenon_runnable *waiting = tenon_graph_file(host, path);
    assert_non_null(waiting);
    tn_value state_now = NULL, one = json("{\"n\":1}");
    while (!state_now || !value_equal(state_now, one)) { /* until the first super-step is committed */
        value_unref(state_now);
        state_now = tenon_thread_state(host, "crash", -1);
    }
    value_unref(state_now);
    value_unref(one);
    tn_value config = config_of_thread("crash");
    tenon_run *run = tenon_resume(waiting, NULL, config);
    expect_end(run, TENON_RUN_FAILED);
    expect_code(tenon_run_error(run), "OWNED");
    char process[32];
    snprintf(process, sizeof process, "process %d", (int)child);
    assert_non_null(strstr(value_chars(value_get(tenon_run_error(run), "message"), NULL), process));
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    snprintf(path, sizeof path, "%s/go", folder);
    write_text(path, "");
    assert_int_equal(tenon_run_resume(run, NULL), TN_OK); /* the same handle tries again */
    expect_end(run, TENON_RUN_DONE);
    expect(tenon_run_output(run), "{\"n\":1}");
    tenon_run_release(run);
    value_unref(config);
    tenon_release(waiting);
    tenon_close(host);
    for (const char *const *name = names; *name; name++) {
        snprintf(path, sizeof path, "%s/%s", folder, *name);
        (void)unlink(path);
    }
    remove_store(file);
    (void)rmdir(folder);
#endif
}

/* A pause needs no answer, and a limit of steps applies to each invocation. */
static void pauses_and_limits_are_continued(void **state) {
    (void)state;
    static const char pauses[] =
        "version: '1.0'\nagent: {name: pauses}\n"
        "channels: [{name: n, type: last_value, default: 0}]\n"
        "nodes: [{id: count, type: set, config: {values: {n: state.n + 1}}, interrupt: before}]\n"
        "edges: [{from: START, to: count}, {from: count, to: END}]\n";
    tenon *host = open_host();
    tenon_runnable *pausing = graph(host, pauses), *counting = graph(host, counts);
    for (int saved = 0; saved < 2; saved++) {
        tenon_run *run = saved ? start_in(pausing, "pause", NULL) : tenon_start(pausing, NULL, NULL);
        expect_end(run, TENON_RUN_INTERRUPTED);
        tn_value questions = tenon_run_questions(run);
        assert_int_equal(value_count(questions), 1);
        assert_null(value_get(value_at(questions, 0), "payload"));
        value_unref(questions);
        assert_int_not_equal(tenon_run_answer(run, NULL), TN_OK);
        expect_error(host, "INVALID_INPUT", "asks no question");
        assert_int_equal(tenon_run_resume(run, NULL), TN_OK);
        expect_end(run, TENON_RUN_DONE);
        expect(tenon_run_output(run), "{\"n\":1}");
        tenon_run_release(run);

        tn_value config =
            json(saved ? "{\"recursion_limit\": 2, \"thread_id\": \"limit\"}" : "{\"recursion_limit\": 2}");
        run = tenon_start(counting, NULL, config);
        value_unref(config);
        expect_end(run, TENON_RUN_FAILED);
        expect_code(tenon_run_error(run), "RECURSION_LIMIT");
        assert_int_equal(tenon_run_resume(run, NULL), TN_OK);
        assert_null(tenon_run_error(run));
        expect_end(run, TENON_RUN_DONE);
        expect(tenon_run_output(run), "{\"n\":3}");
        tenon_run_release(run);
    }
    tenon_release(pausing);
    tenon_release(counting);
    tenon_close(host);
}

/* What changes a thread ends the run that has it. */
static void a_changed_thread_ends_its_run(void **state) {
    (void)state;
    tenon *host = open_host();
    for (int deleted = 0; deleted < 2; deleted++) {
        struct gate gate;
        make_gate(&gate);
        tenon_runnable *waiting = graph(host, gate.document);
        tenon_run *run = start_in(waiting, "changed", NULL);
        tn_value record = NULL, change = json("{\"n\": 5}");
        while (!record) { /* until its first commit */
            assert_int_equal(tenon_run_wait(run, 1), TN_AGAIN);
            record = tenon_thread_show(host, "changed");
        }
        value_unref(record);
        int32_t status =
            deleted ? tenon_thread_delete(host, "changed") : tenon_thread_update(waiting, "changed", NULL, change);
        assert_int_equal(status, TN_OK);
        value_unref(change);
        write_text(gate.file, "");
        expect_end(run, TENON_RUN_FAILED);
        expect_code(tenon_run_error(run), "FENCED");
        tenon_run_release(run);
        if (!deleted) assert_int_equal(tenon_thread_delete(host, "changed"), TN_OK);
        tenon_release(waiting);
        remove_gate(&gate);
    }
    tenon_close(host);
}

static void a_drained_run_continues(void **state) {
    (void)state;
    tenon *host = open_host();
    tenon_runnable *counting = graph(host, counts);
    for (int saved = 0; saved < 2; saved++) {
        tenon_run *run = saved ? start_in(counting, "d", NULL) : tenon_start(counting, NULL, NULL);
        assert_int_equal(tenon_run_drain(run), TN_OK);
        expect_end(run, saved ? TENON_RUN_STOPPED : TENON_RUN_DONE); /* the latter never waits */
        if (saved) {
            tn_value report = tenon_run_report(run);
            expect(value_ref(value_get(report, "next")), "[\"count\"]");
            value_unref(report);
            assert_int_equal(tenon_run_resume(run, NULL), TN_OK);
            expect_end(run, TENON_RUN_DONE);
        }
        expect(tenon_run_output(run), "{\"n\":3}");
        tenon_run_release(run);
    }
    tenon_release(counting);
    tenon_close(host);
}

/* ---- The loop of the program ---- */

/* A program that draws a frame every 5 ms, in its own loop, while runs wait and stream. */
static void runs_advance_in_the_loop_of_the_program(void **state) {
    (void)state;
    tenon *host = open_host();
    tenon_runnable *delaying = graph(host, delays), *asking = graph(host, asks);
    struct noted noted[2] = {{.host = host}, {.host = host}};
    int frames = timerfd_create(CLOCK_MONOTONIC, 0), drawn = 0, drawn_at_start = 0;
    struct itimerspec every = {{0, 5000000}, {0, 5000000}};
    assert_int_equal(timerfd_settime(frames, 0, &every, NULL), 0);
    struct pollfd set[] = {{.fd = tenon_descriptor(host), .events = POLLIN}, {.fd = frames, .events = POLLIN}};
    assert_int_equal(tenon_turn(host), TN_OK);
    tenon_run *runs[2] = {NULL, NULL};
    tn_value yes = value_text("yes");
    while (noted[0].ends < 1 || noted[1].ends < 2) {
        assert_true(poll(set, 2, (int)tenon_timeout(host)) >= 0);
        uint64_t count;
        if (set[1].revents && read(frames, &count, sizeof count) == (ssize_t)sizeof count) drawn++;
        if (drawn == 2 && !runs[0]) { /* a key was pressed: the host was idle until now */
            runs[0] = tenon_start(delaying, NULL, NULL);
            runs[1] = start_in(asking, "gui", NULL);
            for (int i = 0; i < 2; i++) {
                tenon_run_on_event(runs[i], NULL, note_event, &noted[i]);
                tenon_run_on_ended(runs[i], note_end, &noted[i]);
            }
            drawn_at_start = drawn;
            assert_int_equal(tenon_timeout(host), 0);
            assert_int_equal(poll(set, 1, 0), 1); /* the descriptor says so, too */
        }
        assert_int_equal(tenon_turn(host), TN_OK);
        if (runs[1] && tenon_run_status(runs[1]) == TENON_RUN_INTERRUPTED)
            assert_int_equal(tenon_run_answer(runs[1], yes), TN_OK);
    }
    assert_true(drawn > drawn_at_start); /* the delay of 40 ms did not stop the frames */
    assert_true(noted[0].events > 1);
    expect(tenon_run_output(runs[0]), "{\"n\":1}");
    expect(tenon_run_output(runs[1]), "{\"n\":1,\"out\":\"yes\"}");
    assert_int_equal(tenon_turn(host), TN_OK);
    assert_int_equal(tenon_timeout(host), -1); /* nothing is due */
    tenon_run_release(runs[0]);
    tenon_run_release(runs[1]);
    value_unref(yes);
    close(frames);
    tenon_release(delaying);
    tenon_release(asking);
    tenon_close(host);
}

/* Workers, and the processes of isolated plugins, reach the host through its descriptor. */
static void plugins_work_in_the_loop_of_the_program(void **state) {
    (void)state;
    static const char *const options[] = {"{}", "{\"isolate\": [\"test.nodes\"], \"quiet\": true}"};
    static const char blocks[] =
        "version: '1.0'\nagent: {name: blocks}\nchannels: [{name: n, type: last_value, default: 0}]\n"
        "nodes:\n  - {id: one, type: test.add_blocking, config: {in: n, out: n, n: 1}}\n"
        "  - {id: two, type: test.add_blocking, config: {in: n, out: n, n: 2}}\n"
        "edges: [{from: START, to: one}, {from: one, to: two}, {from: two, to: END}]\n";
    for (size_t i = 0; i < 2; i++) {
        tenon *host = open_with(options[i]);
        tenon_runnable *blocking = graph(host, blocks);
        struct noted noted = {.host = host};
        tenon_run *run = start_in(blocking, "b", NULL);
        tenon_run_on_ended(run, note_end, &noted);
        struct pollfd set = {.fd = tenon_descriptor(host), .events = POLLIN};
        while (!noted.ends) {
            assert_true(poll(&set, 1, (int)tenon_timeout(host)) >= 0);
            assert_int_equal(tenon_turn(host), TN_OK);
        }
        expect(tenon_run_output(run), "{\"n\":3}");
        tenon_run_release(run);
        tenon_release(blocking);
        tenon_close(host);
    }
}

/* A host whose loop waits for another thread: the descriptor wakes it. */
static void the_descriptor_is_readable_after_an_event_of_another_thread(void **state) {
    (void)state;
    tenon *host = open_host();
    tenon_runnable *hanging = graph(host, hangs);
    tenon_run *run = tenon_start(hanging, NULL, NULL);
    struct pollfd set = {.fd = tenon_descriptor(host), .events = POLLIN};
    while (tenon_timeout(host) == 0) assert_int_equal(tenon_turn(host), TN_OK);
    assert_int_equal(poll(&set, 1, 0), 0);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, cancel_there, run), 0);
    while (tenon_run_status(run) == TENON_RUN_RUNNING) {
        assert_true(poll(&set, 1, (int)tenon_timeout(host)) >= 0);
        assert_int_equal(tenon_turn(host), TN_OK);
    }
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(tenon_run_status(run), TENON_RUN_CANCELLED);
    tenon_run_release(run);
    tenon_release(hanging);
    tenon_close(host);
}

/* ---- Threads of the process ---- */

static void *use_there(void *user) {
    tenon_run *run = user;
    assert_int_equal(tenon_run_status(run), -1);
    expect_error(NULL, "WRONG_THREAD", "tenon_run_status");
    assert_null(tenon_run_output(run));
    assert_int_not_equal(tenon_run_wait(run, -1), TN_OK);
    assert_int_not_equal(tenon_run_resume(run, NULL), TN_OK);
    expect_error(NULL, "WRONG_THREAD", "tenon_run_resume");
    tenon_run_release(run);
    expect_error(NULL, "WRONG_THREAD", "tenon_run_release");
    return NULL;
}

static void runs_belong_to_their_thread(void **state) {
    (void)state;
    tenon *host = open_host();
    tenon_runnable *counting = graph(host, counts);
    tenon_run *run = tenon_start(counting, NULL, NULL);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, use_there, run), 0);
    expect_end(run, TENON_RUN_DONE);
    assert_int_equal(pthread_join(thread, NULL), 0);
    tenon_run_release(run);
    tenon_release(counting);
    tenon_close(host);
}

static int64_t values_before;

static int count_values_before(void **state) {
    (void)state;
    (void)tenon_identity(NULL); /* replaces the error of this thread, which may have a value */
    values_before = value_live_count();
    return 0;
}

static int expect_no_value_leaked(void **state) {
    (void)state;
    (void)tenon_identity(NULL);
    return value_live_count() == values_before
               ? 0
               : (print_error("%lld values leaked\n", (long long)(value_live_count() - values_before)), -1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, count_values_before, expect_no_value_leaked)

int main(void) {
    tenon_close(open_host()); /* loads plugins that stay loaded, so that the tests can compare value counts */
    const struct CMUnitTest tests[] = {TEST(options_are_checked),
                                       cmocka_unit_test(models_are_options),
                                       cmocka_unit_test(plugins_are_isolated),
                                       cmocka_unit_test(a_store_is_a_path),
                                       TEST(configurations_are_checked),
                                       TEST(a_node_of_the_program_is_saved_in_a_thread),
                                       TEST(several_runs_advance_together),
                                       TEST(a_callback_may_release_the_run_that_is_waited_for),
                                       cmocka_unit_test(inputs_that_do_not_fit_are_errors_of_the_run),
                                       TEST(runs_of_functions_have_results),
                                       TEST(one_run_is_cancelled_from_another_thread),
                                       TEST(runs_are_cancelled_by_several_threads),
                                       cmocka_unit_test(a_run_is_cancelled_before_it_starts),
                                       cmocka_unit_test(runs_are_released_in_any_order),
                                       TEST(functions_may_release_objects_while_the_host_is_closed),
                                       TEST(a_closed_host_has_no_diagnostics),
                                       TEST(callbacks_may_start_runs_but_not_wait),
                                       TEST(the_functions_of_a_batch_cannot_wait),
                                       cmocka_unit_test(callbacks_may_answer),
                                       TEST(questions_are_answered_in_the_process),
                                       TEST(several_questions_are_answered_by_id),
                                       cmocka_unit_test(a_single_node_asks),
                                       cmocka_unit_test(a_thread_is_continued_elsewhere),
                                       cmocka_unit_test(invoke_saves_a_thread),
                                       cmocka_unit_test(threads_have_a_history),
                                       cmocka_unit_test(threads_reject_invalid_arguments),
                                       cmocka_unit_test(a_thread_has_one_run),
                                       cmocka_unit_test(a_thread_survives_a_crash),
                                       cmocka_unit_test(pauses_and_limits_are_continued),
                                       cmocka_unit_test(a_changed_thread_ends_its_run),
                                       cmocka_unit_test(a_drained_run_continues),
                                       cmocka_unit_test(runs_advance_in_the_loop_of_the_program),
                                       cmocka_unit_test(plugins_work_in_the_loop_of_the_program),
                                       TEST(the_descriptor_is_readable_after_an_event_of_another_thread),
                                       TEST(runs_belong_to_their_thread)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
