/* tenon.http against a server of its own: requests, bodies, streams, pausing, cancelling, what breaks. */
#include "tests/unit/http_client_fixture.h"

static int setup(void **state) {
    (void)state;
    fixture_begin("{}", NULL, NULL);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    echo_of(NULL);
    fixture_end();
    return 0;
}

/* ---- Requests ---- */

static void test_hello(void **state) {
    (void)state;
    struct got *got = exchange("{\"url\": \"HTTP/hello\"}");
    assert_string_equal(got->trace, "HE");
    assert_int_equal(status_of(got), 200);
    assert_string_equal(body_of(got), "hello");
    assert_string_equal(header_of(got, "x-twice"), "a, b");
    assert_string_equal(header_of(got, "content-type"), "text/plain");
    assert_int_equal(value_to_int(value_get(got->head, "status")), 200);
    assert_int_equal(value_to_int(value_get(got->head, "attempt")), 1);
    assert_true(value_equal(value_get(got->head, "headers"), value_get(got->end, "headers")));
    assert_int_equal(value_to_int(value_get(got->end, "attempts")), 1);
    assert_int_equal(value_kind(value_get(got->end, "ms")), TN_INT);
}

static void test_what_is_sent(void **state) {
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
        struct got *got = exchange(rows[i].request);
        if (got->error) fail_msg("%s: %s", rows[i].request, text_at(got->error, "message"));
        tn_value echo = echo_of(got);
        assert_string_equal(text_at(echo, "method"), rows[i].method);
        assert_string_equal(text_at(echo, "target"), rows[i].target);
        if (rows[i].body) assert_string_equal(text_at(echo, "body"), rows[i].body);
        assert_string_equal(text_at(value_get(echo, "headers"), "content-type"), rows[i].type);
        assert_null(value_get(value_get(echo, "headers"), "expect"));
    }
}

static void test_headers_that_are_sent(void **state) {
    (void)state;
    struct got *got =
        exchange("{\"url\": \"HTTP/echo\", \"headers\": {\"Authorization\": \"Bearer ä\", \"X-Empty\": \"\","
                 " \"x-null\": null}}");
    tn_value headers = value_get(echo_of(got), "headers");
    assert_string_equal(text_at(headers, "authorization"), "Bearer \xc3\x83\xc2\xa4"); /* as the server reads bytes */
    assert_true(value_get(headers, "x-empty") != NULL);
    assert_null(value_get(headers, "x-null"));
    assert_true(strncmp(text_at(headers, "user-agent"), "tenon/", 6) == 0);
    assert_non_null(strstr(text_at(headers, "accept-encoding"), "gzip"));
    got = exchange("{\"url\": \"HTTP/echo\", \"receive\": \"events\", \"headers\": {\"user-agent\": \"me\"}}");
    headers = value_get(echo_of(got), "headers");
    assert_string_equal(text_at(headers, "user-agent"), "me");
    assert_string_equal(text_at(headers, "accept"), "text/event-stream");
}

static void test_a_large_body_is_sent_at_once(void **state) {
    (void)state;
    char *text = mem_alloc(3000001), *url = fixture_text("HTTP/echo");
    memset(text, 'x', 3000000);
    text[3000000] = '\0';
    tn_value request = value_set_take(value_object(), "url", value_text(url));
    request = value_set_take(request, "body", value_text(text));
    struct got *got = mem_zalloc(sizeof *got);
    fixture_got[fixture_got_count++] = got;
    assert_int_equal(http->send(fixture_self(), request, fixture_handler, got, &got->exchange), TN_OK);
    value_unref(request); /* the exchange has kept what it needs */
    mem_free(text);
    mem_free(url);
    wait_for(got);
    size_t length = 0;
    value_data(value_get(got->end, "body"), &length);
    assert_true(length > 3000000);
}

