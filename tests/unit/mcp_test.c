/*
 * mcp_test.c - the parts of the plugin tenon.mcp that need neither a server nor a loop.
 *
 * They are linked with the host's values and a test core, whose clock only moves when a test advances it. Ids and
 * headers are in tests/corpus/mcp. The behaviour of servers is tested from outside: tests/mcp.
 */
#include "tests/unit/corpus.h"
#include "tests/unit/fake_clock.h"

#include "plugins/mcp/content.h"
#include "plugins/mcp/elicit.h"
#include "plugins/mcp/header.h"
#include "plugins/mcp/lines.h"
#include "plugins/mcp/rpc.h"
#include "plugins/mcp/tool.h"

static int setup(void **state) {
    (void)state;
    fake_clock_open();
    return 0;
}

static tn_value json(const char *text) {
    tn_value value = tn_from_json(text, TN_Z);
    assert_non_null(value);
    return value;
}

static void expect_json(tn_value value, const char *wanted) {
    tn_value text = tn_to_json(value);
    assert_string_equal(tn_chars(text, NULL), wanted);
    tn_release(text);
    tn_release(value);
}

/* ---- Ids and headers ---- */

static void check_id(const struct corpus_case *test, void *user) {
    char prefix[64], name[300], id[MCP_ID_MAX + 1];
    const char *in = corpus_need(test, "in"), *number = corpus_section(test, "number"), *space = strchr(in, ' ');
    (void)user;
    assert_non_null(space);
    size_t length = strcspn(in, " ");
    assert_true(length < sizeof prefix);
    memcpy(prefix, in, length);
    prefix[length] = 0;
    (void)snprintf(name, sizeof name, "%s", space + 1);
    assert_true(tool_id(id, prefix, name, number != NULL ? (unsigned)atoi(number) : 1));
    corpus_expect(test, "out", id);
}

static void test_ids(void **state) {
    char id[MCP_ID_MAX + 1], name[300];
    (void)state;
    corpus_each("tests/corpus/mcp/id.txt", check_id, NULL);
    memset(name, 'x', sizeof name);
    name[128] = '\0';
    assert_true(tool_id(id, "s", name, 2000));
    name[128] = 'x', name[250] = '\0';
    assert_false(tool_id(id, "s", name, 1));
    assert_false(tool_id(id, "s", "", 1));
}

static void check_header(const struct corpus_case *test, void *user) {
    char why[200] = "";
    tn_value schema = json(corpus_need(test, "schema"));
    (void)user;
    bool good = header_check_schema(schema, why, sizeof why);
    if (corpus_section(test, "why") != NULL) {
        assert_false(good);
        corpus_expect(test, "why", why);
    } else {
        assert_true(good);
        tn_value arguments = json(corpus_need(test, "arguments")), headers = headers_from_arguments(schema, arguments);
        tn_value text = headers != NULL ? tn_to_json(headers) : tn_text("none");
        corpus_expect(test, "headers", tn_chars(text, NULL));
        tn_release(text);
        tn_release(headers);
        tn_release(arguments);
    }
    tn_release(schema);
}

static void test_headers(void **state) {
    (void)state;
    corpus_each("tests/corpus/mcp/header.txt", check_header, NULL);
}

/* ---- Lines ---- */

static char lines_seen[256];
static bool record_line(void *user, const char *line, uint64_t length) {
    size_t used = strlen(lines_seen);
    (void)snprintf(lines_seen + used, sizeof lines_seen - used, "[%.*s]", line != NULL ? (int)length : 1,
                   line != NULL ? line : "!");
    return user == NULL || --*(int *)user > 0;
}

static void test_lines(void **state) {
    static const char text[] = "one\r\n\ntwo\nmuch too long a line\nthree\npartial";
    static const char wanted[] = "[one][][two][!][three]";
    (void)state;
    for (size_t piece = 1; piece <= sizeof text; piece++) {
        struct lines lines = {.partial = {.limit = 8}};
        *lines_seen = '\0';
        for (size_t at = 0; at < sizeof text - 1; at += piece) {
            size_t left = sizeof text - 1 - at;
            assert_true(lines_feed(&lines, text + at, left < piece ? left : piece, record_line, NULL));
        }
        assert_string_equal(lines_seen, wanted);
        lines_free(&lines);
    }
    struct lines lines = {.partial = {.limit = 8}};
    int stop_after = 2;
    *lines_seen = '\0';
    assert_false(lines_feed(&lines, text, sizeof text - 1, record_line, &stop_after));
    assert_string_equal(lines_seen, "[one][]");
    lines_free(&lines);
    assert_int_equal(blocks, 0);
}

