/* http_tls_test.c - the plugin tenon.http: certificates, HTTP/2 and proxies. openssl makes new certificates for each
 * run. */
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
    if (!has_certificates) print_message("openssl cannot make certificates: the tests with TLS are skipped\n");
    return 0;
}

static int teardown_group(void **state) {
    (void)state;
    return shell("rm -rf %s", folder) ? 0 : 1;
}

static void open_with_tls(const char *config) {
    if (!has_certificates) skip();
    fixture_open(config, certificate, key);
}

static void open_with_ca_bundle(const char *more) {
    char config[300];
    snprintf(config, sizeof config, "{\"ca_bundle\": \"%s\"%s}", authority, more);
    open_with_tls(config);
}

static void close_fixture(void) {
    echo_of(NULL);
    fixture_close();
}

/* ---- Certificates ---- */

static void test_ca_bundle(void **state) {
    (void)state;
    open_with_ca_bundle("");
    assert_string_equal(body_of(run_transfer("{\"url\": \"HTTPS/hello\"}")), "hello");
    struct transfer *transfer = run_transfer("{\"url\": \"HTTPS/events?size=5\", \"receive\": \"events\"}");
    assert_string_equal(transfer->trace, "HDDDDDE");
    close_fixture();
}

static void test_untrusted_certificate(void **state) {
    (void)state;
    open_with_tls("{}");
    struct transfer *transfer = run_transfer("{\"url\": \"HTTPS/hello?s3cret\", \"retry\": {\"max_attempts\": 2}}");
    expect_failure(transfer, "TLS", false, "certificate");
    assert_null(strstr(text_at(transfer->error, "message"), "s3cret"));
    close_fixture();
}

static void test_certificate_of_another_host(void **state) {
    (void)state;
    open_with_ca_bundle("");
    char request[100];
    snprintf(request, sizeof request, "{\"url\": \"https://localhost:%d/hello\"}",
             (int)value_to_int(value_get(fixture_ports, "https")));
    expect_failure(run_transfer(request), "TLS", false, NULL);
    close_fixture();
}

static void test_server_without_tls(void **state) {
    (void)state;
    open_with_ca_bundle("");
    char request[100];
    snprintf(request, sizeof request, "{\"url\": \"https://127.0.0.1:%d/hello\"}",
             (int)value_to_int(value_get(fixture_ports, "http")));
    struct transfer *transfer = run_transfer(request);
    assert_string_equal(transfer->trace, "F");
    expect_failure(transfer, "TLS", false, NULL);
    close_fixture();
}

static void test_missing_ca_bundle(void **state) {
    (void)state;
    open_with_tls("{\"ca_bundle\": \"/nowhere/bundle.pem\"}");
    expect_failure(run_transfer("{\"url\": \"HTTPS/hello\"}"), "TLS", false, "/nowhere/bundle.pem");
    close_fixture();
}

/* ---- HTTP/2 ---- */

static bool all_transfers_are_done(void *user) {
    struct transfer *const *all = user;
    for (; *all; all++)
        if (!(*all)->done) return false;
    return true;
}

static void test_http2_streams_share_a_connection(void **state) {
    (void)state;
    open_with_ca_bundle("");
    struct transfer *all[4] = {0};
    /* The server responds when it has received three requests on one connection. */
    for (int i = 0; i < 3; i++) all[i] = start_transfer("{\"url\": \"H2/events\", \"receive\": \"events\"}", NULL);
    assert_true(fixture_run(all_transfers_are_done, all));
    for (int i = 0; i < 3; i++) {
        char expected[100];
        snprintf(expected, sizeof expected, "[{\"event\":\"message\",\"data\":\"stream %d\"},", i + 1);
        char *text = json_text(all[i]->data, JSON_COMPACT);
        assert_true(strncmp(text, expected, strlen(expected)) == 0);
        mem_free(text);
        assert_string_equal(all[i]->trace, "HDDE");
    }
    close_fixture();
}

static bool transfer_has_head(void *user) { return ((struct transfer *)user)->head != NULL; }