static void test_head_and_nothing(void **state) {
    (void)state;
    struct got *got = exchange("{\"url\": \"HTTP/hello\", \"method\": \"HEAD\"}");
    assert_int_equal(status_of(got), 200);
    assert_string_equal(header_of(got, "content-length"), "5");
    assert_string_equal(body_of(got), "");
    got = exchange("{\"url\": \"HTTP/big/1000\", \"method\": \"HEAD\", \"max_bytes\": 10}");
    assert_int_equal(status_of(got), 200);
    got = exchange("{\"url\": \"HTTP/nothing\", \"receive\": \"events\"}");
    assert_string_equal(got->trace, "HE");
    assert_int_equal(status_of(got), 204);
    assert_null(value_get(got->end, "body"));
}

static void test_requests_that_are_wrong(void **state) {
    (void)state;
    static const struct {
        const char *request, *code, *part;
    } rows[] = {
        {"1", "INVALID_INPUT", "`request` is an object, and an int was found"},
        {"{}", "INVALID_INPUT", "`url` is text"},
        {"{\"url\": 1}", "INVALID_INPUT", "`url` is text, and an int was found"},
        {"{\"url\": \"\"}", "INVALID_INPUT", "`url` is no URL"},
        {"{\"url\": \"nonsense\"}", "INVALID_INPUT", "`url` is no URL"},
        {"{\"url\": \"http://\"}", "INVALID_INPUT", "`url` is no URL"},
        {"{\"url\": \"http://a b/\"}", "INVALID_INPUT", "`url` is no URL"},
        {"{\"url\": \"http://a/\\u0000b\"}", "INVALID_INPUT", "NUL"},
        {"{\"url\": \"file:///etc/passwd\"}", "INVALID_INPUT", "neither http nor https"},
        {"{\"url\": \"ftp://a/b\"}", "INVALID_INPUT", "neither http nor https"},
        {"{\"url\": \"http://me:word@a/\"}", "INVALID_INPUT", "a user's name"},
        {"{\"url\": \"HTTP/echo\", \"methd\": \"GET\"}", "INVALID_INPUT", "no member `methd`"},
        {"{\"url\": \"HTTP/echo\", \"method\": \"GET /\"}", "INVALID_INPUT", "`method` is no method"},
        {"{\"url\": \"HTTP/echo\", \"method\": \"CONNECT\"}", "INVALID_INPUT", "not for plugins"},
        {"{\"url\": \"HTTP/echo\", \"method\": 1}", "INVALID_INPUT", "`method` is text"},
        {"{\"url\": \"HTTP/echo\", \"receive\": \"all\"}", "INVALID_INPUT", "whole, bytes, events and lines"},
        {"{\"url\": \"HTTP/echo\", \"receive\": 1}", "INVALID_INPUT", "an int was found"},
        {"{\"url\": \"HTTP/echo\", \"query\": [1]}", "INVALID_INPUT", "`query` is an object"},
        {"{\"url\": \"HTTP/echo\", \"query\": {\"a\": {}}}", "INVALID_INPUT", "`query.a` is text"},
        {"{\"url\": \"HTTP/echo\", \"query\": {\"a\": [null]}}", "INVALID_INPUT", "`query.a` is text"},
        {"{\"url\": \"HTTP/echo\", \"headers\": 1}", "INVALID_INPUT", "`headers` is an object"},
        {"{\"url\": \"HTTP/echo\", \"headers\": {\"a b\": \"c\"}}", "INVALID_INPUT", "no header can have"},
        {"{\"url\": \"HTTP/echo\", \"headers\": {\"\": \"c\"}}", "INVALID_INPUT", "no header can have"},
        {"{\"url\": \"HTTP/echo\", \"headers\": {\"a:\": \"c\"}}", "INVALID_INPUT", "no header can have"},
        {"{\"url\": \"HTTP/echo\", \"headers\": {\"a\": 1}}", "INVALID_INPUT", "`headers.a` is text"},
        {"{\"url\": \"HTTP/echo\", \"headers\": {\"a\": \"se\\r\\ncret: x\"}}", "INVALID_INPUT", "`headers.a` has a"},
        {"{\"url\": \"HTTP/echo\", \"headers\": {\"Host\": \"b\"}}", "INVALID_INPUT", "made by the host"},
        {"{\"url\": \"HTTP/echo\", \"headers\": {\"content-length\": \"5\"}}", "INVALID_INPUT", "made by the host"},
        {"{\"url\": \"HTTP/echo\", \"body\": 1}", "INVALID_INPUT", "`body` is text or bytes"},
        {"{\"url\": \"HTTP/echo\", \"body\": \"\", \"json\": 1}", "INVALID_INPUT", "both `body` and `json`"},
        {"{\"url\": \"HTTP/echo\", \"timeout\": 1}", "INVALID_INPUT", "`timeout` is an object"},
        {"{\"url\": \"HTTP/echo\", \"timeout\": {\"all\": 1}}", "INVALID_INPUT", "no member `all`"},
        {"{\"url\": \"HTTP/echo\", \"timeout\": {\"idle_ms\": 0}}", "INVALID_INPUT", "must be from 1"},
        {"{\"url\": \"HTTP/echo\", \"timeout\": {\"idle_ms\": \"1\"}}", "INVALID_INPUT", "an integer"},
        {"{\"url\": \"HTTP/echo\", \"retry\": {}}", "INVALID_INPUT", "max_attempts` is missing"},
        {"{\"url\": \"HTTP/echo\", \"retry\": {\"max_attempts\": 11}}", "INVALID_INPUT", "from 2 to 10"},
        {"{\"url\": \"HTTP/echo\", \"redirects\": 21}", "INVALID_INPUT", "from 0 to 20"},
        {"{\"url\": \"HTTP/echo\", \"max_bytes\": 67108865}", "INVALID_INPUT", "from 1 to 67108864"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct got *got = exchange(rows[i].request);
        fails(got, rows[i].code, false, rows[i].part);
        assert_string_equal(got->trace, "F");
        assert_null(strstr(text_at(got->error, "message"), "cret"));
    }
}

static void test_limits_of_a_request(void **state) {
    (void)state;
    struct buffer text;
    buffer_init(&text, SIZE_MAX);
    buffer_text(&text, "{\"url\": \"HTTP/echo\", \"headers\": {\"a\": \"");
    for (int i = 0; i < 262145; i++) buffer_char(&text, 'x');
    buffer_text(&text, "\"}}");
    fails(exchange(buffer_cstr(&text)), "LIMIT", false, "`headers` has more than 262144 bytes");
    buffer_clear(&text);
    buffer_text(&text, "{\"url\": \"HTTP/echo\", \"query\": {\"a\": \"");
    for (int i = 0; i < 65536; i++) buffer_char(&text, 'x');
    buffer_text(&text, "\"}}");
    fails(exchange(buffer_cstr(&text)), "LIMIT", false, "and may have 65536");
    buffer_clear(&text);
    buffer_text(&text, "{\"url\": \"HTTP/echo\", \"headers\": {\"a\": null");
    for (int i = 0; i < 256; i++) buffer_format(&text, ", \"a%d\": \"\"", i);
    buffer_text(&text, "}}");
    fails(exchange(buffer_cstr(&text)), "LIMIT", false, "`headers` has 257, and may have 256");
    buffer_finish(&text);
}

static void test_arguments_that_are_wrong(void **state) {
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
    assert_null(http->send_wait);
}

/* ---- Bodies and streams ---- */

static void test_bodies(void **state) {
    (void)state;
    struct got *got = exchange("{\"url\": \"HTTP/chunked\"}");
    assert_string_equal(body_of(got), "one two three");
    assert_string_equal(header_of(got, "x-after"), ""); /* trailers are no headers */
    got = exchange("{\"url\": \"HTTP/cut/close\"}");
    assert_string_equal(body_of(got), "until the end");
    got = exchange("{\"url\": \"HTTP/big/200000?chunked=1\"}");
    size_t length = 0;
    value_data(value_get(got->end, "body"), &length);
    assert_int_equal(length, 200000);
    got = exchange("{\"url\": \"HTTP/odd\"}");
    assert_string_equal(header_of(got, "x-odd"), "caf\xef\xbf\xbd");
    assert_non_null(value_get(value_get(got->end, "headers"), "x-empty"));
    assert_null(value_get(value_get(got->end, "headers"), "x-early"));
}

static void test_compressed_bodies(void **state) {
    (void)state;
    struct got *got = exchange("{\"url\": \"HTTP/compressed\"}");
    assert_int_equal(strlen(body_of(got)), 11000);
    assert_true(strncmp(body_of(got), "compressed compressed ", 22) == 0);
    got = exchange("{\"url\": \"HTTP/compressed?how=stream\", \"receive\": \"events\"}");
    data_is(got, "[{\"event\":\"message\",\"data\":\"one\"},{\"event\":\"message\",\"data\":\"two\"}]");
    fails(exchange("{\"url\": \"HTTP/compressed?how=bomb\", \"max_bytes\": 1000000}"), "LIMIT", false,
          "1000000 bytes of `max_bytes`");
    fails(exchange("{\"url\": \"HTTP/compressed?how=broken\"}"), "PROTOCOL", false, NULL);
}

static void test_bytes_come_piece_by_piece(void **state) {
    (void)state;
    struct got *got = exchange("{\"url\": \"HTTP/big/300000?chunked=1\", \"receive\": \"bytes\"}");
    size_t total = 0;
    for (size_t i = 0; i < got->count; i++) {
        size_t length = 0;
        const char *bytes = value_data(value_at(got->data, i), &length);
        for (size_t j = 0; j < length; j++) assert_int_equal(bytes[j], 'x');
        total += length;
    }
    assert_int_equal(total, 300000);
    assert_true(got->count >= 2);
    assert_int_equal(got->trace[0], 'H');
    assert_null(value_get(got->end, "body"));
}

#define EVENTS                                                                                                         \
    "[{\"event\":\"first\",\"data\":\"a\\nb\",\"id\":\"1\"},"                                                          \
    "{\"event\":\"message\",\"data\":\"{\\\"n\\\": 2}\",\"id\":\"1\"},"                                                \
    "{\"event\":\"message\",\"data\":\"\",\"id\":\"1\",\"retry\":7},"                                                  \
    "{\"event\":\"message\",\"data\":\"ä \xef\xbf\xbd!\",\"id\":\"1\"},{\"event\":\"message\",\"data\":\"last\"}]"

static void test_events_however_they_are_cut(void **state) {
    (void)state;
    for (int size = 1; size < 60; size += size < 4 ? 1 : 13) {
        char request[100];
        snprintf(request, sizeof request, "{\"url\": \"HTTP/events?size=%d\", \"receive\": \"events\"}", size);
        struct got *got = exchange(request);
        data_is(got, EVENTS);
        assert_string_equal(got->trace, "HDDDDDE");
    }
}

static void test_a_stream_of_another_type_is_given_whole(void **state) {
    (void)state;
    struct got *got = exchange("{\"url\": \"HTTP/events?type=application/json\", \"receive\": \"events\"}");
    assert_string_equal(got->trace, "HE");
    assert_non_null(strstr(body_of(got), "data: last"));
    got = exchange("{\"url\": \"HTTP/events?type=Text/Event-Stream;charset=utf-8\", \"receive\": \"events\"}");
    data_is(got, EVENTS);
    got = exchange("{\"url\": \"HTTP/events?type=text/event-streams\", \"receive\": \"events\"}");
    assert_string_equal(got->trace, "HE");
}

static void test_lines(void **state) {
    (void)state;
    for (int size = 1; size < 40; size += 12) {
        char request[100];
        snprintf(request, sizeof request, "{\"url\": \"HTTP/lines?size=%d\", \"receive\": \"lines\"}", size);
        data_is(exchange(request), "[\"{\\\"a\\\": 1}\",\"\",\"{\\\"b\\\": \\r2}\",\"last \xef\xbf\xbd\"]");
    }
}

static void test_what_is_not_2xx_is_kept_for_the_end(void **state) {
    (void)state;
    static const char *const receives[] = {"whole", "bytes", "events", "lines"};
    for (size_t i = 0; i < 4; i++) {
        char request[100];
        snprintf(request, sizeof request, "{\"url\": \"HTTP/status/404\", \"receive\": \"%s\"}", receives[i]);
        struct got *got = exchange(request);
        assert_string_equal(got->trace, "HE");
        assert_int_equal(status_of(got), 404);
        assert_string_equal(body_of(got), "the body of 404");
    }
}

static void test_limits_of_an_answer(void **state) {
    (void)state;
    static const char *const requests[] = {
        "{\"url\": \"HTTP/big/1001\", \"max_bytes\": 1000}",
        "{\"url\": \"HTTP/big/1001?chunked=1\", \"max_bytes\": 1000}",
        "{\"url\": \"HTTP/big/1001?chunked=1\", \"max_bytes\": 1000, \"receive\": \"bytes\"}",
        "{\"url\": \"HTTP/many/1000\", \"max_bytes\": 1000, \"receive\": \"events\"}",
    };
    for (size_t i = 0; i < 4; i++)
        fails(exchange(requests[i]), "LIMIT", false, "the body has more than the 1000 bytes of `max_bytes`");
    /* What has no end within 32 MiB. */
    fails(exchange("{\"url\": \"HTTP/big/34000000?chunked=1&type=text/event-stream\", \"receive\": \"events\"}"),
          "LIMIT", false, "an event has more than 33554432 bytes");
    fails(exchange("{\"url\": \"HTTP/big/34000000?chunked=1\", \"receive\": \"lines\"}"), "LIMIT", false,
          "a line has more than 33554432 bytes");
    assert_int_equal(status_of(exchange("{\"url\": \"HTTP/big/1000\", \"max_bytes\": 1000}")), 200);
    assert_int_equal(status_of(exchange("{\"url\": \"HTTP/heads/200/10\"}")), 200);
    fails(exchange("{\"url\": \"HTTP/heads/257/10\"}"), "LIMIT", false, "more than 256 headers, or 262144 bytes");
    fails(exchange("{\"url\": \"HTTP/heads/80/4000\"}"), "LIMIT", false, NULL);
}

/* ---- What breaks ---- */

static void test_connections_that_are_cut(void **state) {
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
        struct got *got = exchange(rows[i].request);
        fails(got, rows[i].code, rows[i].retryable, NULL);
        assert_string_equal(got->trace, rows[i].trace);
    }
}

