/*
 * server_state_test.c - methods on what the store keeps: threads, Tasks, Artifacts and memories. Every method is called
 * with success, and the fixture validates its result.
 */
#include "tests/unit/server_fixture.h"

/* Waits before its node. */
#define ASKS                                                                                                           \
    "version: \"1.0\"\nagent: {name: asks}\nchannels: [{name: name, type: last_value, default: world}, "               \
    "{name: greeting, type: last_value}]\nnodes: [{id: greet, type: prompt, interrupt: before, config: {template: "    \
    "\"Hello, {name}!\", output_key: greeting}}]\nedges: [{from: START, to: greet}, {from: greet, to: END}]\n"

/* ---- Helpers ---- */

static void is_text(tn_value object, const char *member, const char *expected) {
    if (!value_text_is(value_get(object, member), expected)) {
        char *text = json_text(object, JSON_COMPACT);
        fail_msg("%s: expected %s: %s", text, member, expected);
    }
}

static tn_value with_text(tn_value params_take, const char *name, tn_value text) {
    return value_set_take(params_take, name, value_ref(text));
}

/* The result of a call with the members `more` (JSON) and `name`: `id`; a new reference. */
static tn_value call_on(struct served *served, const char *method, const char *name, tn_value id, const char *more) {
    return served_result_take(served, method, with_text(served_json(more), name, id));
}

/* Makes a call and releases its result. */
static void call_for(struct served *served, const char *method, const char *name, tn_value id, const char *more) {
    value_unref(call_on(served, method, name, id, more));
}

/* The call must fail with this code. */
static void fails_on(struct served *served, const char *method, const char *name, tn_value id, const char *more,
                     const char *code) {
    tn_value outcome = served_call_as(served, served->client, method, with_text(served_json(more), name, id));
    is_text(value_get(outcome, "error"), "code", code);
    value_unref(outcome);
}

/* A new reference to a member; releases `object`. */
static tn_value member_take(tn_value object, const char *name) {
    tn_value member = value_ref(value_get(object, name));
    value_unref(object);
    return member;
}

static size_t count_of_take(tn_value page, const char *name) {
    size_t count = value_count(value_get(page, name));
    value_unref(page);
    return count;
}

/* ---- Tasks ---- */

static void tasks_are_claimed_and_completed(void **state) {
    struct served served;
    (void)state;
    served_open(&served, METHOD_RUN);
    served_expect(&served, "task/claim", "{\"claimer_id\":\"w\",\"ttl_seconds\":60}", "null");
    tn_value id = member_take(served_result(&served, "task/create",
                                            "{\"task_type\":\"t\",\"payload\":{\"n\":1},"
                                            "\"idempotency_key\":\"once\"}"),
                              "task_id");
    tn_value again = member_take(
        served_result(&served, "task/create", "{\"task_type\":\"t\",\"idempotency_key\":\"once\"}"), "task_id");
    assert_true(value_equal(id, again));
    value_unref(again);
    tn_value task = call_on(&served, "task/update", "task_id", id, "{\"patch\":{\"payload\":{\"to\":\"de\"}}}");
    is_text(value_get(task, "payload"), "to", "de");
    value_unref(task);
    fails_on(&served, "task/update", "task_id", id, "{\"patch\":{\"state\":\"done\"}}", "INVALID_TRANSITION");
    fails_on(&served, "task/complete", "task_id", id, "{\"claim_token\":\"x\"}", "INVALID_TRANSITION");
    tn_value token =
        member_take(served_result(&served, "task/claim",
                                  "{\"claimer_id\":\"w\",\"ttl_seconds\":60,\"filter\":{\"task_type\":[\"s\",\"t\"]}}"),
                    "claim_token");
    fails_on(&served, "task/renew", "task_id", id, "{\"claim_token\":\"x\",\"ttl_seconds\":60}", "CLAIM_LOST");
    tn_value params = with_text(served_json("{\"ttl_seconds\":0.5}"), "claim_token", token);
    task = served_result_take(&served, "task/renew", with_text(params, "task_id", id));
    is_text(task, "claimed_by", "w");
    value_unref(task);
    params = with_text(served_json("{\"error\":\"no words\"}"), "claim_token", token);
    task = served_result_take(&served, "task/fail", with_text(params, "task_id", id));
    is_text(task, "state", "failed");
    is_text(value_get(task, "error"), "message", "no words");
    value_unref(task);
    value_unref(token);
    call_for(&served, "task/update", "task_id", id, "{\"patch\":{\"state\":\"queued\"}}");
    token =
        member_take(served_result(&served, "task/claim", "{\"claimer_id\":\"w\",\"ttl_seconds\":60}"), "claim_token");
    params = with_text(served_json("{\"artifact_refs\":[\"a\"]}"), "claim_token", token);
    task = served_result_take(&served, "task/complete", with_text(params, "task_id", id));
    is_text(task, "state", "done");
    value_unref(task);
    task = call_on(&served, "task/get", "task_id", id, "{}");
    is_text(task, "state", "done");
    assert_int_equal(value_count(value_get(task, "artifact_refs")), 1);
    value_unref(task);
    value_unref(token);
    value_unref(id);
    served_close(&served);
}

