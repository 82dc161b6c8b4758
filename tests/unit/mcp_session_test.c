/*
 * mcp_session_test.c - the handshake and the stream of changes of plugins/mcp/session.c, with a test clock and a
 * transport that only records what is sent.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/fake_clock.h"

#include "plugins/mcp/session.h"

/* ---- A transport that records ---- */

static struct {
    char method[64];
    int64_t id;
} sent[256];
static size_t sent_count;
static struct transport_events events;

static int32_t fake_send(struct transport *transport, tn_value message, int64_t id, tn_value extra) {
    (void)transport, (void)extra;
    assert_true(sent_count < sizeof sent / sizeof *sent);
    (void)snprintf(sent[sent_count].method, sizeof sent->method, "%s", tn_get_text(message, "method", "?"));
    sent[sent_count++].id = id;
    return TN_OK;
}
static bool fake_abort(struct transport *transport, int64_t id, bool modern) {
    (void)transport, (void)id;
    return modern;
}
static void fake_set_version(struct transport *transport, const char *version, bool modern) {
    (void)transport, (void)version, (void)modern;
}
static bool fake_end_session(struct transport *transport, void (*ended)(void)) {
    (void)transport, (void)ended;
    return false;
}
static void fake_close(struct transport *transport) { (void)transport; }
static const struct transport_class fake_class = {"fake",           fake_send,        fake_abort,
                                                  fake_set_version, fake_end_session, fake_close};
static struct transport fake = {.class = &fake_class};

static size_t count_sent(const char *method) {
    size_t count = 0;
    for (size_t i = 0; i < sent_count; i++) count += strcmp(sent[i].method, method) == 0;
    return count;
}
/* The id of the last request with this method. */
static int64_t last_id(const char *method) {
    for (size_t i = sent_count; i > 0; i--)
        if (strcmp(sent[i - 1].method, method) == 0) return sent[i - 1].id;
    fail_msg("%s was not sent", method);
    return 0;
}

__attribute__((format(printf, 1, 2))) static void receive(const char *format, ...) {
    char text[600];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    tn_value message = tn_from_json(text, TN_Z);
    assert_non_null(message);
    events.message(events.user, message, 0, NULL);
    tn_release(message);
}

#define RESULT "{\"jsonrpc\": \"2.0\", \"id\": %lld, \"result\": "
#define ERROR  "{\"jsonrpc\": \"2.0\", \"id\": %lld, \"error\": {\"code\": %d, \"message\": \"m\"}}"
#define MODERN_RESULT                                                                                                  \
    RESULT "{\"supportedVersions\": [\"2026-07-28\"], \"capabilities\": {\"tools\": {\"listChanged\": true}}}}"
#define LEGACY_RESULT RESULT "{\"protocolVersion\": \"2025-11-25\", \"capabilities\": {}}}"

static int ready_count, failed_count;
static char failure[512];

static void on_ready(void *user) {
    (void)user;
    ready_count++;
}
static void on_failed(void *user, const char *code, const char *why) {
    (void)user;
    failed_count++;
    (void)snprintf(failure, sizeof failure, "%s: %s", code, why);
}
static void on_changed(void *user, enum session_list list) { (void)user, (void)list; }

static struct session *start_session(bool http) {
    const struct session_options options = {.name = "s",
                                            .era = "auto",
                                            .log_level = "warning",
                                            .http = http,
                                            .until_ms = (int64_t)now + 60000,
                                            .connect_timeout_ms = 60000};
    const struct session_events handlers = {.ready = on_ready, .failed = on_failed, .changed = on_changed};
    sent_count = 0;
    ready_count = failed_count = 0;
    *failure = '\0';
    struct session *session = session_new(&options, &handlers);
    assert_non_null(session);
    events = session_transport_events(session);
    session_start(session, &fake);
    return session;
}

static void end_session(struct session *session) {
    session_free(session);
    assert_int_equal(blocks, 0);
    for (size_t i = 0; i < sizeof posts / sizeof *posts; i++) assert_int_equal(posts[i].id, 0);
}

