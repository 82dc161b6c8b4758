/*
 * mcp_server_message_test.c - the plugin tenon.mcp_server: which messages are accepted, which error the others get, and
 * requestState. The whole server is tested from outside: tests/mcp/server_clients.mjs, and the conformance suite.
 */
#include "tests/unit/util_fixture.h"

#include "plugins/mcp_server/message.h"
#include "plugins/mcp_server/state.h"

#define META(version)                                                                                                  \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"" version                                                \
    "\",\"io.modelcontextprotocol/clientCapabilities\":{}}"
#define CALL(method, params) "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"" method "\",\"params\":{" params "}}"
#define HEADERS(version, method, more)                                                                                 \
    "{\"mcp-protocol-version\":\"" version "\",\"mcp-method\":\"" method "\"" more "}"

struct message_case {
    const char *headers, *json;
    int32_t status, code; /* 0: accepted */
    bool modern;
};

static const struct message_case cases[] = {
    /* JSON-RPC */
    {"{}", NULL, 400, MCPS_PARSE_ERROR, false},
    {"{}", "[]", 400, MCPS_INVALID_REQUEST, false},
    {"{}", "7", 400, MCPS_INVALID_REQUEST, false},
    {"{}", "{}", 400, MCPS_INVALID_REQUEST, false},
    {"{}", "{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"ping\"}", 400, MCPS_INVALID_REQUEST, false},
    {"{}", "{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}", 400, MCPS_INVALID_REQUEST, false},
    {"{}", "{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"ping\"}", 400, MCPS_INVALID_REQUEST, false},
    {"{}", "{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"ping\"}", 400, MCPS_INVALID_REQUEST, false},
    {"{}", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":7}", 400, MCPS_INVALID_REQUEST, false},
    {"{}", "{\"jsonrpc\":\"2.0\",\"id\":1}", 400, MCPS_INVALID_REQUEST, false},
    {"{}", "{\"jsonrpc\":\"2.0\",\"result\":{}}", 400, MCPS_INVALID_REQUEST, false},
    {"{}", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":[]}", 400, MCPS_INVALID_PARAMS, false},
    {"{}", "{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"ping\"}", 0, 0, false},
    {"{}", "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}", 0, 0, false},
    {"{}", "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}", 0, 0, false},
    /* The era: a header or _meta of a version without sessions, or a method that only it has. */
    {"{\"mcp-protocol-version\":\"2025-11-25\"}", CALL("tools/list", ""), 0, 0, false},
    {"{\"mcp-protocol-version\":\"2025-03-26\"}", CALL("tools/list", ""), 0, 0, false},
    {"{}", CALL("server/discover", ""), 400, MCPS_INVALID_PARAMS, true},
    {"{\"mcp-protocol-version\":\"2026-07-28\"}", CALL("tools/list", ""), 400, MCPS_INVALID_PARAMS, true},
    {"{\"mcp-protocol-version\":\"2026-07-28\"}", "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\"}", 0, 0,
     true},
    /* _meta, headers and version, in this order. */
    {"{}", CALL("tools/list", "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"}"), 400,
     MCPS_INVALID_PARAMS, true},
    {"{}", CALL("tools/list", META("2026-07-28")), 400, MCPS_HEADER_MISMATCH, true},
    {HEADERS("2025-11-25", "tools/list", ""), CALL("tools/list", META("2026-07-28")), 400, MCPS_HEADER_MISMATCH, true},
    {HEADERS("v9", "tools/list", ""), CALL("tools/list", META("v9")), 400, MCPS_UNSUPPORTED_VERSION, true},
    {HEADERS("2025-11-25", "tools/list", ""), CALL("tools/list", META("2025-11-25")), 400, MCPS_UNSUPPORTED_VERSION,
     true},
    {"{\"mcp-protocol-version\":\"2026-07-28\"}", CALL("tools/list", META("2026-07-28")), 400, MCPS_HEADER_MISMATCH,
     true},
    {HEADERS("2026-07-28", "TOOLS/LIST", ""), CALL("tools/list", META("2026-07-28")), 400, MCPS_HEADER_MISMATCH, true},
    {HEADERS("2026-07-28", "tools/list", ""), CALL("tools/list", META("2026-07-28")), 0, 0, true},
    /* The name. */
    {HEADERS("2026-07-28", "tools/call", ""), CALL("tools/call", "\"name\":\"a\"," META("2026-07-28")), 400,
     MCPS_HEADER_MISMATCH, true},
    {HEADERS("2026-07-28", "tools/call", ",\"mcp-name\":\"A\""),
     CALL("tools/call", "\"name\":\"a\"," META("2026-07-28")), 400, MCPS_HEADER_MISMATCH, true},
    {HEADERS("2026-07-28", "tools/call", ",\"mcp-name\":\"=?base64?YQ==?=\""),
     CALL("tools/call", "\"name\":\"a\"," META("2026-07-28")), 0, 0, true},
    {HEADERS("2026-07-28", "resources/read", ",\"mcp-name\":\"x:y\""),
     CALL("resources/read", "\"uri\":\"x:y\"," META("2026-07-28")), 0, 0, true},
    {HEADERS("2026-07-28", "prompts/get", ",\"mcp-name\":\"b\""),
     CALL("prompts/get", "\"name\":\"a\"," META("2026-07-28")), 400, MCPS_HEADER_MISMATCH, true},
    {HEADERS("2026-07-28", "tools/call", ""), CALL("tools/call", META("2026-07-28")), 0, 0, true}, /* the method */
};

