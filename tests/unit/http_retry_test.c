/* http_retry_test.c - the plugin tenon.http: retries, timeouts, redirects, and limits of open connections and requests.
 */
#include "tests/unit/http_client_fixture.h"
#include <netinet/in.h>
#include <sys/socket.h>

static int setup(void **state) {
    (void)state;
    fixture_open("{\"per_origin\": 2, \"connections\": 3}", NULL, NULL);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    echo_of(NULL);
    fixture_close();
    return 0;
}

static int64_t attempts_of(const struct transfer *transfer) {
    if (transfer->error) fail_msg("%s: %s", text_at(transfer->error, "code"), text_at(transfer->error, "message"));
    return value_to_int(value_get(transfer->end, "attempts"));
}

/* The number of requests that the server received with this key. */
static int64_t count_of(const char *key) {
    char request[100];
    snprintf(request, sizeof request, "{\"url\": \"HTTP/count?key=%s\"}", key);
    return atol(body_of(run_transfer(request)));
}

static bool has_data(void *user) { return ((struct transfer *)user)->count > 0; }

/* ---- Attempts ---- */

static void test_retried_statuses(void **state) {
    (void)state;
    static const char *const statuses[] = {"408", "429", "500", "502", "503", "504", "529"};
    for (size_t i = 0; i < 7; i++) {
        char request[200];
        snprintf(request, sizeof request,
                 "{\"url\": \"HTTP/flaky/%s/2?key=%s\", \"retry\": {\"max_attempts\": 3, \"initial_ms\": 1}}",
                 statuses[i], statuses[i]);
        struct transfer *transfer = run_transfer(request);
        assert_string_equal(transfer->trace, "HE");
        assert_int_equal(status_of(transfer), 200);
        assert_string_equal(body_of(transfer), "3");
        assert_int_equal(attempts_of(transfer), 3);
        assert_int_equal(value_to_int(value_get(transfer->head, "attempt")), 3);
    }
}

static void test_statuses_without_retry(void **state) {
    (void)state;
    static const char *const statuses[] = {"400", "401", "404", "501", "200"};
    for (size_t i = 0; i < 5; i++) {
        char request[200];
        snprintf(request, sizeof request,
                 "{\"url\": \"HTTP/flaky/%s/9?key=%s\", \"retry\": {\"max_attempts\": 3, \"initial_ms\": 1}}",
                 statuses[i], statuses[i]);
        assert_int_equal(attempts_of(run_transfer(request)), 1);
        assert_int_equal(count_of(statuses[i]), 1);
    }
    assert_int_equal(attempts_of(run_transfer("{\"url\": \"HTTP/flaky/503/9?key=unasked\"}")), 1);
    assert_int_equal(count_of("unasked"), 1);
}

static void test_last_attempt_is_the_result(void **state) {
    (void)state;
    struct transfer *transfer =
        run_transfer("{\"url\": \"HTTP/flaky/503/9?key=a\", \"receive\": \"events\", \"retry\": "
                     "{\"max_attempts\": 2, \"initial_ms\": 0}}");
    assert_string_equal(transfer->trace, "HE");
    assert_int_equal(status_of(transfer), 503);
    assert_string_equal(body_of(transfer), "not yet");
    assert_int_equal(attempts_of(transfer), 2);
    assert_int_equal(count_of("a"), 2);
}

static void test_failed_connections_are_retried(void **state) {
    (void)state;
    struct transfer *transfer =
        run_transfer("{\"url\": \"HTTP/flaky/reset/2?key=a\", \"retry\": {\"max_attempts\": 4, \"initial_ms\": 1}}");
    assert_int_equal(attempts_of(transfer), 3);
    transfer =
        run_transfer("{\"url\": \"HTTP/flaky/cut/1?key=b\", \"retry\": {\"max_attempts\": 2, \"initial_ms\": 1}}");
    assert_int_equal(attempts_of(transfer), 2);
    assert_string_equal(body_of(transfer), "2");
    /* After DATA was delivered, the request is not retried. */
    transfer = start_transfer(
        "{\"url\": \"HTTP/begins?key=c\", \"receive\": \"events\", \"retry\": {\"max_attempts\": 2}}", NULL);
    assert_true(fixture_run(has_data, transfer));
    assert_int_equal(status_of(run_transfer("{\"url\": \"HTTP/hang-up?key=c\"}")), 200);
    wait_for_transfer(transfer);
    expect_failure(transfer, "CONNECTION_LOST", true, NULL);
    assert_string_equal(transfer->trace, "HDF");
    transfer = run_transfer("{\"url\": \"http://127.0.0.1:1/\", \"retry\": {\"max_attempts\": 3, \"initial_ms\": 1}}");
    expect_failure(transfer, "CONNECT", true, NULL);
}

