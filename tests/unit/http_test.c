/* http_test.c - the plugin tenon.http: requests, bodies, streams, limits, broken connections, pause and cancel. */
#include "tests/unit/http_client_fixture.h"

static int setup(void **state) {
    (void)state;
    fixture_open("{}", NULL, NULL);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    echo_of(NULL);
    fixture_close();
    return 0;
}

/* ---- Requests ---- */

static void test_get(void **state) {
    (void)state;
    struct transfer *transfer = run_transfer("{\"url\": \"HTTP/hello\"}");
    assert_string_equal(transfer->trace, "HE");
    assert_int_equal(status_of(transfer), 200);
    assert_string_equal(body_of(transfer), "hello");
    assert_string_equal(header_of(transfer, "x-twice"), "a, b");
    assert_string_equal(header_of(transfer, "content-type"), "text/plain");
    assert_int_equal(value_to_int(value_get(transfer->head, "status")), 200);
    assert_int_equal(value_to_int(value_get(transfer->head, "attempt")), 1);
    assert_true(value_equal(value_get(transfer->head, "headers"), value_get(transfer->end, "headers")));
    assert_int_equal(value_to_int(value_get(transfer->end, "attempts")), 1);
    assert_int_equal(value_kind(value_get(transfer->end, "ms")), TN_INT);
}

