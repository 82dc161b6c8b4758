/*
 * http_service_test.c - the HTTP service of the host: it validates requests, checks permissions, inserts secrets,
 * follows redirects, and forwards events between client plugins and the provider.
 */
#include "host/net/http_abi.h"
#include "tests/unit/http_fixture.h"

/* ---- Forwarding ---- */

static void forwards_requests_and_events(void **state) {
    (void)state;
    fixture_open(&(struct fixture_options){.config = NULL});
    uint64_t exchange = send_request("{\"url\":\"https://ACME.example:443/a b?x=1\",\"method\":\"GET\"}");
    run_loop();
    expect_received("FAILED {\"code\":\"INVALID_INPUT\",\"message\":\"a request's `url`: found "
                    "\\\"https://ACME.example:443/a b…\\\": it "
                    "contains a space or a control character; percent-encode it\",\"retryable\":false}\n");
    assert_int_equal(interface_http.cancel(client, exchange), TN_STALE);
    exchange = send_request(
        "{\"url\":\"https://ACME.example:443/v1/%C3%A4?x=1#f\",\"query\":{\"q\":\"a&b\",\"n\":3,\"l\":[\"1\",\"2\"]},"
        "\"headers\":{\"Accept\":\"text/plain\"},\"json\":{\"a\":[1,2.5]},\"timeout\":{\"idle_ms\":5},"
        "\"retry\":{\"max_attempts\":3},\"max_bytes\":100}");
    expect_received("");
    run_loop();
    expect_sent(
        0,
        "{\"url\":\"https://acme.example/v1/%C3%A4?x=1&q=a%26b&n=3&l=1&l=2\",\"method\":\"POST\",\"headers\":{"
        "\"Accept\":\"text/plain\",\"content-type\":\"application/json\"},\"body\":\"{\\\"a\\\":[1,2.5]}\",\"receive\":"
        "\"whole\",\"timeout\":{\"idle_ms\":5},\"retry\":{\"max_attempts\":3},\"max_bytes\":100}");
    provider_report(0, TN_HTTP_HEAD, OK_HEAD);
    provider_report(0, TN_HTTP_END, OK_END);
    expect_received(
        "HEAD " OK_HEAD
        "\nEND {\"status\":200,\"headers\":{\"x\":\"y\"},\"body\":{\"$bytes\":\"aGk=\"},\"attempts\":1,\"ms\":0}\n");
    assert_int_equal(interface_http.pause(client, exchange), TN_STALE);
    assert_int_equal(interface_http.resume(client, exchange), TN_STALE);
    assert_int_equal(interface_http.cancel(client, exchange), TN_STALE);
    assert_int_equal(http_open_count(host_http(host)), 0);
    fixture_close();
}

static void streams_pause_resume_and_cancel(void **state) {
    (void)state;
    fixture_open(&(struct fixture_options){.config = NULL});
    uint64_t exchange = send_request("{\"url\":\"http://acme.example\",\"receive\":\"lines\"}");
    assert_int_equal(interface_http.pause(client, exchange), TN_OK);
    run_loop();
    expect_sent(0, "{\"url\":\"http://acme.example/\",\"method\":\"GET\",\"headers\":{},\"receive\":\"lines\"}");
    assert_true(sent[0].paused);
    assert_int_equal(interface_http.resume(client, exchange), TN_OK);
    assert_false(sent[0].paused);
    provider_report(0, TN_HTTP_HEAD, OK_HEAD);
    provider_report(0, TN_HTTP_DATA, "\"one\"");
    cancel_on_event = exchange;
    provider_report(0, TN_HTTP_DATA, "\"two\"");
    assert_true(sent[0].cancelled);
    provider_report(0, TN_HTTP_DATA, "\"three\"");
    provider_report(0, TN_HTTP_END, OK_END);
    expect_received("HEAD " OK_HEAD "\nDATA \"one\"\nDATA \"two\"\n");
    expect_in(&logged, "for an exchange that has ended");
    /* A plugin can cancel its own request before it is sent, but not the request of another plugin. */
    exchange = send_request("{\"url\":\"http://acme.example\"}");
    const tn_host *first = client;
    add_client("test.other", "[]");
    assert_int_equal(interface_http.cancel(client, exchange), TN_STALE);
    assert_int_equal(interface_http.cancel(first, exchange), TN_OK);
    run_loop();
    assert_int_equal(sent_count, 1);
    fixture_close();
}

/* ---- Invalid requests ---- */

