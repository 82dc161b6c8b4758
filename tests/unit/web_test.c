/* Responses of server/web: headers, streams, events, WebSockets, drain, the end of plugins, the list, and the log. */
#include "tests/unit/web_fixture.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

static int open_each(void **state) {
    (void)state;
    web_open_host(NULL);
    web_open_web(NULL);
    route("{\"method\":\"GET\",\"path\":\"/v1/a\",\"scope\":\"none\"}");
    return 0;
}

static int close_each(void **state) {
    (void)state;
    web_shut();
    return 0;
}

static uint64_t open_request(const char *target) {
    uint64_t number = get(target, NULL);
    expect_text(&events, "REQUEST\n");
    return number;
}

static void sends_responses(void **state) {
    (void)state;
    uint64_t number = open_request("/v1/a");
    assert_int_equal(respond(number, "{\"status\":201,\"json\":{\"a\":[1,\"é\"]},\"headers\":{\"X-A\":[\"1\",\"2\"]}}"),
                     TN_OK);
    expect_sent(number, 201, "{\"a\":[1,\"é\"]}");
    expect_header(number, "content-type", "application/json");
    expect_header(number, "x-content-type-options", "nosniff");
    expect_header(number, "cache-control", "no-store");
    expect_header(number, "x-a", "1");
    assert_int_equal(respond(number, "{\"status\":200}"), TN_INVALID); /* there was one; it stays as it was */
    expect_sent(number, 201, "{\"a\":[1,\"é\"]}");
    assert_int_equal(interface_server.finish(protocol, number), TN_INVALID);
    assert_int_equal(interface_server.respond(other_protocol, number, VALUE_IMMEDIATE_OBJECT), TN_STALE);
    http_close(number, "done");
    expect_text(&events, "CLOSED {\"reason\":\"done\"}\n");
    assert_int_equal(respond(number, "{\"status\":200}"), TN_STALE);
    number = open_request("/v1/a");
    assert_int_equal(
        respond(number, "{\"status\":200,\"body\":\"text\",\"headers\":{\"Cache-Control\":\"max-age=9\"}}"), TN_OK);
    expect_header(number, "content-type", "text/plain; charset=utf-8");
    expect_header(number, "cache-control", "max-age=9");
    number = open_request("/v1/a");
    assert_int_equal(respond(number, "{\"status\":200,\"body\":{\"$bytes\":\"AAE=\"}}"), TN_OK);
    expect_header(number, "content-type", "application/octet-stream");
    assert_int_equal(sent[number].body.length, 2);
    number = open_request("/v1/a");
    assert_int_equal(respond(number, "{\"status\":429,\"json\":{}}"), TN_OK);
    expect_header(number, "retry-after", "1");
}

static void malformed_responses_become_500(void **state) {
    static const char *const wrong[] = {
        "[]",
        "{}",
        "{\"status\":199}",
        "{\"status\":600}",
        "{\"status\":200,\"json\":1,\"body\":\"x\"}",
        "{\"status\":200,\"body\":1}",
        "{\"status\":200,\"stream\":\"lines\"}",
        "{\"status\":204,\"json\":1}",
        "{\"status\":200,\"headers\":{\"a b\":\"x\"}}",
        "{\"status\":200,\"headers\":{\"a\":\"x\\r\\nb: c\"}}",
        "{\"status\":200,\"headers\":{\"a\":1}}",
        "{\"status\":200,\"headers\":{\"Content-Length\":\"7\"}}",
        "{\"status\":200,\"headers\":{\"transfer-encoding\":\"chunked\"}}",
        "{\"status\":200,\"headers\":{\"Access-Control-Allow-Origin\":\"*\"}}",
        "{\"status\":200,\"headers\":[]}",
    };
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        uint64_t number = open_request("/v1/a");
        assert_int_equal(respond(number, wrong[i]), TN_INVALID);
        assert_int_equal(sent[number].status, 500);
        assert_int_equal(respond(number, "{\"status\":200}"), TN_STALE);
    }
}