static void test_nothing_secret_is_in_a_message(void **state) {
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
        struct got *got = exchange(requests[i]);
        char *text = json_text(got->error, JSON_COMPACT);
        if (!got->error || strstr(text, "s3cret")) fail_msg("%s", text);
        mem_free(text);
    }
}

/* ---- Pausing and cancelling ---- */

static void pause_at_data(struct got *got, int32_t event) {
    if (event == TN_HTTP_DATA) assert_int_equal(http->pause(fixture_self(), got->exchange), TN_OK);
}

static bool has_data(void *user) { return ((struct got *)user)->count > 0; }

static void test_pausing_at_every_event(void **state) {
    (void)state;
    struct got *got = send_then("{\"url\": \"HTTP/many/50\", \"receive\": \"events\"}", pause_at_data);
    for (size_t i = 1; i <= 50; i++) {
        /* Something else goes on meanwhile, and nothing comes here. */
        while (got->count < i) fixture_turn();
        if (i % 10 == 0) exchange("{\"url\": \"HTTP/hello\"}");
        assert_int_equal(got->count, i);
        assert_false(got->over);
        size_t before = got->count;
        assert_int_equal(http->resume(fixture_self(), got->exchange), TN_OK);
        assert_int_equal(got->count, before); /* not inside resume */
        assert_int_equal(http->resume(fixture_self(), got->exchange), TN_OK);
        if (i < 50)
            while (got->count == i) fixture_turn();
    }
    wait_for(got);
    assert_int_equal(value_count(got->data), 50);
    assert_true(value_text_is(value_get(value_at(got->data, 49), "data"), "49"));
}