static void rejects_invalid_requests(void **state) {
    (void)state;
    static const struct {
        const char *request, *words;
    } cases[] = {
        {"[]", "found array, expected an object"},
        {"{}", "`url`: it is missing"},
        {"{\"url\":1}", "found int, expected a string"},
        {"{\"url\":\"ftp://acme.example\"}", "expected http://… or https://…"},
        {"{\"url\":\"https://\"}", "it has no host"},
        {"{\"url\":\"https://u:p@acme.example\"}", "`url`: found \\\"…@acme.example\\\": it has a user name"},
        {"{\"url\":\"https://acme.example:0/a?key=hush\"}", "found \\\"https://acme.example:0/a…\\\": its port"},
        {"{\"url\":\"https://acme.example:99999\"}", "its port is not a number from 1 to 65535"},
        {"{\"url\":\"https://b\u00fccher.example\"}", "xn--"},
        {"{\"url\":\"https://acme.example\\\\@evil.example\"}", "it has a user name; send an"},
        {"{\"url\":\"http://acme.example\",\"metod\":\"GET\"}", "did you mean `method`"},
        {"{\"url\":\"http://acme.example\",\"method\":\"G T\"}", "expected a method, as in"},
        {"{\"url\":\"http://acme.example\",\"method\":\"CONNECT\"}", "expected a method, as in"},
        {"{\"url\":\"http://acme.example\",\"headers\":[]}", "`headers`: found array"},
        {"{\"url\":\"http://acme.example\",\"headers\":{\"a b\":\"\"}}", "is not a valid header name"},
        {"{\"url\":\"http://acme.example\",\"headers\":{\"a\":\"x\\r\\ny: z\"}}",
         "`headers.a`: it contains a line end"},
        {"{\"url\":\"http://acme.example\",\"headers\":{\"a\":1}}",
         "`headers.a`: found int, expected a string, {secret"},
        {"{\"url\":\"http://acme.example\",\"headers\":{\"A\":\"1\",\"a\":\"2\"}}", "`a` occurs twice"},
        {"{\"url\":\"http://acme.example\",\"headers\":{\"Host\":\"x\"}}", "the host sets `Host` itself"},
        {"{\"url\":\"http://acme.example\",\"headers\":{\"a\":{\"secret\":1}}}", "not {secret: NAME, optional?: true}"},
        {"{\"url\":\"http://acme.example\",\"headers\":{\"a\":[]}}", "an empty array"},
        {"{\"url\":\"http://acme.example\",\"query\":{\"a\":null}}", "`query.a`: found null"},
        {"{\"url\":\"http://acme.example\",\"query\":{\"a\":[1,{}]}}", "`query.a`"},
        {"{\"url\":\"http://acme.example\",\"body\":1}", "`body`: found int"},
        {"{\"url\":\"http://acme.example\",\"body\":\"\",\"json\":1}", "has both `body` and `json`"},
        {"{\"url\":\"http://acme.example\",\"receive\":\"all\"}", "\"whole\", \\\"bytes\\\""},
        {"{\"url\":\"http://acme.example\",\"timeout\":{\"idel_ms\":1}}", "did you mean `idle_ms`"},
        {"{\"url\":\"http://acme.example\",\"timeout\":{\"idle_ms\":0}}",
         "`timeout.idle_ms`: found 0, expected a whole number from 1"},
        {"{\"url\":\"http://acme.example\",\"retry\":{}}", "`max_attempts` is missing"},
        {"{\"url\":\"http://acme.example\",\"retry\":{\"max_attempts\":11}}", "from 2 to 10"},
        {"{\"url\":\"http://acme.example\",\"redirects\":21}", "from 0 to 20"},
        {"{\"url\":\"http://acme.example\",\"max_bytes\":67108865}", "from 1 to 67108864"},
    };
    fixture_open(&(struct fixture_options){.config = NULL});
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect_rejected(cases[i].request, "INVALID_INPUT",
                        strstr(cases[i].words, "whole\", ") ? "expected \\\"whole\\\"" : cases[i].words);
    uint64_t exchange = 0;
    tn_value request = parse_json("{}");
    assert_int_equal(interface_http.send(client, NULL, client_on_event, NULL, &exchange), TN_INVALID);
    assert_int_equal(interface_http.send(client, request, NULL, NULL, &exchange), TN_INVALID);
    assert_int_equal(interface_http.send(client, request, client_on_event, NULL, NULL), TN_INVALID);
    assert_int_equal(interface_http.send(NULL, request, client_on_event, NULL, &exchange), TN_INVALID);
    assert_int_equal(interface_http.cancel(client, 0), TN_STALE);
    assert_int_equal(interface_http.cancel(client, UINT64_MAX), TN_STALE);
    value_unref(request);
    fixture_close();
}

/* ---- Permission ---- */