static void tasks_are_listed(void **state) {
    struct served served;
    (void)state;
    served_open(&served, METHOD_RUN);
    for (int i = 0; i < 5; i++)
        value_unref(
            served_result(&served, "task/create", i % 2 ? "{\"task_type\":\"odd\"}" : "{\"task_type\":\"even\"}"));
    assert_int_equal(
        count_of_take(served_result(&served, "task/list", "{\"filter\":{\"task_type\":\"even\"}}"), "tasks"), 3);
    tn_value page = served_result(&served, "task/list", "{\"limit\":3,\"order\":[\"task_type\"],\"reverse\":true}");
    assert_true(value_to_bool(value_get(page, "more")));
    tn_value last = value_get(value_at(value_get(page, "tasks"), 2), "task_id");
    tn_value rest =
        call_on(&served, "task/list", "after", last, "{\"limit\":3,\"order\":[\"task_type\"],\"reverse\":true}");
    assert_false(value_to_bool(value_get(rest, "more")));
    assert_int_equal(count_of_take(rest, "tasks"), 2);
    value_unref(page);
    served_expect_error(&served, "task/list", "{\"filter\":{\"stat\":\"done\"}}", "INVALID_INPUT",
                        "did you mean `state`?");
    served_expect_error(&served, "task/list", "{\"limit\":1001}", "INVALID_INPUT", "at /limit");
    served_expect_error(&served, "task/list", "{\"after\":\"nothing\",\"order\":[\"state\"]}", "NOT_FOUND", "nothing");
    served_expect_error(&served, "task/list", "{\"after\":\"nothing\"}", "NOT_FOUND", "found no Task `nothing`");
    served_expect_error(&served, "task/get", "{\"task_id\":\"nothing\"}", "NOT_FOUND", "task.get: found no Task");
    served_expect_error(&served, "task/create", "{}", "INVALID_INPUT", "task_type");
    served_expect_error(&served, "task/create", "{\"task_type\":\"t\",\"stat\":1}", "INVALID_INPUT", "stat");
    served_expect_error(&served, "task/claim", "{\"claimer_id\":\"w\",\"ttl_seconds\":0}", "INVALID_INPUT",
                        "at /ttl_seconds");
    served_close(&served);
}

/* ---- Artifacts ---- */