static void test_who_is_paused_slows_the_sender_down(void **state) {
    (void)state;
    static const char *const receives[] = {"bytes", "events"};
    for (size_t i = 0; i < 2; i++) {
        char request[200], key[16];
        snprintf(key, sizeof key, "slow%zu", i);
        snprintf(request, sizeof request,
                 "{\"url\": \"HTTP/endless?key=%s&type=text/event-stream\", \"receive\": \"%s\", \"timeout\": "
                 "{\"idle_ms\": 30}}",
                 key, receives[i]);
        struct got *got = send_then(request, pause_at_data);
        assert_true(fixture_run(has_data, got));
        snprintf(request, sizeof request, "{\"url\": \"HTTP/is-stuck?key=%s\"}", key);
        struct got *stuck = exchange(request); /* its idle time has long passed, and it does not fail */
        assert_int_equal(status_of(stuck), 200);
        assert_true(atol(body_of(stuck)) < 20000000);
        assert_int_equal(got->count, 1);
        assert_false(got->over);
        got->then = NULL;
        assert_int_equal(http->resume(fixture_self(), got->exchange), TN_OK);
        size_t before = got->count;
        while (got->count < before + 20) fixture_turn();
        assert_int_equal(http->cancel(fixture_self(), got->exchange), TN_OK);
        snprintf(request, sizeof request, "{\"url\": \"HTTP/is-closed?key=%s\"}", key);
        assert_int_equal(status_of(exchange(request)), 200);
    }
}