static void test_retry_after_sets_the_delay(void **state) {
    (void)state;
    static const char *const headers[] = {"Retry-After: 0", "Retry-After: Thu, 01 Jan 2026 00:00:00 GMT",
                                          "Retry-After: Thursday, 01-Jan-26 00:00:00 GMT",
                                          "Retry-After: Thu Jan  1 00:00:00 2026", "Retry-After-Ms: 1.5"};
    /* The default delay of these requests is a day: without the header, the test would hang. */
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
        char request[300];
        snprintf(request, sizeof request,
                 "{\"url\": \"HTTP/flaky/429/1\", \"query\": {\"key\": \"%zu\", \"header\": \"%s\"}, \"retry\": "
                 "{\"max_attempts\": 2, \"initial_ms\": 86400000, \"max_ms\": 86400000}}",
                 i, headers[i]);
        assert_int_equal(attempts_of(run_transfer(request)), 2);
    }
    /* The delay is at most max_ms. */
    struct transfer *transfer =
        run_transfer("{\"url\": \"HTTP/flaky/429/1?key=later&header=Retry-After:%209999\", \"retry\": "
                     "{\"max_attempts\": 2, \"max_ms\": 5}}");
    assert_int_equal(attempts_of(transfer), 2);
    assert_true(value_to_int(value_get(transfer->end, "ms")) >= 5);
    transfer = run_transfer(
        "{\"url\": \"HTTP/flaky/429/1?key=odd&header=Retry-After:%20soon\", \"retry\": {\"max_attempts\": 2, "
        "\"max_ms\": 5}}");
    assert_int_equal(attempts_of(transfer), 2);
}

static void test_no_retry_if_the_delay_exceeds_total_ms(void **state) {
    (void)state;
    struct transfer *transfer =
        run_transfer("{\"url\": \"HTTP/flaky/429/1?key=a&header=Retry-After:%2020\", \"retry\": "
                     "{\"max_attempts\": 2}, \"timeout\": {\"total_ms\": 15000}}");
    assert_int_equal(status_of(transfer), 429);
    assert_int_equal(attempts_of(transfer), 1);
}

static void test_cancel_while_waiting_for_a_retry(void **state) {
    (void)state;
    struct transfer *transfer =
        start_transfer("{\"url\": \"HTTP/flaky/429/1?key=a&header=Retry-After:%2020\", \"retry\": "
                       "{\"max_attempts\": 2}}",
                       NULL);
    while (count_of("a") == 0) fixture_run_turns();
    run_transfer("{\"url\": \"HTTP/hello\"}");
    assert_int_equal(http->cancel(fixture_self(), transfer->exchange), TN_OK);
    assert_string_equal(transfer->trace, "");
    /* Closing the plugin ends a request that waits for a retry. */
    (void)start_transfer(
        "{\"url\": \"HTTP/flaky/429/1?key=b&header=Retry-After:%2020\", \"retry\": {\"max_attempts\": 2}}", NULL);
    while (count_of("b") == 0) fixture_run_turns();
    run_transfer("{\"url\": \"HTTP/hello\"}");
}

/* ---- Timeouts ---- */

static void expect_timeout(const struct transfer *transfer, const char *phase, bool given) {
    expect_failure(transfer, "TIMEOUT", true, NULL);
    assert_string_equal(text_at(value_get(transfer->error, "detail"), "phase"), phase);
    assert_string_equal(transfer->trace, given ? "HDF" : "F");
}