static void test_messages(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct message message;
        struct problem problem = {0};
        tn_value json = cases[i].json != NULL ? json_value(cases[i].json) : NULL;
        tn_value request = tn_build("{s:V, s:V*}", "headers", json_value(cases[i].headers), "json", json);
        bool accepted = message_read(request, &message, &problem);
        if (accepted != (cases[i].code == 0) || problem.code != cases[i].code || problem.status != cases[i].status)
            fail_msg("case %zu: %s: status %d, code %d, %s", i, cases[i].json, problem.status, problem.code,
                     problem.text);
        assert_int_equal(message.modern, cases[i].modern);
        tn_release(problem.data);
        tn_release(request);
    }
    assert_int_equal(blocks, 0);
}

static void test_long_id(void **state) {
    char json[400];
    struct message message;
    struct problem problem = {0};
    (void)state;
    for (int length = MCPS_ID_MAX; length <= MCPS_ID_MAX + 1; length++) {
        (void)snprintf(json, sizeof json, "{\"json\":{\"jsonrpc\":\"2.0\",\"id\":\"%0*d\",\"method\":\"ping\"}}",
                       length, 1);
        tn_value request = json_value(json);
        assert_int_equal(message_read(request, &message, &problem), length == MCPS_ID_MAX);
        tn_release(request);
    }
}

static void test_version_error_has_data(void **state) {
    struct message message;
    struct problem problem = {0};
    (void)state;
    tn_value request = tn_build("{s:V, s:V}", "headers", json_value(HEADERS("v9", "tools/list", "")), "json",
                                json_value(CALL("tools/list", META("v9"))));
    assert_false(message_read(request, &message, &problem));
    tn_value reply = reply_error(message.id, &problem);
    expect_json_take(tn_retain(tn_get(tn_get(reply, "error"), "data")),
                     "{\"supported\":[\"2026-07-28\"],\"requested\":\"v9\"}");
    assert_int_equal(tn_get_int(reply, "id", 0), 7);
    tn_release(problem.data);
    tn_release(reply);
    tn_release(request);
}

static void test_accept(void **state) {
    static const struct {
        const char *accept, *type;
        bool accepted;
    } rows[] = {
        {"application/json, text/event-stream", "text/event-stream", true},
        {"text/event-stream;q=0.5 , Application/JSON", "application/json", true},
        {"text/*", "text/event-stream", true},
        {"*/*", "application/json", true},
        {"text/html", "application/json", false},
        {"application/jsonx", "application/json", false},
        {"application/", "application/json", false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tn_value request = tn_build("{s:{s:s}}", "headers", "accept", rows[i].accept);
        assert_int_equal(message_accepts(request, rows[i].type), rows[i].accepted);
        tn_release(request);
    }
    tn_value nothing = json_value("{}");
    assert_true(message_accepts(nothing, "application/json"));
    tn_release(nothing);
}

static void test_header_encoding(void **state) {
    static const struct {
        const char *text, *decoded; /* NULL: refused */
    } rows[] = {
        {"plain", "plain"},
        {"=?base64?SGVsbG8=?=", "Hello"},
        {"=?base64?SGVsbG8?=", NULL},
        {"=?base64?SGV!bG8=?=", NULL},
        {"=?base64?"
         "?=",
         ""},
        {"=?base64?SGVsbG8=", "=?base64?SGVsbG8="},
        {"SGVsbG8=", "SGVsbG8="},
        {"=?base64?/w==?=", NULL}, /* not UTF-8 */
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tn_value decoded = message_decode_header(rows[i].text);
        if (rows[i].decoded == NULL)
            assert_null(decoded);
        else
            assert_string_equal(tn_chars(decoded, NULL), rows[i].decoded);
        tn_release(decoded);
    }
}

static void test_parameters(void **state) {
    static const struct {
        const char *headers, *arguments;
        bool accepted;
    } rows[] = {
        {"{\"mcp-param-region\":\"eu\",\"mcp-param-count\":\"007\"}", "{\"region\":\"eu\",\"count\":7}", true},
        {"{\"mcp-param-region\":\"=?base64?ZXU=?=\"}", "{\"region\":\"eu\"}", true},
        {"{\"mcp-param-region\":\"EU\"}", "{\"region\":\"eu\"}", false},
        {"{}", "{\"region\":\"eu\"}", false},
        {"{}", "{}", true},
        {"{\"mcp-param-region\":\"=?base64?Z?=\"}", "{\"region\":\"eu\"}", false},
        {"{\"mcp-param-flag\":\"true\",\"mcp-param-count\":\"-1\"}", "{\"flag\":true,\"count\":-1}", true},
        {"{\"mcp-param-count\":\"1x\"}", "{\"count\":1}", false},
    };
    (void)state;
    tn_value schema =
        json_value("{\"type\":\"object\",\"properties\":{\"region\":{\"type\":\"string\",\"x-mcp-header\":"
                   "\"Region\"},\"count\":{\"type\":\"integer\",\"x-mcp-header\":\"Count\"},\"flag\":"
                   "{\"type\":\"boolean\",\"x-mcp-header\":\"Flag\"}}}");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct problem problem = {0};
        tn_value request = tn_build("{s:V}", "headers", json_value(rows[i].headers));
        tn_value arguments = json_value(rows[i].arguments);
        if (message_check_parameters(request, schema, arguments, &problem) != rows[i].accepted)
            fail_msg("case %zu: %s", i, problem.text);
        assert_int_equal(problem.code, rows[i].accepted ? 0 : MCPS_HEADER_MISMATCH);
        tn_release(request);
        tn_release(arguments);
    }
    tn_release(schema);
    assert_int_equal(blocks, 0);
}

