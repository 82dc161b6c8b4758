/* tenon.http: attempts, redirects, timeouts, and waiting for a place. */
#include "tests/unit/http_client_fixture.h"
#include <netinet/in.h>
#include <sys/socket.h>

static int setup(void **state) {
    (void)state;
    fixture_begin("{\"per_origin\": 2, \"connections\": 3}", NULL, NULL);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    echo_of(NULL);
    fixture_end();
    return 0;
}

static int64_t attempts_of(const struct got *got) {
    if (got->error) fail_msg("%s: %s", text_at(got->error, "code"), text_at(got->error, "message"));
    return value_to_int(value_get(got->end, "attempts"));
}

/* How often the server was asked, by key. */
static int64_t count_of(const char *key) {
    char request[100];
    snprintf(request, sizeof request, "{\"url\": \"HTTP/count?key=%s\"}", key);
    return atol(body_of(exchange(request)));
}

static bool has_data(void *user) { return ((struct got *)user)->count > 0; }

/* ---- Attempts ---- */

static void test_statuses_that_are_tried_again(void **state) {
    (void)state;
    static const char *const statuses[] = {"408", "429", "500", "502", "503", "504", "529"};
    for (size_t i = 0; i < 7; i++) {
        char request[200];
        snprintf(request, sizeof request,
                 "{\"url\": \"HTTP/flaky/%s/2?key=%s\", \"retry\": {\"max_attempts\": 3, \"initial_ms\": 1}}",
                 statuses[i], statuses[i]);
        struct got *got = exchange(request);
        assert_string_equal(got->trace, "HE");
        assert_int_equal(status_of(got), 200);
        assert_string_equal(body_of(got), "3");
        assert_int_equal(attempts_of(got), 3);
        assert_int_equal(value_to_int(value_get(got->head, "attempt")), 3);
    }
}

static void test_statuses_that_are_not(void **state) {
    (void)state;
    static const char *const statuses[] = {"400", "401", "404", "501", "200"};
    for (size_t i = 0; i < 5; i++) {
        char request[200];
        snprintf(request, sizeof request,
                 "{\"url\": \"HTTP/flaky/%s/9?key=%s\", \"retry\": {\"max_attempts\": 3, \"initial_ms\": 1}}",
                 statuses[i], statuses[i]);
        assert_int_equal(attempts_of(exchange(request)), 1);
        assert_int_equal(count_of(statuses[i]), 1);
    }
    assert_int_equal(attempts_of(exchange("{\"url\": \"HTTP/flaky/503/9?key=unasked\"}")), 1);
    assert_int_equal(count_of("unasked"), 1);
}

static void test_the_last_attempt_is_the_answer(void **state) {
    (void)state;
    struct got *got = exchange("{\"url\": \"HTTP/flaky/503/9?key=a\", \"receive\": \"events\", \"retry\": "
                               "{\"max_attempts\": 2, \"initial_ms\": 0}}");
    assert_string_equal(got->trace, "HE");
    assert_int_equal(status_of(got), 503);
    assert_string_equal(body_of(got), "not yet");
    assert_int_equal(attempts_of(got), 2);
    assert_int_equal(count_of("a"), 2);
}

static void test_connections_that_fail_are_tried_again(void **state) {
    (void)state;
    struct got *got =
        exchange("{\"url\": \"HTTP/flaky/reset/2?key=a\", \"retry\": {\"max_attempts\": 4, \"initial_ms\": 1}}");
    assert_int_equal(attempts_of(got), 3);
    got = exchange("{\"url\": \"HTTP/flaky/cut/1?key=b\", \"retry\": {\"max_attempts\": 2, \"initial_ms\": 1}}");
    assert_int_equal(attempts_of(got), 2);
    assert_string_equal(body_of(got), "2");
    /* What has been given on cannot be taken back. */
    got =
        send_then("{\"url\": \"HTTP/begins?key=c\", \"receive\": \"events\", \"retry\": {\"max_attempts\": 2}}", NULL);
    assert_true(fixture_run(has_data, got));
    assert_int_equal(status_of(exchange("{\"url\": \"HTTP/hang-up?key=c\"}")), 200);
    wait_for(got);
    fails(got, "CONNECTION_LOST", true, NULL);
    assert_string_equal(got->trace, "HDF");
    got = exchange("{\"url\": \"http://127.0.0.1:1/\", \"retry\": {\"max_attempts\": 3, \"initial_ms\": 1}}");
    fails(got, "CONNECT", true, NULL);
}

