/* tenon.http: certificates, HTTP/2 and proxies. The certificates are made by openssl, anew for each run. */
#include "tests/unit/http_client_fixture.h"

static char folder[] = "/tmp/tenon-http-XXXXXX", authority[64], certificate[64], key[64];
static bool has_certificates;

static bool shell(const char *format, ...) __attribute__((format(printf, 1, 2)));
static bool shell(const char *format, ...) {
    char command[1000];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(command, sizeof command, format, arguments);
    va_end(arguments);
    return system(command) == 0;
}

static int setup_group(void **state) {
    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(authority, sizeof authority, "%s/ca.pem", folder);
    snprintf(certificate, sizeof certificate, "%s/cert.pem", folder);
    snprintf(key, sizeof key, "%s/key.pem", folder);
    has_certificates = shell(
        "cd %s && exec 2>log && openssl req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.pem -subj /CN=test "
        "-days 2 && openssl req -newkey rsa:2048 -nodes -keyout key.pem -out request -subj /CN=localhost && "
        "echo subjectAltName=IP:127.0.0.1 >names && "
        "openssl x509 -req -in request -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile names "
        "-out cert.pem",
        folder);
    if (!has_certificates) print_message("openssl makes no certificates here: what needs TLS is left out\n");
    return 0;
}

static int teardown_group(void **state) {
    (void)state;
    return shell("rm -rf %s", folder) ? 0 : 1;
}

static void begin_tls(const char *config) {
    if (!has_certificates) skip();
    fixture_begin(config, certificate, key);
}

static void begin_trusting(const char *more) {
    char config[300];
    snprintf(config, sizeof config, "{\"ca_bundle\": \"%s\"%s}", authority, more);
    begin_tls(config);
}

static void end(void) {
    echo_of(NULL);
    fixture_end();
}

/* ---- Certificates ---- */

static void test_an_authority_of_ones_own(void **state) {
    (void)state;
    begin_trusting("");
    assert_string_equal(body_of(exchange("{\"url\": \"HTTPS/hello\"}")), "hello");
    struct got *got = exchange("{\"url\": \"HTTPS/events?size=5\", \"receive\": \"events\"}");
    assert_string_equal(got->trace, "HDDDDDE");
    end();
}

static void test_a_certificate_that_nobody_trusts(void **state) {
    (void)state;
    begin_tls("{}");
    struct got *got = exchange("{\"url\": \"HTTPS/hello?s3cret\", \"retry\": {\"max_attempts\": 2}}");
    fails(got, "TLS", false, "certificate");
    assert_null(strstr(text_at(got->error, "message"), "s3cret"));
    end();
}

static void test_a_certificate_of_another_host(void **state) {
    (void)state;
    begin_trusting("");
    char request[100];
    snprintf(request, sizeof request, "{\"url\": \"https://localhost:%d/hello\"}",
             (int)value_to_int(value_get(fixture_ports, "https")));
    fails(exchange(request), "TLS", false, NULL);
    end();
}

static void test_what_speaks_no_tls(void **state) {
    (void)state;
    begin_trusting("");
    char request[100];
    snprintf(request, sizeof request, "{\"url\": \"https://127.0.0.1:%d/hello\"}",
             (int)value_to_int(value_get(fixture_ports, "http")));
    struct got *got = exchange(request);
    assert_string_equal(got->trace, "F");
    fails(got, "TLS", false, NULL);
    end();
}

static void test_a_bundle_that_is_not_there(void **state) {
    (void)state;
    begin_tls("{\"ca_bundle\": \"/nowhere/bundle.pem\"}");
    fails(exchange("{\"url\": \"HTTPS/hello\"}"), "TLS", false, "/nowhere/bundle.pem");
    end();
}

static void test_encryption_is_not_given_up_on_the_way(void **state) {
    (void)state;
    begin_trusting("");
    struct got *got = exchange("{\"url\": \"HTTPS/redirect?to=HTTP/hello\", \"redirects\": 3}");
    assert_int_equal(status_of(got), 302);
    got = exchange("{\"url\": \"HTTP/redirect?to=HTTPS/hello\", \"redirects\": 3}");
    assert_string_equal(body_of(got), "hello");
    end();
}

/* ---- HTTP/2 ---- */

static bool all_are_over(void *user) {
    struct got *const *all = user;
    for (; *all; all++)
        if (!(*all)->over) return false;
    return true;
}

static void test_streams_share_a_connection(void **state) {
    (void)state;
    begin_trusting("");
    struct got *all[4] = {0};
    /* The server ends them once it has three, on one connection. */
    for (int i = 0; i < 3; i++) all[i] = send_then("{\"url\": \"H2/events\", \"receive\": \"events\"}", NULL);
    assert_true(fixture_run(all_are_over, all));
    for (int i = 0; i < 3; i++) {
        char expected[100];
        snprintf(expected, sizeof expected, "[{\"event\":\"message\",\"data\":\"stream %d\"},", i + 1);
        char *text = json_text(all[i]->data, JSON_COMPACT);
        assert_true(strncmp(text, expected, strlen(expected)) == 0);
        mem_free(text);
        assert_string_equal(all[i]->trace, "HDDE");
    }
    end();
}