/* ---- requestState ---- */

/* RFC 4231, cases 2, 3 and 6. */
static void test_hmac(void **state) {
    unsigned char key[131], data[50], out[32];
    char hex[65];
    static const char *const wanted[] = {"5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
                                         "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe",
                                         "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"};
    static const char large[] = "Test Using Larger Than Block-Size Key - Hash Key First";
    (void)state;
    for (int i = 0; i < 3; i++) {
        memset(key, 0xaa, sizeof key), memset(data, 0xdd, sizeof data);
        if (i == 0) state_hmac("Jefe", 4, "what do ya want for nothing?", 28, out);
        if (i == 1) state_hmac(key, 20, data, sizeof data, out);
        if (i == 2) state_hmac(key, sizeof key, large, sizeof large - 1, out);
        for (int b = 0; b < 32; b++) (void)snprintf(hex + 2 * b, 3, "%02x", out[b]);
        assert_string_equal(hex, wanted[i]);
    }
}

static void test_state(void **state) {
    unsigned char secret[MCPS_SECRET_BYTES] = {1}, other[MCPS_SECRET_BYTES] = {2};
    char text[MCPS_STATE_MAX + 8];
    uint64_t length = 0;
    (void)state;
    tn_value content = json_value("{\"run\":\"r\",\"expires\":100}");
    tn_value made = state_sign(secret, content);
    (void)snprintf(text, sizeof text, "%s", tn_chars(made, &length));
    expect_json_take(state_verify(secret, text, length, 99), "{\"run\":\"r\",\"expires\":100}");
    assert_null(state_verify(secret, text, length, 100)); /* expired */
    assert_null(state_verify(other, text, length, 0));
    assert_null(state_verify(secret, NULL, 0, 0));
    for (uint64_t i = 0; i < length; i++) { /* every byte counts, and every part */
        char kept = text[i];
        text[i] = kept == 'A' ? 'B' : 'A';
        assert_null(state_verify(secret, text, length, 0));
        text[i] = kept;
        assert_null(state_verify(secret, text, i, 0));
    }
    (void)snprintf(text + length, 8, "x");
    assert_null(state_verify(secret, text, length + 1, 0));
    tn_release(made);
    tn_release(content);
    assert_int_equal(blocks, 0);
}

static void test_large_state(void **state) {
    unsigned char secret[MCPS_SECRET_BYTES] = {1};
    char text[MCPS_STATE_MAX];
    (void)state;
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    tn_value content = tn_build("{s:s}", "run", text);
    assert_null(state_sign(secret, content));
    tn_release(content);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_messages),
        cmocka_unit_test(test_long_id),
        cmocka_unit_test(test_accept),
        cmocka_unit_test(test_version_error_has_data),
        cmocka_unit_test(test_header_encoding),
        cmocka_unit_test(test_parameters),
        cmocka_unit_test(test_hmac),
        cmocka_unit_test(test_state),
        cmocka_unit_test(test_large_state),
    };
    return cmocka_run_group_tests(tests, util_setup, NULL);
}