static int setup(void **state) {
    (void)state;
    fake_clock_open();
    return 0;
}

/* ---- The handshake ---- */

static void test_a_quick_answer_needs_one_request(void **state) {
    struct session *session = start_session(false);
    (void)state;
    receive(MODERN_RESULT, (long long)last_id("server/discover"));
    assert_int_equal(ready_count, 1);
    advance_clock(120000);
    assert_int_equal(count_sent("initialize"), 0);
    assert_int_equal(failed_count, 0);
    end_session(session);
    session = start_session(false);
    receive(ERROR, (long long)last_id("server/discover"), RPC_METHOD_NOT_FOUND);
    assert_int_equal(count_sent("initialize"), 1); /* at once */
    receive(LEGACY_RESULT, (long long)last_id("initialize"));
    assert_int_equal(ready_count, 1);
    assert_string_equal(session_version(session), "2025-11-25");
    end_session(session);
}

/* Answers come in every order, up to the end of the time. */
static void test_whichever_answer_comes(void **state) {
    (void)state;
    for (int kind = 0; kind < 6; kind++) {
        struct session *session = start_session(false);
        int64_t discover = last_id("server/discover");
        advance_clock(MCP_PROBE_MS - 1);
        assert_int_equal(count_sent("initialize"), 0);
        advance_clock(1);
        assert_int_equal(count_sent("initialize"), 1);
        int64_t initialize = last_id("initialize");
        advance_clock(57000);
        if (kind == 0 || kind == 1) receive(MODERN_RESULT, (long long)discover);
        if (kind == 2) receive(ERROR, (long long)discover, RPC_INVALID_PARAMS);
        if (kind == 0 || kind == 3) receive(ERROR, (long long)initialize, RPC_VERSION);
        if (kind == 2 || kind == 4) receive(LEGACY_RESULT, (long long)initialize);
        if (kind == 3) receive(MODERN_RESULT, (long long)discover);
        if (kind == 4) receive(ERROR, (long long)discover, RPC_METHOD_NOT_FOUND);
        if (kind == 5) { /* the first request was lost; the second one is answered */
            receive(ERROR, (long long)initialize, RPC_VERSION);
            assert_int_equal(count_sent("server/discover"), 2);
            receive(MODERN_RESULT, (long long)last_id("server/discover"));
        }
        assert_int_equal(failed_count, 0);
        assert_int_equal(ready_count, 1);
        assert_int_equal(session_is_modern(session), kind != 2 && kind != 4);
        end_session(session);
    }
}

static void test_refusals_and_silence(void **state) {
    struct session *session = start_session(false);
    (void)state;
    advance_clock(59999);
    assert_int_equal(failed_count, 0);
    advance_clock(1);
    assert_int_equal(failed_count, 1);
    assert_non_null(strstr(failure, "TIMEOUT: it has not answered `server/discover` or `initialize` within 60000 ms"));
    end_session(session);

    session = start_session(false); /* both refuse */
    receive(ERROR, (long long)last_id("server/discover"), RPC_INVALID_PARAMS);
    receive(ERROR, (long long)last_id("initialize"), RPC_INTERNAL);
    assert_string_equal(failure, "PROTOCOL: it refused `initialize`: m");
    end_session(session);

    session = start_session(false); /* initialize is refused, and nothing else comes: at most one further request */
    advance_clock(MCP_PROBE_MS);
    receive(ERROR, (long long)last_id("initialize"), RPC_INTERNAL);
    advance_clock(60000);
    assert_int_equal(count_sent("server/discover"), 2);
    assert_int_equal(failed_count, 1);
    assert_string_equal(failure, "PROTOCOL: it refused `initialize`: m");
    end_session(session);

    session = start_session(false); /* answers with wrong ids, and to no request, decide nothing */
    receive(MODERN_RESULT, (long long)last_id("server/discover") + 7);
    receive("{\"jsonrpc\": \"2.0\", \"id\": \"1\", \"result\": {}}");
    receive("{\"jsonrpc\": \"2.0\", \"id\": null, \"result\": {}}");
    assert_int_equal(ready_count + failed_count, 0);
    events.closed(events.user, "it ended with status 1");
    assert_string_equal(failure, "SERVER_LOST: it ended with status 1");
    assert_true(session_is_probing(session)); /* the server may be older, and have ended because of the request */
    session_fail_all(session, "SERVER_LOST", "gone");
    assert_int_equal(failed_count, 1);
    end_session(session);
}