static void test_end_and_failure_wait_for_who_is_paused(void **state) {
    (void)state;
    static const char *const requests[] = {"{\"url\": \"HTTP/hello\"}", "{\"url\": \"HTTP/cut/chunks\"}",
                                           "{\"url\": 1}", "{\"url\": \"HTTP/hello\", \"receive\": \"bytes\"}"};
    static const char *const traces[] = {"HE", "F", "F", "HDE"};
    for (size_t i = 0; i < 4; i++) {
        struct got *got = send_then(requests[i], NULL);
        assert_int_equal(http->pause(fixture_self(), got->exchange), TN_OK);
        assert_int_equal(http->pause(fixture_self(), got->exchange), TN_OK);
        exchange("{\"url\": \"HTTP/hello\"}");
        exchange("{\"url\": \"HTTP/hello\"}");
        assert_null(got->end);
        assert_null(got->error);
        assert_int_equal(got->count, 0);
        assert_int_equal(http->resume(fixture_self(), got->exchange), TN_OK);
        wait_for(got);
        assert_string_equal(got->trace, traces[i]);
    }
}

static void test_cancelling_closes_the_connection(void **state) {
    (void)state;
    struct got *got = send_then("{\"url\": \"HTTP/begins?key=cancelled\", \"receive\": \"events\"}", NULL);
    assert_true(fixture_run(has_data, got));
    assert_int_equal(http->cancel(fixture_self(), got->exchange), TN_OK);
    assert_int_equal(http->cancel(fixture_self(), got->exchange), TN_STALE);
    assert_int_equal(http->pause(fixture_self(), got->exchange), TN_STALE);
    assert_int_equal(http->resume(fixture_self(), got->exchange), TN_STALE);
    assert_int_equal(status_of(exchange("{\"url\": \"HTTP/is-closed?key=cancelled\"}")), 200);
    assert_string_equal(got->trace, "HD");
}