static void checks_network_effects(void **state) {
    (void)state;
    static const struct {
        const char *effects, *url;
        bool allowed;
    } cases[] = {
        {"[]", "http://acme.example", false},
        {"[\"network.http\"]", "http://anything.example:81", true},
        {"[\"network.https\"]", "http://acme.example", false},
        {"[\"network.http:acme.example\"]", "https://ACME.example:8443/x", true},
        {"[\"network.http:Acme.Example\"]", "https://acme.example./x", true},
        {"[\"network.http:acme.example\"]", "https://api.acme.example", false},
        {"[\"network.http:acme.example\"]", "https://acme.example.evil.example", false},
        {"[\"network.http:acme.example:443\"]", "https://acme.example", true},
        {"[\"network.http:acme.example:443\"]", "http://acme.example", false},
        {"[\"network.http:*.acme.example\"]", "http://a.b.acme.example", true},
        {"[\"network.http:*.acme.example\"]", "http://acme.example", false},
        {"[\"network.http:*.acme.example\"]", "http://evilacme.example", false},
        {"[\"network.http:*.acme.example:80\"]", "http://a.acme.example:80", true},
        {"[\"network.http:*.acme.example:80\"]", "http://a.acme.example:81", false},
        {"[\"network.http:[::1]:8080\"]", "http://[::1]:8080/", true},
        {"[\"network.http:[::1]\"]", "http://[::1]:8080/", true},
        {"[\"network.http:[::1]\"]", "http://[::2]/", false},
        {"[\"network.http:127.0.0.1\"]", "http://0x7f.1/", false},
        {"[\"network.http:*\"]", "http://acme.example/", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char request[256];
        fixture_open(&(struct fixture_options){.effects = cases[i].effects});
        snprintf(request, sizeof request, "{\"url\":\"%s\"}", cases[i].url);
        if (cases[i].allowed) {
            send_request(request);
            run_loop();
            if (sent_count != 1) fail_msg("%s, %s: %s", cases[i].effects, cases[i].url, buffer_cstr(&received));
        } else {
            expect_rejected(request, "PERMISSION_DENIED", "add \\\"network.http:");
        }
        fixture_close();
    }
}

/* ---- Secrets ---- */

#define SECRET "hush-hush/42"

static void inserts_and_redacts_secrets(void **state) {
    (void)state;
    setenv("KEY", SECRET, 1);
    setenv("OTHER", "xx", 1);
    fixture_open(&(struct fixture_options){
        .effects = "[\"network.http\",\"secret:KEY\",\"secret:NONE\",\"secret:LIMITED\"]",
        .config = "secrets: {LIMITED: {env: KEY, hosts: [a.example, \"*.b.example:80\"]}}\n"});
    send_request(
        "{\"url\":\"http://acme.example/?a=1\",\"headers\":{\"authorization\":[\"Bearer "
        "\",{\"secret\":\"KEY\"}],\"x\":{"
        "\"secret\":\"NONE\",\"optional\":true}},\"query\":{\"key\":{\"secret\":\"KEY\"},\"gone\":[\"a\",{\"secret\":"
        "\"NONE\","
        "\"optional\":true}]},\"body\":[\"k=\",{\"secret\":\"KEY\"}]}");
    run_loop();
    expect_sent(0, "{\"url\":\"http://acme.example/?a=1&key=hush-hush%2F42\",\"method\":\"POST\",\"headers\":{"
                   "\"authorization\":\"Bearer hush-hush/42\"},\"body\":\"k=hush-hush/42\",\"receive\":\"whole\"}");
    /* Secrets are redacted in heads and errors. Bodies are passed on unchanged. */
    provider_report(0, TN_HTTP_HEAD, "{\"status\":500,\"headers\":{\"echo\":\"key=hush-hush%2F42, hush-hush/42\"}}");
    provider_report(0, TN_HTTP_FAILED,
                    "{\"code\":\"CONNECTION_LOST\",\"message\":\"GET "
                    "/?key=hush-hush%2F42\",\"detail\":{\"a\":[\"hush-hush/42\"]}}");
    expect_received(
        "HEAD {\"status\":500,\"headers\":{\"echo\":\"key={secret:KEY}, {secret:KEY}\"}}\nFAILED {\"code\":"
        "\"CONNECTION_LOST\",\"message\":\"GET /?key={secret:KEY}\",\"detail\":{\"a\":[\"{secret:KEY}\"]}}\n");
    interface_core.log(plugin_host(registry_plugin(host_registry(host), "test.fake")), LOG_ERROR,
                       "sent hush-hush/42 on", TN_Z);
    expect_in(&logged, "test.fake: sent {secret:KEY} on");
    expect_rejected("{\"url\":\"http://acme.example\",\"headers\":{\"a\":{\"secret\":\"NONE\"}}}", "SECRET_NOT_FOUND",
                    "the secret `NONE` is not available");
    expect_rejected("{\"url\":\"http://acme.example\",\"headers\":{\"a\":{\"secret\":\"OTHER\"}}}", "PERMISSION_DENIED",
                    "add \\\"secret:OTHER\\\"");
    expect_rejected("{\"url\":\"http://b.example\",\"headers\":{\"a\":{\"secret\":\"LIMITED\"}}}", "PERMISSION_DENIED",
                    "`secrets.LIMITED.hosts`");
    send_request("{\"url\":\"http://x.b.example\",\"headers\":{\"a\":{\"secret\":\"LIMITED\"}}}");
    run_loop();
    assert_int_equal(sent_count, 2);
    provider_report(1, TN_HTTP_FAILED, "{\"code\":\"TLS\",\"message\":\"\"}");
    buffer_clear(&received);
    setenv("NONE", "two\nlines", 1);
    expect_rejected("{\"url\":\"http://acme.example\",\"headers\":{\"a\":{\"secret\":\"NONE\"}}}", "INVALID_INPUT",
                    "the secret in it contains a line end");
    unsetenv("NONE");
    fixture_close();
    unsetenv("KEY");
    unsetenv("OTHER");
}

static size_t lines_of(const char *path) {
    size_t lines = 0;
    FILE *file = fopen(path, "r");
    for (int c; file && (c = fgetc(file)) != EOF;) lines += c == '\n';
    if (file) fclose(file);
    return lines;
}

/* The command of a secret runs once. After a 401 it runs again, at most once a minute. */
static void runs_secret_commands_once(void **state) {
    (void)state;
    char config[256], path[128];
    static const char request[] = "{\"url\":\"http://acme.example\",\"headers\":{\"a\":{\"secret\":\"KEY\"}}}";
    snprintf(path, sizeof path, "%s/ran", folder);
    snprintf(config, sizeof config, "secrets: {KEY: {command: [sh, -c, \"echo x >>%s; echo longsecret\"]}}\n", path);
    fixture_open(&(struct fixture_options){.config = config});
    for (int i = 0; i < 3; i++) send_request(request);
    run_loop();
    assert_int_equal(sent_count, 3);
    assert_int_equal(lines_of(path), 1);
    provider_report(0, TN_HTTP_HEAD, "{\"status\":401,\"headers\":{}}");
    provider_report(0, TN_HTTP_END, "{\"status\":401,\"headers\":{}}");
    send_request(request);
    run_loop();
    assert_int_equal(lines_of(path), 1);
    loop_fake_advance(host_loop(host), 60000);
    for (int i = 0; i < 2; i++) send_request(request);
    run_loop();
    assert_int_equal(lines_of(path), 2);
    fixture_close();
}

static bool provider_has_request(void *user) { return (void)user, sent_count > 0; }
static bool turns_are_over(void *user) { return (*(int *)user)-- <= 0; }

#define FAILED_BAD                                                                                                     \
    "FAILED {\"code\":\"SECRET_NOT_FOUND\",\"message\":\"the secret `BAD` is not available: sh: the command failed\"," \
    "\"retryable\":false}\n"

/*
 * While a command runs, the loop continues: other requests are sent, and a waiting request can be cancelled. If the
 * command fails, every waiting request fails.
 */
static void secret_commands_do_not_block_the_loop(void **state) {
    (void)state;
    char config[512], path[128];
    static const char slow[] = "{\"url\":\"http://acme.example\",\"headers\":{\"a\":{\"secret\":\"KEY\"},\"b\":{"
                               "\"secret\":\"NEXT\"}}}",
                      quick[] = "{\"url\":\"http://acme.example/quick\"}",
                      bad[] = "{\"url\":\"http://acme.example\",\"headers\":{\"a\":{\"secret\":\"BAD\"}}}";
    snprintf(path, sizeof path, "%s/go", folder);
    snprintf(
        config, sizeof config,
        "secrets:\n  KEY: {command: [sh, -c, \"i=0; while [ ! -e %s ] && [ $i -lt 500 ]; do i=$((i+1)); sleep 0.01; "
        "done; echo longsecret\"]}\n  NEXT: {command: [echo, another-one]}\n  BAD: {command: [sh, -c, exit 3]}\n"
        "  LAST: {command: [sleep, '0.1']}\n",
        path);
    fixture_open(&(struct fixture_options){.effects = "[\"network.http\",\"secret\"]", .config = config});
    uint64_t first = send_request(slow);
    send_request(slow);
    send_request(quick);
    assert_true(loop_run(host_loop(host), provider_has_request, NULL));
    expect_sent(0, "{\"url\":\"http://acme.example/quick\",\"method\":\"GET\",\"headers\":{},\"receive\":\"whole\"}");
    assert_int_equal(interface_http.cancel(client, first), TN_OK);
    fclose(fopen(path, "w"));
    run_loop();
    assert_int_equal(sent_count, 2);
    expect_sent(1, "{\"url\":\"http://acme.example/\",\"method\":\"GET\",\"headers\":{\"a\":\"longsecret\",\"b\":"
                   "\"another-one\"},\"receive\":\"whole\"}");
    expect_received("");
    for (int i = 0; i < 2; i++) send_request(bad);
    run_loop();
    expect_received(FAILED_BAD FAILED_BAD);
    /* When the host is freed, it waits for a running command and calls no handler. */
    int turns = 2;
    send_request("{\"url\":\"http://acme.example\",\"headers\":{\"a\":{\"secret\":\"LAST\"}}}");
    loop_run(host_loop(host), turns_are_over, &turns);
    assert_int_equal(sent_count, 2);
    fixture_close();
}

static bool client_has_event(void *user) { return (void)user, received.length > 0; }

/* The total time limit also ends an exchange that waits for a secret. The command continues for later requests. */
static void secret_commands_count_towards_total_time(void **state) {
    (void)state;
    char config[512], path[128];
    static const char request[] = "{\"url\":\"http://acme.example\",\"headers\":{\"a\":{\"secret\":\"KEY\"}},"
                                  "\"timeout\":{\"total_ms\":100}}";
    snprintf(path, sizeof path, "%s/end", folder);
    snprintf(config, sizeof config,
             "secrets: {KEY: {command: [sh, -c, \"i=0; while [ ! -e %s ] && [ $i -lt 500 ]; do i=$((i+1)); sleep 0.01; "
             "done; echo x >>%s.ended; echo longsecret\"]}}\n",
             path, path);
    fixture_open(&(struct fixture_options){.config = config});
    int turns = 1; /* the exchange starts; in another turn the loop would wait for the command */
    send_request(request);
    loop_run(host_loop(host), turns_are_over, &turns);
    loop_fake_advance(host_loop(host), 100);
    assert_true(loop_run(host_loop(host), client_has_event, NULL));
    strcat(path, ".ended");
    assert_int_equal(lines_of(path), 0); /* the command still runs */
    expect_received(
        "FAILED {\"code\":\"TIMEOUT\",\"message\":\"the total time limit of the request passed before it was "
        "sent, or while a redirect was followed\",\"retryable\":true,\"detail\":{\"phase\":\"total\"}}\n");
    assert_int_equal(http_open_count(host_http(host)), 0);
    path[strlen(path) - strlen(".ended")] = 0;
    fclose(fopen(path, "w"));
    run_loop();
    expect_received("");
    assert_int_equal(sent_count, 0);
    send_request(request);
    run_loop();
    assert_int_equal(sent_count, 1);
    assert_non_null(strstr(sent_text(0), "longsecret"));
    fixture_close();
}

/* ---- Redirects ---- */

#define TO(status, location) "{\"status\":" #status ",\"headers\":{\"location\":\"" location "\"}}"

static void provider_redirect(uint32_t index, const char *head) {
    provider_report(index, TN_HTTP_HEAD, head);
    provider_report(index, TN_HTTP_END, head);
}

static void follows_redirects(void **state) {
    (void)state;
    setenv("KEY", SECRET, 1);
    fixture_open(&(struct fixture_options){
        .effects = "[\"network.http:acme.example\",\"network.http:other.example\",\"secret\"]"});
    /* Without `redirects`, the response is returned as it is. */
    send_request("{\"url\":\"http://acme.example/a\"}");
    run_loop();
    provider_redirect(0, TO(302, "/b"));
    expect_in(&received, "END {\"status\":302");
    buffer_clear(&received);
    /* A redirect to the same origin keeps headers and body. After a 302, a POST becomes a GET without a body. */
    send_request("{\"url\":\"http://acme.example/a/"
                 "b?q=1\",\"redirects\":3,\"headers\":{\"x-k\":{\"secret\":\"KEY\"},\"Content-Language\":\"en\"},"
                 "\"json\":1}");
    run_loop();
    provider_redirect(1, TO(307, "../c"));
    expect_sent(2, "{\"url\":\"http://acme.example/c\",\"method\":\"POST\",\"headers\":{\"x-k\":\"hush-hush/"
                   "42\",\"Content-Language\":"
                   "\"en\",\"content-type\":\"application/json\"},\"body\":\"1\",\"receive\":\"whole\"}");
    provider_redirect(2, TO(302, "?r"));
    expect_sent(3, "{\"url\":\"http://acme.example/c?r\",\"method\":\"GET\",\"headers\":{\"x-k\":\"hush-hush/"
                   "42\"},\"receive\":\"whole\"}");
    /* A redirect to another origin drops headers that contain a secret. */
    provider_redirect(3, TO(302, "http://other.example"));
    expect_sent(4, "{\"url\":\"http://other.example/\",\"method\":\"GET\",\"headers\":{},\"receive\":\"whole\"}");
    provider_redirect(4, TO(302, "/again"));
    expect_received(
        "FAILED {\"code\":\"PROTOCOL\",\"message\":\"the server redirects more than 3 times, which is the limit"
        "\",\"retryable\":false}\n");
    static const struct {
        const char *request, *head, *code, *words;
    } refused[] = {
        {"{\"url\":\"http://acme.example\",\"redirects\":1}", TO(301, "http://evil.example"), "PERMISSION_DENIED",
         "network.http:evil.example"},
        {"{\"url\":\"https://acme.example\",\"redirects\":1}", TO(301, "http://acme.example"), "PERMISSION_DENIED",
         "is not encrypted"},
        {"{\"url\":\"http://acme.example\",\"redirects\":1,\"body\":{\"secret\":\"KEY\"}}",
         TO(308, "http://other.example"), "PERMISSION_DENIED", "the body would be sent there"},
        {"{\"url\":\"http://acme.example\",\"redirects\":1,\"query\":{\"k\":{\"secret\":\"KEY\"}}}",
         TO(302, "http://other.example/?k=hush-hush%2F42"), "PERMISSION_DENIED", "with a secret in the URL"},
        {"{\"url\":\"http://acme.example\",\"redirects\":1}", TO(302, "file:///etc/passwd"), "PROTOCOL",
         "not an http or https URL"},
        {"{\"url\":\"http://acme.example\",\"redirects\":1}", TO(302, "http://u@acme.example"), "PROTOCOL",
         "it has a user name"},
    };
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        uint32_t before = sent_count;
        send_request(refused[i].request);
        run_loop();
        provider_redirect(before, refused[i].head);
        assert_int_equal(sent_count, before + 1);
        expect_in(&received, refused[i].code);
        expect_in(&received, refused[i].words);
        buffer_clear(&received);
    }
    /* `total_ms` limits the time of all redirects together. */
    send_request("{\"url\":\"http://acme.example\",\"redirects\":2,\"timeout\":{\"total_ms\":100}}");
    run_loop();
    loop_fake_advance(host_loop(host), 60);
    provider_redirect(sent_count - 1, TO(302, "/x"));
    assert_non_null(strstr(sent_text(sent_count - 1), "\"total_ms\":40"));
    loop_fake_advance(host_loop(host), 60);
    provider_redirect(sent_count - 1, TO(302, "/x"));
    expect_in(&received, "\"TIMEOUT\"");
    fixture_close();
    unsetenv("KEY");
}