static void names_requests(void **state) {
    (void)state;
    auto_respond = "{\"status\":200}";
    uint64_t given = get("/v1/a", "{\"x-request-id\":\"trace-1.a:b\"}"), made = get("/v1/a", NULL);
    uint64_t wrong = get("/v1/a", "{\"x-request-id\":\"a b\"}");
    expect_header(given, "x-request-id", "trace-1.a:b");
    assert_int_equal(strlen(sent_header(made, "x-request-id")), 24);
    assert_int_equal(strlen(sent_header(wrong, "x-request-id")), 24);
    assert_string_not_equal(sent_header(made, "x-request-id"), sent_header(wrong, "x-request-id"));
}

static uint64_t open_events(void) {
    uint64_t number = open_request("/v1/a");
    assert_int_equal(respond(number, "{\"status\":200,\"stream\":\"events\"}"), TN_OK);
    return number;
}

static void streams_events(void **state) {
    (void)state;
    uint64_t number = open_events();
    expect_header(number, "content-type", "text/event-stream");
    expect_header(number, "cache-control", "no-cache");
    expect_header(number, "x-accel-buffering", "no");
    assert_true(sent[number].more);
    assert_int_equal(event(number, "{\"data\":{\"a\":\"x\\ny\"}}"), TN_OK);
    assert_int_equal(
        event(number, "{\"data\":\"one\\ntwo\\r\\nthree\\rfour\\n\",\"event\":\"e\",\"id\":\"7\",\"retry\":5}"), TN_OK);
    assert_int_equal(event(number, "{\"data\":\"\"}"), TN_OK);
    assert_int_equal(event(number, "{\"data\":\"a\",\"id\":\"x\\ny\"}"), TN_INVALID);
    assert_int_equal(event(number, "{\"data\":\"a\",\"event\":\"x\\ry\"}"), TN_INVALID);
    assert_int_equal(event(number, "{\"data\":\"a\",\"id\":\"x\\u0000y\"}"), TN_INVALID);
    assert_int_equal(event(number, "{\"data\":\"a\",\"retry\":-1}"), TN_INVALID);
    assert_int_equal(event(number, "{\"event\":\"a\"}"), TN_INVALID);
    assert_int_equal(event(number, "[]"), TN_INVALID);
    assert_int_equal(interface_server.write(protocol, number, ": x\n\n", 5), TN_OK);
    expect_sent(number, 200,
                "data: {\"a\":\"x\\ny\"}\n\n"
                "event: e\nid: 7\nretry: 5\ndata: one\ndata: two\ndata: three\ndata: four\ndata: \n\n"
                "data: \n\n: x\n\n");
    assert_int_equal(interface_server.finish(protocol, number), TN_OK);
    assert_true(sent[number].finished);
    assert_int_equal(event(number, "{\"data\":1}"), TN_INVALID);
    assert_int_equal(interface_server.finish(protocol, number), TN_INVALID);
    uint64_t bytes = open_request("/v1/a");
    assert_int_equal(respond(bytes, "{\"status\":200,\"stream\":\"bytes\"}"), TN_OK);
    assert_int_equal(interface_server.write(protocol, bytes, "\0\1", 2), TN_OK);
    assert_int_equal(interface_server.write(protocol, bytes, NULL, 2), TN_INVALID);
    assert_int_equal(event(bytes, "{\"data\":1}"), TN_INVALID);
    assert_int_equal(sent[bytes].body.length, 2);
}

static void keeps_event_streams_alive(void **state) {
    (void)state;
    uint64_t number = open_events(), finished = open_events();
    assert_int_equal(interface_server.finish(protocol, finished), TN_OK);
    pass(14000);
    expect_sent(number, 200, "");
    pass(2000);
    expect_sent(number, 200, ":\n\n");
    assert_int_equal(event(number, "{\"data\":1}"), TN_OK);
    pass(14000);
    expect_sent(number, 200, ":\n\ndata: 1\n\n");
    pass(30000);
    expect_sent(number, 200, ":\n\ndata: 1\n\n:\n\n:\n\n");
    expect_sent(finished, 200, "");
}