static void artifacts_are_written_and_read(void **state) {
    struct served served;
    (void)state;
    served_open(&served, METHOD_RUN);
    tn_value id = member_take(
        served_result(&served, "artifact/write",
                      "{\"media_type\":\"text/plain\",\"body\":\"blue a\\u0000b\",\"metadata\":{\"title\":\"sky\"}}"),
        "artifact_id");
    tn_value read = call_on(&served, "artifact/read", "artifact_id", id, "{}"), body = value_get(read, "body");
    size_t length = 0;
    assert_true(value_is(body, TN_STRING));
    assert_memory_equal(value_chars(body, &length), "blue a\0b", 9);
    assert_int_equal(length, 8);
    value_unref(read);
    read = call_on(&served, "artifact/read", "artifact_id", id, "{\"offset\":1,\"length\":3}");
    body = value_get(read, "body");
    assert_true(value_is(body, TN_BYTES));
    assert_memory_equal(value_data(body, &length), "lue", 3);
    assert_int_equal(length, 3);
    value_unref(read);
    read = call_on(&served, "artifact/read", "artifact_id", id, "{\"offset\":100}");
    (void)value_data(value_get(read, "body"), &length);
    assert_int_equal(length, 0);
    value_unref(read);
    /* As bytes, and as a part of a message. */
    tn_value written =
        served_result(&served, "artifact/write", "{\"media_type\":\"image/png\",\"body\":{\"$bytes\":\"AAEC\"}}");
    assert_int_equal(value_to_int(value_get(written, "size")), 3);
    value_unref(written);
    written = served_result(&served, "artifact/write",
                            "{\"body\":{\"type\":\"image\",\"media_type\":\"image/gif\",\"data\":\"AAECAw==\"}}");
    is_text(written, "media_type", "image/gif");
    assert_int_equal(value_to_int(value_get(written, "size")), 4);
    value_unref(written);
    value_unref(id);
    assert_int_equal(count_of_take(served_result(&served, "artifact/search", "{\"query\":\"blue sky\"}"), "artifacts"),
                     1);
    tn_value page = served_result(&served, "artifact/search", "{\"limit\":2}");
    assert_true(value_to_bool(value_get(page, "more")));
    tn_value last = value_get(value_at(value_get(page, "artifacts"), 1), "artifact_id");
    assert_int_equal(count_of_take(call_on(&served, "artifact/search", "after", last, "{}"), "artifacts"), 1);
    value_unref(page);
    served_expect_error(&served, "artifact/search", "{\"query\":\"sky\",\"after\":\"x\"}", "INVALID_INPUT",
                        "no further pages");
    served_expect_error(&served, "artifact/read", "{\"artifact_id\":\"nothing\"}", "NOT_FOUND", "nothing");
    served_expect_error(&served, "artifact/write", "{\"body\":\"x\"}", "INVALID_INPUT", "`media_type`: it is missing");
    served_expect_error(&served, "artifact/write", "{\"media_type\":\"a/b\",\"body\":7}", "INVALID_INPUT",
                        "at /body: found the number 7, expected a string, bytes or an object");
    served_expect_error(&served, "artifact/write", "{\"media_type\":\"a/b\",\"body\":{\"$bytes\":\"?\"}}",
                        "INVALID_INPUT", "artifact.write: `body`: found an object whose `$bytes` is not base64");
    served_close(&served);
}