static int cancel_at;

static void cancel_then(struct got *got, int32_t event) {
    int32_t status = http->cancel(fixture_self(), got->exchange);
    if (event == cancel_at) {
        assert_int_equal(status, got->over ? TN_STALE : TN_OK);
        got->over = true;
    }
}

static void cancel_when(struct got *got, int32_t event) {
    if (event == cancel_at) cancel_then(got, event);
}

static void test_cancelling_in_the_handler(void **state) {
    (void)state;
    static const char *const traces[] = {"", "H", "HD", "HDDDDDE", "F"};
    for (cancel_at = TN_HTTP_HEAD; cancel_at <= TN_HTTP_FAILED; cancel_at++) {
        struct got *got = send_then(cancel_at == TN_HTTP_FAILED ? "{\"url\": \"HTTP/cut/head\"}"
                                                                : "{\"url\": \"HTTP/events\", \"receive\": \"events\"}",
                                    cancel_when);
        wait_for(got);
        exchange("{\"url\": \"HTTP/hello\"}");
        assert_string_equal(got->trace, traces[cancel_at]);
    }
}

static void test_cancelling_at_once(void **state) {
    (void)state;
    static const char *const requests[] = {"{\"url\": \"HTTP/hello\"}", "{\"url\": 1}",
                                           "{\"url\": \"http://nowhere.invalid/\"}"};
    for (size_t i = 0; i < 3; i++) {
        struct got *got = send_then(requests[i], NULL);
        assert_int_equal(http->cancel(fixture_self(), got->exchange), TN_OK);
        assert_int_equal(http->cancel(fixture_self(), got->exchange), TN_STALE);
        exchange("{\"url\": \"HTTP/hello\"}");
        assert_string_equal(got->trace, "");
    }
}

