/*
 * task_wake_test.c - answers to the thread of a Task wake the Task in the same commit; faults of the store in a claim.
 *
 * The store is the one in memory; its functions are intercepted, so that a change of another process comes between the
 * queries and the commit, or a commit fails.
 */
#include "host/data/kernel/kernel.h"
#include "host/data/store/store.h"
#include "host/data/store/store_collections.h"
#include "host/data/thread/thread_admin.h"
#include "host/data/thread/thread_log.h"
#include "host/engine/execution/execution_thread.h"
#include "host/plugin/registry/plugin.h"
#include "host/plugin/registry/plugin_internal.h"
#include "host/plugin/registry/registry.h"
#include "tests/unit/engine_fixture.h"
#include <tenon/store.h>

static const char ask_document[] = "version: \"1.0\"\n"
                                   "channels: [{name: t, type: append}]\n"
                                   "nodes: [{id: a, type: test.ask, config: {out: t, schema: {type: string}}}]\n"
                                   "edges: [{from: START, to: a}, {from: a, to: END}]\n";

/* ---- An intercepted store ---- */

static const tn_plugin *real;
static const tn_store_draft *inner;
static tn_store_draft outer;
static tn_value before_commit; /* a batch of another process, committed before the next batch of the host; or NULL */
static unsigned commits;       /* of the host */
static unsigned fail_commit;   /* the commit with this number fails; 0: none */
static bool fail_after;        /* it is applied nevertheless */

static int32_t intercepted_commit(tn_store *store, tn_value batch, tn_value *result, tn_value *error) {
    if (before_commit) {
        tn_value ignored = NULL, failure = NULL;
        assert_int_equal(inner->commit(store, before_commit, &ignored, &failure), TN_OK);
        value_unref(ignored);
        value_unref(before_commit);
        before_commit = NULL;
    }
    bool fails = ++commits == fail_commit;
    if (!fails) return inner->commit(store, batch, result, error);
    if (fail_after) {
        tn_value ignored = NULL;
        assert_int_equal(inner->commit(store, batch, &ignored, error), TN_OK);
        value_unref(ignored);
    }
    *error = value_set_take(value_object(), "code", value_text("STORE_BUSY"));
    *error = value_set_take(*error, "message", value_text("busy"));
    return TN_FAILED;
}

static const void *offer(void *self, const char *interface_id) {
    const void *found = real->get(self, interface_id);
    if (!found || strcmp(interface_id, TN_STORE_DRAFT) != 0) return found;
    inner = found;
    outer = *inner;
    outer.commit = intercepted_commit;
    return &outer;
}

static struct kernel open_kernel(struct host *host) {
    static tn_plugin wrapped;
    struct plugin *plugin = registry_plugin(host_registry(host), "tenon.memory");
    struct kernel kernel;
    assert_non_null(plugin);
    assert_int_equal(plugin_load(plugin, NULL), TN_OK);
    real = plugin->plugin;
    wrapped = (tn_plugin){sizeof wrapped, real->self, offer};
    plugin->plugin = &wrapped;
    commits = fail_commit = 0;
    fail_after = false;
    assert_int_equal(kernel_open(host_state(host), &kernel, NULL), TN_OK);
    return kernel;
}

/* ---- Calls ---- */

static tn_value json(const char *text) {
    tn_value value = NULL;
    assert_int_equal(json_read(text, strlen(text), NULL, &value, NULL), TN_OK);
    return value;
}

static tn_value ask_take(const struct kernel *kernel, const char *operation, tn_value arguments) {
    tn_value result = NULL;
    struct error error = ERROR_INIT;
    if (kernel_call_wait(kernel, operation, arguments, &result, &error) != TN_OK)
        fail_msg("%s: %s", operation, error.message);
    return result;
}

static tn_value with_id(const char *id) { return value_set_take(value_object(), "task_id", value_text(id)); }

/* Checks members of the Task. */
static void expect_task(const struct kernel *kernel, const char *id, const char *state, bool waiting,
                        int64_t attempts) {
    tn_value task = ask_take(kernel, "task.get", with_id(id));
    assert_true(value_text_is(value_get(task, "state"), state));
    assert_int_equal(value_to_bool(value_get(task, "waiting")), waiting);
    assert_int_equal(value_to_int(value_get(task, "attempts")), attempts);
    value_unref(task);
}

/* Creates a Task and claims it. Returns the claimed Task. */
static tn_value claim_new(const struct kernel *kernel) {
    value_unref(ask_take(kernel, "task.create", json("{\"task_type\":\"work\"}")));
    return ask_take(kernel, "task.claim", json("{\"claimer_id\":\"w\",\"ttl_seconds\":60}"));
}