static void slow_clients_slow_plugins(void **state) {
    char *large = mem_zalloc(1 << 20);
    (void)state;
    uint64_t number = open_events();
    http_full = true;
    assert_int_equal(event(number, "{\"data\":1}"), TN_SERVER_FULL);
    pass(40000); /* no keep-alive while the client does not read */
    expect_sent(number, 200, "data: 1\n\n");
    http_full = false;
    assert_int_equal(event(number, "{\"data\":2}"), TN_SERVER_FULL); /* until ROOM */
    http_handler(http_user, number, TN_HTTP_SERVER_ROOM, NULL);
    expect_text(&events, "ROOM\n");
    assert_int_equal(event(number, "{\"data\":3}"), TN_OK);
    http_full = true;
    int32_t status = TN_OK;
    for (int i = 0; i < 18 && status >= TN_OK; i++) status = interface_server.write(protocol, number, large, 1 << 20);
    assert_int_equal(status, TN_STALE); /* a plugin that does not stop */
    assert_true(sent[number].aborted);
    http_close(number, "closed");
    expect_text(&events, "CLOSED {\"reason\":\"limit\"}\n");
    mem_free(large);
}

static void answers_head_without_a_body(void **state) {
    (void)state;
    uint64_t number = request_with("HEAD", "/v1/a", NULL, 0);
    expect_text(&events, "REQUEST\n");
    assert_int_equal(respond(number, "{\"status\":200,\"stream\":\"events\"}"), TN_OK);
    assert_false(sent[number].more);
    assert_int_equal(event(number, "{\"data\":1}"), TN_OK);
    assert_int_equal(interface_server.write(protocol, number, "x", 1), TN_OK);
    assert_int_equal(interface_server.finish(protocol, number), TN_OK);
    expect_sent(number, 200, "");
}

static void aborts(void **state) {
    (void)state;
    uint64_t number = open_events();
    assert_int_equal(interface_server.abort(protocol, number), TN_OK);
    assert_true(sent[number].aborted);
    assert_int_equal(event(number, "{\"data\":1}"), TN_STALE);
    http_close(number, "closed");
    expect_text(&events, "CLOSED {\"reason\":\"error\"}\n");
    assert_int_equal(interface_server.abort(protocol, number), TN_STALE);
    assert_int_equal(interface_server.abort(protocol, 12345), TN_STALE);
}

#define UPGRADE "{\"upgrade\":\"WebSocket\",\"connection\":\"Upgrade\",\"sec-websocket-protocol\":\"chat, tenon\"}"

static void accepts_websockets(void **state) {
    tn_value text = value_text("hi"), bytes = value_bytes("\1", 1);
    (void)state;
    route("{\"method\":\"GET\",\"path\":\"/v1/ws\",\"scope\":\"none\",\"websocket\":true}");
    uint64_t plain = open_request("/v1/ws");
    assert_int_equal(interface_server.accept(protocol, plain, NULL), TN_INVALID); /* not an upgrade */
    uint64_t number = get("/v1/ws", UPGRADE);
    assert_int_equal(interface_server.send(protocol, number, text), TN_INVALID);
    assert_int_equal(interface_server.accept(protocol, number, "other"), TN_INVALID);
    assert_int_equal(interface_server.accept(protocol, number, "tenon"), TN_OK);
    assert_true(sent[number].accepted);
    expect_header(number, "sec-websocket-protocol", "tenon");
    assert_int_equal(interface_server.accept(protocol, number, NULL), TN_INVALID);
    assert_int_equal(respond(number, "{\"status\":200}"), TN_INVALID);
    assert_int_equal(interface_server.send(protocol, number, text), TN_OK);
    http_full = true;
    assert_int_equal(interface_server.send(protocol, number, bytes), TN_SERVER_FULL);
    assert_int_equal(interface_server.send(protocol, number, value_int(1)), TN_INVALID);
    assert_memory_equal(sent[number].body.data, "text:hibytes:\1", 14);
    buffer_clear(&events);
    http_handler(http_user, number, TN_HTTP_SERVER_MESSAGE, text);
    expect_text(&events, "MESSAGE \"hi\"\n");
    assert_int_equal(interface_server.close(protocol, number, 1005, "x"), TN_INVALID);
    assert_int_equal(interface_server.close(protocol, number, 1000, "x"), TN_OK);
    assert_int_equal(sent[number].close_code, 1000);
    assert_int_equal(interface_server.send(protocol, number, text), TN_INVALID);
    http_close(number, "client");
    expect_text(&events, "CLOSED {\"reason\":\"client\"}\n");
    value_unref(text);
    value_unref(bytes);
}