/* ---- Providers ---- */

/* They need no effect, and no plugin can name them. A secret is sent only to its hosts. */
static void requests_of_the_host(void **state) {
    (void)state;
    uint64_t exchange, other;
    setenv("OWN_KEY", "own-secret-1", 1);
    fixture_open(&(struct fixture_options){.effects = "[]",
                                           .config = "secrets: {OWN_KEY: {env: OWN_KEY, hosts: [acme.example]}}"});
    tn_value request = parse_json("{\"url\":\"https://acme.example\",\"headers\":{\"a\":{\"secret\":\"OWN_KEY\"}},"
                                  "\"receive\":\"bytes\",\"max_bytes\":1000000000}");
    assert_int_equal(http_send_own(host_http(host), request, client_on_event, NULL, &exchange), TN_OK);
    run_loop();
    expect_sent(0, "{\"url\":\"https://acme.example/\",\"method\":\"GET\",\"headers\":{\"a\":\"own-secret-1\"},"
                   "\"receive\":\"bytes\",\"max_bytes\":1000000000}");
    assert_int_equal(interface_http.cancel(client, exchange), TN_STALE);
    assert_int_equal(http_cancel(host_http(host), NULL, exchange), TN_STALE);
    assert_int_equal(http_pause(host_http(host), NULL, exchange), TN_STALE);
    assert_int_equal(http_resume(host_http(host), NULL, exchange), TN_STALE);
    assert_int_equal(http_cancel_own(host_http(host), exchange + 1), TN_STALE);
    provider_report(0, TN_HTTP_HEAD, OK_HEAD);
    provider_report(0, TN_HTTP_END, OK_END);
    expect_received(
        "HEAD " OK_HEAD
        "\nEND {\"status\":200,\"headers\":{\"x\":\"y\"},\"body\":{\"$bytes\":\"aGk=\"},\"attempts\":1,\"ms\":0}\n");
    assert_int_equal(http_cancel_own(host_http(host), exchange), TN_STALE);
    value_unref(request);

    request = parse_json("{\"url\":\"https://other.example\",\"headers\":{\"a\":{\"secret\":\"OWN_KEY\"}}}");
    assert_int_equal(http_send_own(host_http(host), request, client_on_event, NULL, &exchange), TN_OK);
    run_loop();
    expect_in(&received, "Tenon sends the secret `OWN_KEY` to other.example, but tenon.yaml allows only other hosts");
    value_unref(request);

    request = parse_json("{\"url\":\"https://other.example\"}");
    assert_int_equal(http_send_own(host_http(host), request, client_on_event, NULL, &exchange), TN_OK);
    assert_int_equal(http_send_own(host_http(host), request, client_on_event, NULL, &other), TN_OK);
    run_loop();
    assert_int_equal(http_cancel_own(host_http(host), exchange), TN_OK);
    assert_true(sent[1].cancelled && !sent[2].cancelled);
    assert_int_equal(http_open_count(host_http(host)), 1);
    value_unref(request);
    fixture_close(); /* cancels the other one */
    unsetenv("OWN_KEY");
}

