/*
 * server_thread_test.c - methods on saved threads, and several calls of the store at once. Every method is called with
 * success, and the fixture validates its result.
 */
#include "tests/unit/server_state_fixture.h"

/* ---- Threads ---- */

/* Runs the document in a new thread, which then waits for an answer; the id as a new value. */
static tn_value waiting_thread(struct served *served, const char *id) {
    tn_value thread = value_text(id), config = with_text(value_object(), "thread_id", thread);
    tn_value params = value_set_take(value_object(), "text", value_text(ASKS));
    tn_value started = served_result_take(served, "run/start", value_set_take(params, "config", config));
    tn_value run = call_on(served, "run/wait", "run_id", value_get(started, "run_id"), "{}");
    is_text(run, "status", "interrupted");
    value_unref(run);
    value_unref(started);
    return thread;
}

/* The parameters of thread/update; takes nothing. */
static tn_value update_params(tn_value thread, const char *more) {
    return value_set_take(with_text(served_json(more), "thread_id", thread), "text", value_text(ASKS));
}

/* Resumes the thread. */
static void resume_thread(struct served *served, tn_value thread, const char *status) {
    tn_value params = value_set_take(value_object(), "text", value_text(ASKS));
    params = value_set_take(params, "config", with_text(value_object(), "thread_id", thread));
    tn_value started = served_result_take(served, "run/resume", params);
    tn_value run = call_on(served, "run/wait", "run_id", value_get(started, "run_id"), "{}");
    is_text(run, "status", status);
    value_unref(run);
    value_unref(started);
}

/* The schema of records may have members that a record lacks, but not the reverse: the reference would be incomplete.
 */
static void members_are_declared(tn_value record) {
    tn_value declared = value_get(value_get(method_schemas(), "Thread"), "properties");
    for (size_t i = 0; i < value_count(record); i++)
        if (!value_get_key(declared, value_key_at(record, i)))
            fail_msg("the schema Thread does not declare `%s`", value_chars(value_key_at(record, i), NULL));
}

static void threads_are_read(void **state) {
    struct served served;
    (void)state;
    served_open(&served, METHOD_RUN);
    tn_value thread = waiting_thread(&served, "t1"), record = call_on(&served, "thread/get", "thread_id", thread, "{}");
    is_text(record, "status", "interrupted");
    is_text(record, "agent", "asks");
    is_text(value_at(value_get(record, "interrupts"), 0), "node", "greet");
    members_are_declared(record);
    value_unref(record);
    tn_value history = call_on(&served, "thread/history", "thread_id", thread, "{}");
    tn_value first = value_at(value_get(history, "checkpoints"), 0);
    is_text(first, "source", "input");
    assert_true(value_text_is(value_at(value_get(first, "next"), 0), "greet"));
    value_unref(history);
    served_expect(&served, "thread/state", "{\"thread_id\":\"t1\",\"seq\":0}",
                  "{\"state\":{\"name\":\"world\",\"greeting\":null}}");
    served_expect_error(&served, "thread/get", "{\"thread_id\":\"t2\"}", "NOT_FOUND", "t2");
    served_expect_error(&served, "thread/history", "{\"thread_id\":\"t2\"}", "NOT_FOUND", "t2");
    served_expect_error(&served, "thread/state", "{\"thread_id\":\"t1\",\"seq\":9}", "NOT_FOUND", "9");
    served_expect_error(&served, "thread/state", "{\"thread_id\":\"t1\",\"seq\":-1}", "INVALID_INPUT", "at /seq");
    served_expect_error(&served, "thread/get", "{\"thread_id\":\"\"}", "INVALID_INPUT", "at /thread_id");
    value_unref(thread);
    served_close(&served);
}

static size_t listed(struct served *served, const char *params) {
    return count_of_take(served_result(served, "thread/list", params), "threads");
}

