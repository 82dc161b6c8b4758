/*
 * thread_admin_test.c - operations on saved threads from outside of a run, without waiting: thread_admin.h, and the
 * answers and updates of execution_thread.h.
 *
 * Each operation is submitted together with others, with arguments that are overwritten at once. Its callback must be
 * called once, from the loop, and never from inside of the function, also if the store or the arguments are wrong.
 */
#include "host/data/store/store.h"
#include "host/data/thread/thread_admin.h"
#include "host/data/thread/thread_log.h"
#include "host/engine/execution/execution_thread.h"
#include "tests/unit/engine_fixture.h"
#include <unistd.h>

static const char ask_document[] = "version: \"1.0\"\n"
                                   "channels: [{name: t, type: append}]\n"
                                   "nodes: [{id: a, type: test.ask, config: {out: t, schema: {type: string}}}]\n"
                                   "edges: [{from: START, to: a}, {from: a, to: END}]\n";

/* ---- Callbacks ---- */

struct outcome {
    unsigned calls; /* of the callback */
    int32_t status;
    char code[32];
    tn_value result; /* owned */
};

static bool submitting; /* true while the functions under test are called */
static unsigned ended;  /* callbacks so far */

static void note_outcome(void *user, int32_t status, tn_value result, const struct error *error) {
    struct outcome *outcome = user;
    assert_false(submitting);
    assert_int_equal(outcome->calls++, 0);
    outcome->status = status;
    outcome->result = result ? value_ref(result) : NULL;
    snprintf(outcome->code, sizeof outcome->code, "%s", status == TN_OK ? "" : error->code);
    ended++;
}

static bool have_ended(void *user) { return ended >= *(const unsigned *)user; }

static void begin_submitting(void) {
    ended = 0;
    submitting = true;
}

/* Runs the loop until `count` callbacks have been called, and then until nothing is left to do. */
static void wait_for(struct host *host, unsigned count) {
    submitting = false;
    assert_int_equal(ended, 0);
    assert_true(loop_run(host_loop(host), have_ended, &count));
    loop_run(host_loop(host), NULL, NULL);
    assert_int_equal(ended, count);
}

static void expect_outcome(struct outcome *outcome, const char *code) {
    assert_int_equal(outcome->calls, 1);
    assert_string_equal(outcome->code, code);
    assert_int_equal(outcome->status == TN_OK, !*code);
    value_unref(outcome->result);
    *outcome = (struct outcome){.calls = 0};
}

static void expect_json(tn_value value, const char *expected) {
    char *text = json_text(value, JSON_COMPACT);
    assert_string_equal(text, expected);
    mem_free(text);
}

/* ---- Threads ---- */

static tn_value json(const char *text) {
    tn_value value = NULL;
    assert_int_equal(json_read(text, strlen(text), NULL, &value, NULL), TN_OK);
    return value;
}

static void note_run_end(struct run *run, void *user) {
    (void)run;
    *(bool *)user = true;
}

static bool run_is_over(void *user) { return *(const bool *)user; }

/* Runs the graph in a new thread, until it is done or interrupted. */
static void run_thread(struct host *host, struct graph *graph, const char *id) {
    struct thread_request request = {.id = id};
    struct run_options options = RUN_OPTIONS_INIT;
    struct error error = ERROR_INIT;
    bool over = false;
    if (thread_prepare_wait(host_engine(host), graph, &request, &options, &error) != TN_OK)
        fail_msg("%s", error.message);
    options.ended = note_run_end;
    options.user = &over;
    struct run *run = run_new(graph, &options);
    assert_int_equal(thread_begin(run, &request, NULL, &over, &error), TN_OK);
    loop_run(host_loop(host), run_is_over, &over);
    assert_int_equal(run_status(run), RUN_INTERRUPTED);
    run_free(run);
    thread_log_free(options.log);
    value_unref(options.loaded);
}

