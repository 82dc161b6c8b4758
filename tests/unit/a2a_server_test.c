/*
 * a2a_server_test.c - the parts of plugins/a2a_server without a server: recorded runs (tests/protocols/runs) become the
 * events of a stream, in both versions, and a task, which are compared with those in tests/protocols/a2a_server. With
 * TENON_WRITE_GOLDEN=1 the files are written instead. And what is read from messages of both versions.
 */
#include "tests/unit/a2a_server_fakes.h"

/* ---- What a2a_server.c does in the plugin ---- */

static struct tn_text_buffer output;

static void output_add(const char *kind, tn_value value) {
    tn_value json = tn_to_json(value);
    assert_non_null(json);
    (void)tn_text_append_format(&output, "{\"%s\":%s}\n", kind, tn_chars(json, NULL));
    tn_release(json);
}

void exchange_event(struct follower *follower, tn_value event) {
    tn_value old = wire_old(RESULT_EVENT, event);
    (void)follower;
    output_add("event", event);
    output_add("old", old);
    tn_release(old);
}

void exchange_reply(struct exchange *exchange, enum a2a_result kind, tn_value value) {
    (void)exchange, (void)kind;
    output_add("reply", value);
    tn_release(value);
}

void exchange_fail(struct exchange *exchange, enum a2a_kind kind, const char *message) {
    (void)exchange, (void)kind;
    fail_msg("%s", message);
}

void exchange_fail_of(struct exchange *exchange, tn_value error) {
    (void)exchange, (void)error;
    fail();
}

void exchange_abort(struct exchange *exchange) {
    (void)exchange;
    fail();
}

static int32_t TN_ABI fake_respond(const tn_host *host, uint64_t request, tn_value response) {
    (void)host, (void)request, (void)response;
    return TN_OK;
}

static int32_t TN_ABI fake_finish(const tn_host *host, uint64_t request) {
    (void)host, (void)request;
    (void)tn_text_append(&output, "{\"finish\":true}\n");
    return TN_OK;
}

static const tn_server_draft server = {
    .size = sizeof(tn_server_draft), .respond = fake_respond, .finish = fake_finish, .request_as = fake_request_as};

/* ---- Recorded runs as tasks ---- */

/* All notifications that wait, and the bodies of those that were sent. */
static void play_pushes(struct task *task) {
    while (answer(task->pushes, 200) || answer(task->pushes->next, 200)) continue;
    for (uint64_t i = 0; i < tn.value->count(sent); i++) {
        tn_value text = tn_get(tn.value->at(sent, i), "body");
        (void)tn_text_append_format(&output, "{\"notification\":%s}\n", tn_chars(text, NULL));
    }
    tn_release(sent);
    sent = NULL;
}

static void play_task(tn_value lines) {
    struct a2a a2a = {.serving = {.server = &server}, .http = &http};
    struct exchange streams = {.a2a = &a2a, .number = 1}, waits = {.a2a = &a2a, .number = 2};
    struct task *task = task_new(&a2a, 1, "", "task-1", "context-1", "graph");
    assert_non_null(task);
    task->started = true;
    assert_true(task_follow(task, &streams, &(struct follower){.streams = true, .history = -1}));
    assert_true(task_follow(task, &waits, &(struct follower){.history = -1}));
    add_push(task, "new", false);
    add_push(task, "old", true);
    play(lines, task_item, task);
    assert_null(task->followers); /* all have an answer */
    play_pushes(task);
    tasks_free(&a2a);
    assert_int_equal(a2a.push_queued, 0);
    assert_int_equal(a2a.active + a2a.ended, 0);
}

static const char *const runs[] = {"approval", "approved", "cancelled", "client_call", "error",
                                   "image",    "length",   "parallel",  "question",    "reasoning",
                                   "retried",  "source",   "state",     "tools",       "subgraph"};

static void test_recorded_runs(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        int64_t before = blocks;
        tn_value lines = recorded_run(runs[i]);
        play_task(lines);
        expect_golden("a2a_server", runs[i], tn_text_chars(&output));
        tn_text_free(&output);
        output = (struct tn_text_buffer){0};
        tn_release(lines);
        assert_int_equal(blocks, before);
    }
}

/* A run is about to continue after a restart: what its steps have completed is in the task, and it has not ended. */
static void test_replay(void **state) {
    struct a2a a2a = {.serving = {.server = &server}};
    struct task *task = task_new(&a2a, 1, "", "t", "c", "g");
    tn_value item = json_value("{\"name\": \"g\", \"document\": \"graph:g\", \"channels\": [{\"name\": \"messages\", "
                               "\"type\": \"reduce\", \"reducer\": \"messages\"}]}");
    tn_value saved =
        json_value("{\"messages\": [{\"type\": \"human\", \"id\": \"0\", \"content\": \"a\"}, {\"type\": \"ai\", "
                   "\"id\": \"1\", \"content\": \"b\"}, {\"type\": \"human\", \"id\": \"2\", \"content\": \"c\"}, "
                   "{\"type\": \"ai\", \"id\": \"3\", \"content\": \"d\"}], \"artifacts\": [{\"artifactId\": \"x\", "
                   "\"parts\": [{\"text\": \"e\"}]}], \"a2a\": {\"reply\": \"message\"}}");
    struct serving_graph graph;
    (void)state;
    serving_graph_read(item, &graph);
    assert_string_equal(task_replay_part(task, &graph, "2", saved), "3");
    expect_equal(
        task_value(task, -1, true),
        "{\"id\": \"t\", \"contextId\": \"c\", \"status\": {\"state\": \"TASK_STATE_SUBMITTED\", \"timestamp\": "
        "\"2026-11-26T10:00:00.000Z\"}, \"artifacts\": [{\"artifactId\": \"x\", \"parts\": [{\"text\": \"e\"}]}, "
        "{\"artifactId\": \"answer-1\", \"parts\": [{\"text\": \"d\"}]}]}");
    assert_true(task->replies);
    tasks_free(&a2a);
    tn_release(saved);
    tn_release(item);
}