static void threads_are_listed(void **state) {
    struct served served;
    (void)state;
    served_open(&served, METHOD_RUN);
    value_unref(waiting_thread(&served, "t1"));
    value_unref(waiting_thread(&served, "t2"));
    tn_value done = waiting_thread(&served, "t3");
    resume_thread(&served, done, "done");
    value_unref(done);
    assert_int_equal(listed(&served, "{}"), 3);
    assert_int_equal(listed(&served, "{\"status\":\"interrupted\"}"), 2);
    assert_int_equal(listed(&served, "{\"agent\":\"asks\",\"status\":\"done\"}"), 1);
    assert_int_equal(listed(&served, "{\"agent\":\"other\"}"), 0);
    assert_int_equal(listed(&served, "{\"since\":1}"), 3);
    assert_int_equal(listed(&served, "{\"before\":1}"), 0);
    assert_int_equal(listed(&served, "{\"since\":\"2020-01-01\",\"before\":\"9999-12-31T23:59:59+01:00\"}"), 3);
    assert_int_equal(listed(&served, "{\"since\":\"9999-01-01\"}"), 0);
    /* Pages of one thread. */
    tn_value seen = value_object(), page = served_result(&served, "thread/list", "{\"limit\":1}");
    for (;;) {
        tn_value id = value_get(value_at(value_get(page, "threads"), 0), "thread_id");
        seen = value_set_key_take(seen, value_ref(id), value_bool(true));
        if (!value_to_bool(value_get(page, "more"))) break;
        tn_value next = call_on(&served, "thread/list", "after", id, "{\"limit\":1}");
        value_unref(page);
        page = next;
    }
    assert_int_equal(value_count(seen), 3);
    value_unref(seen);
    value_unref(page);
    served_expect_error(&served, "thread/list", "{\"since\":\"yesterday\"}", "INVALID_INPUT",
                        "`since`: found `yesterday`");
    served_expect_error(&served, "thread/list", "{\"before\":-1}", "INVALID_INPUT", "at /before");
    served_expect_error(&served, "thread/list", "{\"status\":\"waiting\"}", "INVALID_INPUT", "at /status");
    served_expect_error(&served, "thread/list", "{\"after\":\"nothing\"}", "NOT_FOUND", "nothing");
    served_close(&served);
}

static void threads_are_changed(void **state) {
    struct served served;
    (void)state;
    served_open(&served, METHOD_RUN);
    tn_value thread = waiting_thread(&served, "t1"), record = call_on(&served, "thread/get", "thread_id", thread, "{}");
    tn_value interrupt = value_get(value_at(value_get(record, "interrupts"), 0), "id");
    tn_value answers = value_set_key_take(value_object(), value_ref(interrupt), value_bool(true));
    value_unref(record);
    fails_on(&served, "thread/answer", "thread_id", thread, "{\"answers\":{\"nothing\":1}}", "INVALID_INPUT");
    fails_on(&served, "thread/answer", "thread_id", thread, "{\"answers\":{}}", "INVALID_INPUT");
    value_unref(served_result_take(&served, "thread/answer",
                                   value_set_take(with_text(value_object(), "thread_id", thread), "answers", answers)));
    record = call_on(&served, "thread/get", "thread_id", thread, "{}");
    assert_int_equal(value_count(value_get(record, "answers")), 1);
    members_are_declared(record);
    value_unref(record);
    /* A fork of the newest checkpoint has the answer, too. */
    call_for(&served, "thread/fork", "thread_id", thread, "{\"new_thread_id\":\"t2\"}");
    fails_on(&served, "thread/fork", "thread_id", thread, "{\"new_thread_id\":\"t2\",\"seq\":0}", "EXISTS");
    served_expect_error(&served, "thread/fork", "{\"thread_id\":\"x\",\"new_thread_id\":\"y\"}", "NOT_FOUND", "x");
    tn_value fork = value_text("t2");
    record = call_on(&served, "thread/get", "thread_id", fork, "{}");
    is_text(value_get(record, "parent"), "thread_id", "t1");
    members_are_declared(record);
    value_unref(record);
    value_unref(
        served_result_take(&served, "thread/update", update_params(thread, "{\"channels\":{\"name\":\"Ada\"}}")));
    resume_thread(&served, thread, "interrupted"); /* an update starts the step again, so the question is asked again */
    resume_thread(&served, thread, "done");
    resume_thread(&served, fork, "done");
    served_expect(&served, "thread/state", "{\"thread_id\":\"t1\"}",
                  "{\"state\":{\"name\":\"Ada\",\"greeting\":\"Hello, Ada!\"}}");
    served_expect(&served, "thread/state", "{\"thread_id\":\"t2\"}",
                  "{\"state\":{\"name\":\"world\",\"greeting\":\"Hello, world!\"}}");
    value_unref(fork);
    value_unref(thread);
    served_close(&served);
}

static void update_fails(struct served *served, tn_value thread, const char *more, const char *code) {
    tn_value outcome = served_call_as(served, served->client, "thread/update", update_params(thread, more));
    is_text(value_get(outcome, "error"), "code", code);
    value_unref(outcome);
}