static void provider_missing_or_rejecting(void **state) {
    (void)state;
    fixture_open(&(struct fixture_options){.use = "test.missing"});
    expect_rejected("{\"url\":\"http://acme.example\"}", "UNSUPPORTED",
                    "is `test.missing`, but no plugin with this name");
    fixture_close();
    fixture_open(&(struct fixture_options){.config = NULL});
    provider_send_status = TN_LIMIT;
    expect_rejected("{\"url\":\"http://acme.example\"}", "LIMIT", "rejected the request (status -5)");
    provider_send_status = TN_OK;
    /* The provider reports events before its send returns. */
    provider_end_inside_send = OK_HEAD;
    send_request("{\"url\":\"http://acme.example\"}");
    expect_received("");
    run_loop();
    expect_received("HEAD " OK_HEAD
                    "\nEND {\"status\":200,\"headers\":{\"x\":\"y\"},\"attempt\":1,\"attempts\":1,\"ms\":0}\n");
    cancel_on_event = send_request("{\"url\":\"http://acme.example\"}");
    run_loop();
    expect_received("HEAD " OK_HEAD "\n");
    assert_true(sent[1].cancelled);
    fixture_close();
}

/* The provider's cancel can run code of the client, which cancels the exchange again: it is released once. */
static void cancels_again_inside_cancel(void **state) {
    static const char request[] = "{\"url\":\"http://acme.example\"}";
    (void)state;
    fixture_open(&(struct fixture_options){.config = NULL});
    uint64_t exchange = cancel_inside_cancel = send_request(request);
    run_loop();
    assert_int_equal(interface_http.cancel(client, exchange), TN_OK);
    assert_int_equal(http_open_count(host_http(host)), 0);
    /* A violation of the protocol also cancels. The client does not expect FAILED then. */
    cancel_inside_cancel = send_request(request);
    run_loop();
    provider_report(1, TN_HTTP_END, OK_END);
    expect_received("");
    assert_int_equal(http_open_count(host_http(host)), 0);
    fixture_close();
}