static tn_value release_to_wait(tn_value task) {
    tn_value arguments = value_set_take(value_object(), "task_id", value_ref(value_get(task, "task_id")));
    arguments = value_set_take(arguments, "claim_token", value_ref(value_get(task, "claim_token")));
    return value_set_take(arguments, "reason", value_text("wait"));
}

/* ---- Answers ---- */

static void note_run_end(struct run *run, void *user) {
    (void)run;
    *(bool *)user = true;
}

static bool run_is_over(void *user) { return *(const bool *)user; }

/* Runs the thread until it is interrupted. */
static void run_thread(struct host *host, const char *id) {
    struct graph *graph = graph_for_tests(host, "ask", ask_document, NULL);
    struct thread_request request = {.id = id};
    struct run_options options = RUN_OPTIONS_INIT;
    bool over = false;
    assert_int_equal(thread_prepare_wait(host_engine(host), graph, &request, &options, NULL), TN_OK);
    options.ended = note_run_end;
    options.user = &over;
    struct run *run = run_new(graph, &options);
    assert_int_equal(thread_begin(run, &request, NULL, &over, NULL), TN_OK);
    loop_run(host_loop(host), run_is_over, &over);
    assert_int_equal(run_status(run), RUN_INTERRUPTED);
    run_free(run);
    thread_log_free(options.log);
    value_unref(options.loaded);
    graph_unref(graph);
}

static void answer_thread(struct host *host, const char *id, const char *code) {
    tn_value record = NULL;
    struct error error = ERROR_INIT;
    assert_int_equal(thread_show_wait(host_store(host, NULL), id, &record, NULL), TN_OK);
    tn_value interrupt = value_get(value_at(value_get(record, "interrupts"), 0), "id");
    tn_value answers = value_set_key_take(value_object(), value_ref(interrupt), value_text("yes"));
    int32_t status = thread_answer_wait(host_engine(host), id, answers, &error);
    assert_string_equal(status == TN_OK ? "" : error.code, code);
    error_finish(&error);
    value_unref(answers);
    value_unref(record);
}

static bool has_answers(struct host *host, const char *id) {
    tn_value record = NULL;
    assert_int_equal(thread_show_wait(host_store(host, NULL), id, &record, NULL), TN_OK);
    bool found = value_count(value_get(record, "answers")) > 0;
    value_unref(record);
    return found;
}

static void answers_wake(void **state) {
    struct host *host = host_for_tests();
    struct kernel kernel = open_kernel(host);
    (void)state;
    tn_value task = claim_new(&kernel);
    const char *id = value_chars(value_get(task, "task_id"), NULL);
    run_thread(host, id);
    value_unref(ask_take(&kernel, "task.release", release_to_wait(task)));
    expect_task(&kernel, id, "queued", true, 0);
    answer_thread(host, id, "");
    expect_task(&kernel, id, "queued", false, 0);
    assert_true(has_answers(host, id));
    /* A thread that is not that of a Task. */
    run_thread(host, "support");
    answer_thread(host, "support", "");
    value_unref(task);
    host_free(host);
}

/* The answer comes before the worker has released the Task. */
static void early_answers_wake(void **state) {
    struct host *host = host_for_tests();
    struct kernel kernel = open_kernel(host);
    (void)state;
    tn_value task = claim_new(&kernel);
    const char *id = value_chars(value_get(task, "task_id"), NULL);
    run_thread(host, id);
    answer_thread(host, id, "");
    expect_task(&kernel, id, "running", false, 1);
    value_unref(ask_take(&kernel, "task.release", release_to_wait(task)));
    expect_task(&kernel, id, "queued", false, 0);
    value_unref(task);
    host_free(host);
}

/* A commit that fails saves no answer and wakes nothing; a change of the Task in between is not overwritten. */
static void answers_and_wake_are_one_commit(void **state) {
    struct host *host = host_for_tests();
    struct kernel kernel = open_kernel(host);
    (void)state;
    tn_value task = claim_new(&kernel);
    const char *id = value_chars(value_get(task, "task_id"), NULL);
    run_thread(host, id);
    value_unref(ask_take(&kernel, "task.release", release_to_wait(task)));
    fail_commit = commits + 1;
    answer_thread(host, id, "STORE_BUSY");
    expect_task(&kernel, id, "queued", true, 0);
    assert_false(has_answers(host, id));
    tn_value patch = json("{\"payload\":{\"changed\":true}}");
    before_commit = value_push_take(value_array(), store_merge(STORE_TASKS, id, patch));
    answer_thread(host, id, "");
    expect_task(&kernel, id, "queued", false, 0);
    assert_true(has_answers(host, id));
    tn_value found = ask_take(&kernel, "task.get", with_id(id));
    assert_true(value_to_bool(value_get(value_get(found, "payload"), "changed")));
    value_unref(found);
    value_unref(task);
    host_free(host);
}