static void updates_are_checked(void **state) {
    struct served served;
    (void)state;
    served_open(&served, METHOD_RUN);
    tn_value thread = waiting_thread(&served, "t1"), unknown = value_text("t2");
    tn_value outcome = served_call_as(&served, served.client, "thread/update",
                                      update_params(unknown, "{\"channels\":{\"name\":\"Ada\"}}"));
    is_text(value_get(outcome, "error"), "code", "NOT_FOUND");
    value_unref(outcome);
    outcome =
        served_call_as(&served, served.client, "thread/update", update_params(thread, "{\"channels\":{\"x\":1}}"));
    assert_non_null(value_get(outcome, "error"));
    value_unref(outcome);
    outcome = served_call_as(&served, served.client, "thread/update",
                             update_params(thread, "{\"channels\":{\"name\":\"Ada\"},\"as\":\"nothing\"}"));
    assert_non_null(value_get(outcome, "error"));
    value_unref(outcome);
    update_fails(&served, thread, "{\"channels\":{},\"next\":[\"greet\\u0000x\"]}", "INVALID_INPUT");
    update_fails(&served, thread, "{\"channels\":{},\"next\":[{\"node\":\"greet\\u0000x\",\"input\":1}]}",
                 "INVALID_INPUT");
    update_fails(&served, unknown, "{\"channels\":{},\"create\":true,\"seq\":0}",
                 "NOT_FOUND"); /* it has no checkpoint */
    served_expect_error(&served, "thread/get", "{\"thread_id\":\"t2\"}", "NOT_FOUND", "t2");
    fails_on(&served, "thread/update", "thread_id", thread, "{\"channels\":{},\"document\":\"/no/such.yaml\"}", "IO");
    fails_on(&served, "thread/update", "thread_id", thread, "{\"channels\":{}}", "INVALID_INPUT");
    /* As its node: nothing is left to do. */
    value_unref(served_result_take(&served, "thread/update",
                                   update_params(thread, "{\"channels\":{\"greeting\":\"Hi\"},\"as\":\"greet\"}")));
    tn_value record = call_on(&served, "thread/get", "thread_id", thread, "{}");
    is_text(record, "status", "done");
    value_unref(record);
    value_unref(thread);
    value_unref(unknown);
    served_close(&served);
}

static void threads_are_moved_and_removed(void **state) {
    struct served served;
    (void)state;
    served_open(&served, METHOD_ADMIN);
    tn_value thread = waiting_thread(&served, "t1"),
             exported = call_on(&served, "thread/export", "thread_id", thread, "{}");
    served_expect_error(&served, "thread/export", "{\"thread_id\":\"x\"}", "NOT_FOUND", "x");
    fails_on(&served, "thread/import", "thread", exported, "{}", "EXISTS");
    call_for(&served, "thread/import", "thread", exported, "{\"replace\":true}");
    call_for(&served, "thread/import", "thread", exported, "{\"thread_id\":\"t2\"}");
    served_expect_error(&served, "thread/import", "{\"thread\":{\"format\":\"x\"}}", "INVALID_INPUT", "at /thread");
    tn_value broken = value_set_take(value_ref(exported), "checkpoints", value_array());
    fails_on(&served, "thread/import", "thread", broken, "{\"thread_id\":\"t3\"}", "INVALID_INPUT");
    value_unref(broken);
    value_unref(exported);
    call_for(&served, "thread/delete", "thread_id", thread, "{}");
    fails_on(&served, "thread/delete", "thread_id", thread, "{\"force\":true}", "NOT_FOUND");
    value_unref(thread);
    tn_value imported = value_text("t2"), record = call_on(&served, "thread/get", "thread_id", imported, "{}");
    is_text(record, "status", "interrupted");
    members_are_declared(record);
    value_unref(record);
    resume_thread(&served, imported, "done");
    value_unref(imported);
    served_expect_error(&served, "thread/collect", "{}", "INVALID_INPUT", "limits.thread_days");
    served_expect(&served, "thread/collect", "{\"before\":1}", "{\"threads\":0,\"graphs\":0}");
    served_expect(&served, "thread/collect", "{\"before\":\"9999-01-01\",\"keep\":1}", "{\"threads\":0,\"graphs\":0}");
    served_expect(&served, "thread/collect", "{\"keep\":0,\"dry_run\":true}", "{\"threads\":1,\"graphs\":1}");
    served_expect(&served, "thread/collect", "{\"keep\":0,\"status\":\"failed\"}", "{\"threads\":0,\"graphs\":0}");
    served_expect(&served, "thread/collect", "{\"keep\":0}", "{\"threads\":1,\"graphs\":1}");
    assert_int_equal(listed(&served, "{}"), 0);
    served_close(&served);
}