static bool is_begun(void *user) { return ((struct got *)user)->head != NULL; }

static void test_a_stream_is_paused_and_cancelled_alone(void **state) {
    (void)state;
    begin_trusting("");
    struct got *all[4] = {0};
    for (int i = 0; i < 2; i++) all[i] = send_then("{\"url\": \"H2/events\", \"receive\": \"events\"}", NULL);
    struct got *gone = all[1];
    all[1] = NULL;
    assert_true(fixture_run(is_begun, gone));
    assert_int_equal(http->pause(fixture_self(), all[0]->exchange), TN_OK);
    assert_int_equal(http->cancel(fixture_self(), gone->exchange), TN_OK);
    for (int i = 1; i < 3; i++) all[i] = send_then("{\"url\": \"H2/events\", \"receive\": \"events\"}", NULL);
    /* The third of the connection ended them; the fourth waits for two more. */
    assert_true(fixture_run(is_begun, all[2]));
    assert_false(all[0]->over);
    assert_int_equal(http->resume(fixture_self(), all[0]->exchange), TN_OK);
    wait_for(all[0]);
    wait_for(all[1]);
    assert_int_equal(http->cancel(fixture_self(), all[2]->exchange), TN_OK);
    end();
}

/* ---- Proxies ---- */

static bool is_proxied(const struct got *got) {
    return value_get(value_get(echo_of(got), "headers"), "x-proxied") != NULL;
}

static void test_a_proxy(void **state) {
    (void)state;
    begin_tls("{\"proxy\": \"PROXY/\"}");
    struct got *got = exchange("{\"url\": \"HTTP/echo\", \"query\": {\"a\": 1}, \"json\": 2}");
    assert_true(is_proxied(got));
    assert_string_equal(text_at(echo_of(got), "target"), "/echo?a=1");
    assert_string_equal(text_at(echo_of(got), "body"), "2");
    fails(exchange("{\"url\": \"HTTPS/hello\"}"), "TLS", false, "certificate"); /* through a tunnel, and no further */
    end();
}

static void test_a_tunnel(void **state) {
    (void)state;
    begin_trusting(", \"proxy\": \"PROXY/\"");
    struct got *got = exchange("{\"url\": \"HTTPS/hello\"}");
    assert_string_equal(body_of(got), "hello");
    assert_string_equal(got->trace, "HE");
    end();
}

static void test_hosts_without_it(void **state) {
    (void)state;
    begin_tls("{\"proxy\": \"http://127.0.0.1:1\", \"no_proxy\": \"localhost,127.0.0.1\"}");
    assert_false(is_proxied(exchange("{\"url\": \"HTTP/echo\"}")));
    fails(exchange("{\"url\": \"http://nowhere.invalid/\"}"), "CONNECT", true, NULL);
    end();
}

static void test_the_environments_proxy(void **state) {
    (void)state;
    begin_tls("{}");
    char *proxy = fixture_text("PROXY/");
    setenv("http_proxy", proxy, 1);
    mem_free(proxy);
    assert_true(is_proxied(exchange("{\"url\": \"HTTP/echo\"}")));
    setenv("no_proxy", "127.0.0.1", 1);
    assert_false(is_proxied(exchange("{\"url\": \"HTTP/echo\"}")));
    unsetenv("no_proxy");
    end();
    begin_tls("{\"proxy\": \"\"}");
    setenv("http_proxy", "http://127.0.0.1:1", 1);
    assert_false(is_proxied(exchange("{\"url\": \"HTTP/echo\"}")));
    unsetenv("http_proxy");
    end();
}

static void test_a_user_agent_of_the_operators(void **state) {
    (void)state;
    begin_tls("{\"user_agent\": \"acme/1\"}");
    assert_string_equal(text_at(value_get(echo_of(exchange("{\"url\": \"HTTP/echo\"}")), "headers"), "user-agent"),
                        "acme/1");
    end();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_authority_of_ones_own),
        cmocka_unit_test(test_a_certificate_that_nobody_trusts),
        cmocka_unit_test(test_a_certificate_of_another_host),
        cmocka_unit_test(test_what_speaks_no_tls),
        cmocka_unit_test(test_a_bundle_that_is_not_there),
        cmocka_unit_test(test_encryption_is_not_given_up_on_the_way),
        cmocka_unit_test(test_streams_share_a_connection),
        cmocka_unit_test(test_a_stream_is_paused_and_cancelled_alone),
        cmocka_unit_test(test_a_proxy),
        cmocka_unit_test(test_a_tunnel),
        cmocka_unit_test(test_hosts_without_it),
        cmocka_unit_test(test_the_environments_proxy),
        cmocka_unit_test(test_a_user_agent_of_the_operators),
    };
    return cmocka_run_group_tests(tests, setup_group, teardown_group);
}