/* {interrupt id: answer} for the interrupt of the thread; a new reference. */
static tn_value answer_for(struct host *host, const char *id, tn_value answer_take) {
    tn_value record = NULL;
    assert_int_equal(thread_show_wait(host_store(host, NULL), id, &record, NULL), TN_OK);
    tn_value interrupt = value_get(value_at(value_get(record, "interrupts"), 0), "id");
    tn_value answers = value_set_key_take(value_object(), value_ref(interrupt), answer_take);
    value_unref(record);
    return answers;
}

static void expect_state(struct host *host, const char *id, const char *expected) {
    tn_value state = NULL;
    assert_int_equal(thread_state_wait(host_store(host, NULL), id, THREAD_HEAD, &state, NULL), TN_OK);
    expect_json(state, expected);
    value_unref(state);
}

static void update_later(struct host *host, struct graph *graph, const char *id, const char *as, tn_value channels,
                         struct outcome *outcome) {
    struct thread_request request = {.id = id, .mode = THREAD_UPDATE, .as = as, .document = "d.yaml"};
    thread_update(host_engine(host), graph, &request, channels, note_outcome, outcome);
    memset(&request, 0, sizeof request);
}

/* ---- Tests ---- */

static void test_several_at_once(void **state) {
    (void)state;
    enum { LIST, SHOW, HISTORY, STATE, FORK, ANSWER, EXPORT, SHOW_FORK, COLLECT, DELETE, SHOW_DELETED, COUNT };
    struct outcome outcomes[COUNT] = {0};
    struct host *host = host_for_tests();
    struct store *store = host_store(host, NULL);
    struct graph *graph = graph_for_tests(host, "ask", ask_document, NULL);
    run_thread(host, graph, "support");
    graph_unref(graph);
    tn_value answers = answer_for(host, "support", value_text("yes"));
    /* All arguments are overwritten as soon as the functions have returned. */
    char id[] = "support", fork[] = "second", status[] = "interrupted", time[] = "2999-01-01T00:00:00.000Z";
    struct threads_filter filter = {.status = status, .before = time, .limit = 10};
    struct threads_policy policy = {.before = time, .keep = -1, .status = status, .expired_before = time};
    policy.dry_run = true;
    begin_submitting();
    threads_list(store, &filter, note_outcome, &outcomes[LIST]);
    thread_show(store, id, note_outcome, &outcomes[SHOW]);
    thread_history(store, id, 10, note_outcome, &outcomes[HISTORY]);
    thread_state(store, id, THREAD_HEAD, note_outcome, &outcomes[STATE]);
    thread_fork(store, id, THREAD_HEAD, fork, note_outcome, &outcomes[FORK]);
    thread_answer(host_engine(host), id, answers, note_outcome, &outcomes[ANSWER]);
    thread_export(store, id, note_outcome, &outcomes[EXPORT]);
    thread_show(store, fork, note_outcome, &outcomes[SHOW_FORK]);
    threads_collect(store, &policy, note_outcome, &outcomes[COLLECT]);
    thread_delete(store, fork, false, note_outcome, &outcomes[DELETE]);
    thread_show(store, fork, note_outcome, &outcomes[SHOW_DELETED]);
    memset(id, 'x', sizeof id - 1);
    memset(fork, 'x', sizeof fork - 1);
    memset(status, 'x', sizeof status - 1);
    memset(time, 'x', sizeof time - 1);
    memset(&filter, 0, sizeof filter);
    memset(&policy, 0, sizeof policy);
    value_unref(answers);
    wait_for(host, COUNT);
    assert_int_equal(value_count(value_get(outcomes[LIST].result, "threads")), 1);
    assert_true(value_text_is(value_get(outcomes[SHOW].result, "status"), "interrupted"));
    assert_null(value_get(outcomes[SHOW].result, "answers"));
    assert_int_equal(value_count(outcomes[HISTORY].result), 1);
    /* The jobs run in the order of submission: the exported thread has the answer, and its fork does not. */
    assert_int_equal(value_count(value_get(value_get(outcomes[EXPORT].result, "record"), "answers")), 1);
    assert_null(value_get(outcomes[SHOW_FORK].result, "answers"));
    assert_true(value_text_is(value_get(outcomes[SHOW_FORK].result, "thread_id"), "second"));
    assert_null(outcomes[FORK].result);
    assert_null(outcomes[ANSWER].result);
    assert_null(outcomes[DELETE].result);
    expect_json(outcomes[STATE].result, "{\"t\":[]}");
    expect_json(outcomes[COLLECT].result, "{\"threads\":2,\"graphs\":1}");
    expect_outcome(&outcomes[SHOW_DELETED], "NOT_FOUND");
    for (unsigned i = 0; i < SHOW_DELETED; i++) expect_outcome(&outcomes[i], "");
    host_free(host);
}

