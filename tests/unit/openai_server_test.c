/*
 * openai_server_test.c - the pure parts of plugins/openai_server and plugins/serving: recorded runs
 * (tests/protocols/runs) become chat completions, chunks, and events of a Response, which are compared with those in
 * tests/protocols/openai_server; and requests are read. With TENON_WRITE_GOLDEN=1 the files are written instead.
 * tests/protocols/openai_server_types.py validates them with the types of OpenAI's SDK.
 */
#include "tests/unit/recorded_runs.h"

#include "plugins/openai_server/openai_server.h"
#include "plugins/serving/serving_items.h"

/* ---- Outputs ---- */

struct output {
    struct tn_text_buffer text;
    const char *kind;
    int64_t events;
    tn_value last;
};

static void output_add(struct output *output, const char *kind, tn_value value) {
    tn_value json = tn_to_json(value);
    assert_non_null(json);
    (void)tn_text_append_format(&output->text, "{\"%s\":%s}\n", kind, tn_chars(json, NULL));
    tn_release(json);
}

static void on_output(void *user, tn_value value) {
    struct output *output = user;
    int64_t number = tn_get_int(value, "sequence_number", -1);
    if (number >= 0) assert_int_equal(number, output->events); /* without a gap */
    output->events++;
    output_add(output, output->kind, value);
    tn_release(output->last);
    output->last = tn_retain(value);
}

static void play_chat(tn_value lines, struct output *output, bool stream) {
    struct chat_events events;
    chat_events_open(&events, tn_get_text(tn_get(tn.value->at(lines, 0), "graph"), "name", ""));
    (void)snprintf(events.id, sizeof events.id, "chatcmpl-1");
    events.stream = events.include_usage = stream;
    events.handler = on_output;
    events.user = output;
    events.run_id = "run-1";
    output->kind = "chunk";
    play(lines, chat_events_item, &events);
    if (!stream) output_add(output, events.failed ? "error" : "chat", events.last);
    chat_events_close(&events);
}

static void play_response(tn_value lines, struct output *output) {
    struct response_events events;
    tn_value echo = tn_build("{}"), made;
    assert_true(response_events_open(&events, "resp_1",
                                     tn_get_text(tn_get(tn.value->at(lines, 0), "graph"), "name", ""), echo));
    events.handler = on_output;
    events.user = output;
    output->kind = "event";
    output->events = 0;
    response_events_begin(&events);
    play(lines, response_events_item, &events);
    assert_true(response_events_ended(&events));
    made = response_events_value(&events);
    assert_true(tn.value->equal(made, tn_get(output->last, "response")));
    tn_release(made);
    tn_release(echo);
    response_events_close(&events);
}

static const char *const runs[] = {"approval", "approved", "cancelled", "client_call", "error",
                                   "image",    "length",   "parallel",  "question",    "reasoning",
                                   "retried",  "source",   "state",     "tools",       "subgraph"};

static void test_recorded_runs(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        int64_t before = blocks;
        struct output output = {0};
        tn_value lines = recorded_run(runs[i]);
        play_chat(lines, &output, false);
        play_chat(lines, &output, true);
        play_response(lines, &output);
        expect_golden("openai_server", runs[i], tn_text_chars(&output.text));
        tn_text_free(&output.text);
        tn_release(output.last);
        tn_release(lines);
        assert_int_equal(blocks, before);
    }
}

/* A run that ends at any event leaves nothing open, and nothing allocated. */
static void test_cut_runs(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        tn_value lines = recorded_run(runs[i]);
        for (uint64_t cut = 1; cut < tn.value->count(lines); cut++) {
            int64_t before = blocks;
            struct output output = {0};
            tn_value some = NULL;
            assert_int_equal(tn.value->slice(lines, 0, cut, &some), TN_OK);
            (void)tn_append_take(&some, tn_build("{s:s, s:s, s:{s:s, s:s}}", "type", "result", "status", "failed",
                                                 "error", "code", "TIMEOUT", "message", "too late"));
            play_chat(some, &output, true);
            play_response(some, &output);
            assert_string_equal(tn_get_text(tn_get(output.last, "response"), "status", ""), "failed");
            tn_value items = tn_get(tn_get(output.last, "response"), "output");
            for (uint64_t k = 0; k < tn.value->count(items); k++)
                assert_string_not_equal(tn_get_text(tn.value->at(items, k), "status", ""), "in_progress");
            tn_text_free(&output.text);
            tn_release(output.last);
            tn_release(some);
            assert_int_equal(blocks, before);
        }
        tn_release(lines);
    }
}

