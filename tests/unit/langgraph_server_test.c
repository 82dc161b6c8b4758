/*
 * langgraph_server_test.c - the pure parts of plugins/langgraph_server: recorded runs (tests/protocols/runs) become
 * events of a stream in all modes, which are compared with those in tests/protocols/langgraph/streams; messages and ids
 * are converted. With TENON_WRITE_GOLDEN=1 the files are written instead.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "plugins/langgraph_server/langgraph.h"

extern const tn_value_1 interface_value; /* not host/plugin/abi/abi.h, whose names conflict with easy.h */

TN_EASY_HIDDEN struct tn_easy tn;
TN_EASY_HIDDEN tn_easy_component *tn_easy_components;

#define FOLDER TENON_SOURCE_DIR "/tests/protocols/"

/* ---- A core ---- */

static int64_t blocks; /* that are allocated */

static void *fake_resize(const tn_host *host, void *memory, uint64_t size) {
    (void)host;
    blocks += memory == NULL;
    return realloc(memory, size > 0 ? size : 1);
}
static void *fake_alloc(const tn_host *host, uint64_t size) { return fake_resize(host, NULL, size); }
static void fake_release(const tn_host *host, void *memory) {
    (void)host;
    blocks -= memory != NULL;
    free(memory);
}

static const tn_core_1 core = {
    .size = sizeof(tn_core_1), .alloc = fake_alloc, .resize = fake_resize, .release = fake_release};

static int set_up(void **state) {
    (void)state;
    tn.core = &core;
    tn.value = &interface_value;
    return 0;
}

/* ---- Recorded runs ---- */

static char *read_file(const char *path) {
    FILE *file = fopen(path, "rb");
    if (file == NULL) fail_msg("%s does not exist", path);
    char *text = calloc(1, 1 << 20);
    size_t length = fread(text, 1, (1 << 20) - 1, file);
    assert_true(length < (1 << 20) - 1);
    (void)fclose(file);
    return text;
}

static void on_event(void *user, const char *name, tn_value data) {
    tn_value json = tn_to_json(data);
    assert_non_null(json);
    (void)tn_text_append_format(user, "{\"event\":\"%s\",\"data\":%s}\n", name, tn_chars(json, NULL));
    tn_release(json);
}

static void play(const char *name, unsigned modes, bool subgraphs, struct tn_text_buffer *out) {
    char path[512];
    struct events events = {.modes = modes,
                            .subgraphs = subgraphs,
                            .run_id = "run-1",
                            .thread_id = "thread-1",
                            .graph = name,
                            .send = on_event,
                            .user = out};
    (void)snprintf(path, sizeof path, FOLDER "runs/%s.jsonl", name);
    char *text = read_file(path);
    (void)strtok(text, "\n"); /* the graph */
    for (char *line = strtok(NULL, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        tn_value event = tn_from_json(line, strlen(line));
        assert_non_null(event);
        if (strcmp(tn_get_text(event, "type", ""), "result") == 0)
            events_end(&events, event);
        else
            events_take(&events, event);
        tn_release(event);
    }
    events_close(&events);
    free(text);
}

static void compare(const char *name, const char *text) {
    char path[512];
    (void)snprintf(path, sizeof path, FOLDER "langgraph/streams/%s.jsonl", name);
    if (getenv("TENON_WRITE_GOLDEN") != NULL) {
        FILE *file = fopen(path, "wb");
        assert_non_null(file);
        assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
        assert_int_equal(fclose(file), 0);
        return;
    }
    char *golden = read_file(path);
    if (strcmp(golden, text) != 0) fail_msg("%s differs; now it would be:\n%s", path, text);
    free(golden);
}

static const char *const runs[] = {"approval", "approved", "cancelled", "client_call", "error", "image", "length",
                                   "parallel", "question", "reasoning", "retried",     "state", "tools", "subgraph"};

#define ALL_MODES 511u

static void test_recorded_runs(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        int64_t before = blocks;
        struct tn_text_buffer text = TN_TEXT_BUFFER(1 << 20);
        play(runs[i], ALL_MODES, true, &text);
        compare(runs[i], tn_text_chars(&text));
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

static void test_modes(void **state) {
    (void)state;
    struct tn_text_buffer text = TN_TEXT_BUFFER(1 << 20);
    play("subgraph", MODE_UPDATES, false, &text);
    assert_null(strstr(tn_text_chars(&text), "updates|"));
    assert_non_null(strstr(tn_text_chars(&text), "\"updates\""));
    tn_text_free(&text);
    text = (struct tn_text_buffer)TN_TEXT_BUFFER(1 << 20); /* an agent streams its messages once */
    play("tools", MODE_TUPLE, false, &text);
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
                                       cmocka_unit_test(test_modes), cmocka_unit_test(test_messages_in),
                                       cmocka_unit_test(test_ids)};
    return cmocka_run_group_tests(tests, set_up, NULL);
}