static void test_timeouts(void **state) {
    (void)state;
    expect_timeout(run_transfer("{\"url\": \"HTTP/silence\", \"timeout\": {\"idle_ms\": 20}}"), "idle", false);
    expect_timeout(run_transfer("{\"url\": \"HTTP/begins?plain\", \"timeout\": {\"idle_ms\": 20}}"), "idle", false);
    expect_timeout(run_transfer("{\"url\": \"HTTP/silence\", \"timeout\": {\"total_ms\": 20}}"), "total", false);
    /* connect() hangs if the queue of the listening socket is full. */
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
    expect_timeout(run_transfer(request), "connect", false);
    for (int i = 0; i < 8; i++) close(others[i]);
    close(full);
}

/* These timeouts must not expire before the server has responded. All three run at the same time. */
static void test_timeouts_after_a_response(void **state) {
    (void)state;
    struct transfer *idle =
        start_transfer("{\"url\": \"HTTP/begins\", \"receive\": \"events\", \"timeout\": {\"idle_ms\": 6000}}", NULL);
    struct transfer *total =
        start_transfer("{\"url\": \"HTTP/begins\", \"receive\": \"events\", \"timeout\": {\"total_ms\": 6000}}", NULL);
    /* The server responds to the second attempt. */
    struct transfer *retried = start_transfer("{\"url\": \"OTHER/gather/2?key=a\", \"timeout\": {\"idle_ms\": 6000}, "
                                              "\"retry\": {\"max_attempts\": 2, \"initial_ms\": 1}}",
                                              NULL);
    wait_for_transfer(idle);
    expect_timeout(idle, "idle", true);
    wait_for_transfer(total);
    expect_timeout(total, "total", true);
    wait_for_transfer(retried);
    assert_int_equal(attempts_of(retried), 2);
}

static void test_total_timeout_is_not_retried(void **state) {
    (void)state;
    expect_timeout(
        run_transfer("{\"url\": \"HTTP/silence\", \"timeout\": {\"total_ms\": 20}, \"retry\": {\"max_attempts\": 9}}"),
        "total", false);
}

static void test_slow_response_is_not_idle(void **state) {
    (void)state;
    /* Each byte arrives separately. On a slow machine, all together take longer than idle_ms. */
    struct transfer *transfer =
        run_transfer("{\"url\": \"HTTP/events?size=1\", \"receive\": \"events\", \"timeout\": {\"idle_ms\": "
                     "20000, \"connect_ms\": 20000, \"total_ms\": 100000}}");
    assert_string_equal(transfer->trace, "HDDDDDE");
}

/* ---- Redirects ---- */

/* The host follows redirects, not the plugin: it returns a redirect as the response and does not retry it. */
static void test_redirects_are_returned(void **state) {
    (void)state;
    static const char *const statuses[] = {"301", "302", "303", "307", "308"};
    struct transfer *transfer = run_transfer("{\"url\": \"HTTP/redirect/1\", \"retry\": {\"max_attempts\": 3}}");
    assert_int_equal(status_of(transfer), 302);
    assert_string_equal(header_of(transfer, "location"), "/echo");
    assert_string_equal(body_of(transfer), "redirect");
    assert_int_equal(attempts_of(transfer), 1);
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++) {
        char request[200];
        snprintf(request, sizeof request, "{\"url\": \"HTTP/redirect?to=OTHER/echo&status=%s\", \"body\": \"s\"}",
                 statuses[i]);
        transfer = run_transfer(request);
        assert_string_equal(transfer->trace, "HE");
        assert_int_equal(status_of(transfer), atoi(statuses[i]));
    }
    expect_failure(run_transfer("{\"url\": \"HTTP/redirect/1\", \"redirects\": 3}"), "INVALID_INPUT", false,
                   "redirects");
}

/* ---- Limits ---- */

static bool all_transfers_are_done(void *user) {
    struct transfer *const *all = user;
    for (; *all; all++)
        if (!(*all)->done) return false;
    return true;
}