static void test_import_and_collect(void **state) {
    (void)state;
    struct outcome first = {0}, second = {0}, replaced = {0}, broken = {0}, removed = {0};
    struct host *host = host_for_tests();
    struct store *store = host_store(host, NULL);
    struct graph *graph = graph_for_tests(host, "ask", ask_document, NULL);
    run_thread(host, graph, "support");
    graph_unref(graph);
    tn_value exported = NULL, malformed = json("{\"format\":\"x\"}");
    assert_int_equal(thread_export_wait(store, "support", &exported, NULL), TN_OK);
    begin_submitting();
    thread_import(store, "copy", exported, false, note_outcome, &first);
    thread_import(store, "copy", exported, false, note_outcome, &second);
    thread_import(store, "copy", exported, true, note_outcome, &replaced);
    thread_import(store, "other", malformed, false, note_outcome, &broken);
    value_unref(exported);
    value_unref(malformed);
    wait_for(host, 4);
    expect_outcome(&first, "");
    expect_outcome(&second, "EXISTS");
    expect_outcome(&replaced, "");
    expect_outcome(&broken, "INVALID_INPUT");
    begin_submitting();
    threads_collect(store, &(const struct threads_policy){.keep = 1, .status = "interrupted"}, note_outcome, &removed);
    thread_delete(store, "support", false, NULL, NULL); /* a callback may be missing */
    wait_for(host, 1);
    expect_json(removed.result, "{\"threads\":1,\"graphs\":0}");
    expect_outcome(&removed, "");
    host_free(host);
}

static void test_wrong_answers(void **state) {
    (void)state;
    struct outcome unknown = {0}, misfit = {0}, absent = {0}, good = {0}, again = {0};
    struct host *host = host_for_tests();
    struct engine *engine = host_engine(host);
    struct graph *graph = graph_for_tests(host, "ask", ask_document, NULL);
    run_thread(host, graph, "support");
    graph_unref(graph);
    tn_value strange = json("{\"0123456789abcdef\":1}"), number = answer_for(host, "support", value_int(1));
    tn_value text = answer_for(host, "support", value_text("yes"));
    begin_submitting();
    thread_answer(engine, "support", strange, note_outcome, &unknown);
    thread_answer(engine, "support", number, note_outcome, &misfit);
    thread_answer(engine, "nothing", text, note_outcome, &absent);
    thread_answer(engine, "support", text, note_outcome, &good);
    thread_answer(engine, "support", NULL, note_outcome, &again);
    wait_for(host, 5);
    expect_outcome(&unknown, "INVALID_INPUT");
    expect_outcome(&misfit, "INVALID_INPUT");
    expect_outcome(&absent, "NOT_FOUND");
    expect_outcome(&good, "");
    expect_outcome(&again, "INVALID_INPUT");
    value_unref(strange);
    value_unref(number);
    value_unref(text);
    host_free(host);
}