/* ---- Claims ---- */

static void retry(const struct kernel *kernel, tn_value task) {
    tn_value arguments = value_set_take(release_to_wait(task), "reason", value_text("retry"));
    value_unref(ask_take(kernel, "task.release", arguments));
}

/*
 * The second commit of a claim fails, before or after it was applied: the Task is in the queue, and nothing counts.
 * Only a Task that was claimed before needs a second commit.
 */
static void claims_that_fail_are_given_back(void **state) {
    (void)state;
    for (int after = 0; after < 2; after++) {
        struct host *host = host_for_tests();
        struct kernel kernel = open_kernel(host);
        struct error error = ERROR_INIT;
        tn_value result = NULL;
        tn_value task = ask_take(&kernel, "task.create", json("{\"task_type\":\"work\"}"));
        const char *id = value_chars(value_get(task, "task_id"), NULL);
        tn_value first = ask_take(&kernel, "task.claim", json("{\"claimer_id\":\"u\",\"ttl_seconds\":60}"));
        retry(&kernel, first);
        value_unref(first);
        fail_commit = commits + 2;
        fail_after = after;
        tn_value arguments = json("{\"claimer_id\":\"w\",\"ttl_seconds\":600,\"limit\":5}");
        assert_int_not_equal(kernel_call_wait(&kernel, "task.claim", arguments, &result, &error), TN_OK);
        assert_string_equal(error.code, "STORE_BUSY");
        expect_task(&kernel, id, "queued", false, 1);
        tn_value again = ask_take(&kernel, "task.claim", json("{\"claimer_id\":\"v\",\"ttl_seconds\":60}"));
        assert_true(value_text_is(value_get(again, "task_id"), id));
        expect_task(&kernel, id, "running", false, 2);
        value_unref(again);
        value_unref(task);
        error_finish(&error);
        host_free(host);
    }
}

/*
 * New Tasks need one commit, all others two. The oldest comes first, whatever it is: a retried Task is not overtaken,
 * and Tasks after it, which were never claimed, are claimed with it.
 */
static void new_tasks_are_claimed_by_one_commit(void **state) {
    struct host *host = host_for_tests();
    struct kernel kernel = open_kernel(host);
    tn_value tasks[5];
    (void)state;
    for (size_t i = 0; i < 5; i++) tasks[i] = ask_take(&kernel, "task.create", json("{\"task_type\":\"work\"}"));
    unsigned before = commits;
    tn_value first = ask_take(&kernel, "task.claim", json("{\"claimer_id\":\"u\",\"ttl_seconds\":60}"));
    assert_int_equal(commits, before + 1);
    assert_int_equal(value_to_int(value_get(first, "attempts")), 1);
    tn_value found = ask_take(&kernel, "task.get", with_id(value_chars(value_get(first, "task_id"), NULL)));
    tn_value entry = value_at(value_get(found, "history"), 0);
    assert_true(value_text_is(value_get(entry, "claimed_by"), "u"));
    assert_int_equal(value_to_int(value_get(entry, "attempt")), 1);
    assert_true(value_is(value_get(entry, "ended_at"), TN_NULL));
    value_unref(found);
    /* The retried Task is the third of five, by its time. */
    const char *id = value_chars(value_get(first, "task_id"), NULL);
    retry(&kernel, first);
    tn_value batch = value_array();
    for (size_t i = 0, at = 0; i < 5; i++) {
        const char *one = value_chars(value_get(tasks[i], "task_id"), NULL);
        int64_t time = strcmp(one, id) == 0 ? 25 : (int64_t)(++at * 10);
        batch = value_push_take(
            batch, store_merge(STORE_TASKS, one, value_set_take(value_object(), "claimable_ms", value_int(time))));
    }
    before_commit = batch;
    value_unref(ask_take(&kernel, "task.create", json("{\"task_type\":\"last\"}")));
    before = commits;
    tn_value claimed = ask_take(&kernel, "task.claim",
                                json("{\"claimer_id\":\"v\",\"ttl_seconds\":60,\"limit\":4,\"filter\":"
                                     "{\"task_type\":\"work\",\"attempts\":{\"le\":1}}}"));
    assert_int_equal(commits, before + 2);
    tn_value list = value_get(claimed, "tasks");
    assert_int_equal(value_count(list), 4);
    for (size_t i = 0; i < 4; i++) {
        tn_value task = value_at(list, i);
        assert_int_equal(value_to_int(value_get(task, "attempts")), i == 2 ? 2 : 1);
        assert_int_equal(value_text_is(value_get(task, "task_id"), id), i == 2);
    }
    value_unref(claimed);
    /* The conditions for new Tasks do not replace those of the caller. */
    claimed = ask_take(&kernel, "task.claim",
                       json("{\"claimer_id\":\"v\",\"ttl_seconds\":60,\"filter\":{\"attempts\":{\"ge\":1}}}"));
    assert_true(value_is(claimed, TN_NULL));
    value_unref(first);
    for (size_t i = 0; i < 5; i++) value_unref(tasks[i]);
    host_free(host);
}