/* ---- Parallel models ---- */

static struct {
    uint64_t message, pieces, ends;
    char text[4096];
} seen;

static void on_item(void *user, const struct serving_item *item) {
    (void)user;
    if (item->kind == SERVING_TEXT) {
        assert_true(item->message == seen.message || item->message == seen.ends + 1);
        seen.message = item->message;
        seen.pieces++;
        (void)strncat(seen.text, item->text, 64);
    }
    if (item->kind == SERVING_MESSAGE_END) {
        assert_int_equal(item->message, seen.message);
        seen.ends++;
        (void)strncat(seen.text, "|", sizeof seen.text - strlen(seen.text) - 1);
    }
}

static void test_parallel_order(void **state) {
    (void)state;
    tn_value lines = recorded_run("parallel");
    memset(&seen, 0, sizeof seen);
    play(lines, on_item, NULL);
    assert_string_equal(seen.text, "one two three four five six seven eight|un deux trois quatre cinq six sept huit|");
    tn_release(lines);
}

/* More than may wait: the second message is not streamed, but sent whole, once. */
static void test_parallel_limit(void **state) {
    (void)state;
    struct serving_graph graph;
    static const char json[] =
        "{\"name\":\"x\",\"document\":\"graph:x\",\"channels\":[{\"name\":\"messages\",\"type\":\"append\"}]}";
    tn_value item = tn_from_json(json, sizeof json - 1);
    assert_non_null(item);
    serving_graph_read(item, &graph);
    struct serving_items_options options = {.graph = &graph, .handler = on_item};
    struct serving_items *items = serving_items_new(&options);
    char *big = calloc(1, (1 << 20) + 1);
    memset(big, 'x', 1 << 20);
    memset(&seen, 0, sizeof seen);
    for (int i = 0; i < 8; i++) {
        tn_value left =
            tn_build("{s:s, s:i, s:s, s:{s:s}}", "type", "messages", "step", 1, "node", "a", "delta", "content", "l");
        tn_value right =
            tn_build("{s:s, s:i, s:s, s:{s:s}}", "type", "messages", "step", 1, "node", "b", "delta", "content", big);
        serving_items_event(items, left);
        serving_items_event(items, right);
        tn_release(left);
        tn_release(right);
        assert_true(items->waiting_size <= SERVING_WAITING_MAX);
    }
    assert_int_equal(items->waiting_size, 0);
    tn_value report = tn_build("{s:s, s:{s:[{s:s, s:s}, {s:s, s:s}]}}", "status", "done", "state", "messages", "type",
                               "ai", "content", "llllllll", "type", "ai", "content", "whole");
    assert_non_null(report);
    serving_items_end(items, report);
    assert_string_equal(seen.text, "llllllll|whole|");
    tn_release(report);
    serving_items_free(items);
    tn_release(item);
    free(big);
}

/* ---- Requests ---- */