/* ---- Messages ---- */

/* A message of 0.3 becomes one of 1.0, and the same message again. */
static void test_versions(void **state) {
    static const char old[] = "{\"kind\": \"message\", \"role\": \"agent\", \"messageId\": \"m\", \"parts\": ["
                              "{\"kind\": \"text\", \"text\": \"a\"}, {\"kind\": \"data\", \"data\": {\"x_y\": 1}}, "
                              "{\"kind\": \"file\", \"file\": {\"uri\": \"u\", \"mimeType\": \"t\"}}]}";
    (void)state;
    tn_value value = json_value(old), made = wire_message_from_old(value), event = tn_build("{s:v}", "message", made);
    expect_equal(tn_retain(made), "{\"role\": \"ROLE_AGENT\", \"messageId\": \"m\", \"parts\": [{\"text\": \"a\"}, "
                                  "{\"data\": {\"x_y\": 1}}, {\"url\": \"u\", \"mediaType\": \"t\"}]}");
    expect_equal(wire_old(RESULT_EVENT, event), old);
    tn_release(event);
    tn_release(made);
    tn_release(value);
}

static void test_names(void **state) {
    tn_value params =
        json_value("{\"history_length\": 1, \"metadata\": {\"a_b\": 1}, \"message\": {\"message_id\": \"m\", "
                   "\"parts\": [{\"media_type\": \"t\", \"data\": {\"a_b\": 1}}, 7]}}");
    (void)state;
    expect_equal(wire_params_named(params),
                 "{\"historyLength\": 1, \"metadata\": {\"a_b\": 1}, \"message\": {\"messageId\": \"m\", \"parts\": "
                 "[{\"mediaType\": \"t\", \"data\": {\"a_b\": 1}}, 7]}}");
    tn_release(params);
    params = json_value("{\"history_length\": null, \"message\": {\"taskId\": null, \"parts\": [{\"data\": null}]}}");
    expect_equal(wire_params_named(params), "{\"message\": {\"parts\": [{\"data\": null}]}}");
    tn_release(params);
    params = json_value("{\"message\": {\"kind\": \"message\", \"taskId\": null, \"parts\": []}, \"configuration\": "
                        "{\"historyLength\": null, \"pushNotificationConfig\": null}}");
    expect_equal(wire_params_from_old(params),
                 "{\"message\": {\"parts\": []}, \"configuration\": {\"returnImmediately\": false}}");
    tn_release(params);
    params = json_value("{\"a_b\": 1, \"aB\": 2}");
    expect_equal(wire_params_named(params), "{\"a_b\": 1, \"aB\": 2}");
    tn_release(params);
}

static void test_answers(void **state) {
    static const struct {
        const char *part, *interrupts, *answers;
    } rows[] = {
        {"{\"text\": \"yes\"}", "[{\"id\": \"i\", \"payload\": {\"kind\": \"approval\"}}]",
         "{\"i\": {\"approved\": true}}"},
        {"{\"text\": \"too dear\"}", "[{\"id\": \"i\", \"payload\": {\"kind\": \"approval\"}}]",
         "{\"i\": {\"approved\": false, \"reason\": \"too dear\"}}"},
        {"{\"text\": \"7\"}", "[{\"id\": \"i\", \"payload\": {}, \"schema\": {\"type\": \"string\"}}]",
         "{\"i\": \"7\"}"},
        {"{\"text\": \"7\"}", "[{\"id\": \"i\", \"payload\": {}}]", "{\"i\": 7}"},
        {"{\"data\": {\"a\": 1}}", "[{\"id\": \"i\", \"payload\": {}}]", "{\"i\": {\"a\": 1}}"},
        {"{\"data\": {\"a\": 1, \"b\": 2}}", "[{\"id\": \"a\", \"payload\": {}}, {\"id\": \"b\", \"payload\": {}}]",
         "{\"a\": 1, \"b\": 2}"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct a2a_problem problem;
        tn_value message = tn_build("{s:[V]}", "parts", json_value(rows[i].part)),
                 interrupts = json_value(rows[i].interrupts);
        expect_equal(message_answers(message, interrupts, &problem), rows[i].answers);
        tn_release(interrupts);
        tn_release(message);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recorded_runs), cmocka_unit_test(test_replay),  cmocka_unit_test(test_versions),
        cmocka_unit_test(test_names),         cmocka_unit_test(test_answers),
    };
    return cmocka_run_group_tests(tests, util_setup, NULL);
}