/* ---- The stream of changes ---- */

static struct session *start_listening(void) {
    struct session *session = start_session(true);
    receive(MODERN_RESULT, (long long)last_id("server/discover"));
    assert_int_equal(count_sent("subscriptions/listen"), 1);
    return session;
}

static void end_stream(void) {
    events.failed(events.user, last_id("subscriptions/listen"), 0, NULL, "CONNECTION_LOST", "the stream ended");
}

static void test_streams_that_deliver_nothing(void **state) {
    struct session *session = start_listening();
    (void)state;
    for (int i = 0; i < 100; i++) {
        size_t before = count_sent("subscriptions/listen");
        end_stream();
        advance_clock(60000);
        if (count_sent("subscriptions/listen") == before) break;
    }
    assert_int_equal(count_sent("subscriptions/listen"), 1 + MCP_RECONNECTS_MAX);
    end_session(session);
}

/* A proxy that ends each stream after a while: the stream is opened again for ever. */
static void test_streams_that_deliver_something(void **state) {
    static const char *const delivered[] = {
        "{\"jsonrpc\": \"2.0\", \"method\": \"notifications/subscriptions/acknowledged\", \"params\": {}}",
        "{\"jsonrpc\": \"2.0\", \"method\": \"notifications/tools/list_changed\"}"};
    (void)state;
    for (size_t kind = 0; kind < 2; kind++) {
        struct session *session = start_listening();
        for (int i = 0; i < 50; i++) {
            receive("%s", delivered[kind]);
            advance_clock(60000);
            end_stream();
            advance_clock(1000);
        }
        assert_int_equal(count_sent("subscriptions/listen"), 51);
        end_session(session);
    }
}

/* Streams that end at once are opened more and more seldom. */
static void test_short_streams_are_delayed(void **state) {
    struct session *session = start_listening();
    (void)state;
    uint64_t start = now;
    while (now - start < 600000) {
        size_t before = count_sent("subscriptions/listen");
        receive("{\"jsonrpc\": \"2.0\", \"method\": \"notifications/tools/list_changed\"}");
        end_stream();
        while (count_sent("subscriptions/listen") == before) advance_clock(1000);
    }
    assert_in_range(count_sent("subscriptions/listen"), 15, 30);
    end_session(session);
}

static void test_refused_streams(void **state) {
    struct session *session = start_listening();
    (void)state;
    receive(ERROR, (long long)last_id("subscriptions/listen"), RPC_METHOD_NOT_FOUND);
    advance_clock(600000);
    assert_int_equal(count_sent("subscriptions/listen"), 1);
    end_session(session);
    session = start_listening(); /* a proxy whose server is down */
    events.failed(events.user, last_id("subscriptions/listen"), 502, NULL, "SERVER_ERROR", "HTTP status 502");
    advance_clock(60000);
    assert_int_equal(count_sent("subscriptions/listen"), 2);
    end_session(session);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_a_quick_answer_needs_one_request),
                                       cmocka_unit_test(test_whichever_answer_comes),
                                       cmocka_unit_test(test_refusals_and_silence),
                                       cmocka_unit_test(test_streams_that_deliver_nothing),
                                       cmocka_unit_test(test_streams_that_deliver_something),
                                       cmocka_unit_test(test_short_streams_are_delayed),
                                       cmocka_unit_test(test_refused_streams)};
    return cmocka_run_group_tests(tests, setup, NULL);
}