static struct got *second;

static void send_another(struct got *got, int32_t event) {
    (void)got;
    if (event == TN_HTTP_END) second = send_then("{\"url\": \"HTTP/hello\"}", NULL);
}

static void cancel_the_other(struct got *got, int32_t event) {
    (void)got;
    if (event == TN_HTTP_END && second) {
        (void)http->cancel(fixture_self(), second->exchange);
        second = NULL;
    }
}

static void test_handlers_may_do_anything(void **state) {
    (void)state;
    second = NULL;
    wait_for(send_then("{\"url\": \"HTTP/hello\"}", send_another));
    wait_for(second);
    assert_string_equal(second->trace, "HE");
    second = send_then("{\"url\": \"HTTP/silence?key=x\"}", NULL);
    wait_for(send_then("{\"url\": \"HTTP/hello\"}", cancel_the_other));
    assert_int_equal(status_of(exchange("{\"url\": \"HTTP/is-closed?key=x\"}")), 200);
    assert_null(second);
}

static void test_what_is_open_ends_with_the_plugin(void **state) {
    (void)state;
    (void)send_then("{\"url\": \"HTTP/silence\"}", NULL);
    (void)send_then("{\"url\": \"http://nowhere.invalid/\"}", NULL);
    struct got *got = send_then("{\"url\": \"HTTP/begins\", \"receive\": \"events\"}", NULL);
    assert_true(fixture_run(has_data, got));
    (void)send_then("{\"url\": 1}", NULL);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_hello),
        TEST(test_what_is_sent),
        TEST(test_headers_that_are_sent),
        TEST(test_a_large_body_is_sent_at_once),
        TEST(test_head_and_nothing),
        TEST(test_requests_that_are_wrong),
        TEST(test_limits_of_a_request),
        TEST(test_arguments_that_are_wrong),
        TEST(test_bodies),
        TEST(test_compressed_bodies),
        TEST(test_bytes_come_piece_by_piece),
        TEST(test_events_however_they_are_cut),
        TEST(test_a_stream_of_another_type_is_given_whole),
        TEST(test_lines),
        TEST(test_what_is_not_2xx_is_kept_for_the_end),
        TEST(test_limits_of_an_answer),
        TEST(test_connections_that_are_cut),
        TEST(test_nothing_secret_is_in_a_message),
        TEST(test_pausing_at_every_event),
        TEST(test_who_is_paused_slows_the_sender_down),
        TEST(test_end_and_failure_wait_for_who_is_paused),
        TEST(test_cancelling_closes_the_connection),
        TEST(test_cancelling_in_the_handler),
        TEST(test_cancelling_at_once),
        TEST(test_handlers_may_do_anything),
        TEST(test_what_is_open_ends_with_the_plugin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