static void artifacts_are_uploaded(void **state) {
    struct served served;
    (void)state;
    served_open(&served, METHOD_RUN);
    tn_value id =
        member_take(served_result(&served, "artifact/open", "{\"media_type\":\"text/plain\"}"), "artifact_id");
    call_for(&served, "artifact/append", "artifact_id", id, "{\"offset\":0,\"data\":\"one \"}");
    call_for(&served, "artifact/append", "artifact_id", id, "{\"offset\":0,\"data\":\"one \"}"); /* a repetition */
    tn_value size =
        call_on(&served, "artifact/append", "artifact_id", id, "{\"offset\":4,\"data\":{\"$bytes\":\"dHdv\"}}");
    assert_int_equal(value_to_int(value_get(size, "size")), 7);
    value_unref(size);
    fails_on(&served, "artifact/append", "artifact_id", id, "{\"offset\":9,\"data\":\"x\"}", "INVALID_INPUT");
    fails_on(&served, "artifact/append", "artifact_id", id, "{\"offset\":7,\"data\":\"\"}", "INVALID_INPUT");
    fails_on(&served, "artifact/read", "artifact_id", id, "{}", "NOT_FOUND");
    call_for(&served, "artifact/finish", "artifact_id", id, "{}");
    tn_value read = call_on(&served, "artifact/read", "artifact_id", id, "{}");
    is_text(read, "body", "one two");
    value_unref(read);
    fails_on(&served, "artifact/finish", "artifact_id", id, "{}", "NOT_FOUND");
    value_unref(id);
    id = member_take(served_result(&served, "artifact/open", "{\"media_type\":\"a/b\",\"metadata\":{\"n\":1}}"),
                     "artifact_id");
    call_for(&served, "artifact/append", "artifact_id", id, "{\"offset\":0,\"data\":\"x\"}");
    call_for(&served, "artifact/abandon", "artifact_id", id, "{}");
    fails_on(&served, "artifact/abandon", "artifact_id", id, "{}", "NOT_FOUND");
    value_unref(id);
    served_close(&served);
}

/* ---- Memories ---- */

static void memories_are_found(void **state) {
    struct served served;
    (void)state;
    served_open(&served, METHOD_RUN);
    served_expect(&served, "memory/get", "{\"namespace\":[\"users\",\"ada\"],\"key\":\"k\"}", "null");
    tn_value memory = served_result(&served, "memory/put",
                                    "{\"namespace\":[\"users\",\"ada\"],\"key\":\"k\",\"value\":{\"likes\":\"coffee\"},"
                                    "\"ttl_seconds\":3600}");
    assert_true(value_is(value_get(memory, "expires_at"), TN_STRING));
    value_unref(memory);
    value_unref(served_result(&served, "memory/put",
                              "{\"namespace\":[\"users\",\"ada\"],\"key\":\"nul\",\"value\":\"a\\u0000b\"}"));
    value_unref(served_result(&served, "memory/put",
                              "{\"namespace\":[\"users\",\"bob\"],\"key\":\"n\",\"value\":null,"
                              "\"text\":\"tea\"}"));
    memory = served_result(&served, "memory/get", "{\"namespace\":[\"users\",\"ada\"],\"key\":\"k\"}");
    is_text(value_get(memory, "value"), "likes", "coffee");
    value_unref(memory);
    assert_int_equal(
        count_of_take(served_result(&served, "memory/search", "{\"namespace\":[\"users\"],\"query\":\"tea\"}"),
                      "memories"),
        1);
    assert_int_equal(
        count_of_take(served_result(&served, "memory/search", "{\"filter\":{\"likes\":\"coffee\"}}"), "memories"), 1);
    served_expect(&served, "memory/namespaces", "{}",
                  "{\"namespaces\":[[\"users\",\"ada\"],[\"users\",\"bob\"]],\"more\":false}");
    served_expect(&served, "memory/namespaces", "{\"depth\":1}", "{\"namespaces\":[[\"users\"]],\"more\":false}");
    assert_int_equal(count_of_take(served_result(&served, "memory/search",
                                                 "{\"after\":{\"namespace\":[\"users\",\"ada\"],\"key\":\"nul\"}}"),
                                   "memories"),
                     1);
    served_expect(&served, "memory/delete", "{\"namespace\":[\"users\",\"bob\"],\"key\":\"n\"}", "{}");
    served_expect(&served, "memory/delete", "{\"namespace\":[\"users\",\"bob\"],\"key\":\"n\"}", "{}");
    assert_int_equal(count_of_take(served_result(&served, "memory/search", "{}"), "memories"), 2);
    served_expect_error(&served, "memory/put", "{\"namespace\":[],\"key\":\"k\",\"value\":1}", "INVALID_INPUT",
                        "at /namespace");
    served_expect_error(&served, "memory/put", "{\"namespace\":[\"a\"],\"key\":\"k\"}", "INVALID_INPUT", "value");
    served_expect_error(&served, "memory/search", "{\"query\":\"a\",\"vector\":[1]}", "INVALID_INPUT", "only one");
    served_expect_error(&served, "memory/search", "{\"vector\":[\"x\"]}", "INVALID_INPUT", "at /vector/0");
    served_close(&served);
}

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