static void rejects_protocol_violations(void **state) {
    (void)state;
    static const struct {
        int32_t events[3];
        const char *values[3], *words;
    } cases[] = {
        {{TN_HTTP_END}, {OK_END}, "sent an end without a head"},
        {{TN_HTTP_DATA}, {"\"x\""}, "sent data before the head"},
        {{TN_HTTP_HEAD, TN_HTTP_HEAD}, {OK_HEAD, OK_HEAD}, "sent two heads"},
        {{TN_HTTP_HEAD}, {"null"}, "sent a head that is not"},
        {{TN_HTTP_HEAD}, {"{\"status\":200,\"headers\":{\"a\":1}}"}, "sent a head that is not"},
        {{TN_HTTP_HEAD, TN_HTTP_DATA}, {OK_HEAD, "{}"}, "sent data of another kind"},
        {{TN_HTTP_HEAD, TN_HTTP_END}, {OK_HEAD, "[]"}, "sent an end that is not"},
        {{TN_HTTP_HEAD, TN_HTTP_END},
         {OK_HEAD, "{\"status\":200,\"headers\":{},\"body\":\"text\"}"},
         "sent an end whose body is not bytes"},
        {{TN_HTTP_FAILED}, {"{}"}, "reported a failure without a code and a message"},
        {{17}, {"{}"}, "sent an unknown event"},
    };
    fixture_open(&(struct fixture_options){.config = NULL});
    for (uint32_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        send_request("{\"url\":\"http://acme.example\",\"receive\":\"lines\"}");
        run_loop();
        for (int j = 0; j < 3 && cases[i].events[j]; j++) provider_report(i, cases[i].events[j], cases[i].values[j]);
        expect_in(&received, "FAILED {\"code\":\"PROTOCOL\"");
        expect_in(&received, cases[i].words);
        assert_true(sent[i].cancelled);
        buffer_clear(&received);
        provider_report(i, TN_HTTP_END, OK_END);
        expect_received("");
    }
    /* The plugin does not receive the response of a redirect, so it has no data. */
    uint32_t redirect = sent_count;
    send_request("{\"url\":\"http://acme.example\",\"receive\":\"lines\",\"redirects\":1}");
    run_loop();
    provider_report(redirect, TN_HTTP_HEAD, TO(302, "/b"));
    provider_report(redirect, TN_HTTP_DATA, "\"x\"");
    expect_in(&received, "sent data for a redirect");
    assert_int_equal(sent_count, redirect + 1);
    buffer_clear(&received);
    /* A second end of an exchange is ignored, even after many other exchanges. */
    uint32_t first = sent_count;
    send_request("{\"url\":\"http://acme.example\"}");
    run_loop();
    for (int i = 0; i < 1000; i++) {
        send_request("{\"url\":\"http://acme.example\"}");
        run_loop();
        provider_report(first, i ? TN_HTTP_END : TN_HTTP_FAILED, "{\"code\":\"TLS\",\"message\":\"no\"}");
        provider_report(sent_count - 1, TN_HTTP_FAILED, "{\"code\":\"TLS\",\"message\":\"no\"}");
    }
    size_t ends = 0;
    for (const char *at = buffer_cstr(&received); (at = strstr(at, "FAILED")); at++) ends++;
    assert_int_equal(ends, 1001);
    assert_int_equal(http_open_count(host_http(host)), 0);
    fixture_close();
}