static void test_expired_answers(void **state) {
    (void)state;
    char path[] = "/tmp/tenon-thread-admin-XXXXXX";
    static const char limits[] = "limits: {interrupt_hours: 24}\n";
    const char *const plugins[] = {TENON_TEST_NODES, TENON_CORE_PLUGIN, TENON_STORE_PLUGINS "/memory.so", NULL};
    struct outcome in_time = {0}, late = {0};
    struct error error = ERROR_INIT;
    int file = mkstemp(path);
    assert_true(file >= 0 && write(file, limits, sizeof limits - 1) == (ssize_t)sizeof limits - 1);
    close(file);
    struct host *host = host_new(
        &(struct host_options){
            .plugin_paths = plugins, .no_installed = true, .config_file = path, .allow_drafts = true},
        &error);
    if (!host) fail_msg("%s", error.message);
    loop_fake_clock(host_loop(host));
    host_set_store_options_take(host, json("{\"use\":\"memory\",\"path\":\"thread_admin_expired\"}"));
    struct graph *graph = graph_for_tests(host, "ask", ask_document, NULL);
    run_thread(host, graph, "support");
    graph_unref(graph);
    tn_value answers = answer_for(host, "support", value_text("yes"));
    begin_submitting();
    thread_answer(host_engine(host), "support", answers, note_outcome, &in_time);
    wait_for(host, 1);
    expect_outcome(&in_time, "");
    loop_fake_advance(host_loop(host), 25 * 3600 * 1000);
    begin_submitting();
    thread_answer(host_engine(host), "support", answers, note_outcome, &late);
    wait_for(host, 1);
    expect_outcome(&late, "EXPIRED");
    value_unref(answers);
    host_free(host);
    assert_int_equal(unlink(path), 0);
}

/* Updates of different threads do not disturb each other. Of several for one thread, the first that commits is saved.
 */
static void test_updates(void **state) {
    (void)state;
    enum { THREADS = 3, RIVALS = 3 };
    struct outcome outcomes[THREADS] = {0}, rivals[RIVALS] = {0};
    struct host *host = host_for_tests();
    struct graph *graph = graph_for_tests(host, "ask", ask_document, NULL);
    char id[16], as[] = "a";
    for (int i = 0; i < THREADS; i++) {
        snprintf(id, sizeof id, "thread-%d", i);
        run_thread(host, graph, id);
    }
    tn_value channels = json("{\"t\":\"x\"}");
    begin_submitting();
    for (int i = 0; i < THREADS; i++) {
        snprintf(id, sizeof id, "thread-%d", i);
        update_later(host, graph, id, i ? as : NULL, channels, &outcomes[i]);
    }
    as[0] = 'z';
    wait_for(host, THREADS);
    for (int i = 0; i < THREADS; i++) {
        snprintf(id, sizeof id, "thread-%d", i);
        expect_outcome(&outcomes[i], "");
        expect_state(host, id, "{\"t\":[\"x\"]}");
    }
    begin_submitting();
    for (int i = 0; i < RIVALS; i++) update_later(host, graph, "thread-0", NULL, channels, &rivals[i]);
    graph_unref(graph); /* the updates hold it */
    value_unref(channels);
    wait_for(host, RIVALS);
    int saved = 0;
    for (int i = 0; i < RIVALS; i++) {
        saved += rivals[i].status == TN_OK;
        expect_outcome(&rivals[i], rivals[i].status == TN_OK ? "" : "FENCED");
    }
    assert_int_equal(saved, 1);
    expect_state(host, "thread-0", "{\"t\":[\"x\",\"x\"]}");
    host_free(host);
}

static void test_refused_updates(void **state) {
    (void)state;
    struct outcome absent = {0}, invalid = {0}, no_node = {0}, no_channel = {0}, good = {0};
    struct host *host = host_for_tests();
    struct graph *graph = graph_for_tests(host, "ask", ask_document, NULL);
    run_thread(host, graph, "support");
    tn_value channels = json("{\"t\":\"x\"}"), wrong = json("{\"no\":1}");
    struct thread_request request = {.id = "support", .mode = THREAD_UPDATE};
    begin_submitting();
    update_later(host, graph, "nothing", NULL, channels, &absent);
    update_later(host, graph, "", NULL, channels, &invalid); /* thread_prepare fails at once */
    update_later(host, graph, "support", "no", channels, &no_node);
    update_later(host, graph, "support", NULL, wrong, &no_channel);
    wait_for(host, 4);
    expect_outcome(&absent, "NOT_FOUND");
    expect_outcome(&invalid, "INVALID_INPUT");
    expect_outcome(&no_node, "INVALID_INPUT");
    expect_outcome(&no_channel, "INVALID_INPUT");
    /* Each of them has released the thread. */
    begin_submitting();
    update_later(host, graph, "support", NULL, channels, &good);
    wait_for(host, 1);
    expect_outcome(&good, "");
    assert_int_equal(thread_update_wait(host_engine(host), graph, &request, channels, NULL), TN_OK);
    expect_state(host, "support", "{\"t\":[\"x\",\"x\"]}");
    value_unref(channels);
    value_unref(wrong);
    graph_unref(graph);
    host_free(host);
}