/* ---- Stores that fail, rights ---- */

static bool is_state_method(const struct method *method) {
    static const char *const groups[] = {"thread/", "task/", "artifact/", "memory/"};
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        if (strncmp(method->name, groups[i], strlen(groups[i])) == 0) return true;
    return false;
}

/* Every method fails with the error of the store: one that does not exist, and one that refuses its options. */
static void every_method_reports_the_store(void **state) {
    static const struct {
        const char *options, *code;
    } stores[] = {{"{\"use\":\"nothing\"}", "STORE_NOT_FOUND"}, {"{\"use\":\"memory\",\"colour\":\"red\"}", "INVALID"}};
    (void)state;
    for (size_t i = 0; i < sizeof stores / sizeof *stores; i++) {
        const struct method *method;
        struct served served;
        unsigned count = 0;
        served_open(&served, METHOD_ADMIN);
        host_set_store_options_take(served.host, served_json(stores[i].options));
        for (size_t at = 0; (method = method_at(at)) != NULL; at++) {
            if (!is_state_method(method)) continue;
            tn_value params = value_ref(value_get(value_get(method->row, "example"), "params"));
            if (value_get(params, "document")) {
                params = value_remove_take(params, value_text("document"));
                params = value_set_take(params, "text", value_text(ASKS));
            }
            tn_value outcome = served_call_as(&served, served.client, method->name, params);
            is_text(value_get(outcome, "error"), "code", stores[i].code);
            value_unref(outcome);
            count++;
        }
        assert_int_equal(count, 11 + 8 + 7 + 5);
        served_close(&served);
    }
}

static void readers_change_nothing(void **state) {
    static const char *const reads[] = {"thread/list",     "thread/get", "thread/history", "thread/state",
                                        "thread/export",   "task/get",   "task/list",      "artifact/read",
                                        "artifact/search", "memory/get", "memory/search",  "memory/namespaces"};
    static const char *const admins[] = {"thread/delete", "thread/import", "thread/collect"};
    const struct method *method;
    (void)state;
    for (size_t at = 0; (method = method_at(at)) != NULL; at++) {
        enum method_scope scope = METHOD_RUN;
        if (!is_state_method(method)) continue;
        for (size_t i = 0; i < sizeof reads / sizeof *reads; i++)
            if (strcmp(method->name, reads[i]) == 0) scope = METHOD_READ;
        for (size_t i = 0; i < sizeof admins / sizeof *admins; i++)
            if (strcmp(method->name, admins[i]) == 0) scope = METHOD_ADMIN;
        if (method->scope != scope) fail_msg("%s has the scope %s", method->name, method_scope_name(method->scope));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tasks_are_claimed_and_completed),
        cmocka_unit_test(tasks_are_listed),
        cmocka_unit_test(artifacts_are_written_and_read),
        cmocka_unit_test(artifacts_are_uploaded),
        cmocka_unit_test(memories_are_found),
        cmocka_unit_test(threads_are_read),
        cmocka_unit_test(threads_are_listed),
        cmocka_unit_test(threads_are_changed),
        cmocka_unit_test(updates_are_checked),
        cmocka_unit_test(threads_are_moved_and_removed),
        cmocka_unit_test(calls_overlap),
        cmocka_unit_test(requests_end_with_the_server),
        cmocka_unit_test(every_method_reports_the_store),
        cmocka_unit_test(readers_change_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