static void drains(void **state) {
    (void)state;
    uint64_t stream = open_events(), waiting = open_request("/v1/a");
    expect_refused(get("/none", NULL), 404, "NOT_FOUND"); /* has no route, and the client has not read the response */
    web_drain(web);
    assert_true(http_draining);
    expect_text(&events, ""); /* not inside of web_drain */
    pass(1);
    expect_text(&events, "DRAIN\nDRAIN\n");
    web_drain(web);
    pass(1);
    expect_text(&events, "");
    uint64_t late = get("/v1/a", NULL);
    expect_refused(late, 503, "\"DRAINING\"");
    expect_header(late, "retry-after", "1");
    expect_sent(get("/healthz", NULL), 200, "{\"status\":\"ok\"}");
    uint64_t ready = get("/readyz", NULL);
    pass(10);
    expect_sent(ready, 503, "{\"status\":\"unavailable\",\"store\":\"ok\",\"draining\":true}");
    assert_int_equal(event(stream, "{\"data\":\"last\",\"id\":\"9\"}"), TN_OK);
    assert_int_equal(interface_server.finish(protocol, stream), TN_OK);
    assert_int_equal(respond(waiting, "{\"status\":200,\"stream\":\"bytes\"}"), TN_OK);
    http_close(late, "done");
    http_close(ready, "done");
    http_close(3, "done");
    http_close(4, "done");
    http_close(stream, "done");
    assert_false(web_is_drained(web));
    buffer_clear(&events);
    web_free(web);
    web = NULL;
    expect_text(&events, "CLOSED {\"reason\":\"drain\"}\n");
    assert_int_equal(respond(waiting, "{\"status\":200}"), TN_UNSUPPORTED);
    assert_int_equal(route_as(protocol, "{\"method\":\"GET\",\"path\":\"/v1/z\",\"scope\":\"none\"}", NULL, 0),
                     TN_UNSUPPORTED);
}

static void ends_with_the_plugin(void **state) {
    (void)state;
    uint64_t stream = open_events(), waiting = open_request("/v1/a");
    interface_server_ended(plugin_of(other_protocol));
    assert_false(sent[stream].aborted);
    interface_server_ended(plugin_of(protocol));
    assert_true(sent[stream].aborted);
    assert_int_equal(sent[waiting].status, 503);
    assert_int_equal(event(stream, "{\"data\":1}"), TN_STALE);
    http_close(stream, "closed");
    http_close(waiting, "done");
    expect_text(&events, "");
    expect_refused(get("/v1/a", NULL), 404, "\"NOT_FOUND\"");
}

static void routes_end(void **state) {
    tn_value value = served_json("{\"method\":\"GET\",\"path\":\"/v1/b\",\"scope\":\"none\"}");
    uint64_t number = 0;
    (void)state;
    assert_int_equal(interface_server.route(protocol, value, protocol_on_event, NULL, &number, NULL), TN_OK);
    uint64_t open = open_request("/v1/b");
    assert_int_equal(interface_server.unroute(other_protocol, number), TN_STALE);
    assert_int_equal(interface_server.unroute(protocol, number), TN_OK);
    assert_int_equal(interface_server.unroute(protocol, number), TN_STALE);
    expect_refused(get("/v1/b", NULL), 404, "NOT_FOUND");
    assert_int_equal(respond(open, "{\"status\":200,\"json\":1}"), TN_OK); /* open requests continue */
    http_close(open, "done");
    expect_text(&events, "CLOSED {\"reason\":\"done\"}\n");
    value_unref(value);
    /* A request whose body is still coming is not given to a route that was removed. */
    value = served_json("{\"method\":\"POST\",\"path\":\"/v1/c\",\"scope\":\"none\",\"body\":{}}");
    assert_int_equal(interface_server.route(protocol, value, protocol_on_event, NULL, &number, NULL), TN_OK);
    uint64_t slow = request_with("POST", "/v1/c", NULL, 2);
    assert_int_equal(interface_server.unroute(protocol, number), TN_OK);
    body_part(slow, "ab");
    body_end(slow);
    expect_refused(slow, 503, "has ended");
    http_close(slow, "done");
    expect_text(&events, "");
    value_unref(value);
}