/* A callback can start the next operation on the thread: the update has released it. */
static struct host *chain_host;
static struct outcome chain_deleted;

static void delete_after_update(void *user, int32_t status, tn_value result, const struct error *error) {
    (void)result, (void)error;
    assert_int_equal(status, TN_OK);
    ended++;
    thread_delete(host_store(chain_host, NULL), user, false, note_outcome, &chain_deleted);
}

static void test_chain(void **state) {
    (void)state;
    char id[] = "support";
    struct host *host = chain_host = host_for_tests();
    struct graph *graph = graph_for_tests(host, "ask", ask_document, NULL);
    run_thread(host, graph, id);
    tn_value channels = json("{\"t\":\"x\"}");
    struct thread_request request = {.id = id, .mode = THREAD_UPDATE};
    begin_submitting();
    thread_update(host_engine(host), graph, &request, channels, delete_after_update, id);
    wait_for(host, 2);
    expect_outcome(&chain_deleted, "");
    value_unref(channels);
    graph_unref(graph);
    host_free(host);
}

/* Calls all operations, and expects the same code from each. */
static void expect_all_fail(struct host *host, struct store *store, const char *id, const char *code) {
    enum { MOST = 12 };
    struct outcome outcomes[MOST] = {0};
    struct graph *graph = graph_for_tests(host, "ask", ask_document, NULL);
    struct threads_policy policy = {.keep = 0, .status = "done"};
    tn_value object = value_object();
    unsigned count = 0;
    bool usable = strcmp(code, "INVALID_INPUT") == 0; /* the store is; only the id is not */
    begin_submitting();
    threads_list(store, &(const struct threads_filter){.after = id, .limit = 1}, note_outcome, &outcomes[count++]);
    thread_show(store, id, note_outcome, &outcomes[count++]);
    thread_history(store, id, 1, note_outcome, &outcomes[count++]);
    thread_state(store, id, 0, note_outcome, &outcomes[count++]);
    thread_fork(store, id, 0, "f", note_outcome, &outcomes[count++]);
    thread_fork(store, "a", 0, id, note_outcome, &outcomes[count++]);
    thread_delete(store, id, true, note_outcome, &outcomes[count++]);
    thread_export(store, id, note_outcome, &outcomes[count++]);
    thread_import(store, id, object, true, note_outcome, &outcomes[count++]);
    thread_answer(host_engine(host), id, object, note_outcome, &outcomes[count++]);
    update_later(host, graph, id, NULL, object, &outcomes[count++]);
    if (!usable) threads_collect(store, &policy, note_outcome, &outcomes[count++]);
    wait_for(host, count);
    for (unsigned i = 0; i < count; i++) {
        if (strcmp(outcomes[i].code, code) != 0) fail_msg("operation %u: `%s`, not `%s`", i, outcomes[i].code, code);
        expect_outcome(&outcomes[i], code);
    }
    graph_unref(graph);
}

static void test_invalid_ids(void **state) {
    (void)state;
    struct host *host = host_for_tests();
    char longest[THREAD_ID_MAX + 2] = "";
    memset(longest, '/', sizeof longest - 1);
    expect_all_fail(host, host_store(host, NULL), "", "INVALID_INPUT");
    expect_all_fail(host, host_store(host, NULL), longest, "INVALID_INPUT");
    expect_all_fail(host, host_store(host, NULL), "\xff", "INVALID_INPUT");
    host_free(host);
}