static void test_request_line_and_body(void **state) {
    (void)state;
    static const struct {
        const char *request, *method, *target, *body, *type;
    } rows[] = {
        {"{\"url\": \"HTTP/echo\"}", "GET", "/echo", "", ""},
        {"{\"url\": \"HTTP/echo#part\"}", "GET", "/echo", "", ""},
        {"{\"url\": \"HTTP/echo\", \"method\": \"delete\"}", "DELETE", "/echo", "", ""},
        {"{\"url\": \"HTTP/echo\", \"body\": \"text\"}", "POST", "/echo", "text", ""},
        {"{\"url\": \"HTTP/echo\", \"body\": \"\"}", "POST", "/echo", "", ""},
        {"{\"url\": \"HTTP/echo\", \"body\": \"a\", \"method\": \"PUT\", \"headers\": {\"Content-Type\": \"x/y\"}}",
         "PUT", "/echo", "a", "x/y"},
        {"{\"url\": \"HTTP/echo\", \"body\": {\"$bytes\": \"AP8=\"}}", "POST", "/echo", NULL, ""},
        {"{\"url\": \"HTTP/echo\", \"json\": {\"a\": [1, null]}}", "POST", "/echo", "{\"a\":[1,null]}",
         "application/json"},
        {"{\"url\": \"HTTP/echo\", \"json\": null, \"method\": \"PATCH\"}", "PATCH", "/echo", "null",
         "application/json"},
        {"{\"url\": \"HTTP/echo\", \"json\": 1, \"headers\": {\"content-type\": \"application/x+json\"}}", "POST",
         "/echo", "1", "application/x+json"},
        {"{\"url\": \"HTTP/echo\", \"query\": {\"a b\": \"c&d=ä\", \"n\": [1, 2.5, true], \"no\": null}}", "GET",
         "/echo?a%20b=c%26d%3D%C3%A4&n=1&n=2.5&n=true", "", ""},
        {"{\"url\": \"HTTP/echo?x=1\", \"query\": {\"y\": \"-._~/\"}}", "GET", "/echo?x=1&y=-._~%2F", "", ""},
        {"{\"url\": \"HTTP/echo?#part\", \"query\": {\"y\": \"\"}}", "GET", "/echo?y=", "", ""},
        {"{\"url\": \"HTTP/echo?x=1&\", \"query\": {\"y\": 1}}", "GET", "/echo?x=1&y=1", "", ""},
        {"{\"url\": \"HTTP/echo?x=1\", \"query\": {}}", "GET", "/echo?x=1", "", ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct transfer *transfer = run_transfer(rows[i].request);
        if (transfer->error) fail_msg("%s: %s", rows[i].request, text_at(transfer->error, "message"));
        tn_value echo = echo_of(transfer);
        assert_string_equal(text_at(echo, "method"), rows[i].method);
        assert_string_equal(text_at(echo, "target"), rows[i].target);
        if (rows[i].body) assert_string_equal(text_at(echo, "body"), rows[i].body);
        assert_string_equal(text_at(value_get(echo, "headers"), "content-type"), rows[i].type);
        assert_null(value_get(value_get(echo, "headers"), "expect"));
    }
}

static void test_request_headers(void **state) {
    (void)state;
    struct transfer *transfer =
        run_transfer("{\"url\": \"HTTP/echo\", \"headers\": {\"Authorization\": \"Bearer ä\", \"X-Empty\": \"\","
                     " \"x-null\": null}}");
    tn_value headers = value_get(echo_of(transfer), "headers");
    assert_string_equal(text_at(headers, "authorization"),
                        "Bearer \xc3\x83\xc2\xa4"); /* the server decodes the bytes as Latin-1 */
    assert_true(value_get(headers, "x-empty") != NULL);
    assert_null(value_get(headers, "x-null"));
    assert_true(strncmp(text_at(headers, "user-agent"), "tenon/", 6) == 0);
    assert_non_null(strstr(text_at(headers, "accept-encoding"), "gzip"));
    transfer = run_transfer("{\"url\": \"HTTP/echo\", \"receive\": \"events\", \"headers\": {\"user-agent\": \"me\"}}");
    headers = value_get(echo_of(transfer), "headers");
    assert_string_equal(text_at(headers, "user-agent"), "me");
    assert_string_equal(text_at(headers, "accept"), "text/event-stream");
}

static void test_large_request_body(void **state) {
    (void)state;
    char *text = mem_alloc(3000001), *url = fixture_text("HTTP/echo");
    memset(text, 'x', 3000000);
    text[3000000] = '\0';
    tn_value request = value_set_take(value_object(), "url", value_text(url));
    request = value_set_take(request, "body", value_text(text));
    struct transfer *transfer = mem_zalloc(sizeof *transfer);
    fixture_transfers[fixture_transfer_count++] = transfer;
    assert_int_equal(http->send(fixture_self(), request, fixture_handler, transfer, &transfer->exchange), TN_OK);
    value_unref(request); /* the transfer holds its own references */
    mem_free(text);
    mem_free(url);
    wait_for_transfer(transfer);
    size_t length = 0;
    value_data(value_get(transfer->end, "body"), &length);
    assert_true(length > 3000000);
}

static void test_responses_without_a_body(void **state) {
    (void)state;
    struct transfer *transfer = run_transfer("{\"url\": \"HTTP/hello\", \"method\": \"HEAD\"}");
    assert_int_equal(status_of(transfer), 200);
    assert_string_equal(header_of(transfer, "content-length"), "5");
    assert_string_equal(body_of(transfer), "");
    transfer = run_transfer("{\"url\": \"HTTP/big/1000\", \"method\": \"HEAD\", \"max_bytes\": 10}");
    assert_int_equal(status_of(transfer), 200);
    transfer = run_transfer("{\"url\": \"HTTP/nothing\", \"receive\": \"events\"}");
    assert_string_equal(transfer->trace, "HE");
    assert_int_equal(status_of(transfer), 204);
    assert_null(value_get(transfer->end, "body"));
}

static void test_invalid_requests(void **state) {
    (void)state;
    static const struct {
        const char *request, *code, *part;
    } rows[] = {
        {"1", "INVALID_INPUT", "`request` must be an object; found an int"},
        {"{}", "INVALID_INPUT", "`url` must be a string"},
        {"{\"url\": 1}", "INVALID_INPUT", "`url` must be a string; found an int"},
        {"{\"url\": \"\"}", "INVALID_INPUT", "`url` is not a URL"},
        {"{\"url\": \"nonsense\"}", "INVALID_INPUT", "`url` is not a URL"},
        {"{\"url\": \"http://\"}", "INVALID_INPUT", "`url` is not a URL"},
        {"{\"url\": \"http://a b/\"}", "INVALID_INPUT", "`url` is not a URL"},
        {"{\"url\": \"http://a/\\u0000b\"}", "INVALID_INPUT", "NUL"},
        {"{\"url\": \"file:///etc/passwd\"}", "INVALID_INPUT", "neither http nor https"},
        {"{\"url\": \"ftp://a/b\"}", "INVALID_INPUT", "neither http nor https"},
        {"{\"url\": \"http://me:word@a/\"}", "INVALID_INPUT", "a user name"},
        {"{\"url\": \"HTTP/echo\", \"methd\": \"GET\"}", "INVALID_INPUT", "unknown member `methd`"},
        {"{\"url\": \"HTTP/echo\", \"method\": \"GET /\"}", "INVALID_INPUT", "`method` must be an HTTP method"},
        {"{\"url\": \"HTTP/echo\", \"method\": \"CONNECT\"}", "INVALID_INPUT", "plugins may not use"},
        {"{\"url\": \"HTTP/echo\", \"method\": 1}", "INVALID_INPUT", "`method` must be a string"},
        {"{\"url\": \"HTTP/echo\", \"receive\": \"all\"}", "INVALID_INPUT", "whole, bytes, events or lines"},
        {"{\"url\": \"HTTP/echo\", \"receive\": 1}", "INVALID_INPUT", "found an int"},
        {"{\"url\": \"HTTP/echo\", \"query\": [1]}", "INVALID_INPUT", "`query` must be an object"},
        {"{\"url\": \"HTTP/echo\", \"query\": {\"a\": {}}}", "INVALID_INPUT", "`query.a` must be a string"},
        {"{\"url\": \"HTTP/echo\", \"query\": {\"a\": [null]}}", "INVALID_INPUT", "`query.a` must be a string"},
        {"{\"url\": \"HTTP/echo\", \"headers\": 1}", "INVALID_INPUT", "`headers` must be an object"},
        {"{\"url\": \"HTTP/echo\", \"headers\": {\"a b\": \"c\"}}", "INVALID_INPUT", "not a valid header name"},
        {"{\"url\": \"HTTP/echo\", \"headers\": {\"\": \"c\"}}", "INVALID_INPUT", "not a valid header name"},
        {"{\"url\": \"HTTP/echo\", \"headers\": {\"a:\": \"c\"}}", "INVALID_INPUT", "not a valid header name"},
        {"{\"url\": \"HTTP/echo\", \"headers\": {\"a\": 1}}", "INVALID_INPUT", "`headers.a` must be a string"},
        {"{\"url\": \"HTTP/echo\", \"headers\": {\"a\": \"se\\r\\ncret: x\"}}", "INVALID_INPUT",
         "`headers.a` contains a"},
        {"{\"url\": \"HTTP/echo\", \"headers\": {\"Host\": \"b\"}}", "INVALID_INPUT", "set by the host"},
        {"{\"url\": \"HTTP/echo\", \"headers\": {\"content-length\": \"5\"}}", "INVALID_INPUT", "set by the host"},
        {"{\"url\": \"HTTP/echo\", \"body\": 1}", "INVALID_INPUT", "`body` must be a string or bytes"},
        {"{\"url\": \"HTTP/echo\", \"body\": \"\", \"json\": 1}", "INVALID_INPUT", "both `body` and `json`"},
        {"{\"url\": \"HTTP/echo\", \"timeout\": 1}", "INVALID_INPUT", "`timeout` must be an object"},
        {"{\"url\": \"HTTP/echo\", \"timeout\": {\"all\": 1}}", "INVALID_INPUT", "unknown member `all`"},
        {"{\"url\": \"HTTP/echo\", \"timeout\": {\"idle_ms\": 0}}", "INVALID_INPUT", "must be from 1"},
        {"{\"url\": \"HTTP/echo\", \"timeout\": {\"idle_ms\": \"1\"}}", "INVALID_INPUT", "an integer"},
        {"{\"url\": \"HTTP/echo\", \"retry\": {}}", "INVALID_INPUT", "max_attempts` is missing"},
        {"{\"url\": \"HTTP/echo\", \"retry\": {\"max_attempts\": 11}}", "INVALID_INPUT", "from 2 to 10"},
        {"{\"url\": \"HTTP/echo\", \"redirects\": 1}", "INVALID_INPUT", "redirects"},
        {"{\"url\": \"HTTP/echo\", \"max_bytes\": 67108865}", "INVALID_INPUT", "from 1 to 67108864"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct transfer *transfer = run_transfer(rows[i].request);
        expect_failure(transfer, rows[i].code, false, rows[i].part);
        assert_string_equal(transfer->trace, "F");
        assert_null(strstr(text_at(transfer->error, "message"), "cret"));
    }
}

static void test_request_limits(void **state) {
    (void)state;
    struct buffer text;
    buffer_init(&text, SIZE_MAX);
    buffer_text(&text, "{\"url\": \"HTTP/echo\", \"headers\": {\"a\": \"");
    for (int i = 0; i < 262145; i++) buffer_char(&text, 'x');
    buffer_text(&text, "\"}}");
    expect_failure(run_transfer(buffer_cstr(&text)), "LIMIT", false, "`headers` has more than 262144 bytes");
    buffer_clear(&text);
    buffer_text(&text, "{\"url\": \"HTTP/echo\", \"query\": {\"a\": \"");
    for (int i = 0; i < 65536; i++) buffer_char(&text, 'x');
    buffer_text(&text, "\"}}");
    expect_failure(run_transfer(buffer_cstr(&text)), "LIMIT", false, "the limit is 65536");
    buffer_clear(&text);
    buffer_text(&text, "{\"url\": \"HTTP/echo\", \"headers\": {\"a\": null");
    for (int i = 0; i < 256; i++) buffer_format(&text, ", \"a%d\": \"\"", i);
    buffer_text(&text, "}}");
    expect_failure(run_transfer(buffer_cstr(&text)), "LIMIT", false, "`headers` has 257 members; the limit is 256");
    buffer_finish(&text);
}

static void test_invalid_arguments(void **state) {
    (void)state;
    uint64_t number = 7;
    tn_value request = value_object();
    assert_int_equal(http->send(fixture_self(), NULL, fixture_handler, NULL, &number), TN_INVALID);
    assert_int_equal(http->send(fixture_self(), request, NULL, NULL, &number), TN_INVALID);
    assert_int_equal(http->send(fixture_self(), request, fixture_handler, NULL, NULL), TN_INVALID);
    assert_int_equal(number, 7);
    value_unref(request);
    for (uint64_t wrong = 0; wrong < 3; wrong++) {
        assert_int_equal(http->pause(fixture_self(), wrong << 31), TN_STALE);
        assert_int_equal(http->resume(fixture_self(), wrong << 31), TN_STALE);
        assert_int_equal(http->cancel(fixture_self(), wrong << 31), TN_STALE);
    }
}

/* ---- Bodies and streams ---- */

static void test_bodies(void **state) {
    (void)state;
    struct transfer *transfer = run_transfer("{\"url\": \"HTTP/chunked\"}");
    assert_string_equal(body_of(transfer), "one two three");
    assert_string_equal(header_of(transfer, "x-after"), ""); /* trailers are not added to the headers */
    transfer = run_transfer("{\"url\": \"HTTP/cut/close\"}");
    assert_string_equal(body_of(transfer), "until the end");
    transfer = run_transfer("{\"url\": \"HTTP/big/200000?chunked=1\"}");
    size_t length = 0;
    value_data(value_get(transfer->end, "body"), &length);
    assert_int_equal(length, 200000);
    transfer = run_transfer("{\"url\": \"HTTP/odd\"}");
    assert_string_equal(header_of(transfer, "x-odd"), "caf\xef\xbf\xbd");
    assert_non_null(value_get(value_get(transfer->end, "headers"), "x-empty"));
    assert_null(value_get(value_get(transfer->end, "headers"), "x-early"));
}

static void test_compressed_bodies(void **state) {
    (void)state;
    struct transfer *transfer = run_transfer("{\"url\": \"HTTP/compressed\"}");
    assert_int_equal(strlen(body_of(transfer)), 11000);
    assert_true(strncmp(body_of(transfer), "compressed compressed ", 22) == 0);
    transfer = run_transfer("{\"url\": \"HTTP/compressed?how=stream\", \"receive\": \"events\"}");
    expect_data(transfer, "[{\"event\":\"message\",\"data\":\"one\"},{\"event\":\"message\",\"data\":\"two\"}]");
    expect_failure(run_transfer("{\"url\": \"HTTP/compressed?how=bomb\", \"max_bytes\": 1000000}"), "LIMIT", false,
                   "1000000 bytes of `max_bytes`");
    expect_failure(run_transfer("{\"url\": \"HTTP/compressed?how=broken\"}"), "PROTOCOL", false, NULL);
}

static void test_bytes_arrive_in_pieces(void **state) {
    (void)state;
    struct transfer *transfer = run_transfer("{\"url\": \"HTTP/big/300000?chunked=1\", \"receive\": \"bytes\"}");
    size_t total = 0;
    for (size_t i = 0; i < transfer->count; i++) {
        size_t length = 0;
        const char *bytes = value_data(value_at(transfer->data, i), &length);
        for (size_t j = 0; j < length; j++) assert_int_equal(bytes[j], 'x');
        total += length;
    }
    assert_int_equal(total, 300000);
    assert_true(transfer->count >= 2);
    assert_int_equal(transfer->trace[0], 'H');
    assert_null(value_get(transfer->end, "body"));
}

#define EVENTS                                                                                                         \
    "[{\"event\":\"first\",\"data\":\"a\\nb\",\"id\":\"1\"},"                                                          \
    "{\"event\":\"message\",\"data\":\"{\\\"n\\\": 2}\",\"id\":\"1\"},"                                                \
    "{\"event\":\"message\",\"data\":\"\",\"id\":\"1\",\"retry\":7},"                                                  \
    "{\"event\":\"message\",\"data\":\"ä \xef\xbf\xbd!\",\"id\":\"1\"},{\"event\":\"message\",\"data\":\"last\"}]"

static void test_events_in_chunks_of_any_size(void **state) {
    (void)state;
    for (int size = 1; size < 60; size += size < 4 ? 1 : 13) {
        char request[100];
        snprintf(request, sizeof request, "{\"url\": \"HTTP/events?size=%d\", \"receive\": \"events\"}", size);
        struct transfer *transfer = run_transfer(request);
        expect_data(transfer, EVENTS);
        assert_string_equal(transfer->trace, "HDDDDDE");
    }
}

static void test_other_content_type_is_not_parsed_as_events(void **state) {
    (void)state;
    struct transfer *transfer =
        run_transfer("{\"url\": \"HTTP/events?type=application/json\", \"receive\": \"events\"}");
    assert_string_equal(transfer->trace, "HE");
    assert_non_null(strstr(body_of(transfer), "data: last"));
    transfer = run_transfer("{\"url\": \"HTTP/events?type=Text/Event-Stream;charset=utf-8\", \"receive\": \"events\"}");
    expect_data(transfer, EVENTS);
    transfer = run_transfer("{\"url\": \"HTTP/events?type=text/event-streams\", \"receive\": \"events\"}");
    assert_string_equal(transfer->trace, "HE");
}

static void test_lines(void **state) {
    (void)state;
    for (int size = 1; size < 40; size += 12) {
        char request[100];
        snprintf(request, sizeof request, "{\"url\": \"HTTP/lines?size=%d\", \"receive\": \"lines\"}", size);
        expect_data(run_transfer(request), "[\"{\\\"a\\\": 1}\",\"\",\"{\\\"b\\\": \\r2}\",\"last \xef\xbf\xbd\"]");
    }
}

static void test_body_of_an_error_status_is_in_end(void **state) {
    (void)state;
    static const char *const receives[] = {"whole", "bytes", "events", "lines"};
    for (size_t i = 0; i < 4; i++) {
        char request[100];
        snprintf(request, sizeof request, "{\"url\": \"HTTP/status/404\", \"receive\": \"%s\"}", receives[i]);
        struct transfer *transfer = run_transfer(request);
        assert_string_equal(transfer->trace, "HE");
        assert_int_equal(status_of(transfer), 404);
        assert_string_equal(body_of(transfer), "the body of 404");
    }
}

static void test_response_limits(void **state) {
    (void)state;
    static const char *const requests[] = {
        "{\"url\": \"HTTP/big/1001\", \"max_bytes\": 1000}",
        "{\"url\": \"HTTP/big/1001?chunked=1\", \"max_bytes\": 1000}",
        "{\"url\": \"HTTP/big/1001?chunked=1\", \"max_bytes\": 1000, \"receive\": \"bytes\"}",
        "{\"url\": \"HTTP/many/1000\", \"max_bytes\": 1000, \"receive\": \"events\"}",
    };
    for (size_t i = 0; i < 4; i++)
        expect_failure(run_transfer(requests[i]), "LIMIT", false, "the body exceeds the 1000 bytes of `max_bytes`");
    /* An event or a line of more than 32 MiB. */
    expect_failure(
        run_transfer("{\"url\": \"HTTP/big/34000000?chunked=1&type=text/event-stream\", \"receive\": \"events\"}"),
        "LIMIT", false, "an event has more than 33554432 bytes");
    expect_failure(run_transfer("{\"url\": \"HTTP/big/34000000?chunked=1\", \"receive\": \"lines\"}"), "LIMIT", false,
                   "a line has more than 33554432 bytes");
    assert_int_equal(status_of(run_transfer("{\"url\": \"HTTP/big/1000\", \"max_bytes\": 1000}")), 200);
    assert_int_equal(status_of(run_transfer("{\"url\": \"HTTP/heads/200/10\"}")), 200);
    expect_failure(run_transfer("{\"url\": \"HTTP/heads/257/10\"}"), "LIMIT", false,
                   "the limit of 256 headers or 262144 bytes");
    expect_failure(run_transfer("{\"url\": \"HTTP/heads/80/4000\"}"), "LIMIT", false, NULL);
}

/* ---- Failures ---- */

static void test_broken_connections(void **state) {
    (void)state;
    static const struct {
        const char *request, *trace, *code;
        bool retryable;
    } rows[] = {
        {"{\"url\": \"HTTP/cut/length\"}", "F", "CONNECTION_LOST", true},
        {"{\"url\": \"HTTP/cut/length\", \"receive\": \"bytes\"}", "HDF", "CONNECTION_LOST", true},
        {"{\"url\": \"HTTP/cut/chunk\", \"receive\": \"events\"}", "HDF", "CONNECTION_LOST", true},
        {"{\"url\": \"HTTP/cut/chunks\", \"receive\": \"events\"}", "HDF", "CONNECTION_LOST", true},
        {"{\"url\": \"HTTP/cut/head\"}", "F", "CONNECTION_LOST", true},
        {"{\"url\": \"HTTP/cut/nothing\"}", "F", "CONNECTION_LOST", true},
        {"{\"url\": \"HTTP/cut/encoding\"}", "F", "PROTOCOL", false},
        {"{\"url\": \"HTTP/cut/nonsense\"}", "F", "PROTOCOL", false},
        {"{\"url\": \"http://127.0.0.1:1/\"}", "F", "CONNECT", true},
        {"{\"url\": \"https://127.0.0.1:1/\"}", "F", "CONNECT", true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct transfer *transfer = run_transfer(rows[i].request);
        expect_failure(transfer, rows[i].code, rows[i].retryable, NULL);
        assert_string_equal(transfer->trace, rows[i].trace);
    }
}

static void test_messages_have_no_secrets(void **state) {
    (void)state;
    static const char *const requests[] = {
        "{\"url\": \"http://127.0.0.1:1/?key=s3cret\", \"headers\": {\"x-api-key\": \"s3cret\"}}",
        "{\"url\": \"HTTP/cut/head\", \"query\": {\"key\": \"s3cret\"}}",
        "{\"url\": \"HTTP/cut/length\", \"body\": \"s3cret\"}",
        "{\"url\": \"HTTP/silence?key=s3cret\", \"timeout\": {\"idle_ms\": 20}}",
        "{\"url\": \"HTTP/big/1001?s3cret\", \"max_bytes\": 1000}",
        "{\"url\": \"https://s3cret@x/\"}",
        "{\"url\": \"nonsense:s3cret\"}",
        "{\"url\": \"HTTP/\", \"headers\": {\"a\": \"s3cret\\n\"}}",
    };
    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++) {
        struct transfer *transfer = run_transfer(requests[i]);
        char *text = json_text(transfer->error, JSON_COMPACT);
        if (!transfer->error || strstr(text, "s3cret")) fail_msg("%s", text);
        mem_free(text);
    }
}

/* ---- Pausing and cancelling ---- */

static void pause_at_data(struct transfer *transfer, int32_t event) {
    if (event == TN_HTTP_DATA) assert_int_equal(http->pause(fixture_self(), transfer->exchange), TN_OK);
}

static bool has_data(void *user) { return ((struct transfer *)user)->count > 0; }

static void test_pause_and_resume_at_every_event(void **state) {
    (void)state;
    struct transfer *transfer = start_transfer("{\"url\": \"HTTP/many/50\", \"receive\": \"events\"}", pause_at_data);
    for (size_t i = 1; i <= 50; i++) {
        /* While this transfer is paused, others continue, and it receives nothing. */
        while (transfer->count < i) fixture_run_turns();
        if (i % 10 == 0) run_transfer("{\"url\": \"HTTP/hello\"}");
        assert_int_equal(transfer->count, i);
        assert_false(transfer->done);
        size_t before = transfer->count;
        assert_int_equal(http->resume(fixture_self(), transfer->exchange), TN_OK);
        assert_int_equal(transfer->count, before); /* resume calls no handler */
        assert_int_equal(http->resume(fixture_self(), transfer->exchange), TN_OK);
        if (i < 50)
            while (transfer->count == i) fixture_run_turns();
    }
    wait_for_transfer(transfer);
    assert_int_equal(value_count(transfer->data), 50);
    assert_true(value_text_is(value_get(value_at(transfer->data, 49), "data"), "49"));
}

static void test_pause_stops_the_sender(void **state) {
    (void)state;
    static const char *const receives[] = {"bytes", "events"};
    struct transfer *transfers[2];
    char request[200];
    for (int i = 0; i < 2; i++) {
        snprintf(request, sizeof request,
                 "{\"url\": \"HTTP/endless?key=slow%d&type=text/event-stream\", \"receive\": \"%s\", \"timeout\": "
                 "{\"idle_ms\": 5000}}",
                 i, receives[i]);
        transfers[i] = start_transfer(request, pause_at_data);
        assert_true(fixture_run(has_data, transfers[i]));
    }
    for (int i = 0; i < 2; i++) {
        snprintf(request, sizeof request, "{\"url\": \"HTTP/is-stuck?key=slow%d\"}", i);
        struct transfer *stuck = run_transfer(request);
        assert_int_equal(status_of(stuck), 200);
        assert_true(atol(body_of(stuck)) < 20000000);
    }
    /* A paused transfer has no idle timeout: another one, which starts later, has a longer one, and ends. */
    expect_failure(run_transfer("{\"url\": \"HTTP/silence\", \"timeout\": {\"idle_ms\": 6000}}"), "TIMEOUT", true,
                   NULL);
    for (int i = 0; i < 2; i++) {
        struct transfer *transfer = transfers[i];
        assert_int_equal(transfer->count, 1);
        assert_false(transfer->done);
        transfer->on_event = NULL;
        assert_int_equal(http->resume(fixture_self(), transfer->exchange), TN_OK);
        size_t before = transfer->count;
        while (transfer->count < before + 20) {
            assert_false(transfer->done);
            fixture_run_turns();
        }
        assert_int_equal(http->cancel(fixture_self(), transfer->exchange), TN_OK);
        snprintf(request, sizeof request, "{\"url\": \"HTTP/is-closed?key=slow%d\"}", i);
        assert_int_equal(status_of(run_transfer(request)), 200);
    }
}

static void test_pause_delays_end_and_failure(void **state) {
    (void)state;
    static const char *const requests[] = {"{\"url\": \"HTTP/hello\"}", "{\"url\": \"HTTP/cut/chunks\"}",
                                           "{\"url\": 1}", "{\"url\": \"HTTP/hello\", \"receive\": \"bytes\"}"};
    static const char *const traces[] = {"HE", "F", "F", "HDE"};
    for (size_t i = 0; i < 4; i++) {
        struct transfer *transfer = start_transfer(requests[i], NULL);
        assert_int_equal(http->pause(fixture_self(), transfer->exchange), TN_OK);
        assert_int_equal(http->pause(fixture_self(), transfer->exchange), TN_OK);
        run_transfer("{\"url\": \"HTTP/hello\"}");
        run_transfer("{\"url\": \"HTTP/hello\"}");
        assert_null(transfer->end);
        assert_null(transfer->error);
        assert_int_equal(transfer->count, 0);
        assert_int_equal(http->resume(fixture_self(), transfer->exchange), TN_OK);
        wait_for_transfer(transfer);
        assert_string_equal(transfer->trace, traces[i]);
    }
}

static void test_cancel_closes_the_connection(void **state) {
    (void)state;
    struct transfer *transfer =
        start_transfer("{\"url\": \"HTTP/begins?key=cancelled\", \"receive\": \"events\"}", NULL);
    assert_true(fixture_run(has_data, transfer));
    assert_int_equal(http->cancel(fixture_self(), transfer->exchange), TN_OK);
    assert_int_equal(http->cancel(fixture_self(), transfer->exchange), TN_STALE);
    assert_int_equal(http->pause(fixture_self(), transfer->exchange), TN_STALE);
    assert_int_equal(http->resume(fixture_self(), transfer->exchange), TN_STALE);
    assert_int_equal(status_of(run_transfer("{\"url\": \"HTTP/is-closed?key=cancelled\"}")), 200);
    assert_string_equal(transfer->trace, "HD");
}

static int cancel_at;

static void cancel_in_handler(struct transfer *transfer, int32_t event) {
    int32_t status = http->cancel(fixture_self(), transfer->exchange);
    if (event == cancel_at) {
        assert_int_equal(status, transfer->done ? TN_STALE : TN_OK);
        transfer->done = true;
    }
}

static void cancel_at_event(struct transfer *transfer, int32_t event) {
    if (event == cancel_at) cancel_in_handler(transfer, event);
}

static void test_cancel_in_the_handler(void **state) {
    (void)state;
    static const char *const traces[] = {"", "H", "HD", "HDDDDDE", "F"};
    for (cancel_at = TN_HTTP_HEAD; cancel_at <= TN_HTTP_FAILED; cancel_at++) {
        struct transfer *transfer =
            start_transfer(cancel_at == TN_HTTP_FAILED ? "{\"url\": \"HTTP/cut/head\"}"
                                                       : "{\"url\": \"HTTP/events\", \"receive\": \"events\"}",
                           cancel_at_event);
        wait_for_transfer(transfer);
        run_transfer("{\"url\": \"HTTP/hello\"}");
        assert_string_equal(transfer->trace, traces[cancel_at]);
    }
}

static void test_cancel_before_the_first_event(void **state) {
    (void)state;
    static const char *const requests[] = {"{\"url\": \"HTTP/hello\"}", "{\"url\": 1}",
                                           "{\"url\": \"http://nowhere.invalid/\"}"};
    for (size_t i = 0; i < 3; i++) {
        struct transfer *transfer = start_transfer(requests[i], NULL);
        assert_int_equal(http->cancel(fixture_self(), transfer->exchange), TN_OK);
        assert_int_equal(http->cancel(fixture_self(), transfer->exchange), TN_STALE);
        run_transfer("{\"url\": \"HTTP/hello\"}");
        assert_string_equal(transfer->trace, "");
    }
}

static struct transfer *second;

static void send_second(struct transfer *transfer, int32_t event) {
    (void)transfer;
    if (event == TN_HTTP_END) second = start_transfer("{\"url\": \"HTTP/hello\"}", NULL);
}

static void cancel_second(struct transfer *transfer, int32_t event) {
    (void)transfer;
    if (event == TN_HTTP_END && second) {
        (void)http->cancel(fixture_self(), second->exchange);
        second = NULL;
    }
}

static void test_handlers_may_send_and_cancel(void **state) {
    (void)state;
    second = NULL;
    wait_for_transfer(start_transfer("{\"url\": \"HTTP/hello\"}", send_second));
    wait_for_transfer(second);
    assert_string_equal(second->trace, "HE");
    second = start_transfer("{\"url\": \"HTTP/silence?key=x\"}", NULL);
    wait_for_transfer(start_transfer("{\"url\": \"HTTP/hello\"}", cancel_second));
    assert_int_equal(status_of(run_transfer("{\"url\": \"HTTP/is-closed?key=x\"}")), 200);
    assert_null(second);
}

/* ---- A handler that sends again at each failure leaves turns of the loop to others ---- */

static uint32_t sent_again;
static bool others_had_a_turn;

static void note_turn(struct loop_work *work) {
    (void)work;
    others_had_a_turn = true;
}

static struct loop_work others = {.run = note_turn};

static void send_again(struct transfer *transfer, int32_t event) {
    (void)transfer;
    assert_int_equal(event, TN_HTTP_FAILED);
    if (sent_again++ == 0) loop_defer(fixture_host.loop, &others);
    if (!others_had_a_turn && sent_again < 3000) (void)start_transfer("{\"url\": 1}", send_again);
}

static bool has_stopped_sending(void *user) {
    (void)user;
    return others_had_a_turn || sent_again == 3000;
}

static void test_handlers_that_send_again_leave_turns_to_others(void **state) {
    (void)state;
    (void)start_transfer("{\"url\": 1}", send_again);
    assert_true(fixture_run(has_stopped_sending, NULL));
    assert_true(sent_again < 3000);
}

static void test_unloading_the_plugin_ends_open_requests(void **state) {
    (void)state;
    (void)start_transfer("{\"url\": \"HTTP/silence\"}", NULL);
    (void)start_transfer("{\"url\": \"http://nowhere.invalid/\"}", NULL);
    struct transfer *transfer = start_transfer("{\"url\": \"HTTP/begins\", \"receive\": \"events\"}", NULL);
    assert_true(fixture_run(has_data, transfer));
    (void)start_transfer("{\"url\": 1}", NULL);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_get),
        TEST(test_request_line_and_body),
        TEST(test_request_headers),
        TEST(test_large_request_body),
        TEST(test_responses_without_a_body),
        TEST(test_invalid_requests),
        TEST(test_request_limits),
        TEST(test_invalid_arguments),
        TEST(test_bodies),
        TEST(test_compressed_bodies),
        TEST(test_bytes_arrive_in_pieces),
        TEST(test_events_in_chunks_of_any_size),
        TEST(test_other_content_type_is_not_parsed_as_events),
        TEST(test_lines),
        TEST(test_body_of_an_error_status_is_in_end),
        TEST(test_response_limits),
        TEST(test_broken_connections),
        TEST(test_messages_have_no_secrets),
        TEST(test_pause_and_resume_at_every_event),
        TEST(test_pause_stops_the_sender),
        TEST(test_pause_delays_end_and_failure),
        TEST(test_cancel_closes_the_connection),
        TEST(test_cancel_in_the_handler),
        TEST(test_cancel_before_the_first_event),
        TEST(test_handlers_may_send_and_cancel),
        TEST(test_handlers_that_send_again_leave_turns_to_others),
        TEST(test_unloading_the_plugin_ends_open_requests),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
