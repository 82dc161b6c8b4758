/*
 * langgraph_server_test.c - the pure parts of plugins/langgraph_server: recorded runs (tests/protocols/runs) become
 * events of a stream in all modes, which are compared with those in tests/protocols/langgraph/streams; messages and ids
 * are converted. With TENON_WRITE_GOLDEN=1 the files are written instead.
 */
#include "tests/unit/recorded_runs.h"

#include "plugins/langgraph_server/langgraph.h"

static void on_event(void *user, const char *name, tn_value data) {
    tn_value json = tn_to_json(data);
    assert_non_null(json);
    (void)tn_text_append_format(user, "{\"event\":\"%s\",\"data\":%s}\n", name, tn_chars(json, NULL));
    tn_release(json);
}

static void play_stream(const char *name, unsigned modes, bool subgraphs, struct tn_text_buffer *out) {
    tn_value lines = recorded_run(name);
    struct events events = {.modes = modes,
                            .subgraphs = subgraphs,
                            .run_id = "run-1",
                            .thread_id = "thread-1",
                            .graph = name,
                            .send = on_event,
                            .user = out};
    for (uint64_t i = 1, count = tn.value->count(lines); i < count; i++) {
        tn_value event = tn.value->at(lines, i);
        if (is_result(event))
            events_end(&events, event);
        else
            events_take(&events, event);
    }
    events_close(&events);
    tn_release(lines);
}

static const char *const runs[] = {"approval", "approved", "cancelled", "client_call", "error", "image", "length",
                                   "parallel", "question", "reasoning", "retried",     "state", "tools", "subgraph"};

#define ALL_MODES 511u

static void test_recorded_runs(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        int64_t before = blocks;
        struct tn_text_buffer text = TN_TEXT_BUFFER(1 << 20);
        play_stream(runs[i], ALL_MODES, true, &text);
        expect_golden("langgraph/streams", runs[i], tn_text_chars(&text));
        tn_text_free(&text);
        assert_int_equal(blocks, before);
    }
}

static void take_json(struct events *events, const char *json) {
    tn_value event = tn_from_json(json, strlen(json));
    assert_non_null(event);
    events_take(events, event);
    tn_release(event);
}

/* A message whose deltas are lost is sent whole, and the last `values` has the state of the end. */
static void test_missed(void **state) {
    (void)state;
    int64_t before = blocks;
    struct tn_text_buffer text = TN_TEXT_BUFFER(1 << 20);
    struct events events = {.modes = MODE_VALUES | MODE_MESSAGES | MODE_TUPLE,
                            .run_id = "run-1",
                            .thread_id = "thread-1",
                            .graph = "chat",
                            .send = on_event,
                            .user = &text};
    take_json(&events, "{\"type\":\"messages\",\"step\":1,\"node\":\"a\",\"delta\":{\"content\":\"one \"}}");
    assert_non_null(strstr(tn_text_chars(&text), "messages/partial"));
    tn_text_clear(&text, 1 << 20);
    events_missed(&events);
    take_json(&events, "{\"type\":\"messages\",\"step\":1,\"node\":\"a\",\"delta\":{\"content\":\"three\"}}");
    assert_int_equal(text.length, 0);
    take_json(&events, "{\"type\":\"updates\",\"step\":1,\"node\":\"a\",\"writes\":{\"messages\":"
                       "{\"type\":\"ai\",\"id\":\"m1\",\"content\":\"one two three\"}}}");
    assert_non_null(strstr(tn_text_chars(&text), "{\"event\":\"messages/complete\""));
    assert_non_null(strstr(tn_text_chars(&text), "{\"event\":\"messages\""));
    assert_null(strstr(tn_text_chars(&text), "run--"));
    tn_text_clear(&text, 1 << 20);
    tn_value report = tn_build("{s:s, s:{s:i}}", "status", "done", "state", "n", 7);
    events_end(&events, report);
    assert_string_equal(tn_text_chars(&text), "{\"event\":\"values\",\"data\":{\"n\":7}}\n");
    tn_release(report);
    events_close(&events);
    tn_text_free(&text);
    assert_int_equal(blocks, before);
}

static void count_event(void *user, const char *name, tn_value data) {
    uint64_t *bytes = user, length = 0;
    if (strcmp(name, "messages/partial") != 0) return;
    tn_value json = tn_to_json(data);
    (void)tn_chars(json, &length);
    *bytes += length;
    tn_release(json);
}

/* All events of a long text together are of its order, although messages/partial has the text so far. */
static void test_long_text(void **state) {
    (void)state;
    uint64_t bytes = 0;
    char json[1200], piece[1025];
    struct events events = {
        .modes = MODE_MESSAGES, .run_id = "r", .thread_id = "t", .graph = "g", .send = count_event, .user = &bytes};
    memset(piece, 'x', 1024);
    piece[1024] = '\0';
    (void)snprintf(json, sizeof json,
                   "{\"type\":\"messages\",\"step\":1,\"node\":\"a\",\"delta\":{\"content\":\"%s\"}}", piece);
    for (int i = 0; i < 250; i++) take_json(&events, json);
    assert_true(bytes > 250 * 1024);
    assert_true(bytes < UINT64_C(40) * 250 * 1024);
    events_close(&events);
}