/* ---- Limits and unloading ---- */

static void limits_exchanges_of_each_plugin(void **state) {
    (void)state;
    fixture_open(&(struct fixture_options){.config = NULL});
    tn_value request = parse_json("{\"url\":\"http://acme.example\"}");
    uint64_t exchange, first = 0;
    for (uint32_t i = 0; i < HTTP_EXCHANGES_MAX; i++) {
        assert_int_equal(interface_http.send(client, request, client_on_event, NULL, &exchange), TN_OK);
        if (!first) first = exchange;
    }
    assert_int_equal(interface_http.send(client, request, client_on_event, NULL, &exchange), TN_LIMIT);
    run_loop();
    assert_int_equal(sent_count, HTTP_EXCHANGES_MAX);
    assert_int_equal(interface_http.cancel(client, first), TN_OK);
    assert_int_equal(interface_http.send(client, request, client_on_event, NULL, &exchange), TN_OK);
    const tn_host *full = client;
    add_client("test.other", "[\"network.http\"]"); /* each plugin has a separate limit */
    assert_int_equal(interface_http.send(client, request, client_on_event, NULL, &exchange), TN_OK);
    run_loop();
    /* Unloading a plugin cancels its exchanges and no others. */
    struct error error = ERROR_INIT;
    assert_int_equal(registry_unload(host_registry(host), "test.asks", NULL, NULL, &error), TN_OK);
    assert_int_equal(http_open_count(host_http(host)), 1);
    assert_int_equal(interface_http.cancel(full, first), TN_STALE);
    expect_received("");
    error_finish(&error);
    value_unref(request);
    fixture_close(); /* cancels the remaining exchanges */
    assert_true(sent[sent_count - 1].cancelled);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forwards_requests_and_events),
        cmocka_unit_test(streams_pause_resume_and_cancel),
        cmocka_unit_test(rejects_invalid_requests),
        cmocka_unit_test(checks_network_effects),
        cmocka_unit_test(inserts_and_redacts_secrets),
        cmocka_unit_test(runs_secret_commands_once),
        cmocka_unit_test(secret_commands_do_not_block_the_loop),
        cmocka_unit_test(secret_commands_count_towards_total_time),
        cmocka_unit_test(follows_redirects),
        cmocka_unit_test(requests_of_the_host),
        cmocka_unit_test(provider_missing_or_rejecting),
        cmocka_unit_test(cancels_again_inside_cancel),
        cmocka_unit_test(rejects_protocol_violations),
        cmocka_unit_test(limits_exchanges_of_each_plugin),
    };
    RUN_TESTS(tests);
}