static void lists_what_it_serves(void **state) {
    (void)state;
    uint64_t number = get("/", NULL), ready = get("/readyz", NULL), again = get("/readyz", NULL);
    expect_sent(number, 200,
                "{\"name\":\"tenon\",\"version\":\"" TENON_VERSION
                "\",\"protocols\":[{\"plugin\":\"test.protocol\",\"title\":"
                "\"Protocol\",\"routes\":[{\"method\":\"GET\",\"path\":\"/v1/a\",\"scope\":\"none\"}]}]}");
    pass(10);
    expect_sent(ready, 200, "{\"status\":\"ready\",\"store\":\"ok\"}");
    expect_sent(again, 200, "{\"status\":\"ready\",\"store\":\"ok\"}");
    tn_value routes = web_routes(web);
    assert_int_equal(value_count(routes), 4);
    value_unref(routes);
    expect_text(&events, "");
}

static void limits_open_requests(void **state) {
    (void)state;
    web_free(web);
    access_free(access_keys);
    web_open_web("{\"log\":false,\"limits\":{\"open_requests\":2}}");
    route("{\"method\":\"GET\",\"path\":\"/v1/a\",\"scope\":\"none\"}");
    uint64_t first = open_request("/v1/a");
    open_request("/v1/a");
    expect_refused(get("/v1/a", NULL), 503, "2 open requests");
    http_close(sent_count, "done");
    http_close(first, "client");
    buffer_clear(&events);
    open_request("/v1/a");
}

/* The text of a file; it is removed. */
static void read_file(const char *path, char *text, size_t size) {
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    text[fread(text, 1, size - 1, file)] = '\0';
    fclose(file);
    unlink(path);
}

static void writes_an_access_log(void **state) {
    char path[] = "/tmp/tenon-web-log-XXXXXX", config[128], text[4096];
    (void)state;
    close(mkstemp(path));
    web_free(web);
    access_free(access_keys);
    snprintf(config, sizeof config, "{\"log\":\"%s\"}", path);
    web_open_web(config);
    route("{\"method\":\"GET\",\"path\":\"/v1/items/{id}\",\"scope\":\"read\"}");
    get("/v1/items/7?token=secret", "{\"x-request-id\":\"r1\",\"authorization\":\"Bearer tn_secret\"}");
    http_close(sent_count, "done");
    web_reopen_log(web);
    tn_value refused =
        served_json("{\"status\":431,\"code\":\"HEADERS\",\"message\":\"m\",\"address\":\"127.0.0.1:1\"}");
    http_handler(http_user, 0, TN_HTTP_SERVER_REFUSED, refused);
    value_unref(refused);
    read_file(path, text, sizeof text);
    expect_in(text,
              "\"id\":\"r1\",\"address\":\"127.0.0.1:4711\",\"method\":\"GET\",\"route\":\"/v1/items/{id}\",\"path\":"
              "\"/v1/items/7\",\"status\":401,\"ms\":");
    expect_in(text, "\"code\":\"UNAUTHORIZED\",\"reason\":\"done\"}\n");
    expect_in(text, "\"address\":\"127.0.0.1:1\",\"status\":431");
    assert_null(strstr(text, "secret"));
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) value_unref(served_json(line));
}