/* ---- The log ---- */

static void test_what_is_said(void **state) {
    (void)state;
    log_format(TN_LOG_INFO, "a\x1b[31m\tb\x7f\n");
    assert_string_equal(logged, "a [31m b  ");
    log_format(TN_LOG_INFO, "caf\xc3\xa9 \xff \xc3 \xed\xa0\x80 \xf0\x9f\x98\x80 \xc0\x80 \xe2\x82");
    assert_string_equal(logged, "caf\xc3\xa9 ? ? ??? \xf0\x9f\x98\x80 ?? ??");
}

/* ---- A conversation ---- */

static char recorded[1024];
static int32_t send_status;
static void record_event(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void record_event(const char *format, ...) {
    size_t used = strlen(recorded);
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(recorded + used, sizeof recorded - used, format, arguments);
    va_end(arguments);
}
static void expect_recorded(const char *wanted) {
    assert_string_equal(recorded, wanted);
    *recorded = '\0';
}

static int32_t on_send(void *user, tn_value message, int64_t id, tn_value extra) {
    (void)user, (void)extra;
    tn_value text = tn_to_json(message);
    record_event("> %lld %s\n", (long long)id, tn_chars(text, NULL));
    tn_release(text);
    return send_status;
}
static void on_request(void *user, tn_value id, const char *method, tn_value params, int64_t origin) {
    (void)user, (void)params;
    tn_value text = tn_to_json(id);
    record_event("request %s %s %lld\n", tn_chars(text, NULL), method, (long long)origin);
    tn_release(text);
}
static void on_notification(void *user, const char *method, tn_value params) {
    (void)user, (void)params;
    record_event("notification %s\n", method);
}
static void on_expired(void *user, int64_t id) {
    (void)user;
    record_event("expired %lld\n", (long long)id);
}
static void on_unexpected(void *user, const char *what) {
    (void)user;
    record_event("unexpected: %s\n", what);
}
static void on_done(void *user, const struct rpc_answer *answer) {
    (void)user;
    if (answer->result != NULL)
        record_event("done\n");
    else
        record_event("failed %s %lld: %s\n", answer->failure != NULL ? answer->failure : "-", (long long)answer->code,
                     answer->message);
}
static void free_in_callback(void *user, const struct rpc_answer *answer) {
    on_done(NULL, answer);
    rpc_free(user);
}

static struct rpc *rpc_for_tests(void) {
    static const struct rpc_events events = {NULL, on_send, on_request, on_notification, on_expired, on_unexpected};
    send_status = TN_OK;
    *recorded = '\0';
    return rpc_new(&events);
}

static void receive(struct rpc *rpc, const char *text) {
    tn_value message = json(text);
    rpc_receive(rpc, message, 9);
    tn_release(message);
}

static void test_answers(void **state) {
    struct rpc *rpc = rpc_for_tests();
    (void)state;
    assert_int_equal(rpc_next_id(rpc), 1);
    assert_int_equal(rpc_call(rpc, "a", NULL, NULL, 100, on_done, NULL), 1);
    assert_int_equal(rpc_call(rpc, "b", NULL, NULL, 0, on_done, NULL), 2);
    expect_recorded(
        "> 1 {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\"}\n> 2 {\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"b\"}\n");
    receive(rpc, "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}");
    expect_recorded("done\n");
    receive(rpc, "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}");
    expect_recorded("unexpected: an answer to request 2, which does not wait\n");
    receive(rpc, "{\"jsonrpc\":\"2.0\",\"id\":\"1\",\"result\":{}}");
    receive(rpc, "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,\"message\":\"x\"}}");
    receive(rpc, "{\"jsonrpc\":\"2.0\",\"id\":1.0,\"result\":{}}");
    expect_recorded("unexpected: an answer with an unknown id\nunexpected: an answer with an unknown id\n"
                    "unexpected: an answer with an unknown id\n");
    assert_true(rpc_is_waiting(rpc, 1));
    receive(rpc, "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32601,\"message\":\"no\"}}");
    expect_recorded("failed - -32601: no\n");
    assert_int_equal(rpc_call(rpc, "c", NULL, NULL, 0, on_done, NULL), 3);
    *recorded = '\0';
    receive(rpc, "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":7}");
    expect_recorded("failed - -32603: the answer has neither a result nor an error message\n");
    rpc_free(rpc);
    assert_int_equal(blocks, 0);
}

static void test_what_comes_in(void **state) {
    struct rpc *rpc = rpc_for_tests();
    (void)state;
    receive(rpc, "[{\"jsonrpc\":\"2.0\",\"method\":\"n\"},{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"method\":\"r\"}]");
    expect_recorded("notification n\nrequest \"x\" r 9\n");
    receive(rpc, "{\"jsonrpc\":\"1.0\",\"method\":\"n\"}");
    receive(rpc, "5");
    receive(rpc, "{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"r\"}");
    expect_recorded("unexpected: a message that is not JSON-RPC 2.0\nunexpected: a message that is not JSON-RPC 2.0\n"
                    "unexpected: a request whose id is neither a string nor an integer\n");
    tn_value id = json("\"x\""), result = json("{}");
    rpc_reply(rpc, id, result);
    rpc_refuse(rpc, id, -32601, "no");
    rpc_notify(rpc, "n", NULL);
    expect_recorded("> 0 {\"jsonrpc\":\"2.0\",\"id\":\"x\",\"result\":{}}\n"
                    "> 0 {\"jsonrpc\":\"2.0\",\"id\":\"x\",\"error\":{\"code\":-32601,\"message\":\"no\"}}\n"
                    "> 0 {\"jsonrpc\":\"2.0\",\"method\":\"n\"}\n");
    tn_release(id);
    tn_release(result);
    rpc_free(rpc);
    assert_int_equal(blocks, 0);
}

static void test_time(void **state) {
    struct rpc *rpc = rpc_for_tests();
    (void)state;
    (void)rpc_call(rpc, "a", NULL, NULL, 100, on_done, NULL);
    *recorded = '\0';
    advance_clock(99);
    expect_recorded("");
    advance_clock(1);
    expect_recorded("expired 1\nfailed TIMEOUT 0: no answer to `a` within 100 ms\n");
    (void)rpc_call(rpc, "b", NULL, NULL, 100, on_done, NULL);
    *recorded = '\0';
    for (int i = 0; i < MCP_EXTENSIONS; i++) {
        advance_clock(90);
        rpc_extend_timeout(rpc, 2);
    }
    advance_clock(90);
    rpc_extend_timeout(rpc, 2); /* above the limit of extensions */
    expect_recorded("");
    advance_clock(10);
    expect_recorded("expired 2\nfailed TIMEOUT 0: no answer to `b` within 100 ms\n");
    (void)rpc_call(rpc, "c", NULL, NULL, 100, on_done, NULL);
    *recorded = '\0';
    rpc_pause_timeout(rpc, 3, true);
    advance_clock(1000);
    expect_recorded("");
    rpc_pause_timeout(rpc, 3, false);
    advance_clock(100);
    expect_recorded("expired 3\nfailed TIMEOUT 0: no answer to `c` within 100 ms\n");
    send_status = TN_ERROR;
    assert_int_equal(rpc_call(rpc, "d", NULL, NULL, 100, on_done, NULL), 4);
    *recorded = '\0';
    advance_clock(0);
    expect_recorded("failed SERVER_LOST 0: `d` could not be sent: the server does not read\n");
    rpc_free(rpc);
    assert_int_equal(blocks, 0);
}

static void test_ends(void **state) {
    struct rpc *rpc = rpc_for_tests();
    (void)state;
    (void)rpc_call(rpc, "a", NULL, NULL, 100, on_done, NULL);
    (void)rpc_call(rpc, "b", NULL, NULL, 100, on_done, NULL);
    (void)rpc_call(rpc, "c", NULL, NULL, 100, on_done, NULL);
    rpc_discard(rpc, 2);
    rpc_discard(rpc, 77);
    const struct rpc_answer answer = {.failure = "AUTH", .message = "who?", .status = 401};
    *recorded = '\0';
    rpc_fail(rpc, 3, &answer);
    rpc_fail(rpc, 3, &answer);
    expect_recorded("failed AUTH 0: who?\n");
    rpc_fail_all(rpc, "SERVER_LOST", "gone");
    expect_recorded("failed SERVER_LOST 0: gone\n");
    for (int i = 0; i < MCP_REQUESTS_MAX; i++)
        assert_int_not_equal(rpc_call(rpc, "a", NULL, NULL, 0, on_done, NULL), 0);
    assert_int_equal(rpc_call(rpc, "a", NULL, NULL, 0, on_done, NULL), 0);
    rpc_free(rpc);
    rpc = rpc_for_tests(); /* a `done` callback frees it in the middle of an array */
    (void)rpc_call(rpc, "a", NULL, NULL, 100, free_in_callback, rpc);
    *recorded = '\0';
    receive(rpc, "[{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}},{\"jsonrpc\":\"2.0\",\"method\":\"n\"}]");
    expect_recorded("done\n");
    rpc_free(NULL);
    assert_int_equal(blocks, 0);
}

/* ---- Contents, questions ---- */

static void test_sampling(void **state) {
    const char *why = NULL;
    (void)state;
    tn_value params = json(
        "{\"systemPrompt\":\"S\",\"maxTokens\":9,\"stopSequences\":[\"x\"],\"toolChoice\":{\"mode\":\"required\"},"
        "\"tools\":[{\"name\":\"t\",\"inputSchema\":{}}],\"messages\":["
        "{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":\"a\"}},"
        "{\"role\":\"assistant\",\"content\":[{\"type\":\"tool_use\",\"id\":\"1\",\"name\":\"t\",\"input\":{}}]},"
        "{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"toolUseId\":\"1\",\"content\":[{\"type\":\"text\","
        "\"text\":\"r\"}],\"isError\":true}]}]}");
    expect_json(sample_input(params, &why),
                "{\"messages\":[{\"type\":\"system\",\"content\":\"S\"},"
                "{\"type\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"a\"}]},"
                "{\"type\":\"ai\",\"content\":[],\"tool_calls\":[{\"id\":\"1\",\"name\":\"t\",\"arguments\":{}}]},"
                "{\"type\":\"tool\",\"content\":\"r\",\"tool_call_id\":\"1\",\"status\":\"error\"}],"
                "\"options\":{\"max_tokens\":9,\"stop\":[\"x\"],\"tool_choice\":\"required\"},"
                "\"tools\":[{\"name\":\"t\",\"input_schema\":{}}]}");
    tn_release(params);
    params = json("{\"messages\":[]}");
    assert_null(sample_input(params, &why));
    assert_non_null(why);
    tn_release(params);
    tn_value output =
        json("{\"message\":{\"type\":\"ai\",\"content\":\"hi\",\"model\":\"m\",\"tool_calls\":[{\"id\":\"1\","
             "\"name\":\"t\",\"arguments\":\"{\\\"a\\\":1}\"}]},\"finish_reason\":\"tool_calls\"}");
    expect_json(
        sample_result(output, true),
        "{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"hi\"},{\"type\":\"tool_use\",\"id\":"
        "\"1\",\"name\":\"t\",\"input\":{\"a\":1}}],\"model\":\"m\",\"stopReason\":\"toolUse\"}");
    expect_json(
        sample_result(output, false),
        "{\"role\":\"assistant\",\"content\":{\"type\":\"text\",\"text\":\"hi\"},\"model\":\"m\",\"stopReason\":"
        "\"toolUse\"}");
    tn_release(output);
}

static void test_questions(void **state) {
    (void)state;
    tn_value form = json("{\"message\":\"Q\",\"requestedSchema\":{\"type\":\"object\",\"properties\":{\"a\":{\"type\":"
                         "\"string\",\"default\":\"d\"},\"b\":{\"type\":\"string\"}}}}");
    tn_value page = json("{\"mode\":\"url\",\"message\":\"Q\",\"url\":\"https://x.example\"}");
    tn_value answer = json("{\"b\":\"1\"}"), yes = json("true"), nothing = json("null");
    expect_json(elicit_result(form, answer), "{\"action\":\"accept\",\"content\":{\"a\":\"d\",\"b\":\"1\"}}");
    expect_json(elicit_result(form, nothing), "{\"action\":\"decline\"}");
    expect_json(elicit_result(form, yes), "{\"action\":\"decline\"}");
    expect_json(elicit_result(page, yes), "{\"action\":\"accept\"}");
    expect_json(elicit_result(page, nothing), "{\"action\":\"decline\"}");
    expect_json(elicit_schema(page), "{\"anyOf\":[{\"const\":true},{\"type\":\"null\"}]}");
    expect_json(elicit_payload(page, "s", "t"), "{\"question\":\"Q\",\"server\":\"s\",\"tool\":\"t\",\"mode\":\"url\","
                                                "\"url\":\"https://x.example\"}");
    assert_true(elicit_same(form, form));
    assert_false(elicit_same(form, page));
    tn_release(form), tn_release(page), tn_release(answer), tn_release(yes), tn_release(nothing);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ids),          cmocka_unit_test(test_headers),       cmocka_unit_test(test_lines),
        cmocka_unit_test(test_answers),      cmocka_unit_test(test_what_comes_in), cmocka_unit_test(test_time),
        cmocka_unit_test(test_ends),         cmocka_unit_test(test_sampling),      cmocka_unit_test(test_questions),
        cmocka_unit_test(test_what_is_said),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