static void test_a_retry_after_is_heeded(void **state) {
    (void)state;
    static const char *const headers[] = {"Retry-After: 0", "Retry-After: Thu, 01 Jan 2026 00:00:00 GMT",
                                          "Retry-After: Thursday, 01-Jan-26 00:00:00 GMT",
                                          "Retry-After: Thu Jan  1 00:00:00 2026", "Retry-After-Ms: 1.5"};
    /* Without it these would wait for up to a day. */
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
        char request[300];
        snprintf(request, sizeof request,
                 "{\"url\": \"HTTP/flaky/429/1\", \"query\": {\"key\": \"%zu\", \"header\": \"%s\"}, \"retry\": "
                 "{\"max_attempts\": 2, \"initial_ms\": 86400000, \"max_ms\": 86400000}}",
                 i, headers[i]);
        assert_int_equal(attempts_of(exchange(request)), 2);
    }
    /* Up to max_ms. */
    struct got *got = exchange("{\"url\": \"HTTP/flaky/429/1?key=later&header=Retry-After:%209999\", \"retry\": "
                               "{\"max_attempts\": 2, \"max_ms\": 5}}");
    assert_int_equal(attempts_of(got), 2);
    assert_true(value_to_int(value_get(got->end, "ms")) >= 5);
    got =
        exchange("{\"url\": \"HTTP/flaky/429/1?key=odd&header=Retry-After:%20soon\", \"retry\": {\"max_attempts\": 2, "
                 "\"max_ms\": 5}}");
    assert_int_equal(attempts_of(got), 2);
}

static void test_what_cannot_be_in_time_is_not_waited_for(void **state) {
    (void)state;
    struct got *got = exchange("{\"url\": \"HTTP/flaky/429/1?key=a&header=Retry-After:%2020\", \"retry\": "
                               "{\"max_attempts\": 2}, \"timeout\": {\"total_ms\": 15000}}");
    assert_int_equal(status_of(got), 429);
    assert_int_equal(attempts_of(got), 1);
}

static void test_cancelling_while_waiting_to_try_again(void **state) {
    (void)state;
    struct got *got = send_then("{\"url\": \"HTTP/flaky/429/1?key=a&header=Retry-After:%2020\", \"retry\": "
                                "{\"max_attempts\": 2}}",
                                NULL);
    while (count_of("a") == 0) fixture_turn();
    exchange("{\"url\": \"HTTP/hello\"}");
    assert_int_equal(http->cancel(fixture_self(), got->exchange), TN_OK);
    assert_string_equal(got->trace, "");
    /* And what is left waiting ends with the plugin. */
    (void)send_then("{\"url\": \"HTTP/flaky/429/1?key=b&header=Retry-After:%2020\", \"retry\": {\"max_attempts\": 2}}",
                    NULL);
    while (count_of("b") == 0) fixture_turn();
    exchange("{\"url\": \"HTTP/hello\"}");
}

/* ---- Timeouts ---- */

static void times_out(const struct got *got, const char *phase, bool given) {
    fails(got, "TIMEOUT", true, NULL);
    assert_string_equal(text_at(value_get(got->error, "detail"), "phase"), phase);
    assert_string_equal(got->trace, given ? "HDF" : "F");
}