static const struct refused {
    bool response;
    const char *body, *param, *code;
} refused[] = {
    {false, "[]", NULL, "invalid_request"},
    {false, "{\"messages\": [{\"role\": \"user\", \"content\": \"x\"}]}", "model", "missing_required_parameter"},
    {false, "{\"model\": 7, \"messages\": []}", "model", "missing_required_parameter"},
    {false, "{\"model\": \"m\"}", "messages", "missing_required_parameter"},
    {false, "{\"model\": \"m\", \"messages\": []}", "messages", "missing_required_parameter"},
    {false, "{\"model\": \"m\", \"messages\": \"hi\"}", "messages", "missing_required_parameter"},
    {false, "{\"model\": \"m\", \"messages\": [7]}", "messages[0].role", "invalid_value"},
    {false, "{\"model\": \"m\", \"messages\": [{\"role\": \"pope\", \"content\": \"x\"}]}", "messages[0].role",
     "invalid_value"},
    {false, "{\"model\": \"m\", \"messages\": [{\"role\": \"user\"}]}", "messages[0].content", "invalid_value"},
    {false, "{\"model\": \"m\", \"messages\": [{\"role\": \"user\", \"content\": [{\"type\": \"smell\"}]}]}",
     "messages[0].content", "invalid_value"},
    {false, "{\"model\": \"m\", \"messages\": [{\"role\": \"user\", \"content\": [{\"type\": \"image_url\"}]}]}",
     "messages[0].content", "invalid_value"},
    {false, "{\"model\": \"m\", \"messages\": [{\"role\": \"tool\", \"content\": \"x\"}]}", "messages[0].tool_call_id",
     "invalid_value"},
    {false, "{\"model\": \"m\", \"messages\": [{\"role\": \"assistant\", \"tool_calls\": [{}]}]}",
     "messages[0].tool_calls", "invalid_value"},
    {false, "{\"model\": \"m\", \"n\": 2, \"messages\": [{\"role\": \"user\", \"content\": \"x\"}]}", "n",
     "unsupported_value"},
    {false, "{\"model\": \"m\", \"stream\": 1, \"messages\": [{\"role\": \"user\", \"content\": \"x\"}]}", "stream",
     "invalid_type"},
    {false, "{\"model\": \"m\", \"tools\": {}, \"messages\": [{\"role\": \"user\", \"content\": \"x\"}]}", "tools",
     "invalid_value"},
    {false, "{\"model\": \"m\", \"metadata\": [], \"messages\": [{\"role\": \"user\", \"content\": \"x\"}]}",
     "metadata", "invalid_type"},
    {true, "{\"model\": \"m\"}", "input", "missing_required_parameter"},
    {true, "{\"model\": \"m\", \"input\": []}", "input", "missing_required_parameter"},
    {true, "{\"model\": \"m\", \"input\": [{\"type\": \"smell\"}]}", "input[0].type", "invalid_value"},
    {true, "{\"model\": \"m\", \"input\": \"x\", \"background\": true, \"store\": false}", "background",
     "unsupported_value"},
    {true, "{\"model\": \"m\", \"input\": \"x\", \"conversation\": \"c\"}", "conversation", "unsupported_parameter"},
    {true, "{\"model\": \"m\", \"input\": [{\"type\": \"function_call_output\", \"output\": \"x\"}]}",
     "input[0].call_id", "invalid_value"},
    {true,
     "{\"model\": \"m\", \"input\": [{\"type\": \"mcp_approval_response\", \"approval_request_id\": \"x\", "
     "\"approve\": true}]}",
     "input[0].approval_request_id", "invalid_value"},
};

static void test_refused_requests(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        struct openai_request request = {0};
        struct openai_error error = {0};
        int64_t before = blocks;
        tn_value body = tn_from_json(refused[i].body, strlen(refused[i].body));
        assert_non_null(body);
        bool read = refused[i].response ? openai_read_response(body, "abc", &request, &error)
                                        : openai_read_chat(body, &request, &error);
        if (read) fail_msg("accepted: %s", refused[i].body);
        assert_int_equal(error.status, 400);
        if (refused[i].param == NULL ? error.param != NULL
                                     : error.param == NULL || strcmp(error.param, refused[i].param) != 0)
            fail_msg("%s: param %s", refused[i].body, error.param);
        if (strcmp(error.code, refused[i].code) != 0) fail_msg("%s: code %s", refused[i].body, error.code);
        assert_true(strlen(error.text) > 10);
        openai_request_finish(&request);
        tn_release(body);
        assert_int_equal(blocks, before);
    }
}

/* `count` times `item`, in `name` of a request that is otherwise valid. */
static void refuse_many(bool object, const char *name, const char *item, int count) {
    struct openai_request request = {0};
    struct openai_error error = {0};
    tn_value body = tn_build("{s:s, s:[{s:s, s:s}]}", "model", "m", "messages", "role", "user", "content", "x");
    tn_value many = object ? tn_build("{}") : NULL;
    for (int i = 0; i < count; i++) {
        char key[16];
        (void)snprintf(key, sizeof key, "k%d", i);
        tn_value one = tn_from_json(item, strlen(item));
        if (object)
            many = tn_set_take(many, key, one);
        else
            assert_int_equal(tn_append_take(&many, one), TN_OK);
    }
    body = tn_set_take(body, name, many);
    assert_non_null(body);
    assert_false(openai_read_chat(body, &request, &error));
    assert_string_equal(error.param, name);
    openai_request_finish(&request);
    tn_release(body);
}

static void test_limits_of_requests(void **state) {
    (void)state;
    refuse_many(false, "messages", "{\"role\": \"user\", \"content\": \"x\"}", MESSAGES_MAX + 1);
    refuse_many(false, "tools", "{\"type\": \"function\", \"function\": {\"name\": \"x\"}}", TOOLS_MAX + 1);
    refuse_many(true, "metadata", "\"x\"", 17);
}