/* An older version has written the record: it has neither attempts nor a history. */
static void old_records_are_claimed(void **state) {
    struct host *host = host_for_tests();
    struct kernel kernel = open_kernel(host);
    (void)state;
    before_commit =
        value_push_take(value_array(), store_put(STORE_TASKS, "0",
                                                 json("{\"task_id\":\"0\",\"task_type\":\"old\",\"payload\":{},"
                                                      "\"state\":\"queued\",\"claimable_ms\":1}")));
    value_unref(ask_take(&kernel, "task.create", json("{\"task_type\":\"new\"}")));
    expect_task(&kernel, "0", "queued", false, 0);
    tn_value task = ask_take(&kernel, "task.claim", json("{\"claimer_id\":\"w\",\"ttl_seconds\":60}"));
    assert_true(value_text_is(value_get(task, "task_id"), "0"));
    assert_int_equal(value_to_int(value_get(task, "attempts")), 1);
    value_unref(ask_take(&kernel, "task.release", release_to_wait(task)));
    expect_task(&kernel, "0", "queued", true, 0);
    value_unref(task);
    host_free(host);
}

/* ---- Links ---- */

static int64_t count_links(struct host *host) {
    tn_value query = value_set_take(value_object(), "collection", value_text(STORE_THREAD_ARTIFACTS)), found = NULL;
    query = value_set_take(value_object(), "count", query);
    assert_int_equal(store_query_wait(host_store(host, NULL), query, &found, NULL), TN_OK);
    int64_t count = value_to_int(found);
    value_unref(found);
    return count;
}

static void note_id(void *user, int32_t status, tn_value result, const struct error *error) {
    if (status != TN_OK) fail_msg("%s", error->message);
    *(tn_value *)user = value_ref(value_get(result, "artifact_id"));
}

static bool is_noted(void *user) { return *(tn_value *)user != NULL; }

static void call_for(struct host *host, const struct kernel *kernel, const char *thread, const char *operation,
                     tn_value arguments) {
    tn_value id = NULL;
    kernel_call_for(kernel, kernel_find_operation(operation), &(const struct kernel_caller){.thread_id = thread},
                    arguments, note_id, &id);
    value_unref(arguments);
    loop_run(host_loop(host), is_noted, &id);
    value_unref(id);
}

static void links_go_with_their_thread(void **state) {
    struct host *host = host_for_tests();
    struct kernel kernel = open_kernel(host);
    (void)state;
    run_thread(host, "a");
    run_thread(host, "b");
    for (int i = 0; i < 2; i++) {
        const char *thread = i ? "a" : "b";
        call_for(host, &kernel, thread, "artifact.write", json("{\"media_type\":\"text/plain\",\"body\":\"x\"}"));
        tn_value open = ask_take(&kernel, "artifact.open", json("{\"media_type\":\"text/plain\"}"));
        unsigned before = commits;
        call_for(host, &kernel, thread, "artifact.finish", value_ref(open));
        assert_int_equal(commits, before + 1); /* the Artifact and the link are one commit */
        /* A read of what is linked commits nothing; a failure of the link does not fail the read. */
        call_for(host, &kernel, thread, "artifact.read", value_ref(open));
        assert_int_equal(commits, before + 1);
        fail_commit = commits + 1;
        call_for(host, &kernel, "c", "artifact.read", open);
        assert_int_equal(commits, before + 2);
    }
    assert_int_equal(count_links(host), 4);
    assert_int_equal(thread_delete_wait(host_store(host, NULL), "a", false, NULL), TN_OK);
    assert_int_equal(count_links(host), 2);
    tn_value result = NULL;
    struct store_wait wait = {.done = false};
    threads_collect(host_store(host, NULL), &(const struct threads_policy){.keep = 0, .status = "interrupted"},
                    store_wait_done, &wait);
    assert_int_equal(store_wait_end(&wait, host_loop(host), &result, NULL), TN_OK);
    assert_int_equal(count_links(host), 0);
    value_unref(result);
    host_free(host);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_wake),
        cmocka_unit_test(early_answers_wake),
        cmocka_unit_test(answers_and_wake_are_one_commit),
        cmocka_unit_test(claims_that_fail_are_given_back),
        cmocka_unit_test(new_tasks_are_claimed_by_one_commit),
        cmocka_unit_test(old_records_are_claimed),
        cmocka_unit_test(links_go_with_their_thread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