static void test_connections_per_origin_are_limited(void **state) {
    (void)state;
    struct transfer *all[9] = {0};
    /*
     * The server responds when two requests have arrived, with the maximum number of simultaneous requests. With fewer
     * connections than two the test would hang; with more, a response would be greater than 2.
     */
    for (int i = 0; i < 8; i++) {
        char request[100];
        snprintf(request, sizeof request, "{\"url\": \"HTTP/gather/%d?key=a\"}", i / 2 * 2 + 2);
        all[i] = start_transfer(request, NULL);
    }
    assert_true(fixture_run(all_transfers_are_done, all));
    for (int i = 0; i < 8; i++) {
        assert_int_equal(status_of(all[i]), 200);
        assert_string_equal(body_of(all[i]), "2");
    }
}

static void test_waiting_request_does_not_block_other_origins(void **state) {
    (void)state;
    /* The server responds to three requests. The third is to another origin and was sent after the waiting ones. */
    struct transfer *all[3] = {0}, *waiting[6];
    all[0] = start_transfer("{\"url\": \"HTTP/gather/3?key=a\"}", NULL);
    all[1] = start_transfer("{\"url\": \"HTTP/gather/3?key=a\"}", NULL);
    for (int i = 0; i < 5; i++) waiting[i] = start_transfer("{\"url\": \"HTTP/hello\"}", NULL);
    waiting[5] = start_transfer("{\"url\": \"OTHER/gather/3?key=a\"}", NULL);
    assert_true(fixture_run(all_transfers_are_done, all));
    for (int i = 0; i < 6; i++) {
        wait_for_transfer(waiting[i]);
        assert_int_equal(status_of(waiting[i]), 200);
    }
}

static void test_waiting_request_can_time_out_and_be_cancelled(void **state) {
    (void)state;
    struct transfer *all[3] = {0};
    for (int i = 0; i < 2; i++) all[i] = start_transfer("{\"url\": \"HTTP/silence?key=a\"}", NULL);
    struct transfer *first = start_transfer("{\"url\": \"HTTP/hello\", \"timeout\": {\"connect_ms\": 1}}", NULL);
    struct transfer *waits = start_transfer("{\"url\": \"HTTP/hello\"}", NULL);
    expect_timeout(run_transfer("{\"url\": \"HTTP/hello\", \"timeout\": {\"total_ms\": 20}}"), "total", false);
    assert_false(first->done); /* connect_ms starts when the request gets a connection */
    assert_int_equal(http->cancel(fixture_self(), waits->exchange), TN_OK);
    assert_int_equal(http->cancel(fixture_self(), all[0]->exchange), TN_OK);
    wait_for_transfer(first);
    assert_string_equal(waits->trace, "");
}

static void test_open_requests_are_limited(void **state) {
    (void)state;
    struct transfer transfer = {0};
    uint64_t number = 0, last = 0;
    tn_value request = fixture_json("{\"url\": \"HTTP/silence\"}");
    for (int i = 0; i < 65536; i++) {
        assert_int_equal(http->send(fixture_self(), request, fixture_handler, &transfer, &number), TN_OK);
        assert_int_not_equal(number, last);
        last = number;
    }
    assert_int_equal(http->send(fixture_self(), request, fixture_handler, &transfer, &number), TN_LIMIT);
    assert_int_equal(http->cancel(fixture_self(), last), TN_OK);
    assert_int_equal(http->send(fixture_self(), request, fixture_handler, &transfer, &number), TN_OK);
    assert_int_not_equal(number, last);
    value_unref(request);
    assert_string_equal(transfer.trace, "");
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_retried_statuses),
        TEST(test_statuses_without_retry),
        TEST(test_last_attempt_is_the_result),
        TEST(test_failed_connections_are_retried),
        TEST(test_retry_after_sets_the_delay),
        TEST(test_no_retry_if_the_delay_exceeds_total_ms),
        TEST(test_cancel_while_waiting_for_a_retry),
        TEST(test_timeouts),
        TEST(test_timeouts_after_a_response),
        TEST(test_total_timeout_is_not_retried),
        TEST(test_slow_response_is_not_idle),
        TEST(test_redirects_are_returned),
        TEST(test_connections_per_origin_are_limited),
        TEST(test_waiting_request_does_not_block_other_origins),
        TEST(test_open_requests_are_limited),
        TEST(test_waiting_request_can_time_out_and_be_cancelled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