static void test_modes(void **state) {
    (void)state;
    struct tn_text_buffer text = TN_TEXT_BUFFER(1 << 20);
    play_stream("subgraph", MODE_UPDATES, false, &text);
    assert_null(strstr(tn_text_chars(&text), "updates|"));
    assert_non_null(strstr(tn_text_chars(&text), "\"updates\""));
    tn_text_free(&text);
    text = (struct tn_text_buffer)TN_TEXT_BUFFER(1 << 20); /* an agent streams its messages once */
    play_stream("tools", MODE_TUPLE, false, &text);
    assert_null(strchr(tn_text_chars(&text), '|'));
    assert_null(strstr(tn_text_chars(&text), "\"content\":\"Noted: you like pizza.\""));
    assert_non_null(strstr(tn_text_chars(&text), "\"content\":\"Noted: you like \""));
    tn_text_free(&text);
    tn_value modes = tn_from_json("[\"values\",\"debug\"]", 18), run = modes_of_run(modes_read(modes), false);
    assert_int_equal(modes_read(modes), MODE_VALUES | MODE_DEBUG);
    assert_int_equal(modes_read(NULL), MODE_VALUES);
    assert_int_equal(tn.value->count(run), 3); /* values, tasks, checkpoints */
    tn_release(run);
    tn_release(modes);
    modes = tn_text("absent");
    assert_int_equal(modes_read(modes), 0);
    tn_release(modes);
}

/* ---- Messages ---- */

static void expect_in(const char *theirs, const char *ours) {
    tn_value given = tn_from_json(theirs, strlen(theirs)), expected = tn_from_json(ours, strlen(ours));
    tn_value made = message_in(given), json = tn_to_json(made);
    assert_non_null(expected);
    if (tn.value->equal(made, expected) != 1) fail_msg("%s becomes %s", theirs, tn_chars(json, NULL));
    tn_release(json);
    tn_release(made);
    tn_release(expected);
    tn_release(given);
}

static void test_messages_in(void **state) {
    (void)state;
    expect_in("{\"role\":\"user\",\"content\":\"a\"}", "{\"type\":\"user\",\"content\":\"a\"}");
    expect_in("[{\"type\":\"human\",\"content\":\"a\",\"id\":\"1\"}]",
              "[{\"type\":\"user\",\"content\":\"a\",\"id\":\"1\"}]");
    expect_in(
        "{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"c\",\"name\":\"t\",\"args\":{\"x\":1}}]}",
        "{\"type\":\"ai\",\"content\":null,\"tool_calls\":[{\"id\":\"c\",\"name\":\"t\",\"arguments\":{\"x\":1}}]}");
    expect_in("{\"type\":\"tool\",\"content\":\"x\",\"tool_call_id\":\"c\",\"status\":\"success\"}",
              "{\"type\":\"tool\",\"content\":\"x\",\"tool_call_id\":\"c\"}");
    expect_in("{\"type\":\"human\",\"content\":[{\"type\":\"image_url\",\"image_url\":{\"url\":\"data:x\"}}]}",
              "{\"type\":\"user\",\"content\":[{\"type\":\"image\",\"url\":\"data:x\"}]}");
    expect_in("{\"type\":\"remove\",\"id\":\"1\"}", "{\"type\":\"remove\",\"id\":\"1\"}");
    expect_in("{\"type\":\"other\",\"content\":1}", "{\"type\":\"other\",\"content\":1}");
    expect_in("[1, \"a\", {}]", "[1, \"a\", {}]");
}

/* ---- Ids ---- */

static void test_ids(void **state) {
    (void)state;
    char id[UUID_TEXT], again[UUID_TEXT];
    uuid_of_name("chat", id);
    uuid_of_name("chat", again);
    assert_true(is_uuid(id));
    assert_string_equal(id, again);
    uuid_of_name("chat2", again);
    assert_string_not_equal(id, again);
    assert_int_equal(checkpoint_seq(id), -1);
    checkpoint_id(4294967295, id);
    assert_true(is_uuid(id));
    assert_int_equal(checkpoint_seq(id), 4294967295);
    assert_int_equal(checkpoint_seq("00000000-0000-8000-a000-ffffffffffff"), -1);
    assert_false(is_uuid(""));
    assert_false(is_uuid("00000000-0000-8000-a000-00000000000"));
    assert_false(is_uuid("00000000-0000-8000-a000-0000000000000"));
    assert_string_equal(bare_id("@ada:1"), "1");
    assert_string_equal(bare_id("1"), "1");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_recorded_runs), cmocka_unit_test(test_missed),
                                       cmocka_unit_test(test_long_text),     cmocka_unit_test(test_modes),
                                       cmocka_unit_test(test_messages_in),   cmocka_unit_test(test_ids)};
    return cmocka_run_group_tests(tests, util_setup, NULL);
}