/* A provider that refuses to open: every request fails, also those of an update. */
static void test_store_that_does_not_open(void **state) {
    (void)state;
    struct host *host = host_for_tests();
    tn_value page = NULL;
    struct error error = ERROR_INIT;
    host_set_store_options_take(host, json("{\"use\":\"memory\",\"colour\":\"red\"}"));
    struct store *store = host_store(host, NULL);
    assert_non_null(store);
    assert_int_not_equal(threads_list_wait(store, &(const struct threads_filter){.limit = 1}, &page, &error), TN_OK);
    assert_non_null(strstr(error.message, "colour"));
    expect_all_fail(host, store, "a", error.code);
    error_finish(&error);
    host_free(host);
}

/* A store without a plugin: the functions with an engine, which opens the store, report it later. */
static void test_no_store(void **state) {
    (void)state;
    struct outcome answered = {0}, updated = {0};
    struct host *host = host_for_tests();
    struct graph *graph = graph_for_tests(host, "ask", ask_document, NULL);
    struct thread_request request = {.id = "a", .mode = THREAD_UPDATE};
    struct error error = ERROR_INIT;
    tn_value object = value_object();
    host_set_store_options_take(host, json("{\"use\":\"nothing\"}"));
    begin_submitting();
    thread_answer(host_engine(host), "a", object, note_outcome, &answered);
    update_later(host, graph, "a", NULL, object, &updated);
    thread_answer(host_engine(host), "a", object, NULL, NULL);
    thread_update(host_engine(host), graph, &request, object, NULL, NULL);
    wait_for(host, 2);
    expect_outcome(&answered, "STORE_NOT_FOUND");
    expect_outcome(&updated, "STORE_NOT_FOUND");
    assert_int_equal(thread_answer_wait(host_engine(host), "a", object, &error), TN_NOT_FOUND);
    assert_string_equal(error.code, "STORE_NOT_FOUND");
    error_finish(&error);
    graph_unref(graph);
    host_free(host);
}

/* What was submitted is reported before the store is closed. */
static void test_close(void **state) {
    (void)state;
    struct outcome shown = {0}, answered = {0};
    struct host *host = host_for_tests();
    begin_submitting();
    thread_show(host_store(host, NULL), "a", note_outcome, &shown);
    thread_answer(host_engine(host), "a", NULL, note_outcome, &answered);
    submitting = false;
    host_free(host);
    expect_outcome(&shown, "NOT_FOUND");
    expect_outcome(&answered, "NOT_FOUND");
}

/* A loop that is stopped does not end a wait too early, because the request may use memory of the caller. */
static bool never(void *user) {
    (void)user;
    return false;
}

static void test_stopped_loop(void **state) {
    (void)state;
    struct host *host = host_for_tests();
    struct error error = ERROR_INIT;
    tn_value record = NULL;
    loop_stop(host_loop(host));
    assert_int_equal(thread_show_wait(host_store(host, NULL), "a", &record, &error), TN_NOT_FOUND);
    assert_string_equal(error.code, "NOT_FOUND");
    assert_null(record);
    error_finish(&error);
    loop_hold(host_loop(host)); /* so that only the repeated loop_stop ends the loop */
    assert_false(loop_run(host_loop(host), never, NULL));
    loop_release(host_loop(host));
    host_free(host);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_several_at_once),
                                       cmocka_unit_test(test_import_and_collect),
                                       cmocka_unit_test(test_wrong_answers),
                                       cmocka_unit_test(test_expired_answers),
                                       cmocka_unit_test(test_updates),
                                       cmocka_unit_test(test_refused_updates),
                                       cmocka_unit_test(test_chain),
                                       cmocka_unit_test(test_invalid_ids),
                                       cmocka_unit_test(test_store_that_does_not_open),
                                       cmocka_unit_test(test_no_store),
                                       cmocka_unit_test(test_close),
                                       cmocka_unit_test(test_stopped_loop)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