static void test_chat_request(void **state) {
    (void)state;
    static const char json[] =
        "{\"model\": \"m\", \"temperature\": 2, \"new_thing\": {}, \"user\": \"ada\", \"metadata\": {\"a\": \"b\"}, "
        "\"stream\": true, \"stream_options\": {\"include_usage\": true}, \"tools\": [{\"type\": \"function\", "
        "\"function\": {\"name\": \"w\", \"parameters\": {\"type\": \"object\"}}}, {\"type\": \"web_search\"}], "
        "\"messages\": [{\"role\": \"system\", \"content\": \"s\"}, {\"role\": \"user\", \"content\": [{\"type\": "
        "\"text\", "
        "\"text\": \"t\"}, {\"type\": \"image_url\", \"image_url\": {\"url\": \"data:image/png;base64,AAAA\"}}, "
        "{\"type\": "
        "\"file\", \"file\": {\"file_data\": \"https://example.org/x.pdf\", \"filename\": \"x.pdf\"}}, {\"type\": "
        "\"input_audio\", \"input_audio\": {\"data\": \"BBBB\", \"format\": \"mp3\"}}]}, {\"role\": \"assistant\", "
        "\"content\": null, \"tool_calls\": [{\"id\": \"c\", \"type\": \"function\", \"function\": {\"name\": \"w\", "
        "\"arguments\": \"{\\\"x\\\": 1}\"}}]}, {\"role\": \"tool\", \"tool_call_id\": \"c\", \"content\": \"r\"}]}";
    static const char expected[] =
        "[{\"type\":\"system\",\"content\":\"s\",\"id\":\"chat_in_0\"},{\"type\":\"user\",\"content\":[{\"type\":"
        "\"text\","
        "\"text\":\"t\"},{\"type\":\"image\",\"media_type\":\"image/"
        "png\",\"data\":\"AAAA\"},{\"type\":\"file\",\"url\":"
        "\"https://example.org/x.pdf\",\"name\":\"x.pdf\"},{\"type\":\"audio\",\"media_type\":\"audio/mpeg\",\"data\":"
        "\"BBBB\"}],\"id\":\"chat_in_1\"},{\"type\":\"ai\",\"content\":\"\",\"tool_calls\":[{\"id\":\"c\",\"name\":"
        "\"w\","
        "\"arguments\":{\"x\":1}}],\"id\":\"chat_in_2\"},{\"type\":\"tool\",\"content\":\"r\",\"tool_call_id\":\"c\","
        "\"id\":"
        "\"chat_in_3\"}]";
    struct openai_request request = {0};
    struct openai_error error = {0};
    tn_value body = tn_from_json(json, sizeof json - 1), text;
    assert_non_null(body);
    assert_true(openai_read_chat(body, &request, &error));
    text = tn_to_json(request.messages);
    assert_string_equal(tn_chars(text, NULL), expected);
    tn_release(text);
    assert_true(request.stream && request.include_usage);
    assert_string_equal(request.last_input, "chat_in_3");
    assert_int_equal(tn.value->count(request.tools), 1);
    assert_string_equal(tn_get_text(request.metadata, "user", ""), "ada");
    openai_request_finish(&request);
    tn_release(body);
}

static void test_approval_words(void **state) {
    (void)state;
    static const struct {
        const char *json;
        bool approved;
    } rows[] = {{"true", true},        {"\"Yes\"", true},
                {"\"approve\"", true}, {"false", false},
                {"\"never\"", false},  {"{\"approved\":true}", true},
                {"7", false},          {"\"yes, but not now please\"", false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tn_value given = tn_from_json(rows[i].json, strlen(rows[i].json)), answer = openai_approval(given);
        if (serving_true(tn_get(answer, "approved")) != rows[i].approved) fail_msg("%s", rows[i].json);
        tn_release(answer);
        tn_release(given);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recorded_runs),      cmocka_unit_test(test_cut_runs),
        cmocka_unit_test(test_parallel_order),     cmocka_unit_test(test_parallel_limit),
        cmocka_unit_test(test_refused_requests),   cmocka_unit_test(test_chat_request),
        cmocka_unit_test(test_limits_of_requests), cmocka_unit_test(test_approval_words),
    };
    return cmocka_run_group_tests(tests, util_setup, NULL);
}