static void test_timeouts(void **state) {
    (void)state;
    times_out(exchange("{\"url\": \"HTTP/silence\", \"timeout\": {\"idle_ms\": 20}}"), "idle", false);
    times_out(exchange("{\"url\": \"HTTP/begins?plain\", \"timeout\": {\"idle_ms\": 20}}"), "idle", false);
    times_out(exchange("{\"url\": \"HTTP/begins\", \"receive\": \"events\", \"timeout\": {\"idle_ms\": 1000}}"), "idle",
              true);
    times_out(exchange("{\"url\": \"HTTP/silence\", \"timeout\": {\"total_ms\": 20}}"), "total", false);
    times_out(exchange("{\"url\": \"HTTP/begins\", \"receive\": \"events\", \"timeout\": {\"total_ms\": 1000}}"),
              "total", true);
    /* A port where nobody accepts, and whose queue is full, takes no connection. */
    int full = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), others[8];
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof address;
    assert_int_equal(bind(full, (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(full, 0), 0);
    assert_int_equal(getsockname(full, (struct sockaddr *)&address, &size), 0);
    for (int i = 0; i < 8; i++) {
        others[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        (void)connect(others[i], (struct sockaddr *)&address, size);
    }
    char request[200];
    snprintf(request, sizeof request, "{\"url\": \"http://127.0.0.1:%d/\", \"timeout\": {\"connect_ms\": 20}}",
             ntohs(address.sin_port));
    times_out(exchange(request), "connect", false);
    for (int i = 0; i < 8; i++) close(others[i]);
    close(full);
}

static void test_a_timeout_is_tried_again_unless_all_time_is_over(void **state) {
    (void)state;
    struct got *got = exchange("{\"url\": \"HTTP/gather/2?key=a\", \"timeout\": {\"idle_ms\": 1000}, \"retry\": "
                               "{\"max_attempts\": 2, \"initial_ms\": 1}}");
    assert_int_equal(attempts_of(got), 2);
    times_out(
        exchange("{\"url\": \"HTTP/silence\", \"timeout\": {\"total_ms\": 20}, \"retry\": {\"max_attempts\": 9}}"),
        "total", false);
}

static void test_a_slow_answer_is_not_an_idle_one(void **state) {
    (void)state;
    /* Each byte in a piece of its own; all of them take longer than the idle time on a slow machine only. */
    struct got *got = exchange("{\"url\": \"HTTP/events?size=1\", \"receive\": \"events\", \"timeout\": {\"idle_ms\": "
                               "5000, \"connect_ms\": 5000, \"total_ms\": 50000}}");
    assert_string_equal(got->trace, "HDDDDDE");
}

/* ---- Redirects ---- */

static void test_redirects(void **state) {
    (void)state;
    struct got *got = exchange("{\"url\": \"HTTP/redirect/1\"}");
    assert_int_equal(status_of(got), 302);
    assert_string_equal(header_of(got, "location"), "/echo");
    assert_string_equal(body_of(got), "go on");
    for (int left = 1; left <= 3; left++) {
        char request[100];
        snprintf(request, sizeof request, "{\"url\": \"HTTP/redirect/%d\", \"redirects\": 3}", left);
        got = exchange(request);
        assert_string_equal(got->trace, "HE");
        assert_string_equal(text_at(echo_of(got), "target"), "/echo");
        assert_int_equal(attempts_of(got), 1);
    }
    fails(exchange("{\"url\": \"HTTP/redirect/4\", \"redirects\": 3}"), "PROTOCOL", false, "more than the 3 times");
    fails(exchange("{\"url\": \"HTTP/redirect?to=file:///etc/passwd\", \"redirects\": 3}"), "PROTOCOL", false,
          "no URL of http");
    fails(exchange("{\"url\": \"HTTP/redirect?to=http://me:word@there/\", \"redirects\": 3}"), "PROTOCOL", false,
          "no URL of http");
    got = exchange("{\"url\": \"HTTP/redirect?to=echo%3Fa%3Db%23c\", \"redirects\": 3}");
    assert_string_equal(text_at(echo_of(got), "target"), "/echo?a=b");
    got = exchange("{\"url\": \"HTTP/status/302\", \"redirects\": 3}"); /* to nowhere */
    assert_int_equal(status_of(got), 302);
}

static void test_what_a_redirect_does_to_the_method(void **state) {
    (void)state;
    static const struct {
        const char *method, *status, *becomes;
    } rows[] = {{"POST", "301", "GET"},  {"POST", "302", "GET"}, {"POST", "303", "GET"}, {"POST", "307", "POST"},
                {"POST", "308", "POST"}, {"PUT", "302", "PUT"},  {"PUT", "303", "GET"},  {"DELETE", "301", "DELETE"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char request[300];
        snprintf(request, sizeof request,
                 "{\"url\": \"HTTP/redirect?to=/echo&status=%s\", \"method\": \"%s\", \"redirects\": 1, \"json\": 1}",
                 rows[i].status, rows[i].method);
        tn_value echo = echo_of(exchange(request));
        bool body = strcmp(rows[i].method, rows[i].becomes) == 0;
        assert_string_equal(text_at(echo, "method"), rows[i].becomes);
        assert_string_equal(text_at(echo, "body"), body ? "1" : "");
        assert_string_equal(text_at(value_get(echo, "headers"), "content-type"), body ? "application/json" : "");
    }
}

static void test_secrets_stay_behind(void **state) {
    (void)state;
    static const char secrets[] =
        "\"headers\": {\"Authorization\": \"s\", \"Cookie\": \"s\", \"x-api-key\": \"s\", \"x-goog-api-key\": \"s\", "
        "\"x-other\": \"s\", \"accept\": \"a/b\", \"user-agent\": \"me\"}, \"redirects\": 2";
    static const char *const gone[] = {"authorization", "cookie", "x-api-key", "x-goog-api-key", "x-other"};
    for (int other = 0; other < 2; other++) {
        char request[600];
        snprintf(request, sizeof request, "{\"url\": \"HTTP/redirect?to=%secho\", %s}", other ? "OTHER/" : "/",
                 secrets);
        struct got *got = exchange(request);
        tn_value echo = echo_of(got), headers = value_get(echo, "headers");
        assert_string_equal(text_at(echo, "origin"), other ? "other" : "http");
        for (size_t i = 0; i < 5; i++) assert_string_equal(text_at(headers, gone[i]), other ? "" : "s");
        assert_string_equal(text_at(headers, "accept"), "a/b");
        assert_string_equal(text_at(headers, "user-agent"), "me");
    }
    /* A body goes to no other origin: the redirect is the answer. */
    struct got *got =
        exchange("{\"url\": \"HTTP/redirect?to=OTHER/echo&status=307\", \"body\": \"s\", \"redirects\": 2}");
    assert_int_equal(status_of(got), 307);
    got = exchange("{\"url\": \"HTTP/redirect?to=OTHER/echo&status=303\", \"body\": \"s\", \"redirects\": 2}");
    assert_string_equal(text_at(echo_of(got), "origin"), "other");
    assert_string_equal(text_at(echo_of(got), "body"), "");
}

/* ---- Places ---- */

static bool all_are_over(void *user) {
    struct got *const *all = user;
    for (; *all; all++)
        if (!(*all)->over) return false;
    return true;
}

static void test_an_origin_has_so_many_places(void **state) {
    (void)state;
    struct got *all[9] = {0};
    /* The server answers two at a time: with fewer places these would never end, with more it would see them. */
    for (int i = 0; i < 8; i++) {
        char request[100];
        snprintf(request, sizeof request, "{\"url\": \"HTTP/gather/%d?key=a\"}", i / 2 * 2 + 2);
        all[i] = send_then(request, NULL);
    }
    assert_true(fixture_run(all_are_over, all));
    for (int i = 0; i < 8; i++) {
        assert_int_equal(status_of(all[i]), 200);
        assert_string_equal(body_of(all[i]), "2");
    }
}

static void test_origins_take_turns(void **state) {
    (void)state;
    /* Three in all: two to the first origin, the third to the other, though many of the first came before it. */
    struct got *all[3] = {0}, *waiting[6];
    all[0] = send_then("{\"url\": \"HTTP/gather/3?key=a\"}", NULL);
    all[1] = send_then("{\"url\": \"HTTP/gather/3?key=a\"}", NULL);
    for (int i = 0; i < 5; i++) waiting[i] = send_then("{\"url\": \"HTTP/hello\"}", NULL);
    waiting[5] = send_then("{\"url\": \"OTHER/gather/3?key=a\"}", NULL);
    assert_true(fixture_run(all_are_over, all));
    for (int i = 0; i < 6; i++) {
        wait_for(waiting[i]);
        assert_int_equal(status_of(waiting[i]), 200);
    }
}

static void test_who_waits_may_cancel_and_has_a_total_time(void **state) {
    (void)state;
    struct got *all[3] = {0};
    for (int i = 0; i < 2; i++) all[i] = send_then("{\"url\": \"HTTP/silence?key=a\"}", NULL);
    struct got *first = send_then("{\"url\": \"HTTP/hello\", \"timeout\": {\"connect_ms\": 1}}", NULL);
    struct got *waits = send_then("{\"url\": \"HTTP/hello\"}", NULL);
    times_out(exchange("{\"url\": \"HTTP/hello\", \"timeout\": {\"total_ms\": 20}}"), "total", false);
    assert_false(first->over); /* its time to connect has not begun */
    assert_int_equal(http->cancel(fixture_self(), waits->exchange), TN_OK);
    assert_int_equal(http->cancel(fixture_self(), all[0]->exchange), TN_OK);
    wait_for(first);
    assert_string_equal(waits->trace, "");
}

static void test_so_many_may_be_open(void **state) {
    (void)state;
    struct got got = {0};
    uint64_t number = 0, last = 0;
    tn_value request = fixture_json("{\"url\": \"HTTP/silence\"}");
    for (int i = 0; i < 65536; i++) {
        assert_int_equal(http->send(fixture_self(), request, fixture_handler, &got, &number), TN_OK);
        assert_int_not_equal(number, last);
        last = number;
    }
    assert_int_equal(http->send(fixture_self(), request, fixture_handler, &got, &number), TN_LIMIT);
    assert_int_equal(http->cancel(fixture_self(), last), TN_OK);
    assert_int_equal(http->send(fixture_self(), request, fixture_handler, &got, &number), TN_OK);
    assert_int_not_equal(number, last);
    value_unref(request);
    assert_string_equal(got.trace, "");
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_statuses_that_are_tried_again),
        TEST(test_statuses_that_are_not),
        TEST(test_the_last_attempt_is_the_answer),
        TEST(test_connections_that_fail_are_tried_again),
        TEST(test_a_retry_after_is_heeded),
        TEST(test_what_cannot_be_in_time_is_not_waited_for),
        TEST(test_cancelling_while_waiting_to_try_again),
        TEST(test_timeouts),
        TEST(test_a_timeout_is_tried_again_unless_all_time_is_over),
        TEST(test_a_slow_answer_is_not_an_idle_one),
        TEST(test_redirects),
        TEST(test_what_a_redirect_does_to_the_method),
        TEST(test_secrets_stay_behind),
        TEST(test_an_origin_has_so_many_places),
        TEST(test_origins_take_turns),
        TEST(test_so_many_may_be_open),
        TEST(test_who_waits_may_cancel_and_has_a_total_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