/* ---- Several calls at once ---- */

static void calls_overlap(void **state) {
    enum { CALLS = 40 };
    struct served served;
    struct served_call calls[CALLS];
    (void)state;
    served_open(&served, METHOD_RUN);
    tn_value thread = waiting_thread(&served, "t1"), seen = value_object();
    for (unsigned i = 0; i < CALLS; i++) {
        static const char *const methods[] = {"task/create", "memory/put", "thread/get", "artifact/write"};
        tn_value params = i % 4 == 0   ? served_json("{\"task_type\":\"t\"}")
                          : i % 4 == 1 ? served_json("{\"namespace\":[\"n\"],\"key\":\"k\",\"value\":1}")
                          : i % 4 == 2 ? with_text(value_object(), "thread_id", thread)
                                       : served_json("{\"media_type\":\"text/plain\",\"body\":\"x\"}");
        served_start(&served, served.client, methods[i % 4], params, &calls[i]);
        assert_false(calls[i].ended);
    }
    call_cancel(calls[0].call); /* its Task is created nevertheless, or not: only the call has ended */
    for (unsigned i = CALLS; i-- > 0;) {
        tn_value outcome = served_finish(&served, &calls[i]);
        assert_int_equal(value_get(outcome, "result") != NULL, i > 0);
        tn_value id = value_get(value_get(outcome, "result"), "task_id");
        if (id) seen = value_set_key_take(seen, value_ref(id), value_bool(true));
        value_unref(outcome);
    }
    assert_int_equal(value_count(seen), CALLS / 4 - 1);
    value_unref(seen);
    value_unref(thread);
    served_close(&served);
}

/* Requests end before the server is freed, also one whose call was cancelled. */
static void requests_end_with_the_server(void **state) {
    enum { CANCELLED, UPDATED, ANSWERED, READ, CALLS };
    struct served served;
    struct served_call calls[CALLS];
    (void)state;
    served_open(&served, METHOD_RUN);
    tn_value cancelled = waiting_thread(&served, "t1"), updated = waiting_thread(&served, "t2");
    const char *const change = "{\"channels\":{\"name\":\"Ada\"}}";
    served_start(&served, served.client, "thread/update", update_params(cancelled, change), &calls[CANCELLED]);
    served_start(&served, served.client, "thread/update", update_params(updated, change), &calls[UPDATED]);
    served_start(&served, served.client, "thread/answer", served_json("{\"thread_id\":\"x\",\"answers\":{\"a\":1}}"),
                 &calls[ANSWERED]);
    served_start(&served, served.client, "thread/get", served_json("{\"thread_id\":\"t1\"}"), &calls[READ]);
    call_cancel(calls[CANCELLED].call);
    server_free(served.server);
    static const char *const codes[CALLS] = {"CANCELLED", NULL, "NOT_FOUND", NULL};
    for (unsigned i = 0; i < CALLS; i++) {
        assert_null(call_lookup_open(call_token(calls[i].call)));
        tn_value outcome = served_finish(&served, &calls[i]);
        if (codes[i])
            is_text(value_get(outcome, "error"), "code", codes[i]);
        else
            assert_non_null(value_get(outcome, "result"));
        value_unref(outcome);
    }
    served.server = server_new(served.host);
    served.client = served_client(&served, "later", METHOD_READ);
    served_expect(&served, "thread/state", "{\"thread_id\":\"t1\"}",
                  "{\"state\":{\"name\":\"Ada\",\"greeting\":null}}");
    served_expect(&served, "thread/state", "{\"thread_id\":\"t2\"}",
                  "{\"state\":{\"name\":\"Ada\",\"greeting\":null}}");
    value_unref(cancelled);
    value_unref(updated);
    served_close(&served);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_are_read),
        cmocka_unit_test(threads_are_listed),
        cmocka_unit_test(threads_are_changed),
        cmocka_unit_test(updates_are_checked),
        cmocka_unit_test(threads_are_moved_and_removed),
        cmocka_unit_test(calls_overlap),
        cmocka_unit_test(requests_end_with_the_server),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