/* A file that can grow by `bytes` only. */
static void limit_file(const char *path, rlim_t bytes) {
    struct stat file;
    struct rlimit limit;
    assert_int_equal(stat(path, &file), 0);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes ? (rlim_t)file.st_size + bytes : limit.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void begins_a_line_after_a_part_of_one(void **state) {
    char path[] = "/tmp/tenon-web-log-XXXXXX", config[128], text[4096];
    (void)state;
    (void)signal(SIGXFSZ, SIG_IGN);
    close(mkstemp(path));
    web_free(web);
    access_free(access_keys);
    snprintf(config, sizeof config, "{\"log\":\"%s\"}", path);
    web_open_web(config);
    limit_file(path, 9);
    get("/v1/full", NULL);
    http_close(sent_count, "done");
    limit_file(path, 0);
    get("/v1/room", NULL);
    http_close(sent_count, "done");
    read_file(path, text, sizeof text);
    char *second = strchr(text, '\n');
    assert_int_equal(second ? second - text : -1, 9);
    expect_in(second, "/v1/room");
    value_unref(served_json(second));
}

static void a_full_disk_stops_nothing(void **state) {
    (void)state;
    web_free(web);
    access_free(access_keys);
    web_open_web("{\"log\":\"/dev/full\"}");
    route("{\"method\":\"GET\",\"path\":\"/v1/a\",\"scope\":\"none\"}");
    auto_respond = "{\"status\":200}";
    for (int i = 0; i < 2; i++) {
        uint64_t number = get("/v1/a", NULL);
        http_close(number, "done");
        expect_sent(number, 200, "");
    }
}

static void fails_to_start(void **state) {
    struct error error = ERROR_INIT;
    uint16_t port;
    tn_value use = served_json("{\"use\":\"other\"}"), log = served_json("{\"log\":\"/nowhere/log\"}");
    (void)state;
    assert_null(web_new(served.server, &(struct web_options){.access = access_keys, .config = use}, &error));
    expect_in(error.message, "`serve.use` in tenon.yaml is `other`");
    assert_null(web_new(served.server, &(struct web_options){.access = access_keys, .config = log}, &error));
    expect_in(error.message, "/nowhere/log");
    web_free(web);
    web = web_new(served.server, &(struct web_options){.access = access_keys}, &error);
    assert_int_equal(web_listen(web, "192.0.2.1", 0, NULL, &port, &error), TN_FAILED);
    expect_in(error.message, "no such address");
    error_finish(&error);
    value_unref(use);
    value_unref(log);
}

static void checks_arguments(void **state) {
    uint64_t number;
    (void)state;
    assert_int_equal(interface_server.route(NULL, VALUE_IMMEDIATE_OBJECT, protocol_on_event, NULL, &number, NULL),
                     TN_INVALID);
    assert_int_equal(interface_server.route(protocol, NULL, protocol_on_event, NULL, &number, NULL), TN_INVALID);
    assert_int_equal(interface_server.route(protocol, VALUE_IMMEDIATE_OBJECT, NULL, NULL, &number, NULL), TN_INVALID);
    assert_int_equal(interface_server.respond(protocol, 0, NULL), TN_STALE);
    uint64_t request = open_request("/v1/a");
    assert_int_equal(interface_server.respond(protocol, request, NULL), TN_INVALID);
    assert_int_equal(sent[request].status, 500);
    request = open_events();
    assert_int_equal(interface_server.event(protocol, request, NULL), TN_INVALID);
    assert_int_equal(interface_server.send(protocol, request, NULL), TN_INVALID);
}

#define EACH(test) cmocka_unit_test_setup_teardown(test, open_each, close_each)

int main(void) {
    const struct CMUnitTest tests[] = {
        EACH(sends_responses),
        EACH(malformed_responses_become_500),
        EACH(names_requests),
        EACH(streams_events),
        EACH(keeps_event_streams_alive),
        EACH(slow_clients_slow_plugins),
        EACH(answers_head_without_a_body),
        EACH(aborts),
        EACH(accepts_websockets),
        EACH(drains),
        EACH(ends_with_the_plugin),
        EACH(routes_end),
        EACH(lists_what_it_serves),
        EACH(limits_open_requests),
        EACH(writes_an_access_log),
        EACH(begins_a_line_after_a_part_of_one),
        EACH(a_full_disk_stops_nothing),
        EACH(fails_to_start),
        EACH(checks_arguments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