static void test_http2_stream_is_paused_and_cancelled_separately(void **state) {
    (void)state;
    open_with_ca_bundle("");
    struct transfer *all[4] = {0};
    for (int i = 0; i < 2; i++) all[i] = start_transfer("{\"url\": \"H2/events\", \"receive\": \"events\"}", NULL);
    struct transfer *gone = all[1];
    all[1] = NULL;
    assert_true(fixture_run(transfer_has_head, gone));
    assert_int_equal(http->pause(fixture_self(), all[0]->exchange), TN_OK);
    assert_int_equal(http->cancel(fixture_self(), gone->exchange), TN_OK);
    for (int i = 1; i < 3; i++) all[i] = start_transfer("{\"url\": \"H2/events\", \"receive\": \"events\"}", NULL);
    /* The third request of the connection ended them; the fourth waits for two more. */
    assert_true(fixture_run(transfer_has_head, all[2]));
    assert_false(all[0]->done);
    assert_int_equal(http->resume(fixture_self(), all[0]->exchange), TN_OK);
    wait_for_transfer(all[0]);
    wait_for_transfer(all[1]);
    assert_int_equal(http->cancel(fixture_self(), all[2]->exchange), TN_OK);
    close_fixture();
}

/* ---- Proxies ---- */

static bool is_proxied(const struct transfer *transfer) {
    return value_get(value_get(echo_of(transfer), "headers"), "x-proxied") != NULL;
}

static void test_proxy(void **state) {
    (void)state;
    open_with_tls("{\"proxy\": \"PROXY/\"}");
    struct transfer *transfer = run_transfer("{\"url\": \"HTTP/echo\", \"query\": {\"a\": 1}, \"json\": 2}");
    assert_true(is_proxied(transfer));
    assert_string_equal(text_at(echo_of(transfer), "target"), "/echo?a=1");
    assert_string_equal(text_at(echo_of(transfer), "body"), "2");
    expect_failure(run_transfer("{\"url\": \"HTTPS/hello\"}"), "TLS", false,
                   "certificate"); /* the tunnel is open, but the certificate is not trusted */
    close_fixture();
}

static void test_proxy_tunnel(void **state) {
    (void)state;
    open_with_ca_bundle(", \"proxy\": \"PROXY/\"");
    struct transfer *transfer = run_transfer("{\"url\": \"HTTPS/hello\"}");
    assert_string_equal(body_of(transfer), "hello");
    assert_string_equal(transfer->trace, "HE");
    close_fixture();
}

static void test_no_proxy_hosts(void **state) {
    (void)state;
    open_with_tls("{\"proxy\": \"http://127.0.0.1:1\", \"no_proxy\": \"localhost,127.0.0.1\"}");
    assert_false(is_proxied(run_transfer("{\"url\": \"HTTP/echo\"}")));
    expect_failure(run_transfer("{\"url\": \"http://nowhere.invalid/\"}"), "CONNECT", true, NULL);
    close_fixture();
}

static void test_proxy_from_the_environment(void **state) {
    (void)state;
    open_with_tls("{}");
    char *proxy = fixture_text("PROXY/");
    setenv("http_proxy", proxy, 1);
    mem_free(proxy);
    assert_true(is_proxied(run_transfer("{\"url\": \"HTTP/echo\"}")));
    setenv("no_proxy", "127.0.0.1", 1);
    assert_false(is_proxied(run_transfer("{\"url\": \"HTTP/echo\"}")));
    unsetenv("no_proxy");
    close_fixture();
    open_with_tls("{\"proxy\": \"\"}");
    setenv("http_proxy", "http://127.0.0.1:1", 1);
    assert_false(is_proxied(run_transfer("{\"url\": \"HTTP/echo\"}")));
    unsetenv("http_proxy");
    close_fixture();
}

static void test_configured_user_agent(void **state) {
    (void)state;
    open_with_tls("{\"user_agent\": \"acme/1\"}");
    assert_string_equal(text_at(value_get(echo_of(run_transfer("{\"url\": \"HTTP/echo\"}")), "headers"), "user-agent"),
                        "acme/1");
    close_fixture();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ca_bundle),
        cmocka_unit_test(test_untrusted_certificate),
        cmocka_unit_test(test_certificate_of_another_host),
        cmocka_unit_test(test_server_without_tls),
        cmocka_unit_test(test_missing_ca_bundle),
        cmocka_unit_test(test_http2_streams_share_a_connection),
        cmocka_unit_test(test_http2_stream_is_paused_and_cancelled_separately),
        cmocka_unit_test(test_proxy),
        cmocka_unit_test(test_proxy_tunnel),
        cmocka_unit_test(test_no_proxy_hosts),
        cmocka_unit_test(test_proxy_from_the_environment),
        cmocka_unit_test(test_configured_user_agent),
    };
    return cmocka_run_group_tests(tests, setup_group, teardown_group);
}
